#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts in how many files under src/ each kind of action of a plan is named: by its kind (TUTTI_DO_<KIND>), by its
row (tutti_action_<name>), or in the list of all kinds. More than four say that something asks for a kind where it
should ask for what the kind's row says.

usage: tools/check_actions.py [FOLDER]      of the project; prints the table, ends with 1 where a kind is named in more
files
"""
import pathlib
import re
import sys

MOST = 4


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1]
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((root / "src").rglob("*.[ch]"))}
    kinds = {kind for text in texts.values() for kind in re.findall(r"\bTUTTI_DO_([A-Z]+)\b", text)}
    kinds |= {
        kind
        for text in texts.values() if "define TUTTI_ACTIONS(" in text
        for kind in re.findall(r"\brow\(([A-Z]+), ", text)
    }
    if not kinds:
        sys.exit("no kind of action is named under src/: the list of this tool is old")
    failed = False
    for kind in sorted(kinds):
        names = re.compile(rf"\bTUTTI_DO_{kind}\b|\brow\({kind}, |\btutti_action_{kind.lower()}\b")
        files = [path.name for path, text in texts.items() if names.search(text)]
        print(f"{kind:<8} {len(files):2}: {', '.join(files)}")
        failed |= len(files) > MOST
    if failed:
        sys.exit(
            f"a kind of action is named in more than {MOST} files: ask for what its row says "
            f"(src/training/plan/action/action.h)"
        )


if __name__ == "__main__":
    main()

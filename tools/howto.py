#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps docs/howto: each diff that a page shows is what tests/adding applies.

usage: tools/howto.py [ROOT] [--write]
--write: makes the diffs anew, between the two comments that enclose each.
exit 0: nothing to say; 1: findings, one a line
"""
import difflib
import pathlib
import re
import sys

DIFF = re.compile(r"(<!-- diff of tests/adding/(\w+), written by tools/howto\.py -->\n).*?(<!-- end of diff -->\n?)",
                  re.S)


def show(name, before, after):
    """One file as a diff with one line around each change. Line numbers are left out: they would change with every other
    edit of the file."""
    head = f"--- {'/dev/null' if before is None else 'a/' + name}\n+++ b/{name}\n"
    try:
        new = after.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return f"Binary file b/{name} is new\n"
    if name.endswith(".safetensors"):
        return f"Binary file b/{name} is new\n"
    old = [] if before is None else before.decode("utf-8").splitlines()
    lines = list(difflib.unified_diff(old, new, n=1, lineterm=""))[2:]
    return head + "".join("@@\n" if line.startswith("@@") else line + "\n" for line in lines)


def diff_of(root, kind):
    sys.path.insert(0, str(root / "tests/adding"))
    from additions import additions  # noqa: PLC0415 (its folder is known here alone)
    _, files = additions(root, kind)
    return "```diff\n" + "".join(show(name, *both) for name, both in files.items()) + "```\n"


def main():
    arguments = sys.argv[1:]
    write = "--write" in arguments
    root = pathlib.Path(next((a for a in arguments if not a.startswith("--")), ".")).resolve()
    findings, pages = [], sorted((root / "docs/howto").glob("*.md"))
    for page in pages:
        name, text = page.relative_to(root), page.read_text(encoding="utf-8")
        made = DIFF.sub(lambda found: found.group(1) + diff_of(root, found.group(2)) + found.group(3), text)
        if write and made != text:
            page.write_text(made, encoding="utf-8")
        elif made != text:
            findings.append(f"{name}: a diff is not what tests/adding applies: tools/howto.py --write makes it anew")
        if not DIFF.search(text):
            findings.append(f"{name}: has no diff of tests/adding")
    print("\n".join(findings) if findings else f"howto: nothing to say about {len(pages)} pages")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

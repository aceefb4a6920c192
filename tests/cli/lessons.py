#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/lessons and of docs/values.md in an empty folder and compares the lines with those of the
pages. Pictures of schedules and of predicted times are also compared with those of docs/pictures; pictures of runs must
be whole and move.

usage: tests/cli/lessons.py PROGRAM SOURCE_DIR [--write]
--write: puts what was printed into the pages, and the pictures into docs/pictures.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def check_picture(made, kept):
    """What is wrong with it, in words, or None."""
    tree = xml.etree.ElementTree.parse(made)
    if any(True for _ in tree.iter(SVG + "animate")):
        return None if kept.exists() else f"{kept} is missing"
    if not kept.exists() or made.read_bytes() != kept.read_bytes():
        return f"{kept} is not what the lesson's command makes: tests/cli/lessons.py PROGRAM SOURCE_DIR --write"
    return None


def main():
    write = "--write" in sys.argv
    program, source = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
    pages = [*sorted((source / "docs/lessons").glob("*.md")), source / "docs/values.md"]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "docs/pictures").mkdir(parents=True)
        (place / "build").mkdir()
        (place / "build/tutti").symlink_to(program)
        (place / "examples").symlink_to(source / "examples")
        options = ["--write"] if write else []
        done = subprocess.run([sys.executable, source / "tools/page_commands.py", place, *pages, *options], check=False)
        made = sorted((place / "docs/pictures").glob("*.svg"))
        if write:
            for picture in made:
                shutil.copy(picture, source / "docs/pictures")
        pictures = source / "docs/pictures"
        wrong = [words for picture in made if (words := check_picture(picture, pictures / picture.name))]
        if not made:
            wrong.append("no picture was made")
        print("\n".join(wrong) if wrong else f"{len(made)} pictures")
    return done.returncode or bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

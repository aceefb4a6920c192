#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/map.md: each file of include and src with the first sentence of its purpose comment, by folder.

usage: tools/map.py [ROOT] [--write]
--write: writes docs/map.md; without it the page is compared with what the files say.
exit 0: the page is as the files say; 1: it is not, or a folder or a file has no purpose
"""
import difflib
import os
import re
import sys

HEAD = """# Map of the source

Each folder of `include` and `src`, each file in it, and the first sentence of the file's purpose comment. Search this
page for the word that you have in mind. [ARCHITECTURE.md](../ARCHITECTURE.md) says how the folders work together.

`tools/map.py --write` makes this page from the files, and a test compares them: to change a line here, change the comment.
"""

MOST_LETTERS = 200  # of a longer sentence the map has what stands before its first semicolon
# A period after these ends no sentence.
ABBREVIATION = re.compile(r"(?:\b(?:al|vs|cf|e\.g|i\.e|no)|\.)\.$")


def first_sentence(text):
    """Up to the first period that ends a sentence, neither an abbreviation nor inside parentheses."""
    for match in re.finditer(r"[.?](?=\s|$)", text):
        head = text[:match.end()]
        if not ABBREVIATION.search(head) and head.count("(") <= head.count(")"):
            return head
    return text


def purpose_of_code(text):
    """The first paragraph of the comment `/* name: ... */` or `// name: ...` at the top of a file."""
    text = re.sub(r"\A(?:/\*|//) SPDX[^\n]*\n", "", text)
    block = re.match(r"/\* \S+: (.*?)\*/", text, re.S)
    lines = block.group(1).split("\n") if block else re.match(r"(?://[^\n]*\n)*", text).group(0).split("\n")
    if not block:
        lines[0] = re.sub(r"^// \S+: ", "", lines[0])
    found = []
    for line in lines:
        words = re.sub(r"^ ?(?:\*|//)", "", line)
        if not words.strip() or found and words.startswith("   "):
            break
        found.append(words.strip())
    return " ".join(found)


def purpose_of_data(text):
    """What `about:` says, else the first comment."""
    about = re.search(r"^about: (.*)", text, re.M)
    if about:
        return about.group(1)
    comment = re.match(r"(?:# [^\n]*\n)*", text).group(0).replace("# Made by tools/zoo_resnet.py.\n", "")
    return " ".join(line[2:] for line in comment.splitlines())


def purpose_of_markup(text):
    """What the first comment `<!-- name: ... -->` says; of an interface in JSON its own description."""
    comment = re.search(r"<!-- \S+: (.*?)-->|^    \"description\": \"(.*)\"", text, re.S if "<!--" in text else re.M)
    return " ".join((comment.group(1) or comment.group(2)).split()) if comment else ""


WAYS = {".txt": purpose_of_data, ".yaml": purpose_of_data,
        ".html": purpose_of_markup, ".svg": purpose_of_markup, ".json": purpose_of_markup}


def purpose_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    purpose = first_sentence(WAYS.get(os.path.splitext(path)[1], purpose_of_code)(text))
    if len(purpose) > MOST_LETTERS:
        parts = purpose.split(";")
        heads = (";".join(parts[:n]) for n in range(1, len(parts) + 1))
        purpose = next(head for head in heads if head.count("(") == head.count(")") or head == purpose)
    return purpose.rstrip(":;, ").replace("|", "\\|")


def read_folders(root):
    """The purpose of each folder, from docs/folders.txt."""
    with open(os.path.join(root, "docs/folders.txt"), encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(": ", 1) for line in file if re.match(r"\w", line))


def list_folders(root):
    """Folders of include and src that hold files, with the names of these."""
    found = {}
    for top in ("include", "src"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            if names:
                found[os.path.relpath(folder, root)] = sorted(names)
    return found


def make_map(root, findings):
    purposes, folders = read_folders(root), list_folders(root)
    parts = [HEAD]
    for folder in sorted(folders):
        if folder not in purposes:
            findings.append(f"{folder}: has no purpose in docs/folders.txt")
        lines = []
        for name in folders[folder]:
            purpose = purpose_of(os.path.join(root, folder, name))
            if not purpose:
                findings.append(f"{folder}/{name}: has no purpose comment")
            lines.append(f"- `{name}`: {purpose}")
        parts.append(f"## {folder}\n\n{purposes.get(folder, '')}\n\n" + "\n".join(lines) + "\n")
    findings += [f"docs/folders.txt: {folder} holds no file" for folder in purposes if folder not in folders]
    return "\n".join(parts)


def main():
    args = sys.argv[1:]
    root = next((arg for arg in args if not arg.startswith("--")), ".")
    findings, page = [], os.path.join(root, "docs/map.md")
    made = make_map(root, findings)
    if "--write" in args:
        with open(page, "w", encoding="utf-8") as out:
            out.write(made)
    there = ""
    if os.path.exists(page):
        with open(page, encoding="utf-8") as file:
            there = file.read()
    if there != made:
        changes = difflib.unified_diff(there.splitlines(), made.splitlines(), "docs/map.md", "the files", n=0, lineterm="")
        findings += [*list(changes)[:20], "docs/map.md is old: tools/map.py --write makes it anew"]
    print("\n".join(findings) if findings else "map: docs/map.md is as the files say")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

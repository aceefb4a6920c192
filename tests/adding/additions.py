# SPDX-License-Identifier: Apache-2.0
"""Reads what tests/adding adds: the files of one kind as they are before and after. add_each.py applies them,
tools/howto.py shows them."""
import json
import pathlib
import sys


def insert(text, name, edit):
    """The text with the edit's insertion; name: of the file, for the words of a failure."""
    place = edit.get("after") or edit["before"]
    if text.count(place) != 1:
        sys.exit(f"FAILED: {name}: '{place.strip()}' stands there {text.count(place)} times, not once; "
                 f"tests/adding is old")
    return text.replace(place, place + edit["insert"] if "after" in edit else edit["insert"] + place)


def additions(root, kind):
    """What ARCHITECTURE.md's table calls the kind, and a dictionary: path of a touched file -> (bytes before, None if the
    file is new; bytes after)."""
    root = pathlib.Path(root)
    folder = root / "tests/adding" / kind
    what = json.loads((folder / "edits.json").read_text(encoding="utf-8"))
    files = {f"{place}/{name}": (None, (folder / name).read_bytes()) for name, place in what["new"].items()}
    for edit in what["edits"]:
        name = edit["file"]
        before = files[name][0] if name in files else (root / name).read_bytes()
        now = files[name][1] if name in files else before
        files[name] = (before, insert(now.decode("utf-8"), name, edit).encode("utf-8"))
    return what["says"], files

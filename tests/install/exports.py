# SPDX-License-Identifier: Apache-2.0
"""exports.py LIBRARY FOLDER: the names that libtutti exports are those of functions that the headers in FOLDER
declare, no more and no fewer. The headers are read by the compiler's preprocessor, so comments and macros are out of
the way, and not by the pattern that made the list of exports."""
import pathlib
import re
import subprocess
import sys


def declared(folder: pathlib.Path) -> set[str]:
    names = set()
    for header in sorted(folder.glob("*.h")):
        text = subprocess.run(["cc", "-E", "-I", folder.parent, header], check=True, capture_output=True, text=True).stdout
        text = re.sub(r"^#.*$", "", text, flags=re.M)
        while (without := re.sub(r"\{[^{}]*\}", ";", text)) != text:  # bodies of inline functions, of structs and enums
            text = without
        for statement in text.split(";"):
            found = re.match(r"\s*(?!typedef|static)[\w\s*]*?\b(tutti_\w+)\s*\(", statement)
            if found:
                names.add(found.group(1))
    return names


def exported(library: str) -> set[str]:
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in text.splitlines()}


def main() -> int:
    wanted, there = declared(pathlib.Path(sys.argv[2])), exported(sys.argv[1])
    for name in sorted(wanted - there):
        print(f"{name} is declared and not exported")
    for name in sorted(there - wanted):
        print(f"{name} is exported and not declared")
    print(f"{len(there)} names")
    return int(wanted != there or len(there) < 100)


sys.exit(main())

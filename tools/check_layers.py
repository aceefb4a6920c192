#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the #includes under src/ and include/ with docs/layers.txt and prints each that the file does not allow,
and what the file allows though no #include needs it: a door that nobody uses is an invitation.

usage: tools/check_layers.py [ROOT] [--library FILE.a]
--library: also looks for circles of files that call each other, by the symbols of a built library (needs nm).
exit 0: all allowed; 1: findings, one a line; 2: layers.txt itself is wrong
"""
import collections
import fnmatch
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'\s*#\s*include\s+(["<])([^">]+)[">]')
# Headers of the C library, POSIX and Linux that any module may include.
SYSTEM = re.compile(r"(sys/|linux/|arpa/|netinet/|net/)?[a-z0-9_]+\.h$")


def read_layers(path):
    allowed, libraries, public, private, circles, rooms, doors = {}, {}, {}, {}, {}, {}, {}
    for number, line in enumerate(open(path), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        if line.startswith("circles "):
            modules, most = line[len("circles "):].split(":")
            circles.update((module, int(most)) for module in modules.split())
        elif line.startswith(("room ", "doors ")):
            name, others = line.split(" ", 1)[1].split(":")
            (rooms if line.startswith("room ") else doors)[name] = set(others.split())
        elif "=" in line:
            header, module = (part.strip() for part in line.split("="))
            public[header] = module
        elif line.startswith("<"):
            header, modules = line.split(">:")
            libraries[header[1:]] = set(modules.split())
        elif ".h:" in line:
            header, modules = line.split(":")
            private[header] = set(modules.split())
        elif ":" in line:
            module, others = line.split(":")
            if module in allowed:
                sys.exit(f"{path}:{number}: {module} stands here a second time")
            allowed[module] = set(others.split())
        else:
            sys.exit(f"{path}:{number}: cannot read this line")
    for named in [*libraries.values(), *private.values(), set(public.values()), set(circles), set(doors)]:
        check_named(path, named, allowed)
    check_order(path, allowed)
    check_order(path, rooms)
    return allowed, libraries, public, private, circles, rooms, doors


def check_named(path, named, allowed):
    for module in named - set(allowed):
        sys.exit(f"{path}: '{module}' is named but has no line of its own")


def check_order(path, allowed):
    """Every name has a line, and the lines have an order: no two need each other, however far around."""
    for named in allowed.values():
        check_named(path, named, allowed)
    done = set()
    while len(done) < len(allowed):
        ready = [m for m in allowed if m not in done and allowed[m] <= done]
        if not ready:
            sys.exit(f"{path}: a circle among {', '.join(sorted(set(allowed) - done))}")
        done.update(ready)


def module_of(folder, allowed):
    """The module of a folder under src/: the longest name that fits, or None."""
    parts = folder.split("/")
    for n in range(len(parts), 0, -1):
        if "/".join(parts[:n]) in allowed:
            return "/".join(parts[:n])
    return None


def unused(layers, used):
    """The permissions that are not in `used`, a sentence each."""
    allowed, libraries, _, private, _, rooms, doors = layers
    for module, others in [*allowed.items(), *rooms.items()]:
        for other in sorted(o for o in others if (module, o) not in used):
            yield f"{module} may include {other}, and does not"
    for module, headers in doors.items():
        for header in sorted(h for h in headers if h != "*" and ("door", h) not in used):
            yield f"{header} is a door of {module} that nobody uses"
    for header, modules in [*((f"<{pattern}>", m) for pattern, m in libraries.items()), *private.items()]:
        for module in sorted(m for m in modules if (header, m) not in used):
            yield f"{header} is also for {module}, which does not include it"


def finding(root, path, owner, include, quote, layers, used):
    """Why `owner` may not include this, or None. What allows it goes into `used`."""
    allowed, libraries, public, private, _, rooms, doors = layers
    for pattern, modules in libraries.items():
        if fnmatch.fnmatch(include, pattern):
            used.add((f"<{pattern}>", owner))
            return None if owner in modules else f"<{include}> is for {', '.join(sorted(modules))} only"
    if include.startswith("tutti/"):
        if include not in public:
            return f"{include} has no line in docs/layers.txt"
        other = public[include]
    elif quote == "<":
        return None if SYSTEM.match(include) else f"<{include}> is no system header and has no line in docs/layers.txt"
    else:
        target = os.path.relpath(os.path.normpath(os.path.join(os.path.dirname(path), include)), root)
        if not os.path.exists(os.path.join(root, target)):
            return f'"{include}" is not there; includes inside src are relative'
        if not target.startswith("src/"):
            return f'"{include}" lies outside src'
        other = module_of(os.path.dirname(target)[len("src/"):], allowed)
        used.add((target[len("src/"):], owner))
        if other != owner and target.endswith("_impl.h") and owner not in private.get(target[len("src/"):], ()):
            return f"{target} is private to {other}"
        if other != owner and not owner.startswith(f"{other}/"):
            used.add(("door", target[len("src/"):]))
            # A module without a line has one door, whichever it is; what a private header is for, its own line says.
            known = doors.setdefault(other, {target[len("src/"):]}) if target[len("src/"):] not in private else {"*"}
            if "*" not in known and target[len("src/"):] not in known:
                return f"{target} is no door of {other}: others include {', '.join(sorted(known))}"
        room, there = (module_of(os.path.relpath(os.path.dirname(os.path.join(root, p)), os.path.join(root, "src")), rooms)
                       for p in (path, target))
        used.add((room, there))
        if other == owner and room and there not in (None, room, *rooms[room]):
            return f"the room {room} may not include {there} ({include})"
    used.add((owner, other))
    if other == owner or other in allowed.get(owner, set()):
        return None
    return f"{owner} may not include {other} ({include})"


def read_calls(path):
    """{file: the files whose functions or data it wants}, by the symbols of the library's members, "dump.c.o"."""
    defined, wanted, member = {}, collections.defaultdict(set), None
    for line in subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout.split("\n"):
        parts = line.split()
        if line.endswith(".o:"):
            member = line[:-len(".o:")]
        elif len(parts) >= 2 and parts[-2] == "U":
            wanted[member].add(parts[-1])
        elif len(parts) >= 2 and parts[-2] in "TDRB":
            defined[parts[-1]] = member
    return {member: {defined[s] for s in symbols if s in defined} for member, symbols in wanted.items()}


def reached_from(start, calls, within):
    seen, todo = set(), [start]
    while todo:
        for other in calls.get(todo.pop(), set()) & within - seen:
            seen.add(other)
            todo.append(other)
    return seen


def check_circles(root, library, layers, findings):
    """Files of which each calls all the others, around however many, can only be read and changed together."""
    calls, rooms = read_calls(library), collections.defaultdict(set)
    for folder, _, names in os.walk(os.path.join(root, "src")):
        module = module_of(os.path.relpath(folder, os.path.join(root, "src")), layers[0])
        rooms[module].update(n for n in names if n.endswith(".c"))
    for module, most in sorted(layers[4].items()):
        reached = {f: reached_from(f, calls, rooms[module]) for f in rooms[module]}
        left = {f for f in reached if f in reached[f]}
        while left:
            first = min(left)
            circle = {f for f in reached[first] if first in reached[f]}
            left -= circle
            if len(circle) > most:
                findings.append(f"src/{module}: {len(circle)} files are a circle, at most {most}: "
                                f"{' '.join(sorted(circle))}")


def main():
    arguments, library = sys.argv[1:], None
    if "--library" in arguments:
        at = arguments.index("--library")
        library = arguments[at + 1]
        del arguments[at:at + 2]
    root = os.path.abspath(arguments[0] if arguments else os.path.join(os.path.dirname(__file__), ".."))
    layers = read_layers(os.path.join(root, "docs/layers.txt"))
    findings, nincludes, used = [], 0, set()
    for top in ("src", "include"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(n for n in names if n.endswith((".c", ".h"))):
                path = os.path.join(folder, name)
                shown = os.path.relpath(path, root)
                if top == "src":
                    owner = module_of(os.path.relpath(folder, os.path.join(root, "src")), layers[0])
                else:
                    owner = layers[2].get(os.path.relpath(path, os.path.join(root, "include")))
                if owner is None:
                    findings.append(f"{shown}: belongs to no module of docs/layers.txt")
                    continue
                for number, line in enumerate(open(path), 1):
                    match = INCLUDE.match(line)
                    if not match:
                        continue
                    nincludes += 1
                    why = finding(root, path, owner, match.group(2), match.group(1), layers, used)
                    if why:
                        findings.append(f"{shown}:{number}: {why}")
    if library:
        check_circles(root, library, layers, findings)
    findings += (f"docs/layers.txt: {words}" for words in unused(layers, used))
    print("\n".join(findings) if findings else f"layers: {nincludes} includes as docs/layers.txt says")
    return 1 if findings else 0


sys.exit(main())

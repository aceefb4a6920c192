#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that the job server cannot carry a tensor: by the libraries that it needs and by the functions that are in it.

usage: carries.py TUTTI_SERVER TUTTI
TUTTI: the program that trains, of which the same look must find what carries tensors
exit 0: held; 1: it did not
"""
import re
import subprocess
import sys

# The libraries that the server may need. It has neither libtutti nor UCX, MPI or CUDA.
LIBRARIES = re.compile(r"lib(microhttpd|sqlite3|cjson|yaml-0|xxhash|pthread|m|dl|rt|c|gcc_s)\.so|ld-linux")
# Functions that move, reduce or compute tensors begin with one of these names, of modules that the server may not have.
CARRIES = re.compile(r"^tutti_(tensor|reduce|kernel|device|wire|tcp|ucx|group|exchange|executor|comm|transfer|schedule|plan|"
                     r"graph|step|train|visit|centre)_")


def lines(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()


def needed(path):
    return [m.group(1) for line in lines("readelf", "-d", path) if (m := re.search(r"\(NEEDED\).*\[(.*)\]", line))]


def functions(path):
    return {line.split()[-1] for line in lines("nm", "--defined-only", path) if len(line.split()) == 3}


def main():
    server, tutti = sys.argv[1:3]
    library = next(m.group(1) for line in lines("ldd", tutti) if (m := re.search(r"libtutti\.so\S* => (\S+)", line)))
    problems = [f"needs {name}" for name in needed(server) if not LIBRARIES.match(name)]
    problems += [f"has {name}" for name in functions(server) if CARRIES.match(name)]
    ours = [name for name in functions(server) if name.startswith("tutti_store_")]
    theirs = [name for name in functions(library) if CARRIES.match(name)]
    if len(ours) < 10 or len(theirs) < 100:
        problems.append(f"this look sees too little: {len(ours)} functions of the store, {len(theirs)} of the library")
    print("\n".join(problems) or f"{len(needed(server))} libraries, no function of the {len(theirs)} that carry tensors")
    return 1 if problems else 0


sys.exit(main())

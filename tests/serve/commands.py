# SPDX-License-Identifier: Apache-2.0
"""commands.py: runs commands of tutti for the tests beside it, each test in a server's folder of its own."""
import os
import subprocess
import sys
import tempfile

TUTTI = os.path.abspath(sys.argv[1])
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
LIMIT_S = 120
sys.path.append(os.path.join(ROOT, "tests/elastic"))
from ranks import kill, processes_with  # noqa: E402


def expect(right, words):
    if not right:
        sys.exit(f"FAILED: {words}")


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def surroundings(home, changes=None):
    """The environment without variables of ours, and with the server's folder."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("TUTTI_")}
    return {**own, "TUTTI_HOME": home, **(changes or {})}


def tutti(home, *words, folder=None, env=None):
    """Runs a command; returns its code, what it prints on stdout and on stderr."""
    done = subprocess.run([TUTTI, *words], capture_output=True, cwd=folder or ROOT, timeout=LIMIT_S, check=False,
                          env=surroundings(home, env))
    return done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")


def expect_end(got, code, words, what):
    """The command ended with the code and printed the words."""
    expect(got[0] == code and words in got[1] + got[2], f"{what}: wanted {code} and '{words}', got {got}")
    return got[1]


def end_all(home):
    """Kills what a test has left of its server: jobs outlive it, so a test that fails would leave them for ever. The
    keeper's command line has the folder, and the keeper's command ends with it."""
    for pid in processes_with(f"{home}/"):
        kill(pid)


def run_tests(names):
    """Runs the functions test_* of a dictionary in their order."""
    for name, test in list(names.items()):
        if name.startswith("test_") and (len(sys.argv) < 3 or sys.argv[2] in name):
            with tempfile.TemporaryDirectory(prefix="tutti_serve_") as home:
                home = os.path.realpath(home)
                try:
                    test(home)
                finally:
                    end_all(home)
            print(f"ok: {name[5:].replace('_', ' ')}", flush=True)

# SPDX-License-Identifier: Apache-2.0
"""interpreter.py: what an oracle does that lacks a module: it goes on in the interpreter that its command line names,
or is skipped."""
import os
import sys
from typing import NoReturn


def go_on_elsewhere(missing: ImportError, argument: int, brought_by: str) -> NoReturn:
    """sys.argv[argument], if it is there, is an interpreter that has the module; if it has not either, or is this one:
    exit code 77."""
    other = sys.argv[argument] if len(sys.argv) > argument else ""
    if os.path.exists(other) and os.path.abspath(other) != sys.executable:
        os.execv(other, [other, *sys.argv])
    print(f"skipped: {missing} ({brought_by})")
    sys.exit(77)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run of the tests did not do: a table of the tests that were skipped, whole or in part, why, and what would
bring them.

usage: tools/test_summary.py FOLDER      of JUnit files that ctest wrote (--output-junit), one a run of it
A test says it on one line: "skipped: WHY (WHAT BRINGS IT)".
"""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree

SKIPPED = re.compile(r"^skipped: (.*?)(?: \((.*)\))?$", re.M)


def skips_of(case):
    """Pairs of why and what brings it; one that says nothing is a skip all the same."""
    said = SKIPPED.findall(case.findtext("system-out") or "")
    return said or [("it does not say why", "")] * (case.get("status") == "notrun")


def main(folder):
    counts, rows = collections.Counter(), {}
    for path in sorted(pathlib.Path(folder).glob("*.xml"), key=lambda path: int(path.stem)):
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            counts[case.get("status")] += 1
            for why, way in skips_of(case):
                rows[case.get("name"), why] = way or "-"
    print(f"\n{counts['run']} passed, {counts['fail']} failed, {counts['notrun']} skipped")
    if not rows:
        return
    table = [("not run", "because", "brought by"), *((name, why, way) for (name, why), way in rows.items())]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    for row in table:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


main(sys.argv[1])

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes bench/RESULTS.md from bench/results/*.jsonl, and holds README's figures against the same rows.

usage: tools/results.py [ROOT] [--write | --check]
Without an option the page is printed. --write: writes bench/RESULTS.md. --check: compares the page, and the table under
README's heading "Figures", with the rows; findings are printed, one a line, and the exit code is 1.

A file of rows is what `./dev bench NAME --json FILE` writes: one JSON object a line with the keys bench, case, unit,
ours, peer_name, peer, bound, ratio, command, processor, date, commit. Rows that were written down by hand may have a
note. A line with the keys bench and about says what a bench measures; it is the first text of its section.
"""
import glob
import json
import os
import sys

HEAD = """# Results

Every figure here was measured by the command beside it. Machines differ: run the command. A ratio above 1 means that
tutti is better. Ours, the peer and the bound of a row are in the row's unit.

`tools/results.py --write` makes this page from the rows in `bench/results/`; a test compares it. `./dev bench NAME
--json FILE` writes such rows, with the processor, the day and the commit that was measured. Older rows were copied from
earlier documents. Their day and commit are those on which the figure was written down; "not recorded" stands for what
the documents did not say.
"""
ABSENT = "not recorded"


def read_rows(root):
    """The rows of all files in the order of the files' names, and the text about each bench."""
    rows, about = [], {}
    for path in sorted(glob.glob(os.path.join(root, "bench/results/*.jsonl"))):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = json.loads(line)
                    bench = row["bench"]
                except (ValueError, KeyError, TypeError) as failure:
                    sys.exit(f"{path}:{number}: no row of a bench: {failure}")
                if "about" in row:
                    about[bench] = row["about"]
                else:
                    rows.append(row)
    return rows, about


def number(value):
    """Four digits, without an exponent where a person would write none."""
    if value is None:
        return ""
    shown = f"{value:.4g}"
    return shown if "e" not in shown or abs(value) < 1e-3 else f"{value:.0f}"


def ratio(row):
    """What a file says, to two digits behind the point; a ratio of 10 or more to one."""
    value = row.get("ratio")
    return "" if value is None else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def origin(row):
    return tuple(row.get(key) or ABSENT for key in ("command", "processor", "date", "commit"))


def table(rows):
    """A table of rows that have one origin; columns that nobody fills are left out."""
    columns = {"case": [row["case"] for row in rows],
               "unit": [row.get("unit") or "" for row in rows],
               "ours": [number(row.get("ours")) for row in rows],
               "peer's name": [row.get("peer_name") or "" for row in rows],
               "peer": [number(row.get("peer")) for row in rows],
               "bound": [number(row.get("bound")) for row in rows],
               "ratio": [ratio(row) for row in rows]}
    columns = [(name, cells) for name, cells in columns.items() if any(cells)]
    lines = ["| " + " | ".join(name for name, _ in columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(cells[i] for _, cells in columns) + " |" for i in range(len(rows))]
    return "\n".join(lines)


def section(bench, rows, about):
    parts = [f"## {bench}"] + ([about] if about else [])
    for place in dict.fromkeys(origin(row) for row in rows):
        command, processor, date, commit = place
        these = [row for row in rows if origin(row) == place]
        parts.append(f"Command: `{command}`\n<br>Processor: {processor}. Day: {date}. Commit: {commit}.")
        parts.append(table(these))
        notes = list(dict.fromkeys(row["note"] for row in these if row.get("note")))
        for note in notes:
            cases = list(dict.fromkeys(row["case"] for row in these if row.get("note") == note))
            everywhere = all(row.get("note") == note for row in these)
            parts.append(note if everywhere else f"{'; '.join(cases)}: {note}")
    return "\n\n".join(parts)


def page(rows, about):
    benches = list(dict.fromkeys(row["bench"] for row in rows))
    return "\n".join([HEAD] + [section(bench, [row for row in rows if row["bench"] == bench], about.get(bench)) + "\n"
                               for bench in benches])


def check_readme(root, rows):
    """Each row of README's table of figures: case, ours, peer, ratio and command are those of a row here."""
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        figures = file.read().partition("\n## Figures\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split("|") for line in figures.splitlines() if line.count("|") >= 4 and "---" not in line]
    shown, findings = [[cell.strip().strip("`") for cell in line] for line in lines[1:]], []
    if not shown:
        findings.append("README.md: no table of figures")
    known = [[row["case"], f"{number(row['ours'])} {row['unit']}",
              f"{number(row['peer'])} {row['unit']}, {row['peer_name']}", ratio(row),
              row["command"].removeprefix("./dev bench ")] for row in rows]
    findings += [f"README.md: '{' | '.join(row)}' is no row of bench/results/" for row in shown if row not in known]
    return findings


def main():
    args = sys.argv[1:]
    options = [arg for arg in args if arg.startswith("--")]
    if any(option not in ("--write", "--check") for option in options) or len(args) - len(options) > 1:
        sys.exit(__doc__)
    root = next((arg for arg in args if not arg.startswith("--")), ".")
    place = os.path.join(root, "bench/RESULTS.md")
    rows, about = read_rows(root)
    text = page(rows, about)
    if "--write" in options:
        with open(place, "w", encoding="utf-8") as out:
            out.write(text)
    if "--check" not in options:
        if "--write" not in options:
            print(text, end="")
        return 0
    findings = check_readme(root, rows)
    with open(place, encoding="utf-8") as file:
        if file.read() != text:
            findings.append("bench/RESULTS.md is old: tools/results.py --write makes it anew")
    print("\n".join(findings) if findings else f"results: {len(rows)} rows, nothing to say")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""table.py: rows of a benchmark: printed as `ours | peer | bound | ratio`, and as JSON lines. ratio > 1: ours is
better.

Each JSON line also says where it is from: command, processor, date and commit, as tools/results.py wants it."""
import datetime
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
ISAS = (("amx_tile", "AMX"), ("avx512f", "AVX-512"), ("avx2", "AVX2"))


def command_of(argv: list[str]) -> str:
    """The './dev bench' that runs bench/NAME/run_WHAT.py BUILD ..., without the build folder and --json FILE."""
    script = pathlib.Path(argv[0])
    name, what, words = script.parent.name, script.stem.removeprefix("run_"), argv[2:]
    if "--json" in words:
        at = words.index("--json")
        del words[at:at + 2]
    words = [word for word in words if not word.startswith("--json=")]
    return shlex.join(["./dev", "bench", name] + ([] if what == name else [f"--{what}"]) + words)


def processor() -> str:
    """The processor as it names itself, its widest instruction set, and how many of its cores this system has."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    name, flags = re.search(r"^model name\s*: (.*)", text, re.M), re.search(r"^flags\s*: (.*)", text, re.M)
    isa = next((f" with {isa}" for flag, isa in ISAS if flags and flag in flags[1].split()), "")
    cores = len(re.findall(r"^processor\s*:", text, re.M))
    return f"{name[1] if name else 'not recorded'}{isa}, {cores} cores"


def commit() -> str:
    """The commit of this tree, with -dirty if files differ from it."""
    done = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"],
                          capture_output=True, text=True)
    return done.stdout.strip() or "not recorded"


def origin() -> dict[str, str]:
    return {"command": command_of(sys.argv), "processor": processor(), "date": datetime.date.today().isoformat(),
            "commit": commit()}


class Table:
    def __init__(self, bench: str, json_path: str | None) -> None:
        self.bench, self.file = bench, open(json_path, "w") if json_path else None
        self.origin = origin() if json_path else {}
        print(f"{'case':44} {'unit':8} {'ours':>10} {'peer':>10} {'bound':>10} {'ratio':>7}  peer's name")

    def row(self, case: str, unit: str, ours: float | None, peer_name: str, peer: float | None, bound: float | None = None,
            more_is_better: bool = False) -> None:
        ratio = None
        if peer and ours:
            ratio = ours / peer if more_is_better else peer / ours

        def shown(value: float | None) -> str:
            return "-" if value is None else f"{value:.4g}"

        print(f"{case:44} {unit:8} {shown(ours):>10} {shown(peer):>10} {shown(bound):>10} {shown(ratio):>7}  "
              f"{peer_name}",
              flush=True)
        if self.file:
            row = {"bench": self.bench, "case": case, "unit": unit, "ours": ours, "peer_name": peer_name, "peer": peer,
                   "bound": bound, "ratio": ratio, **self.origin}
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()

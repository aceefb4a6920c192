# SPDX-License-Identifier: Apache-2.0
"""simgrid_says.py: what the tests that ask SimGrid's own programs share: a star in its XML, runs of smpirun, answers
of our engines."""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LATENCY_S = 5e-6
GBPS = 10  # of a link, each way
ADD = 1e10  # bytes a second


def star(where: pathlib.Path, ranks: int) -> pathlib.Path:
    """Hosts on a switch that never blocks; a way is two links. Compute is in bytes that are added."""
    path = where / "star.xml"
    path.write_text(f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><cluster id="c" prefix="h" suffix="" radical="0-{ranks - 1}" speed="{ADD / 1e9}Gf" bw="{GBPS * 125}MBps"
lat="{LATENCY_S / 2 * 1e6}us" sharing_policy="SPLITDUPLEX"/></platform>
""")
    return path


def cables(where: pathlib.Path, ranks: int) -> pathlib.Path:
    """The same as ns-3 wants it: a cable between two nodes each, which is full duplex there."""
    path = where / "cables.xml"
    routes = "".join(f'<route src="h{r}" dst="switch"><link_ctn id="l{r}"/></route>' for r in range(ranks))
    path.write_text(f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Floyd">
{''.join(f'<host id="h{r}" speed="{ADD / 1e9}Gf"/>' for r in range(ranks))}<router id="switch"/>
{''.join(f'<link id="l{r}" bandwidth="{GBPS * 125}MBps" latency="{LATENCY_S / 2 * 1e6}us"/>' for r in range(ranks))}
{routes}</zone></platform>
""")
    return path


def topology(add: float = ADD) -> str:
    return f"star,bw={GBPS}Gb,lat={LATENCY_S * 1e6:g}us,soft=0s,add={add / 1e9:g}GB"


# Shares are max-min, latencies as they are.
PLAIN = ["network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0", "surf/precision:1e-9"]


def smpirun(where: pathlib.Path, ranks: int, settings: list[str], words: list, platform=star) -> str:
    """What it prints, run in `where`. Fails with its last words."""
    with tempfile.TemporaryDirectory() as folder:
        hosts = pathlib.Path(folder, "hosts")
        hosts.write_text("".join(f"h{rank}\n" for rank in range(ranks)))
        command = [
            "smpirun", "-np", ranks, "-platform",
            platform(pathlib.Path(folder), ranks), "-hostfile", hosts, "--log=root.thres:critical",
            "--log=smpi_replay.thres:info", *(f"--cfg={setting}" for setting in settings), *words
        ]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, cwd=where)
    if done.returncode:
        sys.exit(f"FAILED: {' '.join(map(str, command))}: {done.stderr[-1500:]}")
    return done.stdout + done.stderr


@functools.cache
def explained_rows(program: str, engine: str, ranks: int, nbytes: int, on: str) -> dict[str, dict]:
    """The rows of `tutti coll explain --engine` by algorithm. One run simulates all algorithms, which takes seconds."""
    done = subprocess.run([
        program, "coll", "explain", "--bytes",
        str(nbytes), "--ranks",
        str(ranks), "--topology", on, "--engine", engine, "--json"
    ],
                          capture_output=True,
                          text=True)
    if done.returncode:
        sys.exit(f"FAILED: coll explain --engine {engine}: {done.stderr}")
    return {row["algorithm"]: row for row in map(json.loads, done.stdout.splitlines())}


def explained(program: str, engine: str, algorithm: str, ranks: int, nbytes: int, on: str) -> float:
    """Seconds, as `tutti coll explain --engine` says."""
    row = explained_rows(program, engine, ranks, nbytes, on).get(algorithm)
    if not row:
        sys.exit(f"FAILED: coll explain says nothing of {algorithm}")
    return row["seconds"] if row["can"] else sys.exit(f"FAILED: {engine} cannot {algorithm}: {row['refusal']}")


def skip_without_simgrid(program: str) -> None:
    """SMPI's programs, and ours beside the program."""
    if not shutil.which("smpirun") or not os.path.exists(pathlib.Path(program).parent / "tutti-simgrid"):
        print("skipped: no SimGrid (./dev setup --test, then a new build)")
        sys.exit(77)


def replayed(traces: pathlib.Path, ranks: int, settings: list[str], platform=star) -> float:
    """Simulated seconds of the traces in that folder, by smpirun -replay."""
    said = smpirun(traces, ranks, settings, ["-replay", "traces.txt"], platform)
    found = re.search(r"Simulation time ([0-9.e+-]+)", said)
    return float(found.group(1)) if found else sys.exit(f"FAILED: smpirun -replay says no time: {said[-500:]}")

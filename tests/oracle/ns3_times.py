# SPDX-License-Identifier: Apache-2.0
"""A schedule's messages as packets of TCP: ns-3 under SimGrid replays what `tutti coll convert --to smpi` writes; the
engine simgrid-tcp is within 5 % from 10 MB up (below, TCP's slow start is most of the time, which it has not).

usage: ns3_times.py PROGRAM [--long]
"""
import pathlib
import subprocess
import sys
import tempfile

import simgrid_says as says

RANKS, WITHIN = 4, 0.05


def main() -> None:
    program, long = sys.argv[1], "--long" in sys.argv[2:]
    says.skip_without_simgrid(program)
    worst = 0
    for algorithm in ("ring", "halving-doubling"):
        for nbytes in (10 << 20, 40 << 20, 100 << 20)[:3 if long else 1]:
            with tempfile.TemporaryDirectory() as folder:
                where = pathlib.Path(folder)
                subprocess.run([
                    program, "coll", "convert", algorithm, "--ranks",
                    str(RANKS), "--to", "smpi", "--bytes",
                    str(nbytes), "--out", where / "traces"
                ],
                               check=True)
                packets = says.replayed(where / "traces", RANKS, ["network/model:ns-3", "ns3/TcpModel:NewReno"], says.cables)
            tcp = says.explained(program, "simgrid-tcp", algorithm, RANKS, nbytes, says.topology())
            print(
                f"{algorithm:20} {nbytes:9} bytes: ns-3 {packets * 1e3:8.3f} ms, simgrid-tcp {tcp * 1e3:8.3f} ms, "
                f"{tcp / packets - 1:+.2%}"
            )
            worst = max(worst, abs(tcp / packets - 1))
    if worst > WITHIN:
        sys.exit(f"FAILED: {worst:.2%} apart")


if __name__ == "__main__":
    main()

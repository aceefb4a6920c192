# SPDX-License-Identifier: Apache-2.0
"""SimGrid's SMPI runs a real MPI_Allreduce; our schedule of the same algorithm takes the same time within 1 %. Its
sums take no time there, so ours are made as fast as a topology says it.

usage: smpi_allreduce.py PROGRAM SOURCE
"""
import pathlib
import subprocess
import sys
import tempfile

import simgrid_says as says

# SMPI's names; what ours are called
ALGORITHMS = {"rab": "halving-doubling", "lr": "ring", "rdb": "recursive-doubling"}
RANKS, SIZES, WITHIN = 16, (1 << 16, 1 << 20, 16 << 20), 0.01


def main() -> None:
    program, source = sys.argv[1:]
    says.skip_without_simgrid(program)
    with tempfile.TemporaryDirectory() as folder:
        where = pathlib.Path(folder)
        subprocess.run(
            ["smpicc", "-O1", "-o", where / "allreduce",
             pathlib.Path(source, "tests/oracle/smpi_allreduce.c")],
            check=True)
        worst = 0
        for theirs, ours in ALGORITHMS.items():
            for nbytes in SIZES:
                said = says.smpirun(where, RANKS,
                                    says.PLAIN + ["smpi/simulate-computation:no", f"smpi/allreduce:{theirs}"],
                                    [where / "allreduce", nbytes // 4])
                smpi = float(said.split("took ")[1].split()[0])
                tutti = says.explained(program, "simgrid", ours, RANKS, nbytes, says.topology(add=1e15))
                print(
                    f"{ours:20} {nbytes:9} bytes: SMPI {smpi * 1e6:10.2f} us, ours {tutti * 1e6:10.2f} us, "
                    f"{tutti / smpi - 1:+.3%}"
                )
                worst = max(worst, abs(tutti / smpi - 1))
    if worst > WITHIN:
        sys.exit(f"FAILED: {worst:.2%} apart")


if __name__ == "__main__":
    main()

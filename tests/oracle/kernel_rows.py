# SPDX-License-Identifier: Apache-2.0
"""kernel_rows.py PROGRAM FOLDER GOLDEN [--write]: which candidates `auto` takes for the layers of each network, on
each kind of processor.

PROGRAM is list_kernel_rows, FOLDER holds the libtutti whose loops run emulated (tests/emulated): that one answers as a
processor of either maker and of any instruction set, so the answer is the same wherever AVX2 is. GOLDEN is compared,
or written. A line: op, candidate, kind of processor, threads, then for each network: layers (passes forward, params,
data). Exit code 77 where the processor has no AVX2."""
import os
import pathlib
import subprocess
import sys

# kind: maker, TUTTI_ISA, what oneDNN says that it has, precision
KINDS = {
    "any-generic": ("intel", "generic", "sse41", "f32"),
    "amd-avx2": ("amd", "avx2", "avx2", "f32"),
    "intel-avx2": ("intel", "avx2", "avx2", "f32"),
    "amd-avx512": ("amd", "avx512", "bf16", "f32"),
    "intel-avx512": ("intel", "avx512", "avx512", "f32"),
    "intel-amx": ("intel", "avx512", "amx", "f32"),
    "amd-avx512-bf16": ("amd", "avx512", "bf16", "bf16"),
    "intel-amx-bf16": ("intel", "avx512", "amx", "bf16"),
}
THREADS = (1, 2)
HEAD = ("# Made by tests/oracle/kernel_rows.py --write. op, candidate, processor, threads; "
        "network layers(forward,params,data) ..\n")


def ask(program: str, folder: str, kind: str, threads: int) -> dict[tuple[str, str], list[str]]:
    maker, isa, library, precision = KINDS[kind]
    environ = {**os.environ, "TUTTI_EMULATE": maker, "TUTTI_ISA": isa, "ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_WAIT_POLICY": "passive",
               "LD_LIBRARY_PATH": folder}
    done = subprocess.run([program, precision, str(threads), library], env=environ, capture_output=True, text=True, check=True)
    rows: dict[tuple[str, str], list[str]] = {}
    for line in done.stdout.splitlines():
        network, op, candidate, forward, params, data, layers = line.split()
        rows.setdefault((op, candidate), []).append(f"{network} {layers}({forward},{params},{data})")
    return rows


def table(program: str, folder: str) -> str:
    lines = []
    for place, kind in enumerate(KINDS):
        for threads in THREADS:
            for (op, candidate), networks in ask(program, folder, kind, threads).items():
                lines.append((op, candidate, place, threads, f"{op} {candidate} {kind} {threads}: "
                                                             f"{', '.join(networks)}\n"))
    return HEAD + "".join(line[-1] for line in sorted(lines))


def main() -> int:
    program, folder, golden = sys.argv[1:4]
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        print("skipped: the loops of others are emulated by AVX2 (a processor that has it)")
        return 77
    found = table(program, folder)
    if "--write" in sys.argv[4:]:
        pathlib.Path(golden).write_text(found)
        return 0
    wanted = pathlib.Path(golden).read_text().splitlines()
    differ = [f"- {line}" for line in wanted if line not in found.splitlines()]
    differ += [f"+ {line}" for line in found.splitlines() if line not in wanted]
    if differ:
        print("\n".join(differ), "\nthe choices of auto are others: if that is meant, run it again with "
                                 "--write", sep="")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())

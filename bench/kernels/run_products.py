# SPDX-License-Identifier: Apache-2.0
"""run_products.py: matrix products of our own against oneDNN 3.2 (dnnl_sgemm, matmul), OpenBLAS and PyTorch, each held
to the same instruction set and precision, one thread, in turn: the least CPU time counts (see run).

Two lines a size: B as it lies, and, for the sizes whose B is a weight, B packed before, against matmul with B in the
order that it likes as well. The bound is the time at the speed of a loop of multiply-adds that stays in registers."""
import argparse
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from table import Table  # noqa: E402

# row: what holds the others to its instruction set
CEILINGS = {
    "avx512": ("AVX512_CORE", "SkylakeX", "avx512", "AVX512"),
    "avx2": ("AVX2", "Haswell", "avx2", "AVX2"),
    "avx512-bf16": ("AVX512_CORE_BF16", "Cooperlake", "avx512", "AVX512"),
    "amx": ("AVX512_CORE_AMX", "SapphireRapids", "avx512", "AVX512")
}
VARIABLES = ("ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS")
THEIRS = ("dnnl_sgemm", "oneDNN matmul", "oneDNN matmul, weights reordered before", "OpenBLAS")


def rows_here(program: pathlib.Path) -> list[str]:
    words = subprocess.run([program], capture_output=True, text=True).stderr.split("rows here:")[1].split()
    return [row for row in words if row in CEILINGS]


def openblas() -> pathlib.Path | None:
    import numpy
    libraries = pathlib.Path(numpy.__file__).parent.parent / "numpy.libs"
    return next(libraries.glob("libscipy_openblas64_*.so"), None)


def torch_us(size: dict, dtype: str) -> float:
    import torch
    torch.set_num_threads(1)
    shape_a = (size["k"], size["m"]) if size["ta"] else (size["m"], size["k"])
    shape_b = (size["n"], size["k"]) if size["tb"] else (size["k"], size["n"])
    a, b = (torch.randn(size["batch"], *shape, dtype=getattr(torch, dtype)) for shape in (shape_a, shape_b))
    a, b = a.mT if size["ta"] else a, b.mT if size["tb"] else b
    if size["batch"] == 1:
        a, b = a[0], b[0]
    out, best, end = torch.matmul(a, b), float("inf"), time.monotonic() + 0.1
    again = max(1, int(1e8 / (2 * size["m"] * size["n"] * size["k"] * size["batch"])))
    for i in range(1000):
        start = time.thread_time()
        for _ in range(again):
            torch.matmul(a, b, out=out)
        best = min(best, (time.thread_time() - start) / again)
        if i >= 2 and time.monotonic() > end:
            break
    return best * 1e6


def ours(build: pathlib.Path, row: str, only: str) -> tuple[float, list[dict]]:
    command = [str(build / "bench" / "bench_products"), row, "--rounds", "1", "--only", only]
    if openblas():
        command += ["--openblas", str(openblas())]
    lines = subprocess.run(command,
                           check=True,
                           capture_output=True,
                           text=True,
                           env=os.environ | {
                               "OPENBLAS_NUM_THREADS": "1",
                               "LD_LIBRARY_PATH": str((openblas() or ROOT).parent)
                           }).stdout.split("\n")
    sizes = []
    for line in filter(None, lines[1:]):
        name, ways, m, n, k, batch, *us = line.split(";")
        sizes.append({
            "name": name,
            "ta": ways[0] == "T",
            "tb": ways[1] == "T",
            "weights": ways[2] == "W",
            "m": int(m),
            "n": int(n),
            "k": int(k),
            "batch": int(batch),
            "us": [float(x) or float("inf") for x in us]
        })
    return float(lines[0].split(";")[1]), sizes


def measure(args: argparse.Namespace) -> None:
    dtype = "bfloat16" if args.row in ("avx512-bf16", "amx") else "float32"
    peak, sizes = ours(args.build, args.row, args.only)
    theirs = [torch_us(size, dtype) for size in sizes]
    for _ in range(args.rounds - 1):
        again_peak, again = ours(args.build, args.row, args.only)
        peak = max(peak, again_peak)
        for i, size in enumerate(again):
            sizes[i]["us"] = [min(x, y) for x, y in zip(sizes[i]["us"], size["us"])]
            theirs[i] = min(theirs[i], torch_us(size, dtype))
    import torch
    print(f"row {args.row}: {peak:.1f} x 10^9 operations a second in registers; PyTorch {torch.__version__}; "
          f"{processor()}")
    table = Table("products", args.json)
    for size, torch_time in zip(sizes, theirs):
        as_lies, packed, *others = size["us"]
        bound = 2 * size["m"] * size["n"] * size["k"] * size["batch"] / peak / 1e3
        peers = [(us, name) for us, name in zip(others + [torch_time], THEIRS + ("PyTorch",))]
        peer = min(p for p in peers if p[1] != THEIRS[2])
        table.row(f"{args.row} {size['name']}", "us", as_lies, peer[1], peer[0], bound)
        if size["weights"]:
            peer = min(peers)
            table.row(f"{args.row} {size['name']}, packed", "us", packed, peer[1], peer[0], bound)


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "a processor without a name"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--row", choices=CEILINGS)
    parser.add_argument("--only", default="", help="sizes whose names hold this word")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    if args.row and os.environ.get(VARIABLES[0]):
        measure(args)
        return
    for row in [args.row] if args.row else rows_here(args.build / "bench" / "bench_products"):
        command = [sys.executable, __file__, str(args.build), "--row", row, "--only", args.only, "--rounds", str(args.rounds)]
        if args.json:
            command += ["--json", args.json if args.row else f"{args.json}.{row}"]
        held = dict(zip(VARIABLES, CEILINGS[row]))
        subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"} | held)


if __name__ == "__main__":
    main()

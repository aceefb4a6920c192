# SPDX-License-Identifier: Apache-2.0
"""run_layers.py: passes of layers of our networks on one thread (see run): what `auto` takes, against oneDNN's
primitive, or against the soonest other where `auto` takes that; the bound is a loop of multiply-adds in registers,
measured before each pass. --all: a line for each that fits. Rules of candidates are made from this."""
import argparse
import pathlib
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]
from run_products import processor, rows_here  # noqa: E402
from table import Table  # noqa: E402

LIBRARY = "onednn"
ROWS = {"f32": ("avx512", "avx2"), "bf16": ("amx", "avx512-bf16")}
ORDERS = {"avx2": "nchw8c", "avx512": "nchw16c", "avx512-bf16": "nchw16c", "amx": "nhwc"}  # what training takes by default


def measure(args: argparse.Namespace, row: str, order: str) -> dict:
    command = [args.build / "bench" / "bench_layers", row, "--only", args.only, "--order", order, "--precision", args.precision,
               "--rounds", args.rounds]
    passes: dict = {}
    for line in subprocess.run(map(str, command), check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        layer, name, candidate, us, bound, by_auto = line.split(";")
        times = passes.setdefault(f"{layer} {name}", {})
        times[candidate] = float(us), float(bound), by_auto == "1"
    return passes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="", help="layers whose names hold this word")
    parser.add_argument("--order", choices=("nchw", "nchw8c", "nchw16c", "nhwc"), help="of activations (that of "
                                                                                       "training)")
    parser.add_argument("--precision", default="f32", choices=ROWS)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--all", action="store_true", help="every candidate that fits, not only what auto takes")
    parser.add_argument("--json")
    args = parser.parse_args()
    here = rows_here(args.build / "bench" / "bench_products")
    row = next((r for r in ROWS[args.precision] if r in here), None)
    if row is None:
        sys.exit(f"bench: no row of products multiplies {args.precision} on this processor")
    order = args.order or ORDERS[row]
    print(f"activations {order}, {args.precision}, bound by row {row}; {processor()}")
    table = Table("layers", args.json)
    for case, times in measure(args, row, order).items():
        for candidate, (us, bound, by_auto) in times.items():
            if not by_auto and not args.all:
                continue
            others = [(other[0], name) for name, other in times.items() if name != candidate]
            if candidate != LIBRARY and LIBRARY in times:
                others = [(times[LIBRARY][0], LIBRARY)]
            peer = min(others, default=(None, "-"))
            table.row(f"{case}: {candidate}", "us", us, peer[1], peer[0], bound)


if __name__ == "__main__":
    main()

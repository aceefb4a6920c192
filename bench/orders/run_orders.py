# SPDX-License-Identifier: Apache-2.0
"""run_orders.py BUILD [--ops A,B] [--orders A,B] [--types A,B] [--threads 1,2] [--repeats N] [--json FILE]: see run.
There is no peer: the bound is the time that our fastest plain loops take to read and write once what the pass must, on
the same buffers, in turn. A ratio of 1 is the speed of memory; above 1 the pass had something in a cache."""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from table import Table  # noqa: E402

ORDERS = "nchw,nchw8c,nchw16c,nchw32c,nhwc"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--ops", default="-", help="default: all")
    parser.add_argument("--orders", default=ORDERS)
    parser.add_argument("--types", default="f32,bf16", help="f32, bf16, f16")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json")
    args = parser.parse_args()
    table = Table("orders", args.json)
    command = [args.build / "bench" / "bench_orders", args.ops, args.orders, args.types, args.threads, args.repeats]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as program:
        for line in program.stdout:
            name, order, precision, threads, direction, megabytes, ours, bound = line.strip().split("|")
            shown = f"{name}, {order} {precision}, {direction}" + (f", {threads} threads" if threads != "1" else "")
            table.row(shown, "us", float(ours), f"a stream; {float(megabytes):.0f} MB an input", float(bound))
        if program.wait():
            sys.exit(program.returncode)


if __name__ == "__main__":
    main()

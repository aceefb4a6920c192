# SPDX-License-Identifier: Apache-2.0
"""run_sparse.py BUILD [--models A,B] [--rounds N] [--svg FILE] [--trained A,B [--steps N] [--data DIR] [--out DIR]]
[--gain SEEDS] [--json FILE]: see run."""
import argparse
import collections
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(HERE)]
import draw_sparse  # noqa: E402
import trained  # noqa: E402
from table import Table  # noqa: E402

MODELS = {
    "lenet": (f"{HERE}/lenet-relu.yaml", 64),
    "alexnet": ("alexnet", 16),
    "vgg-a": ("vgg-a", 4),
    "resnet20": ("resnet20", 32),
    "resnet50": ("resnet50", 4)
}
TITLES = {"products": "against im2col + sgemm", "taken": "against what training takes otherwise",
          "gradient": "before max pools, by zeros of the gradient, against what training takes otherwise"}
GOAL, AT = 1.5, 0.9  # of the median over layers against products, at this sparsity


def find_openblas(build: str) -> str:
    """NumPy brings one along; - = none."""
    found = sorted(pathlib.Path(build).glob("peers/lib/python3*/site-packages/numpy.libs/libscipy_openblas*.so"))
    return str(found[0]) if found else "-"


def rows_of(args: argparse.Namespace, model: str):
    """Fields of each line of bench_sparse, times in ms, None where there is no peer."""
    text, batch = MODELS[model]
    command = [f"{args.build}/bench/bench_sparse", text, str(batch), str(args.rounds), find_openblas(args.build)]
    env = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as program:
        for line in program.stdout:
            name, size, channels, kernel, stride, direction, sparsity, *times = line.strip().split("|")
            yield (f"{model} {name} {size} {channels} {kernel}x{kernel}/{stride} {direction}", float(sparsity),
                   [None if t == "-" else float(t) for t in times])
        if program.wait():
            sys.exit(program.returncode)


def crossing(points: list[tuple[float, float]]) -> float:
    """The sparsity from which on the ratio is above 1, between two that were measured by a line; 1 = none."""
    for (s0, r0), (s1, r1) in zip(points, points[1:]):
        if r1 >= 1 > r0:
            return s0 + (s1 - s0) * (1 - r0) / (r1 - r0)
    return 0 if points[0][1] >= 1 else 1


def measure(args: argparse.Namespace) -> None:
    table = Table("sparse", args.json)
    against = {peer: collections.defaultdict(list) for peer in TITLES}  # (model, layer and pass) -> (S, ratio)
    for model in args.models.split(","):
        for case, sparsity, (ours, onednn, openblas, taken) in rows_of(args, model):
            products = min((t for t in (onednn, openblas) if t is not None), default=None)
            library = "oneDNN" if products == onednn else "OpenBLAS"
            trained_as = f"as trained {taken:.4g} ms, {taken / ours:.2f}x"
            if products is None:
                table.row(f"{case} sparsity {sparsity:g}", "ms", ours, trained_as, taken)
            else:
                table.row(f"{case} sparsity "
                          f"{sparsity:g}", "ms", ours, f"im2col + {library}'s sgemm; {trained_as}", products)
            if case.endswith("by-gradient"):
                against["gradient"][model, case].append((sparsity, taken / ours))
            else:
                against["products"][model, case].append((sparsity, products / ours))
                against["taken"][model, case].append((sparsity, taken / ours))
    curves = {title: summarise(title, against[peer]) for peer, title in TITLES.items() if against[peer]}
    if args.svg:
        pathlib.Path(args.svg).write_text(draw_sparse.draw(curves))
    middle = statistics.median(dict(points)[AT] for points in against["products"].values())
    print(
        f"median over layers and passes at {AT:g} against im2col + sgemm: {middle:.2f}x; the aim, {GOAL:g}x, is "
        f"{'met' if middle >= GOAL else 'MISSED'}"
    )


def summarise(title: str, against: dict) -> dict[str, dict[float, float]]:
    """Prints medians and where they cross; the medians by model."""
    curves: dict[str, dict[float, float]] = {}
    crossed = sorted(crossing(points) for points in against.values())
    print(
        f"{title}: faster from a sparsity of {statistics.median(crossed):.2f} on in the median of {len(crossed)} "
        f"layers and passes "
        f"({crossed[0]:.2f} to {crossed[-1]:.2f}; 1 = nowhere)")
    for model in dict.fromkeys(model for model, _ in against):
        by_sparsity = collections.defaultdict(list)
        for (other, _), points in against.items():
            for sparsity, ratio in points if other == model else []:
                by_sparsity[sparsity].append(ratio)
        curves[model] = {s: statistics.median(ratios) for s, ratios in by_sparsity.items()}
        print(f"  {model:10} " + "  ".join(f"{s:g}: {ratio:.2f}x" for s, ratio in sorted(curves[model].items())))
    return curves


def has_mnist(args: argparse.Namespace) -> bool:
    found = any(pathlib.Path(args.data).glob("*train-images*"))
    if not found:
        print(f"skipped: lenet: no MNIST in {args.data}; give --data DIR, the folder of its four IDX files")
    return found


def train(args: argparse.Namespace) -> None:
    out = pathlib.Path(args.out)
    for network in args.trained.split(","):
        if network == "lenet" and not has_mnist(args):
            continue
        trained.table(network, trained.train(args.build, network, args.data, args.steps, out))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--models", default=",".join(MODELS), help="of " + ", ".join(MODELS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--svg")
    parser.add_argument("--trained", help="instead: of " + ", ".join(trained.NETWORKS))
    parser.add_argument("--gain", type=int, default=0, metavar="SEEDS", help="instead: LeNet with and without, so many "
                                                                             "seeds")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--data", default=str(ROOT.parent / "shared/data"), help="MNIST")
    parser.add_argument("--out", default="runs/sparse", help="runs of --trained, which go on where they were stopped")
    parser.add_argument("--json")
    args = parser.parse_args()
    if args.gain:
        if has_mnist(args):
            trained.gain(args.build, args.data, pathlib.Path(args.out), args.gain)
    elif args.trained:
        train(args)
    elif not pathlib.Path(args.build, "bench/bench_sparse").exists():
        print("skipped: no bench_sparse in this build: it wants oneDNN (./dev setup)")
    else:
        measure(args)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""run_methods.py BUILD [--data DIR] [--out DIR] [--only mnist|shapes] [--stage rates|runs] [--seeds 5] [--svg FILE]:
see run. OUT/<set>-rates/<method>/ and OUT/<set>/ hold what `tutti compare` makes: compare.html, compare.csv and a
folder a run."""
import argparse
import csv
import os
import pathlib
import re
import subprocess

from draw_methods import draw

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEARCH_SEED, RANKS = 101, 2
# Plain SGD is the rule of all rows but those that have a momentum in their name, as in You, Buluc and Demmel (arXiv
# 1708.02983).
SGD, MOMENTUM, ADAMW = "optimiser.rule=sgd", "optimiser.rule=momentum", "optimiser.rule=adamw"
PAIRS = {
    "async-easgd": SGD,
    "async-sgd": SGD,
    "async-measgd": MOMENTUM,
    "async-msgd": MOMENTUM,
    "hogwild-easgd": SGD,
    "hogwild-sgd": SGD,
    "sync-easgd3": SGD,
    "sync-sgd": SGD
}
ROWS = PAIRS | {"sync-easgd1": SGD, "sync-easgd2": SGD, "easgd": SGD, "bounded-sgd:staleness=1": SGD, "local-sgd:period=4": SGD,
                "diloco:period=20": ADAMW}
RATES = {"mnist": {SGD: (0.05, 0.1, 0.2), MOMENTUM: (0.005, 0.01, 0.02), ADAMW: (0.0005, 0.001, 0.002)},
         "shapes": {SGD: (0.1, 0.2, 0.4), MOMENTUM: (0.01, 0.03, 0.06)}}
METHODS = {"mnist": ROWS, "shapes": PAIRS}
TITLES = {"mnist": "LeNet on MNIST", "shapes": "ResNet-20 of half the channels on drawn shapes"}
SAME_BITS = {"sync-easgd1": "sync-easgd3", "sync-easgd2": "sync-easgd3"}  # on two ranks: no search of their own
# shapes: the highest multiple of SHAPES_STEP that each method reaches at its best rate with the search's seed.
MNIST_GOAL, SHAPES_STEP = 0.988, 0.05

NARROW = {"out_channels: 16": "out_channels: 8", "out_channels: 32": "out_channels: 16", "out_channels: 64": "out_channels: 32",
          "name: resnet20\n": "name: resnet20-narrow\n"}


def job_of(which: str, out: pathlib.Path) -> pathlib.Path:
    out.mkdir(parents=True, exist_ok=True)
    if which == "mnist":
        return ROOT / "examples/lenet-mnist.yaml"
    model = (ROOT / "src/training/model/zoo/resnet20.yaml").read_text()
    for wide, narrow in NARROW.items():
        model = model.replace(wide, narrow)
    (out / "resnet20-narrow.yaml").write_text(model)
    job = re.sub(r"^model: .*$", "model: resnet20-narrow.yaml", (ROOT / "examples/shapes.yaml").read_text(), flags=re.M)
    (out / "shapes-narrow.yaml").write_text(job)
    return out / "shapes-narrow.yaml"


def keys_of(which: str, data: str) -> list[str]:
    keys = ["epochs=3", "eval_every_epochs=0.25", "tensorboard=false"]
    return [f"data.path={data}", *keys] if which == "mnist" else keys


def compare(a: argparse.Namespace, which: str, folder: str, labels: list[str], goal: float | None, seed: int,
            nseeds: int) -> list[dict]:
    """`tutti compare`; its rows, one a test."""
    out = pathlib.Path(a.out, folder)
    command = [f"{a.build}/tutti", "compare", job_of(which, pathlib.Path(a.out)), "--methods", ",".join(labels), "--ranks", RANKS,
               "--seeds", nseeds, "--out", out, "--set", f"seed={seed}"]
    for key in keys_of(which, a.data):
        command += ["--set", key]
    if goal:
        command += ["--until", f"accuracy={goal:g}"]
    subprocess.run([str(word) for word in command], check=True)
    with open(out / "compare.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:  # where a run diverged there is no test
        row["accuracy"], row["seconds"] = row["accuracy"] or "0", row["seconds"] or "inf"
    return rows


def labelled(method: str, rule: str, rate: float) -> str:
    return f"{method}:{rule}:optimiser.lr={rate:g}"


def samples_to(tests: list[dict], goal: float) -> float:
    return min((float(t["samples"]) for t in tests if float(t["accuracy"]) >= goal), default=float("inf"))


def seconds_to(tests: list[dict], method: str, goal: float) -> list[float | None]:
    """Of each seed; None: never."""
    own = [t for t in tests if t["method"] == method]
    seeds = sorted({int(t["seed"]) for t in own})
    return [
        next((float(t["seconds"]) for t in own if int(t["seed"]) == seed and float(t["accuracy"]) >= goal),
             None) for seed in seeds
    ]


def best(tests: list[dict], labels: list[str], goal: float) -> str:
    """Soonest at the goal by samples, which no other load on the machine changes much; where none gets there, the
    highest at last."""
    own = {label: [t for t in tests if t["method"] == label] for label in labels}
    return min(labels,
               key=lambda label: (samples_to(own[label], goal), -max(
                   (float(t["accuracy"]) for t in own[label]), default=0)))


def rates(a: argparse.Namespace, which: str) -> tuple[list[str], float]:
    """The methods as `compare` takes them, each at its best rate; the goal."""
    choices = {m: [labelled(m, rule, r) for r in RATES[which][rule]] for m, rule in METHODS[which].items() if m not in SAME_BITS}
    tests = [
        t for m, labels in choices.items()
        for t in compare(a, which, f"{which}-rates/{m.split(':')[0]}", labels, None, SEARCH_SEED, 1)
    ]
    highest = {m: max(float(t["accuracy"]) for t in tests if t["method"] in labels) for m, labels in choices.items()}
    goal = MNIST_GOAL if which == "mnist" else int(min(highest.values()) / SHAPES_STEP) * SHAPES_STEP
    found = {m: best(tests, labels, goal) for m, labels in choices.items()}
    for m, same in SAME_BITS.items():
        if m in METHODS[which]:
            found[m] = found[same].replace(same, m, 1)
    print(f"\n{which}: goal {goal:g}")
    for m in METHODS[which]:
        print(f"  {found[m]}")
    return [found[m] for m in METHODS[which]], goal


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--data", default=os.environ.get("TUTTI_DATA", str(ROOT.parent / "shared/data")))
    parser.add_argument("--out", default="runs/methods")
    parser.add_argument("--only", choices=sorted(METHODS))
    parser.add_argument("--stage",
                        choices=("rates", "runs"),
                        default="runs",
                        help="rates: look for rates alone (may share the machine)")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--svg", help="draw seconds to the goal")
    a = parser.parse_args()
    a.data = str(pathlib.Path(a.data).resolve())
    panels = {}
    for which in [a.only] if a.only else sorted(METHODS):
        if which == "mnist" and not pathlib.Path(a.data).is_dir():
            print(f"skipped: no MNIST in {a.data}; give --data DIR, the folder of its four IDX files")
            continue
        labels, goal = rates(a, which)
        if a.stage == "runs":
            tests = compare(a, which, which, labels, goal, 1, a.seeds)
            panels[f"{TITLES[which]}: seconds to {100 * goal:g} %"] = {
                label.split(":")[0]: seconds_to(tests, label, goal)
                for label in labels
            }
    if a.svg and panels:
        pathlib.Path(a.svg).write_text(draw(panels))


if __name__ == "__main__":
    main()

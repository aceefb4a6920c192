# SPDX-License-Identifier: Apache-2.0
"""run_centre.py: a parameter server against ranks that exchange among themselves: usage in run.

The same job, batch of a rank and links. `one centre` sums all gradients at rank 0, which sends the sums back
(algorithm ps,servers=1). `among ranks` is reduce-scatter and all-gather by a ring. Kernels wait for the times of a fixed
layer trace, so cores are not the bound. Ports lose nothing in what is predicted, which favours the centre: up to 127
workers send to its port at a time."""
import argparse
import pathlib
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH / "predicted"), str(BENCH.parent / "tests/hosts")]
import curve  # noqa: E402
import judged as judged_rows  # noqa: E402
import lab  # noqa: E402
import links  # noqa: E402
import steps  # noqa: E402

# parallel.layers: the run knows no figures of these links, so it would share no layer between ranks; a prediction would
SAME = ["exchange.buckets=one", "parallel.layers="]
WAYS = {
    "one centre": ["exchange.algorithm=ps,servers=1", "exchange.update=replicated", *SAME],
    "among ranks": ["exchange.algorithm=ring", "exchange.update=sharded", *SAME],
}


def predict(judged, build: str, counts: list[int], star: str, folder: pathlib.Path) -> dict[str, list[tuple[int, float]]]:
    """Name of the way -> (workers, seconds of a step), printed as it goes."""
    one, found = steps.BOUND.job(folder, 1, steps.BOUND.counted), {}
    for name, settings in WAYS.items():
        for n in counts:
            step = steps.predicted_s(build, one, folder / "layers.txt", n, star, settings)
            found.setdefault(name, []).append((n, step))
            judged.put({"group": name, "case": f"{n} workers", "predicted_s": step})
    print(f"\n{'predicted, workers':>20} {'one centre':>14} {'among ranks':>14} {'ratio':>8}")
    for (n, centre), (_, ranks) in zip(found["one centre"], found["among ranks"]):
        print(f"{n:20} {1e3 * centre:11.0f} ms {1e3 * ranks:11.0f} ms {centre / ranks:8.2f}")
    return found


def measure(judged, a: argparse.Namespace, figures, folder: pathlib.Path) -> dict[str, list[tuple[int, float]]]:
    found = {}
    for n in a.measured:
        where = steps.Place(f"{n} hosts at {a.rate}", figures.star(), n, a.rate)
        for name, settings in WAYS.items():
            steps.judge(judged, name, a.build, steps.BOUND, folder / "layers.txt", where, settings, folder, name, 1, False, True)
            found.setdefault(name, []).append((n, judged.rows[-1]["measured_s"]))
    return found


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--rate", default="200mbit")
    p.add_argument("--measured", type=numbers, default=[2, 3, 4])
    p.add_argument("--predicted", type=numbers, default=[2, 4, 8, 16, 32, 64, 128])
    p.add_argument("--svg")
    p.add_argument("--json")
    a = p.parse_args()
    lab.skip_unless_possible()
    judged = judged_rows.Judged(a.json)
    figures = steps.dataclasses.replace(links.fit(a.build, a.rate, max(a.measured), 0.3), incast=0)
    print(f"{a.rate}: {figures.words()}")
    with tempfile.TemporaryDirectory(prefix="tutti-centre-") as name:
        folder = pathlib.Path(name)
        (folder / "layers.txt").write_text(steps.BOUND_TRACE)
        measured = measure(judged, a, figures, folder)
        predicted = predict(judged, a.build, a.predicted, figures.star(), folder)
    judged.sum_up()
    if a.svg:
        words = f"workers; links of {a.rate.replace('mbit', ' Mbit/s')}"
        pathlib.Path(a.svg).write_text(curve.draw(measured, predicted, words))


if __name__ == "__main__":
    main()

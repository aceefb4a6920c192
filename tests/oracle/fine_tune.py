# SPDX-License-Identifier: Apache-2.0
"""fine_tune.py PROGRAM [RUN] [--seeds N]: what docs/jobs.md shows of fine-tuning: ResNet-20 learns the drawn shapes
(or has, in the folder RUN), and its body, with a new head, learns 500 drawn letters: ahead of a start from scratch
after as many steps, with the whole body moving, and with the body frozen up to the last stage, from each of N seeds
(1) of what begins afresh and of the order of the letters. Needs nothing but Python."""
import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
AHEAD = 0.1  # at least, of the test accuracy
RUNS = {
    "from scratch": [],
    "fine-tuned": ["init.skip=fc"],
    "the first two stages "
    "frozen": ["init.skip=fc", "optimiser.groups.freeze=conv1=true,bn1=true,layer1*=true,layer2*=true"],
    "all but the head frozen": ["init.skip=fc", "optimiser.groups.freeze=*=true,fc=false"],
}


def train(program: str, out: pathlib.Path, job: str, *words: str) -> float:
    done = subprocess.run([program, "train", ROOT / job, "--out", out, "--fresh", "--quiet", *words],
                          check=True,
                          capture_output=True,
                          text=True)
    return float(re.search(r"accuracy ([\d.]+)", done.stdout).group(1))


def learn_letters(program: str, folder: pathlib.Path, body: pathlib.Path, seed: int) -> dict[str, float]:
    """The accuracy of each row of RUNS."""
    got = {}
    for name, keys in RUNS.items():
        words = [word for key in (f"data.path={folder}/letters", f"seed={seed}", *keys) for word in ("--set", key)]
        got[name] = train(program, folder / "letters-run", "examples/fine-tune/letters.yaml", *words,
                          *(["--init", str(body)] if keys else []))
        print(f"letters, seed {seed}, {name}: {100 * got[name]:.2f} %", flush=True)
    return got


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("run", nargs="?")
    parser.add_argument("--seeds", type=int, default=1)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        body = pathlib.Path(words.run) if words.run else folder / "shapes"
        if not words.run:
            print(f"shapes: {100 * train(words.program, body, 'examples/shapes.yaml'):.2f} %", flush=True)
        subprocess.run([sys.executable, ROOT / "examples/fine-tune/make_letters.py", folder / "letters"], check=True)
        got = [learn_letters(words.program, folder, body, seed) for seed in range(1, words.seeds + 1)]
    for name in RUNS:
        of = [100 * g[name] for g in got]
        print(f"{name}: median {statistics.median(of):.2f} %, {min(of):.2f} .. {max(of):.2f} over {len(of)} seeds")
    ahead = min(min(g["fine-tuned"], g["the first two stages frozen"]) - g["from scratch"] for g in got)
    print(f"ahead by {100 * ahead:.2f} points at least, {'ok' if ahead >= AHEAD else 'WRONG'}")
    return ahead < AHEAD


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""fine_tune.py PROGRAM [RUN]: what docs/jobs.md shows of fine-tuning: ResNet-20 learns the drawn shapes (or has, in the folder RUN), and its body, with a new head,
learns 500 drawn letters: ahead of a start from scratch after as many steps, with the whole body moving, and with the body frozen up to the last stage.
Needs nothing but Python."""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
AHEAD = 0.1  # at least, of the test accuracy
RUNS = {
    "from scratch": [],
    "fine-tuned": ["init.skip=fc"],
    "the first two stages frozen": ["init.skip=fc", "optimiser.groups.freeze=conv1=true,bn1=true,layer1*=true,layer2*=true"],
    "all but the head frozen": ["init.skip=fc", "optimiser.groups.freeze=*=true,fc=false"],
}


def train(program: str, out: pathlib.Path, job: str, *words: str) -> float:
    done = subprocess.run([program, "train", ROOT / job, "--out", out, "--fresh", "--quiet", *words], check=True, capture_output=True,
                          text=True)
    return float(re.search(r"accuracy ([\d.]+)", done.stdout).group(1))


def main() -> int:
    program, got = sys.argv[1], {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        body = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else folder / "shapes"
        if len(sys.argv) < 3:
            print(f"shapes: {100 * train(program, body, 'examples/shapes.yaml'):.2f} %", flush=True)
        subprocess.run([sys.executable, ROOT / "examples/fine-tune/make_letters.py", folder / "letters"], check=True)
        for name, keys in RUNS.items():
            words = [word for key in (f"data.path={folder}/letters", *keys) for word in ("--set", key)]
            got[name] = train(program, folder / "letters-run", "examples/fine-tune/letters.yaml", *words,
                              *(["--init", str(body)] if keys else []))
            print(f"letters, {name}: {100 * got[name]:.2f} %", flush=True)
    ahead = min(got["fine-tuned"], got["the first two stages frozen"]) - got["from scratch"]
    print(f"ahead by {100 * ahead:.2f} points, {'ok' if ahead >= AHEAD else 'WRONG'}")
    return ahead < AHEAD


if __name__ == "__main__":
    sys.exit(main())

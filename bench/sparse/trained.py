# SPDX-License-Identifier: Apache-2.0
"""trained.py: how sparse ReLUs are in networks that are trained: LeNet (with ReLUs behind its convolutions) on MNIST,
the others on ten drawn shapes of 64 x 64 pixels; from the lines `sparsity` of a run, epoch by epoch. And what skipping
zeros gains where LeNet is trained."""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import shapes64  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ZOO = ROOT / "src/training/model/zoo"
NETWORKS = ("lenet", "alexnet", "vgg-a", "googlenet", "resnet20")
FILES = {"alexnet": "alexnet-torch"}  # its padding leaves something of 64 pixels behind three pools
RATES = {"lenet": 0.02, "alexnet": 0.004, "vgg-a": 0.004, "googlenet": 0.004, "resnet20": 0.05}
NTRAIN, NTEST, BATCH = 6400, 500, 16


def model_text(network: str) -> str:
    """The shipped network for 64 x 64 pixels and ten classes, with batch norm behind its convolutions: without it
    AlexNet had not begun
    to learn these shapes after 550 steps. GoogLeNet's two auxiliary heads want planes of 14 x 14: they are
    left out."""
    text = (ZOO / f"{FILES.get(network, network)}.yaml").read_text()
    text = re.sub(r"  # auxiliary head.*?(?=  # inception)", "", text, flags=re.S)
    text = re.sub(r"^input: .*$", "input: [3, 64, 64]", text, flags=re.M)
    text = re.sub(r"^classes: .*$", "classes: 10", text, flags=re.M)
    if "batch-norm" not in text:
        text = re.sub(r"(- conv: {name: ([^,}]+).*)", r"\1\n  - batch-norm: {name: \2_bn}", text)
    return re.sub(r"units: 1000}", "units: 10}", text)


def job_text(network: str, folder: pathlib.Path, data: str, steps: int, pictures: pathlib.Path) -> str:
    optimiser = f"optimiser: {{rule: momentum, momentum: 0.9, lr: {RATES[network]}, schedule: cosine, weight_decay: 5e-4}}\n"
    if network == "lenet":
        return (
            f"model: {HERE}/lenet-relu.yaml\ndata: {{set: mnist, path: {data}}}\nbatch: 64\nsteps: "
            f"{steps}\neval_every_epochs: 0.5\n"
            f"log_every: 100\n{optimiser}")
    model = folder / "model.yaml"
    model.write_text(model_text(network))
    return (f"model: {model}\ndata: {{set: images, path: {pictures}, size: 64, augment: none}}\nbatch: {BATCH}\nsteps: "
            f"{steps}\n"
            f"eval_every_epochs: 1\nlog_every: 50\n{optimiser}")


def train(build: str, network: str, data: str, steps: int, out: pathlib.Path) -> list[dict]:
    """The lines of its run, which goes on where an earlier one was stopped."""
    folder, pictures = out / network, out / "shapes64"
    folder.mkdir(parents=True, exist_ok=True)
    if network != "lenet" and not pictures.exists():
        shapes64.make(pictures, NTRAIN, NTEST)
    (folder / "job.yaml").write_text(job_text(network, folder, data, steps, pictures))
    subprocess.run([f"{build}/tutti", "train", folder / "job.yaml", "--out", folder / "run", "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]


def table(network: str, lines: list[dict]) -> None:
    """A row a test: what part of all that its ReLUs make is zero, and the least and the most of one."""
    for test in (line for line in lines if line["ev"] == "eval"):
        relus = [line for line in lines if line["ev"] == "sparsity" and line["step"] == test["step"]]
        zeros, elements = (sum(relu[key] for relu in relus) for key in ("zeros", "elements"))
        least, most = (pick(relus, key=lambda relu: relu["sparsity"]) for pick in (min, max))
        print(
            f"{network:10} epoch {test['epoch']:6.2f}  accuracy {100 * test['accuracy']:6.2f} %  zero "
            f"{100 * zeros / elements:5.1f} %  "
            f"least {100 * least['sparsity']:5.1f} % ({least['relu']})  most {100 * most['sparsity']:5.1f} % "
            f"({most['relu']})",
            flush=True)
    last = max(line["step"] for line in lines if line["ev"] == "eval")
    print(f"{network}, by ReLU, at the end: " + ", ".join(
        f"{line['relu']} "
        f"{100 * line['sparsity']:.0f}" for line in lines if line["ev"] == "sparsity" and line["step"] == last))


def lenet(build: str, data: str, out: pathlib.Path, seed: int, sparse: str) -> tuple[float, float]:
    """Two epochs of LeNet with ReLUs on one thread: user seconds of the whole program, accuracy."""
    folder = out / f"lenet-{seed}-{sparse}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.yaml").write_text(
        f"model: {HERE}/lenet-relu.yaml\ndata: {{set: mnist, path: {data}}}\nbatch: 64\nsteps: "
        f"1875\neval_every_epochs: 1\nseed: {seed}\n"
        "log_every: 500\noptimiser: {rule: momentum, momentum: 0.9, lr: 0.02, schedule: cosine, weight_decay: 5e-4}\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([
        f"{build}/tutti", "train", folder / "job.yaml", "--out", folder / "run", "--fresh", "--quiet", "--set",
        f"kernels.sparse={sparse}"
    ],
                   check=True,
                   stdout=subprocess.DEVNULL,
                   env=dict(os.environ, OMP_NUM_THREADS="1"))
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    lines = map(json.loads, (folder / "run/metrics.jsonl").read_text().splitlines())
    return seconds, [line for line in lines if line["ev"] == "eval"][-1]["accuracy"]


def gain(build: str, data: str, out: pathlib.Path, seeds: int) -> None:
    """With and without in turn, a line a seed."""
    means = {"off": [0.0, 0.0], "auto": [0.0, 0.0]}
    for seed in range(1, seeds + 1):
        said = f"lenet with ReLUs, seed {seed}:"
        for sparse, mean in means.items():
            seconds, accuracy = lenet(build, data, out, seed, sparse)
            mean[0] += seconds / seeds
            mean[1] += accuracy / seeds
            said += f"  kernels.sparse: {sparse} {seconds:.1f} s {100 * accuracy:.2f} %"
        print(said, flush=True)
    off, auto = means["off"], means["auto"]
    print(
        f"mean: off {off[0]:.1f} s {100 * off[1]:.2f} %, auto {auto[0]:.1f} s {100 * auto[1]:.2f} %: "
        f"{100 * (1 - auto[0] / off[0]):.1f} % less"
    )

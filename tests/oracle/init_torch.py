# SPDX-License-Identifier: Apache-2.0
"""init_torch.py PROGRAM SOURCE [PYTHON]: weights that PyTorch has trained, saved as its users save them, begin a run
here: the first loss, test accuracy and test loss are PyTorch's, and what the run saves is, bit for bit, what PyTorch
saved. In f32, bf16 and f16, under the names of DistributedDataParallel, cut into several files under an index, and
with a new head on the old body. Needs torch and safetensors (./dev setup --peers); PYTHON is an interpreter that has
them. Without: exit code 77, saying so."""
import json
import pathlib
import subprocess
import sys
import tempfile

import interpreter

try:
    import torch
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    interpreter.go_on_elsewhere(missing, 3, "./dev setup --peers")

import collections
import gzip

from torch import nn

NEAR = 2e-6  # relative, of losses: f32 here, float64 there
JOB = """model: {model}
data: {{set: idx, path: {data}}}
batch: 32
steps: {steps}
log_every: 1
eval_every_epochs: 1
optimiser: {{rule: sgd, lr: {lr}}}
{more}
"""
STAY = "1.0e-30"  # a rate that moves no weight
NORMED = """name: normed
input: [1, 28, 28]
classes: 10
layers:
  - conv: {name: conv1, out_channels: 8, kernel: 3, pad: 1, bias: false}
  - batch-norm: {name: bn1, momentum: 0}   # the statistics stay, so that a test after a step is one before it
  - relu
  - max-pool: {kernel: 2}
  - dense: {name: fc1, units: 10}
  - softmax-cross-entropy
"""


def lenet() -> nn.Module:
    return nn.Sequential(collections.OrderedDict(
        conv1=nn.Conv2d(1, 20, 5), pool1=nn.MaxPool2d(2), conv2=nn.Conv2d(20, 50, 5), pool2=nn.MaxPool2d(2),
        flatten=nn.Flatten(), fc1=nn.Linear(800, 500), relu=nn.ReLU(), fc2=nn.Linear(500, 10)))


def normed() -> nn.Module:
    return nn.Sequential(collections.OrderedDict(
        conv1=nn.Conv2d(1, 8, 3, padding=1, bias=False), bn1=nn.BatchNorm2d(8), relu=nn.ReLU(), pool=nn.MaxPool2d(2),
        flatten=nn.Flatten(), fc1=nn.Linear(1568, 10)))


def digits(source: pathlib.Path) -> tuple[torch.Tensor, torch.Tensor]:
    folder = source / "tests/golden/train/digits32"
    pixels = gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes())[8:]
    x = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).reshape(-1, 1, 28, 28)
    return (x.float() / 255 - 0.5) / 0.5, torch.tensor(list(labels))


def train(net: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    optimiser = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    net.train()
    for _ in range(12):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimiser.step()


def loss_and_accuracy(net: torch.nn.Module, state: dict, x: torch.Tensor, y: torch.Tensor, mode: bool) -> tuple[float, float]:
    wide = {k: v.double() if v.is_floating_point() else v for k, v in state.items()}
    twin = net.double()
    twin.load_state_dict(wide)
    twin.train(mode)
    with torch.no_grad():
        out = twin(x.double())
    return torch.nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).double().mean().item()


class Runs:
    def __init__(self, program: str, source: pathlib.Path, scratch: pathlib.Path) -> None:
        self.program, self.data, self.scratch, self.n = program, source / "tests/golden/train/digits32", scratch, 0

    def run(self, model: str, init: str, steps: int = 1, lr: str = STAY, ranks: int = 1) -> tuple[list[dict], dict]:
        """Lines of metrics.jsonl, and the weights that were saved."""
        self.n += 1
        out, job = self.scratch / f"run{self.n}", self.scratch / "job.yaml"
        job.write_text(JOB.format(model=model, data=self.data, steps=steps, lr=lr, more=init))
        command = [self.program, "train", job, "--out", out, "--quiet", "--ranks", str(ranks)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        saved = load_file(out / f"checkpoints/step_{steps:09}/weights.safetensors")
        return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()], saved


def near(what: str, ours: float, theirs: float) -> None:
    if abs(ours - theirs) > NEAR * abs(theirs):
        sys.exit(f"{what}: {ours}, PyTorch's {theirs}")
    print(f"  {what}: {ours:.7f}, PyTorch {theirs:.7f}")


def same_bits(saved: dict, state: dict, but: str = "?") -> None:
    for name, value in saved.items():
        if not name.startswith(but) and not torch.equal(value, state[name].float()):
            sys.exit(f"{name}: not the bits that PyTorch saved")


def check(runs: Runs, model: str, init: str, state: dict, xy: tuple, ranks: int = 1) -> None:
    net = lenet() if model == "lenet" else normed()
    events, saved = runs.run(model, init, ranks=ranks)
    first, test = (next(e for e in events if e["ev"] == kind) for kind in ("step", "eval"))
    near("loss of the first step", first["loss"], loss_and_accuracy(net, state, *xy, True)[0])
    net = lenet() if model == "lenet" else normed()
    loss, accuracy = loss_and_accuracy(net, state, *xy, False)
    near("test loss", test["loss"], loss)
    near("test accuracy", test["accuracy"], accuracy)
    same_bits(saved, state)


def save_shards(state: dict, folder: pathlib.Path) -> pathlib.Path:
    names = sorted(state)
    where = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(names)}
    for file in set(where.values()):
        save_file({n: state[n] for n in names if where[n] == file}, folder / file, metadata={"format": "pt"})
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": where}, indent=2) + "\n")
    return index


def check_model(runs: Runs, scratch: pathlib.Path, model: str, xy: tuple) -> None:
    net = lenet() if model == "lenet" else normed()
    train(net, *xy)
    state = {k: v.detach().clone().contiguous() for k, v in net.state_dict().items()}
    for kind in (torch.float32, torch.bfloat16, torch.float16):
        rounded = {k: v.to(kind) if v.is_floating_point() else v for k, v in state.items()}
        file = scratch / f"{pathlib.Path(model).stem}.safetensors"
        save_file(rounded, file)
        print(f"{pathlib.Path(model).stem}, {kind}")
        check(runs, model, f"init: {file}", rounded, xy, ranks=1 if kind != torch.float32 or model != "lenet" else 2)
    ddp = scratch / "ddp.safetensors"
    save_file({f"module.{k}": v for k, v in state.items()}, ddp)
    print(f"{pathlib.Path(model).stem}, as DistributedDataParallel names it")
    check(runs, model, f"init: {{from: {ddp}, map: {{module: ''}}}}", state, xy)
    print(f"{pathlib.Path(model).stem}, in two files under an index")
    check(runs, model, f"init: {save_shards(state, scratch)}", state, xy)


def check_head(runs: Runs, scratch: pathlib.Path, xy: tuple) -> None:
    """A body of PyTorch's whose head told apart 7 classes: the head is drawn, and it trains, sooner than all of it
    from the start."""
    net = lenet()
    train(net, *xy)
    state = {k: v.detach().clone().contiguous() for k, v in net.state_dict().items()}
    head = "fc2"
    old = {k: v[:7].clone() if k.startswith(head + ".") else v for k, v in state.items()}
    file = scratch / "seven.safetensors"
    save_file(old, file)
    job = scratch / "head.yaml"
    job.write_text(JOB.format(model="lenet", data=runs.data, steps=1, lr=STAY, more=f"init: {file}"))
    refused = subprocess.run([runs.program, "train", job, "--dry-run"], capture_output=True, text=True)
    if refused.returncode != 2 or f"init.skip: [{head}]" not in refused.stderr:
        sys.exit(f"a head of another shape: {refused.returncode}, {refused.stderr}")
    events, saved = runs.run("lenet", f"init: {{from: {file}, skip: [{head}]}}")
    same_bits(saved, old, head)
    if torch.equal(saved[head + ".weight"], state[head + ".weight"]):
        sys.exit("the head was not drawn anew")
    losses = {}
    for name, init in (("tuned", f"init: {{from: {file}, skip: [{head}]}}"), ("drawn", "")):
        losses[name] = [e["loss"] for e in runs.run("lenet", init, 8, "0.05")[0] if e["ev"] == "step"]
    for name, values in losses.items():
        print(f"a new head on the old body, {name}: loss", *(f"{v:.3f}" for v in values))
    if not losses["tuned"][-1] < losses["tuned"][0] or not losses["tuned"][-1] < losses["drawn"][-1]:
        sys.exit("fine-tuning is no better than the start, or than weights that were drawn")


def main() -> None:
    source = pathlib.Path(sys.argv[2]).resolve()
    xy = digits(source)
    torch.manual_seed(3)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        runs = Runs(sys.argv[1], source, scratch)
        own = scratch / "normed.yaml"
        own.write_text(NORMED)
        for model in ("lenet", str(own)):
            check_model(runs, scratch, model, xy)
        check_head(runs, scratch, xy)


main()

# SPDX-License-Identifier: Apache-2.0
"""train_golden.py [CASE...]: makes tests/golden/train: for the models of the zoo the losses of 20 steps of PyTorch
from the start weights, order and dropout masks that tutti draws (philox.py draws them here). PyTorch computes in
float64: in float32 one flipped ReLU moves its own losses by 3e-4, in one thread or two. Needs torch, numpy,
safetensors, xxhash, pyyaml from PyPI.

The small models train on the 32 digits of tests/golden/train/digits32. Of the others narrow variants are made (NARROW):
the same layers with fewer channels, a smaller picture and ten classes, on golden_samples.py's samples, as one rank and
as two, which differ where batch norm sees a rank's share. A case is MODEL, which is trained by SGD with momentum,
MODEL.RULE (ADAMW), MODEL.clip (the norm of all gradients is clipped), MODEL.local (each rank takes steps of its own,
weights are averaged every PERIOD of them), MODEL.freeze (layers whose parameters have requires_grad = False),
MODEL.lars or MODEL.lamb (norm_rules.py's steps by PyTorch's gradients). compare_losses.py holds tutti against these
files, without PyTorch."""
import copy
import dataclasses
import gzip
import pathlib
import sys

import numpy
import torch
import yaml
from safetensors.numpy import save_file
from torch import nn

import golden_samples
import norm_rules
import philox
import torch_models

SEED, STEPS, MOMENTUM, DECAY = 7, 20, 0.9, 1e-4
MEAN, STD = 0.5, 0.5  # of the data set `idx`
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/train"
ON_DIGITS = ("mlp", "lenet", "convnet-bn")


@dataclasses.dataclass
class Narrow:
    input: list[int]
    channels: int = 8  # divides out_channels
    units: int = 64    # divides units of dense layers
    lr: float = 0.02
    he: float = 0      # He's start for convolutions with fan in / fan out up to this: without norms a narrow net from the default
    # start hardly moves in 20 steps, and variance by fan out explodes where a layer has few outputs
    scale: float = 1   # where the last batch norm of a residual block starts: at 1 a deep narrow net amplifies the last bit of
    # a float to 1e-3 within 20 steps, at 0 the first steps would see no more than the shortcuts


NARROW = {
    "alexnet": Narrow([3, 67, 67], lr=0.2, he=3), "alexnet-nogroups": Narrow([3, 67, 67], lr=0.2, he=3),
    "alexnet-bn": Narrow([3, 67, 67], lr=0.005), "alexnet-torch": Narrow([3, 67, 67], lr=0.1, he=3),
    "overfeat-fast": Narrow([3, 71, 71], lr=0.1, he=3), "vgg-a": Narrow([3, 32, 32], lr=0.05, he=3),
    "googlenet": Narrow([3, 80, 80], lr=0.0001, he=4), "resnet50": Narrow([3, 48, 48], lr=0.0003, scale=0.125),
    "resnet20": Narrow([3, 16, 16], 4, lr=0.002, scale=0.25), "resnet56": Narrow([3, 16, 16], 4, lr=0.0007, scale=0.25),
    "cd-dnn": Narrow([1, 1, 429], lr=0.5),
    "fcn5": Narrow([1, 1, 418], lr=0.5), "fcn8": Narrow([1, 1, 418], lr=0.5),
}
LR_ON_DIGITS = 0.02
# Rates at which no ReLU flips: Adam makes 1e-4 of one in alexnet (at 0.001 and 0.003, oneDNN on two ranks), and
# PyTorch itself, in float32, differs by 1e-2 in alexnet-bn at 0.0005.
ADAMW = {"mlp.adamw": 0.001, "lenet.adamw": 0.001, "alexnet.adamw": 0.005, "convnet-bn.adamw": 0.001, "alexnet-bn.adamw": 0.0001}


CLIP = {"mlp.clip": 0.5, "lenet.clip": 0.5, "alexnet.clip": 0.02, "convnet-bn.clip": 1.0}  # below the norm in most steps
PERIOD, LOCAL = 4, ("mlp.local", "lenet.local", "alexnet.local", "convnet-bn.local")
# Layers in the middle, so that gradients go through them; merged ReLUs, batch norms and groups are among them.
FREEZE = {"lenet.freeze": ["conv2"], "convnet-bn.freeze": ["conv2", "bn2"], "alexnet.freeze": ["conv2", "conv4", "fc7"]}
BY_NORMS = {"alexnet.lars": (norm_rules.Lars, {"eta": 0.005}, 4.0), "alexnet.lamb": (norm_rules.Lamb, {}, 0.02)}


def narrowed(name: str, to: Narrow) -> str:
    """The text of the narrow variant of a model of the zoo."""
    spec = yaml.safe_load((torch_models.ZOO / f"{name}.yaml").read_text())
    whole = {m.name: m.weight.shape for m in torch_models.load(name).ops if isinstance(m, nn.Conv2d)}
    last = {e["add"]["from"][0] for e in spec["layers"] if isinstance(e, dict) and "add" in e} if to.scale < 1 else ()
    lines = [f"# Made by tests/oracle/train_golden.py: {name} of the zoo, narrow.", f"name: {name}",
             f"input: {to.input}", f"classes: {golden_samples.CLASSES}", "layers:"]
    for entry in spec["layers"]:
        (op, a), = entry.items() if isinstance(entry, dict) else ((entry, None),)
        a = dict(a or {})
        if op == "conv":
            a["out_channels"] = max(a["out_channels"] // to.channels, 4)
            outputs, inputs = whole[a["name"]][:2]
            a |= {"init": "he"} if inputs <= to.he * outputs else {}
        if op == "dense":
            a["units"] = golden_samples.CLASSES if a["units"] == spec["classes"] else a["units"] // to.units
        if op == "batch-norm" and a["name"] in last:
            a["scale_init"] = to.scale
        text = ", ".join(f"{k}: {v}" for k, v in a.items()).replace("'", "").replace("False", "false").replace("True", "true")
        lines.append(f"  - {op}" + (f": {{{text}}}" if a else ""))
    return "\n".join(lines) + "\n"


def read_idx(path: pathlib.Path) -> numpy.ndarray:
    raw = gzip.decompress(path.read_bytes())
    dims = numpy.frombuffer(raw, ">u4", raw[3], 4)
    return numpy.frombuffer(raw, "u1", offset=4 + 4 * raw[3]).reshape(dims)


def samples(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    if name in ON_DIGITS:
        pixels = read_idx(GOLDEN / "digits32/train-images-idx3-ubyte.gz")[:, None]
        labels = read_idx(GOLDEN / "digits32/train-labels-idx1-ubyte.gz")
    else:
        shape = NARROW[name].input
        pixels = numpy.frombuffer(golden_samples.pixels(shape), "u1").reshape(-1, *shape)
        labels = numpy.frombuffer(golden_samples.labels(), "u1")
    x = (pixels.astype("f4") / numpy.float32(255) - numpy.float32(MEAN)) / numpy.float32(STD)
    return torch.from_numpy(x).double(), torch.from_numpy(labels.astype("i8"))


class Drawn(nn.Module):
    """Dropout whose mask is drawn by philox.py; step and first_sample are set before each forward."""

    def __init__(self, dropout: torch_models.Dropout) -> None:
        super().__init__()
        self.rate, self.layer, self.step, self.first_sample = dropout.p, dropout.layer, 0, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = philox.dropout_mask(SEED, self.step, self.first_sample, self.layer, tuple(x.shape), self.rate)
        return x * torch.from_numpy(mask.astype("f4")) * numpy.float32(1 / (1 - self.rate))


def start_values(module: nn.Module, kind: str) -> numpy.ndarray:
    """The start of a convolution's or dense layer's weight or bias."""
    name, count = f"{module.name}.{kind}", getattr(module, kind).numel()
    if module.attributes.get("init") != "he":
        return philox.start_weights(SEED, name, count, 1 / numpy.sqrt(module.weight[0].numel()))
    if kind == "bias":
        return numpy.zeros(count, "f4")
    fan_out = module.weight.shape[0] * module.weight[0, 0].numel()
    return philox.start_normal(SEED, name, count, numpy.sqrt(2 / fan_out))


def start(name: str) -> torch_models.Network:
    model = torch_models.load(name if name in ON_DIGITS else str(GOLDEN / f"{name}.yaml"))
    for module in model.ops:
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            for kind, p in module.named_parameters():
                p.data = torch.from_numpy(start_values(module, kind)).reshape(p.shape)
    model.play = [(n, op, Drawn(m) if op == "dropout" else m, *rest) for n, op, m, *rest in model.play]
    return model.double()


class ByNorms(torch.optim.Optimizer):
    """A rule of norm_rules.py by the gradients of PyTorch."""

    def __init__(self, groups: list[dict], rule: type, keys: dict, lr: float) -> None:
        super().__init__(groups, {"lr": lr})
        self.rule = rule(DECAY, **keys)

    @torch.no_grad()
    def step(self) -> None:
        for number, (group, p) in enumerate((group, p) for group in self.param_groups for p in group["params"]):
            moved = self.rule.step(str(number),
                                   p.flatten().tolist(),
                                   p.grad.flatten().tolist(), group["lr"], group["weight_decay"] > 0)
            p.copy_(torch.tensor(moved, dtype=p.dtype).reshape(p.shape))


def optimiser_of(model: torch_models.Network, rule: str, lr: float) -> torch.optim.Optimizer:
    if rule in ("lars", "lamb"):
        return ByNorms(torch_models.optimiser_groups(model, DECAY), *BY_NORMS[f"alexnet.{rule}"][:2], lr)
    groups = torch_models.optimiser_groups(model, DECAY)
    return torch.optim.AdamW(groups, lr) if rule == "adamw" else torch.optim.SGD(groups, lr, MOMENTUM)


def mean_loss(model: torch_models.Network, x: torch.Tensor, y: torch.Tensor, step: int, rank: int, share: int) -> torch.Tensor:
    """Of a rank's share of the batch. One step is one epoch: the batch is the set."""
    for _, _, module, *_ in model.play:
        if isinstance(module, Drawn):
            module.step, module.first_sample = step, rank * share
    mine = philox.order(SEED, step, len(x))[rank * share:(rank + 1) * share]
    return model.loss(model(x[mine]), y[mine])


def train(model: torch_models.Network, optimiser: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor, ranks: int,
          clip: float) -> numpy.ndarray:
    """Each rank sees its share of the batch alone; their gradients are averaged."""
    losses = []
    for step in range(STEPS):
        optimiser.zero_grad()
        total = 0
        for rank in range(ranks):
            loss = mean_loss(model, x, y, step, rank, len(x) // ranks) / ranks
            loss.backward()
            total += loss.item()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
        losses.append(total)
    return numpy.array(losses, "f4")


def train_apart(model: torch_models.Network, lr: float, x: torch.Tensor, y: torch.Tensor, ranks: int) -> numpy.ndarray:
    """Each rank has a model and an optimiser of its own; after each period all parameters become their means."""
    models = [copy.deepcopy(model) for _ in range(ranks)]
    optimisers = [optimiser_of(m, "", lr) for m in models]
    losses = []
    for step in range(STEPS):
        total = 0
        for rank, (own, optimiser) in enumerate(zip(models, optimisers)):
            optimiser.zero_grad()
            loss = mean_loss(own, x, y, step, rank, len(x) // ranks)
            loss.backward()
            optimiser.step()
            total += loss.item() / ranks
        with torch.no_grad():
            for parameters in zip(*(m.parameters() for m in models)) if (step + 1) % PERIOD == 0 else ():
                mean = sum(p.data for p in parameters) / ranks
                for p in parameters:
                    p.data.copy_(mean)
        losses.append(total)
    return numpy.array(losses, "f4")


def main() -> None:
    torch.set_num_threads(1)
    for case in sys.argv[1:] or [*ON_DIGITS, *NARROW, *ADAMW, *CLIP, *LOCAL, *FREEZE, *BY_NORMS]:
        name, _, rule = case.partition(".")
        if name in NARROW:
            (GOLDEN / f"{name}.yaml").write_text(narrowed(name, NARROW[name]))
        x, y = samples(name)
        lr = ADAMW[case] if case in ADAMW else BY_NORMS[case][
            2] if case in BY_NORMS else NARROW[name].lr if name in NARROW else LR_ON_DIGITS
        losses = {}
        for ranks in (1, 2):
            model = start(name)
            for module in model.ops:
                module.requires_grad_(getattr(module, "name", "") not in FREEZE.get(case, ()))
            losses[f"losses_{ranks}"] = (train_apart(model, lr, x, y, ranks) if case in LOCAL else
                                         train(model, optimiser_of(model, rule, lr), x, y, ranks, CLIP.get(case, 0)))
        more = {"clip_norm": str(CLIP[case])} if case in CLIP else {"period": str(PERIOD)} if case in LOCAL else {}
        more |= {"freeze": " ".join(FREEZE[case])} if case in FREEZE else {}
        more |= {"trust": str(BY_NORMS[case][1]["eta"])} if rule == "lars" else {}
        save_file(losses, GOLDEN / f"{case}.safetensors", metadata={"torch": torch.__version__, "lr": str(lr), **more})
        print(case, *(f"{a[0]:.4f} {a[1]:.4f} .. {a[-1]:.4f}" for a in losses.values()))


if __name__ == "__main__":
    main()

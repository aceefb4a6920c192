# SPDX-License-Identifier: Apache-2.0
"""train_golden.py: makes tests/golden/train/*.safetensors: for each shipped model the losses of 20 steps of PyTorch on the 32
digits of tests/golden/train/digits32, from the start weights, order and dropout masks that tutti draws (philox.py draws
them here). PyTorch computes in float64: in float32 one flipped ReLU moves its own losses by 3e-4, in one thread or two. Needs torch, numpy, safetensors, xxhash, pyyaml from PyPI.

compare_losses.py holds tutti against these files, without PyTorch."""
import gzip
import pathlib
import re

import numpy
import torch
import yaml
from safetensors.numpy import save_file
from torch import nn
from torch.nn import functional

import philox

SEED, STEPS, LR, MOMENTUM, DECAY = 7, 20, 0.02, 0.9, 1e-4
MEAN, STD = 0.5, 0.5  # of the data set `idx`
ROOT = pathlib.Path(__file__).resolve().parents[2]


def read_idx(path: pathlib.Path) -> numpy.ndarray:
    raw = gzip.decompress(path.read_bytes())
    dims = numpy.frombuffer(raw, ">u4", raw[3], 4)
    return numpy.frombuffer(raw, "u1", offset=4 + 4 * raw[3]).reshape(dims)


class Dropout(nn.Module):
    """Dropout whose mask is drawn by philox.py; step is set before each forward."""

    def __init__(self, rate: float, layer: int) -> None:
        super().__init__()
        self.rate, self.layer, self.step, self.first_sample = rate, layer, 0, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = philox.dropout_mask(SEED, self.step, self.first_sample, self.layer, tuple(x.shape), self.rate)
        return x * torch.from_numpy(mask.astype("f4")) * numpy.float32(1 / (1 - self.rate))


def layer_of(kind: str, a: dict, shape: torch.Size, index: int) -> nn.Module:
    """The PyTorch module of one layer of a model file; shape: of its input, batch first."""
    if kind == "conv":
        return nn.Conv2d(shape[1], a["out_channels"], a["kernel"], a.get("stride", 1), a.get("pad", 0),
                         bias=a.get("bias", True))
    if kind == "dense":
        return nn.Sequential(nn.Flatten(), nn.Linear(int(numpy.prod(shape[1:])), a["units"], a.get("bias", True)))
    if kind in ("max-pool", "avg-pool"):
        pool = nn.MaxPool2d if kind == "max-pool" else nn.AvgPool2d
        return pool(a["kernel"], a.get("stride", a["kernel"]), a.get("pad", 0))
    if kind == "batch-norm":
        return nn.BatchNorm2d(shape[1], a.get("eps", 1e-5), a.get("momentum", 0.1))
    if kind == "dropout":
        return Dropout(a.get("rate", 0.5), index)
    return {"relu": nn.ReLU, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh, "flatten": nn.Flatten}[kind]()


def build(text: str) -> nn.Module:
    """Modules named as the layers of the file: default names are the op's name and its ordinal among its kind."""
    spec = yaml.safe_load(text)
    model, x, counts = nn.Sequential(), torch.zeros(2, *spec["input"]), {}
    for index, entry in enumerate(spec["layers"]):
        (kind, attributes), = entry.items() if isinstance(entry, dict) else ((entry, {}),)
        attributes = dict(attributes or {})
        counts[kind] = counts.get(kind, 0) + 1
        if kind == "softmax-cross-entropy":
            continue
        name = attributes.pop("name", f"{kind}{counts[kind]}")
        module = layer_of(kind, attributes, x.shape, index)
        model.add_module(name, module)
        x = module.eval()(x)
    return model.train()


def set_start(model: nn.Module) -> None:
    for layer, module in model.named_children():
        inner = module[1] if isinstance(module, nn.Sequential) else module
        if not isinstance(inner, (nn.Conv2d, nn.Linear)):
            continue
        bound = 1 / numpy.sqrt(inner.weight[0].numel())
        for kind, p in inner.named_parameters():
            p.data = torch.from_numpy(philox.start_weights(SEED, f"{layer}.{kind}", p.numel(), bound)).reshape(p.shape)


def train(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> numpy.ndarray:
    decayed = [p for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Linear)) for p in [m.weight]]
    chosen = {id(p) for p in decayed}
    others = [p for p in model.parameters() if id(p) not in chosen]
    optimiser = torch.optim.SGD([{"params": decayed, "weight_decay": DECAY}, {"params": others}], LR, MOMENTUM)
    losses = []
    for step in range(STEPS):
        for m in model.modules():
            if isinstance(m, Dropout):
                m.step, m.first_sample = step, 0
        turn = philox.order(SEED, step, len(x))  # one step is one epoch: the batch is the set
        optimiser.zero_grad()
        loss = functional.cross_entropy(model(x[turn]), y[turn])
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return numpy.array(losses, "f4")


def shipped_models() -> dict[str, str]:
    """Name and text of the models in shipped_models.c: its string literals, joined."""
    source = (ROOT / "src/training/model/shipped_models.c").read_text()
    models = {}
    for body in re.findall(r"static const char \w+\[\] =(.*?);\n", source, re.S):
        text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', body)).replace("\\n", "\n")
        models[yaml.safe_load(text)["name"]] = text
    return models


def main() -> None:
    golden = ROOT / "tests/golden/train"
    torch.set_num_threads(1)
    images = read_idx(golden / "digits32/train-images-idx3-ubyte.gz").astype("f4")
    y = torch.from_numpy(read_idx(golden / "digits32/train-labels-idx1-ubyte.gz").astype("i8"))
    x = torch.from_numpy((images / numpy.float32(255) - numpy.float32(MEAN)) / numpy.float32(STD)).unsqueeze(1)
    for name, text in shipped_models().items():
        model = build(text)
        set_start(model)
        model = model.double()
        losses = train(model, x.double(), y)
        save_file({"losses": losses}, golden / f"{name}.safetensors", metadata={"torch": torch.__version__})
        print(name, losses[:3], losses[-1])


if __name__ == "__main__":
    main()

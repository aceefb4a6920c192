# SPDX-License-Identifier: Apache-2.0
"""torch_models.py: a model file (docs/models.md) as a PyTorch module, for the oracles and the benchmarks: the zoo is
written once.

Parameters have the names that tutti's checkpoints give them. Needs torch and pyyaml."""
import collections
import copy
import pathlib

import torch
import yaml
from torch import nn
from torch.nn import functional

ZOO = pathlib.Path(__file__).resolve().parents[2] / "src/training/model/zoo"
LOSS = "softmax-cross-entropy"


def read_layers(spec: dict) -> list[tuple[str, str, dict, list[str]]]:
    """(name, op, attributes, names of the layers that it reads) of each layer, with the defaults of the format."""
    layers, counts, above = [], {}, "input"
    for entry in spec["layers"]:
        (op, attributes), = entry.items() if isinstance(entry, dict) else ((entry, None),)
        attributes = dict(attributes or {})
        counts[op] = counts.get(op, 0) + 1
        name = attributes.pop("name", f"{op}{counts[op]}")
        read = attributes.pop("from", above)
        layers.append((name, op, attributes, read if isinstance(read, list) else [read]))
        above = name
    return layers


class Dropout(nn.Dropout):
    """Knows the place of its layer, by which tutti keys its masks: the oracle draws them."""

    def __init__(self, rate: float, layer: int) -> None:
        super().__init__(rate)
        self.layer = layer


class Flattened(nn.Linear):
    """Linear on all numbers of a sample."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.flatten(1))


def batch_norm(a: dict, shape: torch.Size) -> nn.Module:
    norm = (nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d)(shape[1], a.get("eps", 1e-5), a.get("momentum", 0.1))
    nn.init.constant_(norm.weight, a.get("scale_init", 1.0))
    return norm


def module_of(op: str, a: dict, shapes: list[torch.Size], layer: int) -> nn.Module | None:
    """The module of a layer; shapes: of what it reads, batch first. None: a function of several values."""
    shape = shapes[0]
    if op == "conv":
        return nn.Conv2d(shape[1], a["out_channels"], a["kernel"], a.get("stride", 1), a.get("pad", 0),
                         groups=a.get("groups", 1), bias=a.get("bias", True))
    if op == "dense":
        return Flattened(shape[1:].numel(), a["units"], a.get("bias", True))
    if op in ("max-pool", "avg-pool"):
        pool = nn.MaxPool2d if op == "max-pool" else nn.AvgPool2d
        return pool(a["kernel"], a.get("stride", a["kernel"]), a.get("pad", 0), ceil_mode=a.get("ceil", False))
    if op == "batch-norm":
        return batch_norm(a, shape)
    if op == "lrn":
        return nn.LocalResponseNorm(a.get("size", 5), a.get("alpha", 1e-4), a.get("beta", 0.75), a.get("k", 1.0))
    if op == "dropout":
        return Dropout(a.get("rate", 0.5), layer)
    if op in ("add", "concat"):
        return None
    if op == "global-avg-pool":
        return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return {"relu": nn.ReLU, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh, "flatten": nn.Flatten}[op]()


def combine(op: str, values: list[torch.Tensor]) -> torch.Tensor:
    return torch.cat(values, 1) if op == "concat" else sum(values[1:], values[0])


class Network(nn.Module):
    """forward gives what each loss layer reads; loss makes of it what tutti calls @loss."""

    def __init__(self, spec: dict) -> None:
        super().__init__()
        layers = read_layers(spec)
        last = {read: i for i, (_, _, _, reads) in enumerate(layers) for read in reads}
        self.losses = [(r[0], a.get("weight", 1.0), a.get("label_smoothing", 0.0)) for _, op, a, r in layers if op == LOSS]
        self.input, self.shapes, self.ops, self.play = tuple(spec["input"]), {"input": tuple(spec["input"])}, nn.ModuleList(), []
        for i, (name, op, attributes, reads) in enumerate(layers):
            if op == LOSS:
                continue
            shapes = [torch.Size((2, *self.shapes[r])) for r in reads]
            module = module_of(op, attributes, shapes, i)
            with torch.device("meta"):
                values = [torch.zeros(s) for s in shapes]
                out = combine(op, values) if module is None else copy.deepcopy(module).to("meta")(values[0])
            self.shapes[name] = tuple(out.shape[1:])
            if module is not None:
                module.name, module.op, module.attributes = name, op, attributes
                self.ops.append(module)
            # a value is let go after its last reader, so that memory is what autograd needs
            over = [r for r in set(reads) if last[r] == i and r not in [read for read, _, _ in self.losses]]
            self.play.append((name, op, module, reads, over))

    def in_place(self) -> "Network":
        """ReLU where it may overwrite what it reads, as people write networks for speed."""
        readers = collections.Counter(read for _, _, _, reads, _ in self.play for read in reads)
        for _, op, module, reads, _ in self.play:
            if op == "relu" and readers[reads[0]] == 1:
                module.inplace = True
        return self

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        values = {"input": x}
        for name, op, module, reads, over in self.play:
            values[name] = combine(op, [values[r] for r in reads]) if module is None else module(values[reads[0]])
            for read in over:
                del values[read]
        return [values[read] for read, _, _ in self.losses]

    def loss(self, outputs: list[torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
        return sum(weight * functional.cross_entropy(out, labels, label_smoothing=smoothing)
                   for out, (_, weight, smoothing) in zip(outputs, self.losses))

    def named_tensors(self) -> dict[str, torch.Tensor]:
        """Parameters and statistics under tutti's names, in the order of the layers."""
        return {f"{m.name}.{kind}": tensor for m in self.ops if hasattr(m, "name")
                for kind, tensor in [*m.named_parameters(), *m.named_buffers()] if kind != "num_batches_tracked"}


def spec_of(name_or_path: str) -> dict:
    path = pathlib.Path(name_or_path)
    return yaml.safe_load((path if path.suffix == ".yaml" else ZOO / f"{path}.yaml").read_text())


def load(name_or_path: str) -> Network:
    return Network(spec_of(name_or_path))


def optimiser_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """As tutti: decay on the weights of convolutions and dense layers, none on biases and norms."""
    weights = {id(m.weight) for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Linear))}
    return [{"params": [p for p in model.parameters() if id(p) in weights], "weight_decay": weight_decay},
            {"params": [p for p in model.parameters() if id(p) not in weights], "weight_decay": 0.0}]

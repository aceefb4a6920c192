# SPDX-License-Identifier: Apache-2.0
"""model_counts.py: makes tests/golden/model_counts.txt: for each model of the zoo what PyTorch counts: learned
parameters; the operations of its convolutions and dense layers for one sample, forward: two a multiply-add, one a bias
that is added; and below the shapes of those outputs where the picture gets smaller or branches meet. test_zoo.c holds
tutti's own counts against it. Needs torch and pyyaml."""
import pathlib

import torch
from torch import nn

import torch_models


def count(model: torch_models.Network) -> tuple[int, int]:
    flops = 0

    def hook(module: nn.Module, _, out: torch.Tensor) -> None:
        nonlocal flops
        terms = module.weight[0].numel()
        flops += (2 * terms + (module.bias is not None)) * out[0].numel()

    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            module.register_forward_hook(hook)
    with torch.no_grad():
        model.to("meta")(torch.zeros(2, *model.input, device="meta"))
    return sum(p.numel() for p in model.parameters()), flops


def main() -> None:
    lines = [
        "# made by tests/oracle/model_counts.py: model, learned parameters, forward operations; - layer, shape of its "
        "output"
    ]
    for path in sorted(torch_models.ZOO.glob("*.yaml")):
        with torch.device("meta"):
            model = torch_models.load(path.stem)
        lines.append("{} {} {}".format(path.stem, *count(model)))
        for name, op, module, _, _ in model.play:
            if op in ("max-pool", "avg-pool", "concat") or (op == "conv" and module.stride != (1, 1)):
                lines.append(" ".join(["-", name, *map(str, model.shapes[name])]))
    text = "\n".join(lines) + "\n"
    (pathlib.Path(__file__).resolve().parents[1] / "golden/model_counts.txt").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()

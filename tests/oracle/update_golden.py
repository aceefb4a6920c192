# SPDX-License-Identifier: Apache-2.0
"""update_golden.py [RULE...]: makes tests/golden/updates/RULE.safetensors, of all rules or of these: what PyTorch's
optimisers, in float64, make of weights and of what they keep (by the names of our states) in 20 steps on given
gradients. test_update_golden.c makes the same gradients and holds our rules against the files. Needs torch, numpy and
safetensors from PyPI."""
import pathlib
import sys

import numpy
import torch
from safetensors.numpy import save_file

STEPS, N, LR, DECAY = 20, 16, 0.01, 0.1
RULES = {
    "sgd": (torch.optim.SGD, {}, {}),
    "momentum": (torch.optim.SGD, {"momentum": 0.9}, {"momentum": "momentum_buffer"}),
    "nesterov": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}, {"momentum": "momentum_buffer"}),
    "adamw": (torch.optim.AdamW, {"betas": (0.9, 0.999), "eps": 1e-8}, {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"}),
}


def main() -> None:
    index = torch.arange(N, dtype=torch.float64)
    for rule in sys.argv[1:] or RULES:
        optimiser, keys, states = RULES[rule]
        weight = torch.nn.Parameter((index - 8) / 16)
        bias = torch.nn.Parameter((index - 8) / 16)
        groups = [{"params": [weight], "weight_decay": DECAY}, {"params": [bias], "weight_decay": 0}]
        o = optimiser(groups, lr=LR, **keys)
        path = {"weight": [], "bias": []}
        for step in range(STEPS):
            weight.grad = bias.grad = ((7 * index + 3 * step) % 11 - 5) / 8  # exact in float32
            o.step()
            path["weight"].append(weight.detach().numpy().astype("f4"))
            path["bias"].append(bias.detach().numpy().astype("f4"))
        found = {kind: numpy.stack(values) for kind, values in path.items()}
        found |= {ours: o.state[weight][name].numpy().astype("f4") for ours, name in states.items()}
        save_file(found, pathlib.Path(__file__).resolve().parents[1] / f"golden/updates/{rule}.safetensors",
                  metadata={"torch": torch.__version__})


if __name__ == "__main__":
    main()

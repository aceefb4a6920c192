# SPDX-License-Identifier: Apache-2.0
"""ops_golden.py [OP...]: makes tests/golden/ops/OP.safetensors, of all ops or of these: for each case of
tests/kernel/kernel_cases.h what PyTorch computes, forward and backward, from the numbers that the C suite draws
(philox.py draws them here). Needs torch, numpy, safetensors, xxhash.

test_ops_golden.c holds the reference kernels and oneDNN's against it, without PyTorch. A tensor is found by the case's
words, which are those of the C table: "<words>: out", "din" (of further inputs "din2" and on), "<parameter>", "loss".
So a new case, or a new op, changes no other's. Shape and attributes stand here once more: a slip in either shows."""
import pathlib
import sys

import numpy
import torch
from safetensors.numpy import save_file
from torch.nn import functional

import philox

SEED, STREAM_TEST, LOSS_SCALE = 7, 6, 0.25
DROPOUT = {"seed": 3, "step": 11, "first_sample": 100, "layer": 2}
EXACT, SPREAD = True, False
# op, words of the case, attributes, shape, small integers or different numbers
CASES = [
    ("conv", "one channel", dict(n=4, k=5, stride=1, padding=0, bias=True), (2, 1, 8, 8), EXACT),
    ("conv", "padding, not square", dict(n=8, k=3, stride=1, padding=1, bias=True), (2, 3, 6, 5), EXACT),
    ("conv", "stride 2, 7 channels, one sample", dict(n=7, k=3, stride=2, padding=1, bias=True), (1, 7, 7, 6), EXACT),
    ("conv", "1x1 without bias", dict(n=16, k=1, stride=1, padding=0, bias=False), (3, 16, 4, 4), EXACT),
    ("conv", "20 channels of 16", dict(n=20, k=5, stride=1, padding=2, bias=True), (2, 16, 6, 6), EXACT),
    ("conv", "two groups", dict(n=6, k=3, stride=1, padding=1, bias=True, groups=2), (2, 4, 6, 5), EXACT),
    ("conv", "two groups of whole "
             "blocks", dict(n=32, k=3, stride=2, padding=1, bias=True, groups=2), (1, 32, 5, 5), EXACT),
    ("conv", "each channel alone, without "
             "bias", dict(n=6, k=3, stride=1, padding=1, bias=False, groups=6), (2, 6, 5, 5), EXACT),
    ("dense", "two dims", dict(n=10, bias=True), (5, 12), EXACT),
    ("dense", "four dims without bias", dict(n=7, bias=False), (3, 7, 2, 3), EXACT),
    ("dense", "one sample, 20 channels", dict(n=10, bias=True), (1, 20, 4, 4), EXACT),
    ("relu", "7 channels", {}, (2, 7, 3, 3), SPREAD),
    ("relu", "one sample", {}, (1, 13), SPREAD),
    ("sigmoid", "7 channels", {}, (2, 7, 3, 3), SPREAD),
    ("sigmoid", "two dims", {}, (3, 5), SPREAD),
    ("tanh", "7 channels", {}, (2, 7, 3, 3), SPREAD),
    ("tanh", "two dims", {}, (3, 5), SPREAD),
    ("max-pool", "a column left over", dict(kernel_size=2, stride=2, padding=0), (2, 3, 6, 5), SPREAD),
    ("max-pool", "overlap and padding", dict(kernel_size=3, stride=2, padding=1), (1, 7, 5, 6), SPREAD),
    ("max-pool", "every position", dict(kernel_size=3, stride=1, padding=0), (2, 2, 5, 5), SPREAD),
    ("max-pool", "rounded up", dict(kernel_size=3, stride=2, ceil_mode=True), (2, 3, 6, 5), SPREAD),
    ("max-pool", "out of the padding", dict(kernel_size=4, stride=3, padding=1, ceil_mode=True), (1, 7, 7, 5), SPREAD),
    ("avg-pool", "a column left over", dict(kernel_size=2, stride=2, padding=0), (2, 3, 6, 5), EXACT),
    ("avg-pool", "overlap and padding", dict(kernel_size=3, stride=2, padding=1), (1, 7, 5, 6), None),
    ("avg-pool", "rounded up", dict(kernel_size=3, stride=2, ceil_mode=True), (2, 3, 6, 5), None),
    ("avg-pool", "out of the padding", dict(kernel_size=4, stride=3, padding=1, ceil_mode=True), (1, 7, 7, 5), None),
    ("global-avg-pool", "7 channels", {}, (2, 7, 2, 4), EXACT),
    ("global-avg-pool", "16 channels", {}, (3, 16, 7, 7), None),
    ("lrn", "7 channels", dict(size=5, alpha=1e-4, beta=0.75, k=1), (2, 7, 3, 2), SPREAD),
    ("lrn", "16 channels", dict(size=5, alpha=1, beta=0.75, k=2), (2, 16, 3, 3), SPREAD),
    ("lrn", "two dims", dict(size=5, alpha=1, beta=0.75, k=2), (3, 6), SPREAD),
    ("lrn", "an even window", dict(size=4, alpha=0.5, beta=0.5, k=1), (2, 3, 2, 2), SPREAD),
    ("batch-norm", "planes", {}, (3, 7, 3, 2), SPREAD),
    ("batch-norm", "two dims", {}, (6, 5), SPREAD),
    ("dropout", "planes", dict(rate=0.25), (2, 7, 3, 3), SPREAD),
    ("dropout", "two dims", dict(rate=0.25), (3, 10), SPREAD),
    ("flatten", "planes", {}, (2, 7, 3, 2), EXACT),
    ("add", "two", dict(more=[7]), (2, 7, 3, 2), EXACT),
    ("add", "three, two dims", dict(more=[5, 5]), (3, 5), EXACT),
    ("add", "eight", dict(more=[16] * 7), (1, 16, 3, 3), EXACT),
    ("concat", "two, odd channels", dict(more=[5]), (2, 3, 2, 3), EXACT),
    ("concat", "whole blocks", dict(more=[32, 16]), (2, 16, 3, 3), EXACT),
    ("concat", "a last block in part", dict(more=[30]), (2, 16, 3, 3), EXACT),
    ("concat", "a first block in part", dict(more=[16]), (2, 30, 3, 3), EXACT),
    ("concat", "two dims", dict(more=[1]), (3, 4), EXACT),
    ("softmax-cross-entropy", "ten classes", dict(weight=1), (6, 10), SPREAD),
    ("softmax-cross-entropy", "one sample", dict(weight=1), (1, 3), SPREAD),
    ("softmax-cross-entropy", "an auxiliary head", dict(weight=0.3), (4, 5), SPREAD),
    ("softmax-cross-entropy", "smoothed labels", dict(weight=1, label_smoothing=0.1), (4, 5), SPREAD),
]


def draw(kind, tensor: int, shape: tuple) -> torch.Tensor:
    """kernel_cases.h, draw(): tensor 0 is the input, 1 the output's gradient, from 2 the parameters, from 10 further
    inputs."""
    count = int(numpy.prod(shape))
    words = philox.words(SEED, STREAM_TEST, tensor, numpy.arange(count))
    if kind is EXACT:
        wide = [int(w[1]) << 32 | int(w[0]) for w in words]
        values = numpy.array([(w * 9 >> 64) - 4 for w in wide], "f4")
    elif kind is SPREAD and tensor == 0:
        order = (numpy.arange(count) * 7919 % count).astype("f4")
        values = (order + numpy.float32(0.25)) * numpy.float32(4) / numpy.float32(count) - numpy.float32(2)
    else:
        values = philox.unit(words[:, 0]) * numpy.float32(2) - numpy.float32(1)
    return torch.from_numpy(values.reshape(shape))


def make_params(op: str, attrs: dict, kind, shape: tuple) -> dict:
    shapes = {}
    if op == "conv":
        channels = shape[1] // attrs.get("groups", 1)
        shapes = {"weight": (attrs["n"], channels, attrs["k"], attrs["k"]), "bias": (attrs["n"],)}
    elif op == "dense":
        shapes = {"weight": (attrs["n"], int(numpy.prod(shape[1:]))), "bias": (attrs["n"],)}
    elif op == "batch-norm":
        shapes = {"weight": (shape[1],), "bias": (shape[1],)}
    if not attrs.get("bias", True):
        del shapes["bias"]
    return {name: draw(kind, 2 + i, s).requires_grad_() for i, (name, s) in enumerate(shapes.items())}


def forward(op: str, attrs: dict, xs: list, p: dict, extra: dict) -> torch.Tensor:
    x = xs[0]
    if op == "conv":
        return functional.conv2d(x, p["weight"], p.get("bias"), attrs["stride"], attrs["padding"], 1,
                                 attrs.get("groups", 1))
    if op == "lrn" and x.ndim == 2:  # PyTorch wants a third dim
        return functional.local_response_norm(x[:, :, None], **attrs)[:, :, 0]
    if op == "add":
        return sum(xs[1:], x)
    if op == "concat":
        return torch.cat(xs, 1)
    if op == "global-avg-pool":
        return functional.adaptive_avg_pool2d(x, 1).flatten(1)
    if op == "dense":
        return functional.linear(x.flatten(1), p["weight"], p.get("bias"))
    if op == "batch-norm":
        mean, variance = torch.zeros(x.shape[1]), torch.zeros(x.shape[1])  # with momentum 1: the batch's own
        out = functional.batch_norm(x, mean, variance, p["weight"], p["bias"], True, 1.0, 1e-5)
        extra.update(running_mean=mean, running_var=variance)
        return out
    if op == "dropout":
        mask = philox.dropout_mask(shape=tuple(x.shape), rate=attrs["rate"], **DROPOUT).astype("f4")
        return x * torch.from_numpy(mask / numpy.float32(1 - attrs["rate"]))
    if op == "flatten":
        return x.flatten(1)
    if op in ("relu", "sigmoid", "tanh"):
        return getattr(torch, op)(x)
    plain = {"max-pool": functional.max_pool2d, "avg-pool": functional.avg_pool2d, "lrn": functional.local_response_norm}
    return plain[op](x, **attrs)


def main() -> None:
    golden = {op: {} for op, *_ in CASES if op in sys.argv[1:] or not sys.argv[1:]}
    for op, words, attrs, shape, kind in (case for case in CASES if case[0] in golden):
        x, extra = draw(kind, 0, shape).requires_grad_(), {}
        xs = [x] + [draw(kind, 10 + k, (shape[0], channels, *shape[2:])).requires_grad_()
                    for k, channels in enumerate(attrs.get("more", []))]
        p = make_params(op, attrs, kind, shape)
        if op == "softmax-cross-entropy":
            labels = torch.arange(shape[0]) * 5 % shape[1]
            smoothing = attrs.get("label_smoothing", 0.0)
            loss = attrs["weight"] * functional.cross_entropy(x, labels, reduction="sum", label_smoothing=smoothing)
            (loss * LOSS_SCALE).backward()
            extra["loss"] = loss.detach().reshape(1)
        else:
            out = forward(op, attrs, xs, p, extra)
            out.backward(draw(kind, 1, tuple(out.shape)))
            extra["out"] = out.detach()
        extra["din"] = x.grad
        extra.update({f"din{k + 2}": more.grad for k, more in enumerate(xs[1:])})
        extra.update({name: value.grad for name, value in p.items()})
        golden[op].update({f"{words}: {name}": value.contiguous().numpy() for name, value in extra.items()})
    for op, tensors in golden.items():
        path = pathlib.Path(__file__).resolve().parents[1] / "golden" / "ops" / f"{op}.safetensors"
        save_file(tensors, path, {"made by": f"tests/oracle/ops_golden.py, PyTorch {torch.__version__}"})
        print(f"{path}: {len(tensors)} tensors")


if __name__ == "__main__":
    main()

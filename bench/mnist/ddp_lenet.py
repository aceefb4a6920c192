# SPDX-License-Identifier: Apache-2.0
"""ddp_lenet.py DATA EPOCHS BATCH LR MOMENTUM TARGET: the peer of bench/mnist: LeNet on MNIST with PyTorch
DistributedDataParallel over gloo, 2 processes of one thread each, the same model, global batch and optimiser as
examples/lenet-mnist.yaml.

The whole set lies normalised in memory (no loader cost). Prints one JSON object: for each memory format, seconds of
training plus evaluation until the test accuracy reached TARGET, counted from the first step."""
import gzip
import json
import os
import sys
import time

import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def read_idx(folder: str, stem: str) -> numpy.ndarray:
    for prefix in ("", "mnist-"):
        for opener, suffix in ((open, ""), (gzip.open, ".gz")):
            path = os.path.join(folder, prefix + stem + suffix)
            if os.path.exists(path):
                with opener(path, "rb") as file:
                    raw = file.read()
                ndims = raw[3]
                dims = numpy.frombuffer(raw, ">u4", ndims, 4)
                return numpy.frombuffer(raw, "u1", offset=4 + 4 * ndims).reshape(dims)
    raise SystemExit(f"{folder}: no {stem}[.gz]")


def lenet() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def accuracy(model: nn.Module, x: torch.Tensor, y: torch.Tensor, rank: int, world: int) -> float:
    model.eval()
    with torch.no_grad():
        mine = torch.arange(rank, len(x), world)
        right = sum(int((model(x[part]).argmax(1) == y[part]).sum()) for part in mine.split(500))
    model.train()
    total = torch.tensor([right])
    dist.all_reduce(total)
    return int(total) / len(x)


def worker(rank: int, args: list, queue) -> None:
    folder, epochs, batch, lr, momentum, target, port, channels_last = args
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    sets = []
    for stem in ("train", "t10k"):
        x = torch.from_numpy(read_idx(folder, stem + "-images-idx3-ubyte").astype("float32"))
        x = ((x / 255 - 0.1307) / 0.3081).unsqueeze(1)
        sets.append((x, torch.from_numpy(read_idx(folder, stem + "-labels-idx1-ubyte").astype("int64"))))
    (x, y), (tx, ty) = sets
    torch.manual_seed(1)
    model = lenet()
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    ddp = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True, static_graph=True)
    optimiser = torch.optim.SGD(ddp.parameters(), lr=lr, momentum=momentum, fused=True)
    loss_of = nn.CrossEntropyLoss()
    reached, best, step_s, nsteps, begin = None, 0.0, 0.0, 0, time.monotonic()
    for epoch in range(epochs):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        epoch_begin = time.monotonic()
        for first in range(0, len(x) - batch + 1, batch):
            mine = order[first + rank * batch // 2:first + (rank + 1) * batch // 2]
            optimiser.zero_grad(set_to_none=True)
            loss_of(ddp(x[mine]), y[mine]).backward()
            optimiser.step()
            nsteps += 1
        step_s += time.monotonic() - epoch_begin
        best = max(best, accuracy(ddp.module, tx, ty, rank, 2))
        if best >= target and reached is None:
            reached = time.monotonic() - begin
            break
    if rank == 0:
        queue.put({"seconds": reached, "accuracy": best, "epochs": epoch + 1, "step_ms": 1e3 * step_s / nsteps})
    dist.destroy_process_group()


def main() -> None:
    folder, epochs, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    lr, momentum, target = (float(a) for a in sys.argv[4:7])
    formats = sys.argv[7].split(",") if len(sys.argv) > 7 else ["contiguous", "channels_last"]
    out = {"torch": torch.__version__}
    for i, name in enumerate(formats):
        queue = mp.get_context("spawn").SimpleQueue()
        mp.spawn(worker, ([folder, epochs, batch, lr, momentum, target, 29600 + os.getpid() % 2000 + i,
                           name == "channels_last"], queue), nprocs=2)
        out[name] = queue.get()
    print(json.dumps(out))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""torch_train.py MODEL BATCH PRECISION MODE STEPS [THREADS]: the peer of bench/train and bench/scaling: a model of the
zoo in PyTorch, trained on made-up samples in memory, by one thread unless said otherwise. MODE: eager, channels_last
or compile. With RANK and WORLD_SIZE set: one rank of DistributedDataParallel over gloo. Prints one JSON object:
milliseconds of each step but the first three, peak memory, version."""
import contextlib
import json
import os
import pathlib
import resource
import sys
import time

import torch
import torch.distributed as dist

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/oracle"))
import torch_models  # noqa: E402

WARMUP = 3


def main() -> None:
    name, batch, precision, mode, steps = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
    torch.set_num_threads(int(sys.argv[6]) if len(sys.argv) > 6 else 1)
    torch.manual_seed(1)
    model = torch_models.load(name).in_place()
    classes, is_image = model.shapes[model.losses[-1][0]][0], len(model.input) == 3
    layout = torch.channels_last if mode == "channels_last" and is_image else torch.contiguous_format
    model = model.to(memory_format=layout)
    x = torch.randn(batch, *model.input)
    x, y = x.to(memory_format=layout) if is_image else x, torch.arange(batch) % classes
    run = model
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
        run = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True, static_graph=True)
    elif mode == "compile":
        run = torch.compile(model)
    optimiser = torch.optim.SGD(torch_models.optimiser_groups(model, 1e-4), lr=1e-3, momentum=0.9, fused=True)
    half = torch.autocast("cpu", dtype=torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
    times = []
    for step in range(WARMUP + steps):
        begin = time.perf_counter()
        optimiser.zero_grad(set_to_none=True)
        with half:
            loss = model.loss(run(x), y)
        loss.backward()
        optimiser.step()
        if step >= WARMUP:
            times.append(1e3 * (time.perf_counter() - begin))
    if "RANK" in os.environ:
        dist.destroy_process_group()
    print(json.dumps({"ms": times, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "torch": torch.__version__}))


if __name__ == "__main__":
    main()

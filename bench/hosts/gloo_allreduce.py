# SPDX-License-Identifier: Apache-2.0
"""One rank of the peer gloo (DDP's backend) of ./dev bench hosts. usage: gloo_allreduce.py BYTES ITERATIONS; rank 0 prints seconds:
the median over iterations of the slowest rank."""
import statistics
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank, nranks = dist.get_rank(), dist.get_world_size()
count, iterations = int(sys.argv[1]) // 4, int(sys.argv[2])
steps = torch.arange(count, dtype=torch.int64).remainder_(7).float()
seconds = []
for _ in range(iterations):
    vector = steps + rank
    dist.barrier()
    begin = time.perf_counter()
    dist.all_reduce(vector)
    own = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
    assert torch.equal(vector, nranks * steps + nranks * (nranks - 1) / 2)
    dist.all_reduce(own, dist.ReduceOp.MAX)
    seconds.append(own.item())
if rank == 0:
    print(f"gloo {statistics.median(seconds):.6f}", flush=True)
dist.destroy_process_group()

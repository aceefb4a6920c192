# SPDX-License-Identifier: Apache-2.0
"""gloo_allreduce.py: the peer PyTorch + gloo of ./dev bench allreduce and hosts: all_reduce of floats, in place, one
thread a rank. Runs under torchrun's variables. usage: gloo_allreduce.py BYTES...; rank 0 prints "BYTES MICROSECONDS" a
line, measured as mpi_allreduce.c does."""
import statistics
import sys
import time

import torch
import torch.distributed as dist

ROUNDS, ROUND_S = 7, 0.02


def time_round(vector: torch.Tensor, iterations: int) -> float:
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(iterations):
        dist.all_reduce(vector)
    own = torch.tensor((time.perf_counter() - begin) / iterations, dtype=torch.float64)
    dist.all_reduce(own, op=dist.ReduceOp.MAX)
    return own.item()


def time_size(nbytes: int) -> float:
    vector = torch.arange(nbytes // 4, dtype=torch.float32) % 7
    want = vector * dist.get_world_size()
    dist.all_reduce(vector)
    if not torch.equal(vector, want):
        sys.exit("gloo: wrong sum")
    vector.zero_()  # sums of zeros stay finite, however often
    once = time_round(vector, 1)
    if once < 0.1:
        once = time_round(vector, 3)
    if once < ROUND_S:
        once = time_round(vector, int(ROUND_S / once))  # what is found out by doing is
    return statistics.median(time_round(vector, max(1, int(ROUND_S / once))) for _ in range(ROUNDS if once < 1 else 3))


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for text in sys.argv[1:]:
        seconds = time_size(int(text))
        if dist.get_rank() == 0:
            print(f"{text} {1e6 * seconds:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

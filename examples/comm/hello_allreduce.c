/* SPDX-License-Identifier: Apache-2.0 */
/* hello_allreduce.c: the smallest program that uses tutti/comm.h: each rank gives its number, all get the sum and the
 * rank that has the largest one. Start it as several ranks, under torchrun --no-python, mpirun or by hand
 * (docs/comm.md). */
#include <stdio.h>

#include <tutti/comm.h>

int main(void)
{
    tutti_comm *comm;
    tutti_failure err = {0};
    if (tutti_comm_create_from_env(&comm, &err)) {
        fprintf(stderr, "hello_allreduce: %s\n", err.text);
        return err.status;
    }
    const int rank = tutti_comm_rank(comm), size = tutti_comm_size(comm);
    const double mine = rank + 1;
    double sum = 0;
    const tutti_f32_at guess = {.value = (float)((rank * 7) % size), .index = rank};
    tutti_f32_at best;
    tutti_status s = tutti_comm_allreduce(comm, &mine, &sum, 1, TUTTI_F64, TUTTI_SUM, &err);
    if (!s) s = tutti_comm_allreduce(comm, &guess, &best, 1, TUTTI_F32, TUTTI_ARGMAX, &err);
    if (s)
        fprintf(stderr, "hello_allreduce: %s\n", err.text);
    else if (rank == 0)
        printf("%d ranks: sum %g, largest %g on rank %d\n", size, sum, (double)best.value, best.index);
    tutti_comm_destroy(comm);
    return s;
}

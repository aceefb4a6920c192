/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.c: a persistent allreduce in memory that all ranks map, with work of one's own between start and wait. The
 * first vector travels while the second is being computed; nothing is copied to be sent. */
#include <stdio.h>

#include <tutti/comm.h>

enum { N = 1 << 16, ROUNDS = 20, HALVES = 2 };

static void compute(float *x, int rank, int round)
{
    for (int i = 0; i < N; i++) x[i] = (float)(rank + round + i % 5);
}

static tutti_status run(tutti_comm *comm, long *wrong, tutti_failure *err)
{
    float *memory;
    tutti_request *request[HALVES] = {NULL};
    const int rank = tutti_comm_rank(comm), size = tutti_comm_size(comm);
    tutti_status s = tutti_comm_alloc(comm, sizeof(float) * N * 2 * HALVES, (void **)&memory, err);
    for (int h = 0; h < HALVES && !s; h++) {
        float *in = memory + 2 * h * N;
        const tutti_call call = {.collective = TUTTI_ALLREDUCE, .in = in, .out = in + N, .count = N, .type = TUTTI_F32};
        s = tutti_comm_prepare(comm, &call, &request[h], err);
    }
    for (int round = 0; round < ROUNDS && !s; round++) {
        for (int h = 0; h < HALVES && !s; h++) {
            bool done;
            compute(memory + 2 * h * N, rank, round + h);
            s = tutti_request_start(request[h], err);
            if (!s) s = tutti_request_test(request[0], &done, err); /* moves what can move */
        }
        for (int h = 0; h < HALVES && !s; h++) s = tutti_request_wait(request[h], err);
        for (int i = 0; i < HALVES * N && !s; i++) {
            const int h = i / N, k = i % N;
            const long want = (long)size * (round + h + k % 5) + (long)size * (size - 1) / 2;
            *wrong += memory[(2 * h + 1) * N + k] != (float)want;
        }
    }
    for (int h = 0; h < HALVES; h++) tutti_request_free(request[h]);
    return s;
}

int main(void)
{
    tutti_comm *comm;
    tutti_failure err = {0};
    long wrong = 0;
    if (tutti_comm_create_from_env(&comm, &err)) {
        fprintf(stderr, "overlap: %s\n", err.text);
        return err.status;
    }
    tutti_status s = run(comm, &wrong, &err);
    if (s)
        fprintf(stderr, "overlap: %s\n", err.text);
    else if (tutti_comm_rank(comm) == 0)
        printf("%d ranks, %d rounds of two vectors: %ld elements wrong\n", tutti_comm_size(comm), ROUNDS, wrong);
    tutti_comm_destroy(comm);
    return s ? (int)s : wrong > 0;
}

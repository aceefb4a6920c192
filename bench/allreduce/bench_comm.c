/* SPDX-License-Identifier: Apache-2.0 */
/* bench_comm.c: our side of ./dev bench allreduce through the public calls (tutti/comm.h), in plain memory or in
 * allocated one. Starts its ranks itself.
 *
 * usage: bench_comm plain|region RANKS ALGORITHM BYTES...; rank 0 prints "BYTES MICROSECONDS" a line, as
 * mpi_allreduce.c does: the median over rounds of the slowest rank's mean, every element checked once, the inputs
 * unchanged between iterations. */
#include <string.h>

#include "own_ranks.h"

enum { MOST_RANKS = 256 };
static const double ROUND_S = 0.02;

static void *take(tutti_comm *comm, int region, size_t bytes)
{
    tutti_failure err = {0};
    void *memory = NULL;
    if (!region)
        memory = calloc(1, bytes);
    else
        check(tutti_comm_alloc(comm, bytes, &memory, &err), &err);
    if (!memory) exit(1);
    return memory;
}

typedef struct {
    tutti_comm *comm;
    tutti_call call;
} work;

static void run_once(void *arg)
{
    const work *w = arg;
    tutti_failure err = {0};
    check(tutti_comm_run(w->comm, &w->call, &err), &err);
}

static double time_size(tutti_comm *comm, int region, const char *algorithm, long bytes)
{
    const long n = bytes / (long)sizeof(float);
    float *in = take(comm, region, (size_t)bytes), *out = take(comm, region, (size_t)bytes);
    work w = {comm, {.in = in, .out = out, .count = n, .algorithm = algorithm}};
    tutti_failure err = {0};
    for (long i = 0; i < n; i++) in[i] = (float)(i % 7);
    const double seconds = time_steps(comm, run_once, &w, ROUND_S);
    for (long i = 0; i < n; i++)
        if (out[i] != (float)(tutti_comm_size(comm) * (i % 7))) exit(2);
    if (region) {
        check(tutti_comm_free(comm, in, &err), &err);
        check(tutti_comm_free(comm, out, &err), &err);
    } else {
        free(in), free(out);
    }
    return seconds;
}

int main(int argc, char **argv)
{
    tutti_comm *comm;
    tutti_failure err = {0};
    const int nranks = argc > 4 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (nranks < 1 || nranks > MOST_RANKS || (strcmp(argv[1], "plain") && strcmp(argv[1], "region"))) {
        fprintf(stderr, "usage: bench_comm plain|region RANKS ALGORITHM BYTES...\n");
        return 2;
    }
    if (!getenv("RANK")) return start_ranks(nranks, argv);
    check(tutti_comm_create_from_env(&comm, &err), &err);
    for (int i = 4; i < argc; i++) {
        const double seconds = time_size(comm, !strcmp(argv[1], "region"), argv[3], strtol(argv[i], NULL, 10));
        if (tutti_comm_rank(comm) == 0) printf("%s %.4f\n", argv[i], 1e6 * seconds);
        fflush(stdout);
    }
    tutti_comm_destroy(comm);
    return 0;
}

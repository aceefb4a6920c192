/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_sums.c: sums of tutti/comm.h beside MPI_Allreduce, in the same processes, started by mpirun. Both are sums of p
 * numbers with p - 1 roundings each in some order, so each is within g = (p-1)u / (1 - (p-1)u) times the sum of
 * absolute values of the truth (Higham, Accuracy and Stability, 4.2; u = 2^-24), and they differ by at most twice that.
 * Built and run by mpi_sums.sh.
 *
 * usage: mpi_sums ALGORITHM...; rank 0 prints a line for each; exit code 1 if one is outside the bound. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "tutti/comm.h"

enum { MOST = 100003 };

static void give_up(const char *what, const tutti_failure *err)
{
    fprintf(stderr, "mpi_sums: %s: %s\n", what, err->text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Numbers of both signs over twelve binary orders of magnitude. */
static float draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    const int32_t signed_bits = (int32_t)(*state >> 33) - (1 << 30);
    return ldexpf((float)signed_bits, -30 - (int)((*state >> 20) % 12));
}

/* The largest difference as a part of the bound: at most 1. */
static double compare(tutti_comm *comm, const char *algorithm, int64_t n, int region)
{
    static float plain_in[MOST], plain_out[MOST], theirs[MOST], absolute[MOST], sums[MOST];
    tutti_failure err = {0};
    float *in = plain_in, *out = plain_out;
    const int p = tutti_comm_size(comm);
    void *memory = NULL;
    uint64_t state = (uint64_t)tutti_comm_rank(comm) * 7919 + (uint64_t)n;
    if (region) {
        if (tutti_comm_alloc(comm, 2 * MOST * sizeof(float), &memory, &err)) give_up("alloc", &err);
        in = memory, out = in + MOST;
    }
    for (int64_t i = 0; i < n; i++) in[i] = draw(&state), absolute[i] = fabsf(in[i]), plain_in[i] = in[i];
    const tutti_call call = {.in = in, .out = out, .count = n, .algorithm = algorithm};
    if (tutti_comm_run(comm, &call, &err)) give_up(algorithm, &err);
    MPI_Allreduce(plain_in, theirs, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(absolute, sums, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const double u = 0x1p-24, g = (p - 1) * u / (1 - (p - 1) * u);
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        const double bound = 2 * g * (double)sums[i] * (1 + p * u); /* the sum of absolute values is rounded itself */
        const double apart = fabs((double)out[i] - (double)theirs[i]);
        if (apart > worst * bound) worst = bound > 0 ? apart / bound : INFINITY;
    }
    if (region && tutti_comm_free(comm, memory, &err)) give_up("free", &err);
    return worst;
}

int main(int argc, char **argv)
{
    static const int64_t lengths[] = {0, 1, 7, 1000, MOST};
    tutti_comm *comm;
    tutti_failure err = {0};
    double worst = 0;
    MPI_Init(&argc, &argv);
    if (tutti_comm_create_from_env(&comm, &err)) give_up("create", &err);
    for (int a = 1; a < argc; a++) {
        double own = 0, all;
        for (int k = 0; k < 5; k++)
            for (int region = 0; region < 2; region++) own = fmax(own, compare(comm, argv[a], lengths[k], region));
        MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (tutti_comm_rank(comm) == 0)
            printf("%d ranks  %-20s at most %.2f of the bound\n", tutti_comm_size(comm), argv[a], all);
        worst = fmax(worst, all);
    }
    tutti_comm_destroy(comm);
    MPI_Finalize();
    return worst > 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_allreduce.c: the peer of ./dev bench allreduce and hosts: MPI_Allreduce of floats in plain memory. Built with
 * mpicc when the benchmark runs, because MPI is no dependency of tutti.
 *
 * usage: mpi_allreduce BYTES...; rank 0 prints "BYTES MICROSECONDS" a line: the median over rounds of the slowest
 * rank's mean, as `tutti coll bench` does, with the inputs unchanged between iterations, as there. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 7 };
static const double ROUND_S = 0.02;

static double time_round(const float *in, float *out, int n, long iterations)
{
    double slowest;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (long i = 0; i < iterations; i++) MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    double own = (MPI_Wtime() - begin) / (double)iterations;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_size(long bytes)
{
    int n = (int)(bytes / (long)sizeof(float)), nranks;
    float *in = malloc((size_t)bytes), *out = calloc(1, (size_t)bytes);
    double rounds[ROUNDS];
    if (!in || !out) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    for (int i = 0; i < n; i++) in[i] = (float)(i % 7);
    double once = time_round(in, out, n, 1);
    if (once < 0.1) once = time_round(in, out, n, 3);
    if (once < 1e-3) once = time_round(in, out, n, 20);
    for (int i = 0; i < n; i++)
        if (out[i] != (float)(nranks * (i % 7))) MPI_Abort(MPI_COMM_WORLD, 2);
    if (once < ROUND_S) once = time_round(in, out, n, (long)(ROUND_S / once)); /* what is found out by doing is */
    long iterations = ROUND_S / once < 1 ? 1 : (long)(ROUND_S / once);
    const int nrounds = once < 1 ? ROUNDS : 3;
    for (int r = 0; r < nrounds; r++) rounds[r] = time_round(in, out, n, iterations);
    qsort(rounds, (size_t)nrounds, sizeof *rounds, compare_doubles);
    free(in), free(out);
    return rounds[nrounds / 2];
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; i++) {
        double seconds = time_size(strtol(argv[i], NULL, 10));
        if (rank == 0) printf("%s %.4f\n", argv[i], 1e6 * seconds);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A real MPI program, for SimGrid's smpicc: one MPI_Allreduce of argv[1] floats, begun by all ranks at once (a barrier
 * would let them go one after the other), and how long the last one took. Which algorithm it is smpirun is told
 * (--cfg=smpi/allreduce:NAME). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    if (argc != 2) return 2;
    const int n = (int)strtol(argv[1], NULL, 10);
    float *in = calloc((size_t)n, sizeof *in), *out = calloc((size_t)n, sizeof *out);
    if (!in || !out) return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const double begin = MPI_Wtime();
    MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    double took = MPI_Wtime() - begin, longest;
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!rank) printf("took %.12g\n", longest);
    MPI_Finalize();
    free(in), free(out);
    return 0;
}

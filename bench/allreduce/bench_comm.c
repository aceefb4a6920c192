/* SPDX-License-Identifier: Apache-2.0 */
/* bench_comm.c: our side of ./dev bench allreduce through the public calls (tutti/comm.h), in plain memory or in allocated one.
 * Starts its ranks itself.
 *
 * usage: bench_comm plain|region RANKS ALGORITHM BYTES...; rank 0 prints "BYTES MICROSECONDS" a line, as mpi_allreduce.c does: the
 * median over rounds of the slowest rank's mean, every element checked once, the inputs unchanged between iterations. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tutti/comm.h"

enum { ROUNDS = 7, MOST_RANKS = 256 };
static const double ROUND_S = 0.02;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void give_up(const tutti_failure *err)
{
    fprintf(stderr, "bench_comm: %s\n", err->text);
    exit(err->status);
}

static double time_round(tutti_comm *comm, const tutti_call *call, long iterations)
{
    tutti_failure err = {0};
    double own, slowest;
    if (tutti_comm_barrier(comm, &err)) give_up(&err);
    const double begin = now_s();
    for (long i = 0; i < iterations; i++)
        if (tutti_comm_run(comm, call, &err)) give_up(&err);
    own = (now_s() - begin) / (double)iterations;
    if (tutti_comm_allreduce(comm, &own, &slowest, 1, TUTTI_F64, TUTTI_MAX, &err)) give_up(&err);
    return slowest;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *take(tutti_comm *comm, int region, size_t bytes)
{
    tutti_failure err = {0};
    void *memory = NULL;
    if (!region)
        memory = calloc(1, bytes);
    else if (tutti_comm_alloc(comm, bytes, &memory, &err))
        give_up(&err);
    if (!memory) exit(1);
    return memory;
}

static double time_size(tutti_comm *comm, int region, const char *algorithm, long bytes)
{
    const long n = bytes / (long)sizeof(float);
    float *in = take(comm, region, (size_t)bytes), *out = take(comm, region, (size_t)bytes);
    const tutti_call call = {.in = in, .out = out, .count = n, .algorithm = algorithm};
    double rounds[ROUNDS];
    tutti_failure err = {0};
    for (long i = 0; i < n; i++) in[i] = (float)(i % 7);
    time_round(comm, &call, 2);
    double once = time_round(comm, &call, 3);
    if (once < 1e-3) once = time_round(comm, &call, 20);
    for (long i = 0; i < n; i++)
        if (out[i] != (float)(tutti_comm_size(comm) * (i % 7))) exit(2);
    const long iterations = ROUND_S / once < 1 ? 1 : (long)(ROUND_S / once);
    for (int r = 0; r < ROUNDS; r++) rounds[r] = time_round(comm, &call, iterations);
    qsort(rounds, ROUNDS, sizeof *rounds, compare_doubles);
    if (region) {
        if (tutti_comm_free(comm, in, &err) || tutti_comm_free(comm, out, &err)) give_up(&err);
    } else {
        free(in), free(out);
    }
    return rounds[ROUNDS / 2];
}

/* A port that was free a moment ago. */
static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) || getsockname(fd, (struct sockaddr *)&at, &size)) exit(1);
    close(fd);
    return ntohs(at.sin_port);
}

static int launch(int nranks, char **argv)
{
    char text[32];
    int worst = 0, status;
    snprintf(text, sizeof text, "%d", free_port()), setenv("MASTER_PORT", text, 1);
    snprintf(text, sizeof text, "%d", nranks), setenv("WORLD_SIZE", text, 1);
    for (int r = 0; r < nranks; r++) {
        snprintf(text, sizeof text, "%d", r), setenv("RANK", text, 1);
        if (fork() == 0) {
            execv("/proc/self/exe", argv);
            exit(1);
        }
    }
    while (wait(&status) > 0)
        if (status) worst = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    return worst;
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
    if (!getenv("RANK")) return launch(nranks, argv);
    if (tutti_comm_create_from_env(&comm, &err)) give_up(&err);
    for (int i = 4; i < argc; i++) {
        const double seconds = time_size(comm, !strcmp(argv[1], "region"), argv[3], strtol(argv[i], NULL, 10));
        if (tutti_comm_rank(comm) == 0) printf("%s %.4f\n", argv[i], 1e6 * seconds);
        fflush(stdout);
    }
    tutti_comm_destroy(comm);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* attack_ranks.c: attacks on tutti/comm.h by ranks that are processes, so that one that dies or hangs is seen:
 * attack_ranks NRANKS CASE. Each rank offers what is wrong, wants it refused with words, and then that the communicator
 * still sums; attacks.py runs them all. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tutti/comm.h"

enum { PAGE = 1 << 16, MOST_RANKS = 16, N = 1 << 16 };

typedef struct {
    tutti_comm *comm;
    int rank, nranks;
    tutti_failure err;
    char *at; /* a shared mapping of fd, four pages */
    int fd;
} attacker;

/* NULL: it ended as it should. */
typedef const char *(*attack)(attacker *a);

static const char *wants(const attacker *a, tutti_status got, tutti_status wanted, const char *words)
{
    static char said[1200];
    if (got == wanted && (!words || strstr(a->err.text, words)) && (got == TUTTI_OK || a->err.text[0])) return NULL;
    snprintf(said, sizeof said, "status %d, wanted %d with '%s': %s", (int)got, (int)wanted, words ? words : "",
             a->err.text);
    return said;
}

static const char *still_sums(attacker *a)
{
    static float in[N], out[N];
    for (int i = 0; i < N; i++) in[i] = (float)(a->rank + i % 5);
    const char *wrong =
        wants(a, tutti_comm_allreduce(a->comm, in, out, N, TUTTI_F32, TUTTI_SUM, &a->err), TUTTI_OK, NULL);
    for (int i = 0; i < N && !wrong; i++)
        if (out[i] != (float)(a->nranks * (a->nranks - 1) / 2 + a->nranks * (i % 5))) wrong = "a wrong sum";
    return wrong;
}

static const char *must_refuse(attacker *a, int fd, int64_t offset, void *at, size_t nbytes)
{
    const char *wrong = wants(a, tutti_comm_enrol(a->comm, fd, offset, at, nbytes, &a->err), TUTTI_ERR_USAGE, NULL);
    return wrong ? wrong : still_sums(a);
}

/* --- what is enrolled --- */

static const char *no_descriptor(attacker *a)
{
    return must_refuse(a, -1, 0, a->at, PAGE);
}
static const char *beyond(attacker *a)
{
    return must_refuse(a, a->fd, 4 * PAGE, a->at, PAGE);
}
static const char *size_max(attacker *a)
{
    return must_refuse(a, a->fd, 0, a->at, SIZE_MAX);
}
static const char *negative(attacker *a)
{
    return must_refuse(a, a->fd, -PAGE, a->at, PAGE);
}
static const char *null(attacker *a)
{
    return must_refuse(a, a->fd, 0, NULL, PAGE);
}
static const char *odd(attacker *a)
{
    return must_refuse(a, a->fd, 0, a->at + 3, 100);
}

static const char *closed(attacker *a)
{
    const int fd = dup(a->fd);
    close(fd);
    return must_refuse(a, fd, 0, a->at, PAGE);
}

static const char *of_kind(attacker *a, int fd)
{
    const char *wrong = must_refuse(a, fd, 0, a->at, PAGE);
    if (fd >= 0) close(fd);
    return wrong;
}

static const char *folder(attacker *a)
{
    return of_kind(a, open("/tmp", O_RDONLY | O_CLOEXEC));
}
static const char *a_socket(attacker *a)
{
    return of_kind(a, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}
static const char *an_eventfd(attacker *a)
{
    return of_kind(a, eventfd(0, EFD_CLOEXEC));
}
static const char *dev_zero(attacker *a)
{
    return of_kind(a, open("/dev/zero", O_RDWR | O_CLOEXEC));
}

static const char *stack(attacker *a)
{
    char here[2 * PAGE];
    return must_refuse(a, a->fd, 0, here + PAGE - (size_t)here % PAGE, PAGE);
}

static const char *heap(attacker *a)
{
    char *block = aligned_alloc(PAGE, PAGE);
    const char *wrong = must_refuse(a, a->fd, 0, block, PAGE);
    free(block);
    return wrong;
}

static const char *code(attacker *a)
{
    return must_refuse(a, a->fd, 0, (void *)((size_t)still_sums / PAGE * PAGE), PAGE);
}

static const char *enrol(attacker *a)
{
    return wants(a, tutti_comm_enrol(a->comm, a->fd, 0, a->at, 4 * PAGE, &a->err), TUTTI_OK, NULL);
}

static const char *twice(attacker *a)
{
    const char *wrong = enrol(a);
    return wrong ? wrong : must_refuse(a, a->fd, 0, a->at, 4 * PAGE);
}

static const char *another_size(attacker *a)
{
    const tutti_status s = tutti_comm_enrol(a->comm, a->fd, 0, a->at, a->rank ? PAGE : 2 * PAGE, &a->err);
    const char *wrong = wants(a, s, TUTTI_ERR_RENDEZVOUS, "bytes");
    return wrong ? wrong : still_sums(a);
}

/* The others sum meanwhile: different calls, which both sides hear. */
static const char *alone(attacker *a)
{
    static float x[N], y[N];
    const tutti_status s = a->rank ? tutti_comm_allreduce(a->comm, x, y, N, TUTTI_F32, TUTTI_SUM, &a->err)
                                   : tutti_comm_enrol(a->comm, a->fd, 0, a->at, PAGE, &a->err);
    return s ? wants(a, s, TUTTI_ERR_RENDEZVOUS, "rank") : "taken";
}

static const char *sealed(attacker *a)
{
    if (fcntl(a->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) return "no seals";
    const char *wrong = enrol(a);
    return wrong ? wrong : still_sums(a);
}

/* Shorter before it is offered: the mapping is there, the pages are not. */
static const char *cut_short(attacker *a)
{
    if (ftruncate(a->fd, PAGE)) return "no truncation";
    return must_refuse(a, a->fd, 0, a->at, 4 * PAGE);
}

static const char *then_close(attacker *a)
{
    const char *wrong = enrol(a);
    close(a->fd);
    return wrong ? wrong : still_sums(a);
}

static const char *forget(attacker *a, void *at, tutti_status wanted)
{
    return wants(a, tutti_comm_forget(a->comm, at, &a->err), wanted, NULL);
}

static const char *then_unmap(attacker *a)
{
    const char *wrong = enrol(a);
    munmap(a->at, 4 * PAGE);
    if (!wrong) wrong = forget(a, a->at, TUTTI_OK);
    return wrong ? wrong : still_sums(a);
}

static const char *forget_twice(attacker *a)
{
    const char *wrong = enrol(a);
    if (!wrong) wrong = forget(a, a->at, TUTTI_OK);
    if (!wrong) wrong = forget(a, a->at, TUTTI_ERR_USAGE);
    return wrong ? wrong : still_sums(a);
}

static const char *forget_middle(attacker *a)
{
    const char *wrong = enrol(a);
    if (!wrong) wrong = forget(a, a->at + PAGE, TUTTI_ERR_USAGE);
    return wrong ? wrong : still_sums(a);
}

static const char *forget_allocated(attacker *a)
{
    void *own;
    const char *wrong = wants(a, tutti_comm_alloc(a->comm, PAGE, &own, &a->err), TUTTI_OK, NULL);
    if (!wrong) wrong = forget(a, own, TUTTI_ERR_USAGE);
    return wrong ? wrong : still_sums(a);
}

static const char *forget_alone(attacker *a)
{
    const char *wrong = enrol(a);
    if (!wrong && a->rank == 0) wrong = forget(a, a->at, TUTTI_OK); /* now plain memory to it, and to it alone */
    if (wrong) return wrong;
    const tutti_status s =
        tutti_comm_allreduce(a->comm, a->at, a->at + 2 * PAGE, PAGE / 4, TUTTI_F32, TUTTI_SUM, &a->err);
    return s ? wants(a, s, TUTTI_ERR_RENDEZVOUS, "plain memory") : "taken";
}

static const char *free_enrolled(attacker *a)
{
    const char *wrong = enrol(a);
    if (!wrong) wrong = wants(a, tutti_comm_free(a->comm, a->at, &a->err), TUTTI_ERR_USAGE, NULL);
    return wrong ? wrong : still_sums(a);
}

/* --- what is called --- */

static const char *refused_call(attacker *a, const tutti_call *call)
{
    const char *wrong = wants(a, tutti_comm_run(a->comm, call, &a->err), TUTTI_ERR_USAGE, NULL);
    return wrong ? wrong : still_sums(a);
}

static float x[2 * N], y[2 * N];

static const char *call_null(attacker *a)
{
    return refused_call(a, NULL);
}
static const char *null_input(attacker *a)
{
    return refused_call(a, &(tutti_call){.in = NULL, .out = y, .count = N});
}
static const char *overlap(attacker *a)
{
    return refused_call(a, &(tutti_call){.in = x, .out = x + 1, .count = N});
}
static const char *minus(attacker *a)
{
    return refused_call(a, &(tutti_call){.in = x, .out = y, .count = -1});
}
static const char *most(attacker *a)
{
    return refused_call(a, &(tutti_call){.in = x, .out = y, .count = INT64_MAX});
}
static const char *type_99(attacker *a)
{
    return refused_call(a, &(tutti_call){.in = x, .out = y, .count = N, .type = (tutti_dtype)99});
}
static const char *root_7(attacker *a)
{
    return refused_call(a, &(tutti_call){.collective = TUTTI_BROADCAST, .in = x, .out = x, .count = N, .root = 7});
}
static const char *no_algorithm(attacker *a)
{
    return refused_call(a, &(tutti_call){.in = x, .out = y, .count = N, .algorithm = "rings,of=%s%n"});
}

/* The peers reach for it through the system, which says that nothing is there; whoever touches it himself dies of it,
 * and is named. */
static const char *bad_memory(attacker *a, int protection)
{
    const size_t bytes = (size_t)4 << 20;
    float *bad = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *good = calloc(1, bytes);
    const bool reads = protection == PROT_NONE;
    if (protection == PROT_NONE) munmap(bad, bytes);
    tutti_status s = TUTTI_OK;
    for (int e = 0; e < 12 && !s; e++) { /* of 4 MiB all ways are tried */
        const bool mine = a->rank == 1;
        s = tutti_comm_allreduce(a->comm, mine && reads ? bad : good, mine && !reads ? bad : good + (bytes / 8),
                                 (int64_t)bytes / 8, TUTTI_F32, TUTTI_SUM, &a->err);
    }
    free(good);
    return s ? wants(a, s, TUTTI_ERR_PEER, "rank 1") : "taken";
}

static const char *unmapped(attacker *a)
{
    return bad_memory(a, PROT_NONE);
}
static const char *read_only(attacker *a)
{
    return bad_memory(a, PROT_READ);
}

/* As a hardened process forbids it: nobody but root may read it. */
static const char *not_dumpable(attacker *a)
{
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)) return "cannot";
    const char *wrong = still_sums(a);
    for (int e = 0; e < 20 && !wrong; e++) wrong = still_sums(a);
    return wrong;
}

static const char *one_dies(attacker *a)
{
    if (a->rank == 1) {
        sleep(1);
        raise(SIGKILL);
    }
    return wants(a, tutti_comm_barrier(a->comm, &a->err), TUTTI_ERR_PEER, "rank 1");
}

static const char *one_never_calls(attacker *a)
{
    const tutti_call call = {.collective = TUTTI_BARRIER, .deadline_s = 1};
    if (a->rank == 1) sleep(3);
    const tutti_status s = tutti_comm_run(a->comm, &call, &a->err);
    return wants(a, s, TUTTI_ERR_PEER, a->rank ? "rank 0" : "rank 1");
}

static const char *in_flight(attacker *a)
{
    tutti_request *q;
    const tutti_call call = {.in = x, .out = y, .count = N};
    const char *wrong = wants(a, tutti_comm_prepare(a->comm, &call, &q, &a->err), TUTTI_OK, NULL);
    if (!wrong) wrong = wants(a, tutti_request_start(q, &a->err), TUTTI_OK, NULL);
    if (wrong) return wrong;
    tutti_comm_destroy(a->comm);
    a->comm = NULL;
    wrong = wants(a, tutti_request_wait(q, &a->err), TUTTI_ERR_USAGE, NULL);
    tutti_request_free(q);
    return wrong;
}

static const struct {
    const char *name;
    attack body;
} cases[] = {
    {"enrol-no-descriptor", no_descriptor},
    {"enrol-closed-descriptor", closed},
    {"enrol-a-folder", folder},
    {"enrol-a-socket", a_socket},
    {"enrol-an-eventfd", an_eventfd},
    {"enrol-dev-zero", dev_zero},
    {"enrol-beyond-the-file", beyond},
    {"enrol-size-max", size_max},
    {"enrol-negative-offset", negative},
    {"enrol-null", null},
    {"enrol-odd-address", odd},
    {"enrol-the-stack", stack},
    {"enrol-the-heap", heap},
    {"enrol-code", code},
    {"enrol-twice", twice},
    {"enrol-by-one-alone", alone},
    {"enrol-another-size", another_size},
    {"forget-twice", forget_twice},
    {"forget-the-middle", forget_middle},
    {"forget-what-was-allocated", forget_allocated},
    {"forget-by-one-alone", forget_alone},
    {"free-what-was-enrolled", free_enrolled},
    {"enrol-then-close", then_close},
    {"enrol-then-unmap-and-forget", then_unmap},
    {"enrol-sealed", sealed},
    {"enrol-file-cut-short", cut_short},
    {"call-null", call_null},
    {"call-null-input", null_input},
    {"call-unmapped-input", unmapped},
    {"call-read-only-output", read_only},
    {"call-overlap", overlap},
    {"call-count-negative", minus},
    {"call-count-max", most},
    {"call-type-99", type_99},
    {"call-root-7", root_7},
    {"call-no-algorithm", no_algorithm},
    {"not-dumpable", not_dumpable},
    {"one-dies-asleep", one_dies},
    {"one-never-calls", one_never_calls},
    {"destroy-in-flight", in_flight},
};

static int run_rank(attack body, int rank, int nranks, int port)
{
    attacker a = {.rank = rank, .nranks = nranks};
    const tutti_comm_config config = {.rank = rank, .nranks = nranks, .port = port, .deadline_s = 10};
    a.fd = memfd_create("attack", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (a.fd < 0 || ftruncate(a.fd, 4 * PAGE)) return 1;
    a.at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, a.fd, 0);
    if (tutti_comm_create(&config, &a.comm, &a.err)) {
        printf("rank %d: no communicator: %s\n", rank, a.err.text);
        return 1;
    }
    const char *wrong = body(&a);
    printf("rank %d: %s%s%s\n", rank, wrong ? "NOT: " : "as it should",
           wrong           ? wrong
           : a.err.text[0] ? ": "
                           : "",
           wrong ? "" : a.err.text);
    fflush(stdout);
    tutti_comm_destroy(a.comm);
    return wrong ? 1 : 0;
}

static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || getsockname(fd, (struct sockaddr *)&at, &length)) return -1;
    close(fd);
    return ntohs(at.sin_port);
}

/* One that is meant to die does so; any other death is a finding. */
static int run_all(attack body, int nranks)
{
    const int port = free_port();
    pid_t child[MOST_RANKS];
    int worst = 0, status;
    for (int r = 0; r < nranks; r++) {
        child[r] = fork();
        if (child[r] == 0) exit(run_rank(body, r, nranks, port));
    }
    for (int r = 0; r < nranks; r++) {
        if (waitpid(child[r], &status, 0) != child[r]) return 1;
        const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        const bool meant =
            r == 1 && (body == one_dies || ((body == unmapped || body == read_only) && code == 128 + SIGSEGV));
        if (code && !meant) printf("rank %d ended with %d\n", r, code);
        if (code && !meant) worst = code;
    }
    return worst;
}

int main(int argc, char **argv)
{
    const int nranks = argc == 3 ? (int)strtol(argv[1], NULL, 10) : 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases && nranks > 0 && nranks <= MOST_RANKS; i++)
        if (!strcmp(cases[i].name, argv[2])) return run_all(cases[i].body, nranks);
    fprintf(stderr, "usage: attack_ranks NRANKS CASE\n");
    return 2;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_memory.c: memory of other processes: plain memory that is read and written where it lies, systems that
 * refuse that, memory that is not there, and memory of the caller's own that is enrolled. */
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "comm_ranks.h"
#include "rank_processes.h"

enum { MOST = 3 << 20 }; /* elements */

/* --- as a rank --- */

static char words[1200]; /* what a rank says */

static const char *sum(tutti_comm *comm, float *in, float *out, int64_t n)
{
    tutti_failure err = {0};
    const int p = tutti_comm_size(comm), me = tutti_comm_rank(comm);
    for (int64_t i = 0, k = 0; i < n; i++, k = k == 6 ? 0 : k + 1) in[i] = (float)(me + k); /* k: i % 7 */
    if (tutti_comm_allreduce(comm, in, out, n, TUTTI_F32, TUTTI_SUM, &err)) {
        snprintf(words, sizeof words, "%s", err.text);
        return words;
    }
    for (int64_t i = 0, k = 0; i < n; i++, k = k == 6 ? 0 : k + 1)
        EXPECT(out[i] == (float)(p * (p - 1) / 2 + p * (int)k));
    return NULL;
}

/* So many calls of one length that each of its ways is gone, and some are gone again. */
static const char *sums(tutti_comm *comm)
{
    enum { CALLS = 40 };
    const int64_t lengths[] = {5001, 16000, 65537, 500003, MOST};
    float *memory = malloc(2 * (size_t)MOST * sizeof(float) + 64);
    const char *wrong = NULL;
    for (int k = 0; k < 5 && !wrong; k++)
        for (int e = 0; e < CALLS && !wrong; e++) {
            float *in = memory + tutti_comm_rank(comm) + e % 3; /* other addresses on each rank and in each call */
            wrong = sum(comm, in, e % 4 ? in + MOST : in, lengths[k] - e % 2);
            if (lengths[k] == MOST && e == 6) break;
        }
    free(memory);
    return wrong;
}

/* Blocks of the ranks, everybody's number in them. */
static const char *blocks(tutti_comm *comm)
{
    enum { N = 100003 };
    tutti_failure err = {0};
    const int p = tutti_comm_size(comm), me = tutti_comm_rank(comm);
    int32_t *in = calloc((size_t)p * N, sizeof *in), *out = calloc((size_t)p * N, sizeof *out);
    for (int e = 0; e < 12; e++) {
        for (int64_t i = 0; i < p * N; i++) in[i] = (int32_t)(me * 1000 + i / N * 10 + e);
        EXPECT(!tutti_comm_all_to_all(comm, in, out, N, TUTTI_I32, &err));
        for (int64_t i = 0; i < p * N; i++) EXPECT(out[i] == i / N * 1000 + me * 10 + e);
        EXPECT(!tutti_comm_all_gather(comm, in, out, N, TUTTI_I32, &err));
        for (int64_t i = 0; i < p * N; i++) EXPECT(out[i] == i / N * 1000 + e);
        EXPECT(!tutti_comm_gather(comm, in, out, N, TUTTI_I32, 1, &err));
        EXPECT(!tutti_comm_broadcast(comm, out, p * N, TUTTI_I32, 1, &err));
        for (int64_t i = 0; i < p * N; i++) EXPECT(out[i] == i / N * 1000 + e);
        EXPECT(!tutti_comm_reduce_scatter(comm, in, out, N, TUTTI_I32, TUTTI_SUM, &err));
        for (int64_t i = 0; i < N; i++) EXPECT(out[i] == 1000 * p * (p - 1) / 2 + p * (me * 10 + e));
    }
    free(in), free(out);
    return NULL;
}

static const char *explain(tutti_comm *comm)
{
    float *x = calloc(2 << 18, sizeof *x);
    const tutti_call call = {.in = x, .out = x + (1 << 18), .count = 1 << 18};
    char *text = tutti_comm_explain(comm, &call);
    const char *line = strstr(text, "memory of peers is not");
    if (!line) line = strstr(text, "where it lies") ? "it is read where it lies" : "neither";
    snprintf(words, sizeof words, "%.*s", (int)strcspn(line, "\n"), line);
    free(text), free(x);
    return words;
}

static const char *sums_body(tutti_comm *comm)
{
    const char *wrong = sums(comm);
    if (!wrong) wrong = blocks(comm);
    return wrong ? wrong : explain(comm);
}

/* As a container's filter does it: rank 1 may not touch other processes. */
static bool filter_calls(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static const char *filtered_body(tutti_comm *comm)
{
    if (tutti_comm_rank(comm) == 1 && !filter_calls()) return "no filter";
    return sums_body(comm);
}

/* The root broadcasts what is not there. It does not touch it itself, the others must not die of it. */
static const char *absent_body(tutti_comm *comm)
{
    tutti_failure err = {0};
    const size_t bytes = 1 << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tutti_status s = tutti_comm_broadcast(comm, memory, (int64_t)bytes, TUTTI_U8, 0, &err);
    if (tutti_comm_rank(comm) == 0) munmap(memory, bytes);
    if (!s)
        s = tutti_comm_broadcast(comm, memory, (int64_t)bytes, TUTTI_U8, 0, &err); /* a slow one hears of it before */
    EXPECT(s == TUTTI_ERR_PEER);
    snprintf(words, sizeof words, "%s", err.text);
    return words;
}

static const char *forked_body(tutti_comm *comm)
{
    tutti_failure err = {0};
    int ended = -1;
    EXPECT(!tutti_comm_barrier(comm, &err));
    const pid_t child = fork();
    if (child == 0) {
        const tutti_status s = tutti_comm_barrier(comm, &err);
        tutti_comm_destroy(comm); /* says no goodbye for its parent */
        _exit(s == TUTTI_ERR_USAGE && strstr(err.text, "child (fork)") ? 0 : 1);
    }
    EXPECT(waitpid(child, &ended, 0) == child && ended == 0);
    const char *wrong = sums(comm);
    return wrong ? wrong : "fine";
}

/* A file of its own for each rank; peers map it, also where they run on another host they get its bytes. */
static const char *enrolled_body(tutti_comm *comm)
{
    enum { N = 1 << 18, PAGE = 1 << 16 };
    tutti_failure err = {0};
    const size_t bytes = 2 * N * sizeof(float);
    const int fd = memfd_create("tensor", MFD_CLOEXEC);
    EXPECT(fd >= 0 && !ftruncate(fd, (off_t)bytes + 3 * PAGE));
    const int64_t offset = PAGE * tutti_comm_rank(comm); /* another place in each file */
    float *in = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    EXPECT(in != MAP_FAILED);
    EXPECT(!tutti_comm_enrol(comm, fd, offset, in, bytes, &err));
    close(fd);
    for (int e = 0; e < 5; e++) {
        const char *wrong = sum(comm, in, e % 2 ? in : in + N, N - e);
        if (wrong) return wrong;
    }
    EXPECT(!tutti_comm_forget(comm, in, &err));
    const char *wrong = sum(comm, in, in + N, N);
    return wrong ? wrong : "fine";
}

static int mappings_named(const char *name)
{
    char line[512];
    int n = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && fgets(line, sizeof line, f)) n += strstr(line, name) != NULL;
    if (f) fclose(f);
    return n;
}

/* With a file a rank there would be a mapping and a descriptor for each pair of them. */
static const char *one_file_body(tutti_comm *comm)
{
    tutti_failure err = {0};
    void *memory;
    EXPECT(!tutti_comm_alloc(comm, 5000, &memory, &err));
    snprintf(words, sizeof words, "%d of allocations", mappings_named("/memfd:allocation"));
    return words;
}

static const char *killed_body(tutti_comm *comm)
{
    tutti_failure err = {0};
    float *in = calloc(MOST, sizeof *in), *out = calloc(MOST, sizeof *out);
    tutti_status s = TUTTI_OK;
    for (int e = 0; !s; e++) {
        if (tutti_comm_rank(comm) == 1 && e == 20) raise(SIGKILL);
        s = tutti_comm_allreduce(comm, in, out, MOST - e % 5, TUTTI_F32, TUTTI_SUM, &err);
    }
    EXPECT(s == TUTTI_ERR_PEER);
    snprintf(words, sizeof words, "%s", err.text);
    return words;
}

static int run_as_rank(const char *mode)
{
    static const struct {
        const char *mode;
        const char *(*body)(tutti_comm *comm);
    } modes[] = {{"sums", sums_body},     {"filtered", filtered_body}, {"absent", absent_body},
                 {"forked", forked_body}, {"enrolled", enrolled_body}, {"one file", one_file_body},
                 {"killed", killed_body}};
    tutti_failure err = {0};
    tutti_comm *comm = NULL;
    const char *said = NULL;
    take_host();
    if (tutti_comm_create_from_env(&comm, &err)) said = err.text;
    for (size_t i = 0; i < sizeof modes / sizeof *modes && !said; i++)
        if (!strcmp(modes[i].mode, mode)) said = modes[i].body(comm);
    say(said ? said : "fine");
    tutti_comm_destroy(comm);
    return 0;
}

/* --- as the test --- */

static void all_must_say(const char *mode, int nranks, const char *said)
{
    outcome o;
    run_mode("test_ranks_memory", mode, nranks, &o);
    for (int r = 0; r < nranks; r++) expect_words(&o, r, said);
    assert_int_equal(o.exit_code, 0);
}

/* Whether this system lets processes of one user touch each other at all. */
static bool is_allowed(void)
{
    outcome o;
    run_mode("test_ranks_memory", "sums", 2, &o);
    return strstr(o.heard[0], "it is read where it lies");
}

static void plain_memory_is_summed_on_every_way(void **state)
{
    (void)state;
    for (int p = 2; p <= 5; p++) {
        outcome o;
        run_mode("test_ranks_memory", "sums", p, &o);
        assert_int_equal(o.exit_code, 0);
        for (int r = 0; r < p; r++)
            if (!strstr(o.heard[r], "it is read where it lies") && !strstr(o.heard[r], "memory of peers is not"))
                fail_msg("rank %d of %d: %s", r, p, o.heard[r]);
    }
}

static void memory_of_peers_is_left_alone_on_request(void **state)
{
    (void)state;
    setenv("TUTTI_CMA", "off", 1);
    all_must_say("sums", 3, "memory of peers is not read in place: TUTTI_CMA=off");
    setenv("TUTTI_CMA", "maybe", 1);
    all_must_say("sums", 2, "TUTTI_CMA=maybe: 'on' or 'off' is possible");
    unsetenv("TUTTI_CMA");
}

static void a_system_that_refuses_one_rank_is_believed_by_all(void **state)
{
    (void)state;
    if (!is_allowed()) skip();
    outcome o;
    run_mode("test_ranks_memory", "filtered", 3, &o);
    for (int r = 0; r < 3; r++) {
        expect_words(&o, r, "memory of peers is not read in place: the system does not let rank 1 (");
        expect_words(&o, r, "Operation not permitted");
    }
}

static void memory_that_is_not_there_is_named(void **state)
{
    (void)state;
    if (!is_allowed()) skip();
    outcome o;
    run_mode("test_ranks_memory", "absent", 3, &o);
    for (int r = 0; r < 3; r++) {
        expect_words(&o, r, "rank 0 (");
        expect_words(&o, r, "cannot be read");
    }
}

static void test_f40_a_child_of_fork_is_refused_and_its_parent_is_not_disturbed(void **state)
{
    (void)state;
    all_must_say("forked", 2, "fine");
}

static void enrolled_memory_is_summed_between_processes_and_hosts(void **state)
{
    (void)state;
    for (int p = 1; p <= 4; p++) all_must_say("enrolled", p, "fine");
    for (int i = 0; take_wire(i); i++) {
        outcome o;
        run_on_hosts("test_ranks_memory", "enrolled", "aba", &o);
        for (int r = 0; r < 3; r++) expect_words(&o, r, "fine");
    }
    unsetenv("TEST_HOSTS");
}

static void ranks_of_a_host_share_one_file_of_a_region(void **state)
{
    (void)state;
    all_must_say("one file", 4, "1 of allocations");
}

static void who_dies_in_the_middle_is_named(void **state)
{
    (void)state;
    outcome o;
    run_mode("test_ranks_memory", "killed", 3, &o);
    for (int r = 0; r < 3; r += 2) {
        expect_words(&o, r, "rank 1 ");
        expect_words(&o, r, " died");
    }
}

int main(int argc, char **argv)
{
    if (is_rank(argc)) return run_as_rank(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_memory_is_summed_on_every_way),
        cmocka_unit_test(memory_of_peers_is_left_alone_on_request),
        cmocka_unit_test(a_system_that_refuses_one_rank_is_believed_by_all),
        cmocka_unit_test(memory_that_is_not_there_is_named),
        cmocka_unit_test(test_f40_a_child_of_fork_is_refused_and_its_parent_is_not_disturbed),
        cmocka_unit_test(enrolled_memory_is_summed_between_processes_and_hosts),
        cmocka_unit_test(ranks_of_a_host_share_one_file_of_a_region),
        cmocka_unit_test(who_dies_in_the_middle_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

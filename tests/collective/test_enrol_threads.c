/* SPDX-License-Identifier: Apache-2.0 */
/* test_enrol_threads.c: memory of the caller's own that becomes memory of all ranks (tutti_comm_enrol): sums without a
 * copy, what is refused and in which words, and what giving it up means. */
#include "testing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm_ranks.h"

enum { PAGE = 1 << 16, N = 3 * PAGE / (int)sizeof(float), BYTES = 2 * 3 * PAGE };

/* A file of shared memory and where it is mapped. */
typedef struct {
    int fd;
    char *at;
} shared;

static shared make_shared(size_t bytes)
{
    shared m = {.fd = memfd_create("tensor", MFD_CLOEXEC)};
    if (m.fd < 0 || ftruncate(m.fd, (off_t)bytes)) abort();
    m.at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
    if (m.at == MAP_FAILED) abort();
    return m;
}

static void release(shared *m, size_t bytes)
{
    munmap(m->at, bytes);
    if (m->fd >= 0) close(m->fd);
}

static const char *sum(tutti_comm *comm, float *in, float *out, int64_t n)
{
    tutti_failure err = {0};
    const int p = tutti_comm_size(comm), me = tutti_comm_rank(comm);
    for (int64_t i = 0; i < n; i++) in[i] = (float)(me + i % 7);
    EXPECT(!tutti_comm_allreduce(comm, in, out, n, TUTTI_F32, TUTTI_SUM, &err));
    for (int64_t i = 0; i < n; i++) EXPECT(out[i] == (float)(p * (p - 1) / 2 + p * (int)(i % 7)));
    return NULL;
}

/* Half of it holds the input, half the sum; the second time the ranks enrol another part of their files. */
static const char *sums_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    shared m = make_shared(BYTES + PAGE);
    (void)arg;
    for (int64_t skip = 0; skip <= PAGE; skip += PAGE) {
        float *in = (float *)(void *)(m.at + skip), *out = in + N;
        const int fd = dup(m.fd);
        EXPECT(!tutti_comm_enrol(comm, fd, skip, in, BYTES, &err));
        close(fd); /* it is not needed any more */
        const tutti_call call = {.in = in, .out = out, .count = N};
        char *words = tutti_comm_explain(comm, &call);
        EXPECT(strstr(words, "nothing is copied to be sent"));
        free(words);
        for (int e = 0; e < 3; e++) {
            const char *wrong = sum(comm, in, out, N);
            if (wrong) return wrong;
        }
        EXPECT(!tutti_comm_forget(comm, in, &err));
        const char *wrong = sum(comm, in, out, N); /* as plain memory */
        if (wrong) return wrong;
    }
    EXPECT(!tutti_comm_barrier(comm, &err));
    release(&m, BYTES + PAGE);
    return NULL;
}

static void what_is_enrolled_is_summed_where_it_lies(void **state)
{
    (void)state;
    for (int p = 1; p <= 4; p++) run_comms(p, 30, sums_body, NULL);
}

/* --- refusals --- */

typedef struct {
    int fd;
    int64_t offset;
    void *at;
    size_t nbytes;
    const char *words;
} offer;

static const char *must_refuse(tutti_comm *comm, const offer *o)
{
    tutti_failure err = {0};
    if (!tutti_comm_enrol(comm, o->fd, o->offset, o->at, o->nbytes, &err)) return "it was accepted";
    if (strstr(err.text, o->words) && strstr(err.text, "enrol: ")) return NULL;
    fprintf(stderr, "'%s' does not say '%s'\n", err.text, o->words);
    return "it was refused with other words";
}

static int open_file(int flags)
{
    char path[] = "/tmp/tutti-enrol-XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0 || ftruncate(fd, 2 * PAGE)) abort();
    const int again = open(path, flags | O_CLOEXEC);
    unlink(path);
    close(fd);
    return again;
}

static const char *refused_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    shared m = make_shared(4 * PAGE), other = make_shared(4 * PAGE);
    int ends[2], closed = dup(m.fd);
    const int reads = open_file(O_RDONLY);
    (void)arg;
    if (closed < 0 || pipe(ends)) return "no descriptors";
    char *private = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, m.fd, 0);
    char *nameless = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *view = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, m.fd, 0);
    char *holed = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
    char *read_only = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, reads, 0);
    munmap(holed + PAGE, PAGE);
    const offer offers[] = {
        {m.fd, 0, m.at, 0, "there is no such memory"},
        {m.fd, 0, NULL, PAGE, "there is no such memory"},
        {m.fd, -PAGE, m.at, PAGE, "there is no such memory"},
        {m.fd, 0, m.at, SIZE_MAX, "there is no such memory"},
        {m.fd, 0, m.at, SIZE_MAX / 2, "the file is shorter"},
        {m.fd, INT64_MAX / PAGE * PAGE, m.at, PAGE, "the file is shorter"},
        {m.fd, 0, m.at + 64, PAGE, "multiples of a page"},
        {m.fd, 64, m.at, PAGE, "multiples of a page"},
        {m.fd, 0, m.at, 4 * PAGE + 1, "the file is shorter"},
        {m.fd, PAGE, m.at, PAGE, "another place in the file"},
        {m.fd, 0, m.at + PAGE, PAGE, "another place in the file"},
        {other.fd, 0, m.at, PAGE, "a mapping of another file"},
        {m.fd, 0, nameless, PAGE, "a mapping of another file"},
        {m.fd, 0, private, PAGE, "a private mapping"},
        {m.fd, 0, view, PAGE, "not mapped for reading and writing"},
        {reads, 0, read_only, PAGE, "not open for both"},
        {ends[0], 0, m.at, PAGE, "not a file or shared memory object"},
        {-1, 0, m.at, PAGE, "Bad file descriptor"},
        {m.fd, 0, holed, 4 * PAGE, "not all of it is mapped"},
        {m.fd, PAGE, holed + PAGE, PAGE, "not all of it is mapped"},
    };
    const size_t holes = tutti_comm_size(comm) > 1 ? 2 : 0; /* other threads map what they like into a hole */
    for (size_t i = 0; i < sizeof offers / sizeof *offers - holes; i++) {
        const char *wrong = must_refuse(comm, &offers[i]);
        if (wrong) return wrong;
    }
    EXPECT(!tutti_comm_enrol(comm, m.fd, 0, m.at, 4 * PAGE, &err)); /* and after all that it still works */
    const offer twice[] = {{m.fd, 0, m.at, 4 * PAGE, "overlap allocation"}, {m.fd, PAGE, m.at + PAGE, PAGE, "overlap"}};
    for (int i = 0; i < 2; i++) {
        const char *wrong = must_refuse(comm, &twice[i]);
        if (wrong) return wrong;
    }
    EXPECT(!tutti_comm_barrier(comm, &err));
    EXPECT(!tutti_comm_forget(comm, m.at, &err));
    munmap(private, 4 * PAGE), munmap(nameless, 4 * PAGE), munmap(view, 4 * PAGE), munmap(read_only, PAGE);
    munmap(holed, PAGE), munmap(holed + 2 * PAGE, 2 * PAGE); /* what lies in the hole by now is another's */
    close(ends[0]), close(ends[1]), close(closed), close(reads);
    release(&m, 4 * PAGE), release(&other, 4 * PAGE);
    return NULL;
}

static void what_is_no_shared_mapping_is_refused_with_words(void **state)
{
    (void)state;
    run_comms(1, 30, refused_body, NULL);
    run_comms(3, 30, refused_body, NULL);
}

/* What one rank offers in vain, or another size, is refused on all of them. */
static const char *disagree_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    shared m = make_shared(4 * PAGE);
    const int me = tutti_comm_rank(comm);
    (void)arg;
    EXPECT(tutti_comm_enrol(comm, me == 1 ? -1 : m.fd, 0, m.at, PAGE, &err) == TUTTI_ERR_USAGE);
    EXPECT(strstr(err.text, "rank 1 (") && strstr(err.text, "Bad file descriptor"));
    EXPECT(tutti_comm_enrol(comm, m.fd, 0, m.at, me == 2 ? 2 * PAGE : PAGE, &err) == TUTTI_ERR_RENDEZVOUS);
    EXPECT(strstr(err.text, "rank 2 (") && strstr(err.text, "131072 bytes") && strstr(err.text, "65536 bytes"));
    EXPECT(!tutti_comm_enrol(comm, m.fd, 0, m.at, PAGE, &err));
    EXPECT(!tutti_comm_barrier(comm, &err));
    EXPECT(!tutti_comm_forget(comm, m.at, &err));
    release(&m, 4 * PAGE);
    return NULL;
}

static void what_one_rank_refuses_all_refuse(void **state)
{
    (void)state;
    run_comms(3, 30, disagree_body, NULL);
}

/* --- giving it up --- */

static const char *forgotten_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    shared m = make_shared(BYTES);
    tutti_request *q, *kept;
    char *allocated;
    float *in = (float *)(void *)m.at, *out = in + N;
    (void)arg;
    EXPECT(!tutti_comm_enrol(comm, m.fd, 0, m.at, BYTES, &err));
    EXPECT(!tutti_comm_alloc(comm, BYTES, (void **)&allocated, &err));
    const tutti_call call = {.in = in, .out = out, .count = N};
    const tutti_call other = {.in = allocated, .out = allocated, .count = N};
    EXPECT(!tutti_comm_prepare(comm, &call, &q, &err));
    EXPECT(!tutti_comm_prepare(comm, &other, &kept, &err));
    EXPECT(!tutti_request_start(q, &err));
    EXPECT(tutti_comm_forget(comm, m.at, &err) == TUTTI_ERR_USAGE && strstr(err.text, "in flight"));
    EXPECT(!tutti_request_wait(q, &err));
    EXPECT(tutti_comm_free(comm, m.at, &err) == TUTTI_ERR_USAGE && strstr(err.text, "tutti_comm_forget takes it"));
    EXPECT(tutti_comm_forget(comm, allocated, &err) == TUTTI_ERR_USAGE && strstr(err.text, "tutti_comm_free takes it"));
    EXPECT(tutti_comm_forget(comm, m.at + PAGE, &err) == TUTTI_ERR_USAGE && strstr(err.text, "no beginning of memory"));
    EXPECT(!tutti_comm_barrier(comm, &err));
    EXPECT(!tutti_comm_forget(comm, m.at, &err));
    EXPECT(tutti_comm_forget(comm, m.at, &err) == TUTTI_ERR_USAGE);
    EXPECT(tutti_request_start(q, &err) == TUTTI_ERR_USAGE && strstr(err.text, "given up"));
    EXPECT(!tutti_request_start(kept, &err) && !tutti_request_wait(kept, &err));
    EXPECT(!tutti_comm_free(comm, allocated, &err));
    EXPECT(tutti_request_start(kept, &err) == TUTTI_ERR_USAGE && strstr(err.text, "given up"));
    tutti_request_free(q), tutti_request_free(kept);
    EXPECT(!tutti_comm_barrier(comm, &err));
    release(&m, BYTES);
    return NULL;
}

static void what_is_given_up_is_the_callers_alone(void **state)
{
    (void)state;
    run_comms(2, 30, forgotten_body, NULL);
}

/* Destroy gives back what was not forgotten, and leaves the memory itself alone. */
static const char *destroyed_body(tutti_comm *comm, void *arg)
{
    tutti_failure err = {0};
    shared *m = (shared *)arg + tutti_comm_rank(comm);
    EXPECT(!tutti_comm_enrol(comm, m->fd, 0, m->at, BYTES, &err));
    float *in = (float *)(void *)m->at;
    return sum(comm, in, in + N, N);
}

static void a_communicator_that_is_destroyed_leaves_the_memory_where_it_is(void **state)
{
    (void)state;
    shared m[2] = {make_shared(BYTES), make_shared(BYTES)};
    run_comms(2, 30, destroyed_body, m);
    for (int r = 0; r < 2; r++) {
        const float *out = (const float *)(const void *)m[r].at + N;
        for (int i = 0; i < N; i++) assert_true(out[i] == (float)(1 + 2 * (i % 7)));
        release(&m[r], BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_enrolled_is_summed_where_it_lies),
        cmocka_unit_test(what_is_no_shared_mapping_is_refused_with_words),
        cmocka_unit_test(what_one_rank_refuses_all_refuse),
        cmocka_unit_test(what_is_given_up_is_the_callers_alone),
        cmocka_unit_test(a_communicator_that_is_destroyed_leaves_the_memory_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

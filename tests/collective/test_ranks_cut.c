/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_cut.c: the connection to a peer ends in the middle of a send: a part of it has gone, the rest fails. That
 * is how a rank that sends sees a peer die, if it is not told first; here rank 1 stages it with send and sendmsg of its
 * own. */
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

#include "testing.h"

#include "rank_processes.h"
#include "transfer_bodies.h"

enum { LONG = 1 << 23, WORTH_CUTTING = 1 << 12, MOST_PIECES = 16 };

/* --- sockets --- */

typedef ssize_t (*sending)(int fd, const struct msghdr *m, int flags);

static bool cuts;                  /* this rank, from now on */
static _Atomic int cut_short = -1; /* the socket whose next send fails */

static sending system_sendmsg(void)
{
    union {
        void *object;
        sending function;
    } found = {dlsym(RTLD_NEXT, "sendmsg")};
    return found.function;
}

static size_t length_of(const struct msghdr *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->msg_iovlen; i++) n += m->msg_iov[i].iov_len;
    return n;
}

/* The first half of a message. */
static ssize_t send_half(int fd, const struct msghdr *m, int flags)
{
    struct iovec pieces[MOST_PIECES];
    struct msghdr half = {.msg_iov = pieces};
    for (size_t left = length_of(m) / 2; left > 0; half.msg_iovlen++) {
        struct iovec *piece = &pieces[half.msg_iovlen];
        *piece = m->msg_iov[half.msg_iovlen];
        if (piece->iov_len > left) piece->iov_len = left;
        left -= piece->iov_len;
    }
    return system_sendmsg()(fd, &half, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    if (cut_short == fd) {
        cuts = false;
        cut_short = -1;
        say("cut");
        shutdown(fd, SHUT_RDWR);
        errno = ECONNRESET;
        return -1;
    }
    if (!cuts || cut_short >= 0 || length_of(m) < WORTH_CUTTING || m->msg_iovlen > MOST_PIECES)
        return system_sendmsg()(fd, m, flags);
    const ssize_t n = send_half(fd, m, flags);
    if (n > 0) cut_short = fd;
    return n;
}

ssize_t send(int fd, const void *from, size_t nbytes, int flags)
{
    struct iovec piece = {(void *)(uintptr_t)from, nbytes};
    const struct msghdr m = {.msg_iov = &piece, .msg_iovlen = 1};
    return sendmsg(fd, &m, flags);
}

/* --- as a rank --- */

static const char *read_cut(tutti_comm *comm)
{
    static char words[1200];
    tutti_failure err = {0};
    char *memory;
    EXPECT(!tutti_comm_alloc(comm, LONG, (void **)&memory, &err));
    EXPECT(!tutti_comm_barrier(comm, &err));
    cuts = tutti_comm_rank(comm) == 1;
    return read_until_over(comm, memory, LONG, words);
}

static int run_as_rank(void)
{
    tutti_failure err = {0};
    tutti_comm *comm = NULL;
    take_host();
    const char *said = tutti_comm_create_from_env(&comm, &err) ? err.text : read_cut(comm);
    say(said);
    tutti_comm_destroy(comm);
    return 1;
}

/* --- as the test --- */

/* By whatever wire sends through sockets: both live to name it, who sees it first by what it saw. */
static void a_send_that_fails_in_part_ends_a_wire_and_no_process(void **state)
{
    (void)state;
    for (int wire = 0; take_wire(wire); wire++) {
        outcome o;
        if (getenv("TEST_SHARES_MEMORY")) continue;
        run_on_hosts("test_ranks_cut", "read", "ab", &o);
        assert_string_equal(o.first[1], " cut");
        for (int r = 0; r < 2; r++) expect_words(&o, r, "the wire to rank ");
        assert_int_equal(o.exit_code, 1);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    if (is_rank(argc)) return run_as_rank();
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_send_that_fails_in_part_ends_a_wire_and_no_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

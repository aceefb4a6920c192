/* SPDX-License-Identifier: Apache-2.0 */
/* link.c: messages between a launcher that replaces lost ranks and its ranks. */
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../base/host/file_pass.h"
#include "discover_impl.h"

tutti_status tutti_link_open(int ends[2], tutti_failure *err)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return tutti_fail(err, TUTTI_ERR_FAILED, "launch: no socket for a rank: %s", strerror(errno));
    if (fcntl(ends[0], F_SETOWN, getpid()) == 0 && fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK) == 0) return TUTTI_OK;
    const int problem = errno;
    close(ends[0]), close(ends[1]);
    return tutti_fail(err, TUTTI_ERR_FAILED, "launch: no signals from a rank's socket: %s", strerror(problem));
}

bool tutti_link_send(int fd, const tutti_link_message *m, int passed)
{
    return tutti_file_pass_send(fd, m, sizeof *m, passed) == (ssize_t)sizeof *m;
}

int tutti_link_receive(int fd, tutti_link_message *m, int *passed)
{
    const ssize_t n = tutti_file_pass_receive(fd, m, sizeof *m, passed);
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    if (n == (ssize_t)sizeof *m) return 1;
    if (*passed >= 0) close(*passed);
    *passed = -1;
    return -1;
}

/* ---- the rank's side ---- */

int tutti_link_of_environment(void)
{
    long long fd;
    return tutti_variable_number("TUTTI_LINK_FD", 0, 1 << 20, -1, &fd, NULL) ? -1 : (int)fd;
}

void tutti_link_kept_files(int *samples, int *copies)
{
    const char *text = getenv("TUTTI_KEEP_FDS");
    if (!text || sscanf(text, "%d,%d", samples, copies) != 2) *samples = *copies = -1;
}

void tutti_link_epoch(uint32_t *epoch, int *lost, int64_t *lost_ns)
{
    const char *text = getenv("TUTTI_EPOCH");
    if (!text || sscanf(text, "%u,%d,%" SCNd64, epoch, lost, lost_ns) != 3) *epoch = 1, *lost = -1, *lost_ns = 0;
}

bool tutti_link_has_news(int fd)
{
    struct pollfd news = {.fd = fd, .events = POLLIN};
    return poll(&news, 1, 0) > 0;
}

tutti_status tutti_link_wait(int fd, uint32_t epoch, double limit_s, tutti_link_message *out, int *listener,
                             tutti_failure *err)
{
    const double until = tutti_clock_s() + limit_s;
    for (;;) {
        const int got = tutti_link_receive(fd, out, listener);
        if (got < 0)
            return tutti_fail(err, TUTTI_ERR_PEER, "the launcher gives the run up: it forms no epoch after %u", epoch);
        if (got > 0 && out->kind == TUTTI_LINK_NEXT && out->epoch > epoch) return TUTTI_OK;
        if (got > 0 && *listener >= 0) close(*listener);
        if (got > 0) continue; /* a message about an epoch that this rank has left */
        const double left = until - tutti_clock_s();
        if (left <= 0)
            return tutti_fail(err, TUTTI_ERR_PEER, "the launcher has not formed an epoch after %u within %g s", epoch,
                              limit_s);
        struct pollfd news = {.fd = fd, .events = POLLIN};
        (void)poll(&news, 1, left < 1 ? (int)(left * 1e3) + 1 : 1000);
    }
}

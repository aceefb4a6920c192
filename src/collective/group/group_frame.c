/* SPDX-License-Identifier: Apache-2.0 */
/* group_frame.c: frames on the control sockets: a fixed head, then a body whose size is refused before it is allocated.
 *
 * Reading never blocks, so that a peer that sends half a frame and stops cannot hold up a rank past a deadline. Both
 * ends are assumed to have one byte order; the magic word refuses all others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "group_impl.h"

/* Returns the number of bytes read into `to`, 0 = none now, -1 = closed. */
static ssize_t read_some(int fd, void *to, size_t nbytes)
{
    for (;;) {
        ssize_t n = recv(fd, to, nbytes, MSG_DONTWAIT);
        if (n > 0) return n;
        if (n < 0 && errno == EINTR) continue;
        return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : -1;
    }
}

int tutti_frame_read(int fd, tutti_frame *f, size_t max_bytes)
{
    const size_t head = sizeof f->head;
    while (f->got < head) {
        ssize_t n = read_some(fd, (char *)&f->head + f->got, head - f->got);
        if (n <= 0) return (int)n;
        f->got += (size_t)n;
    }
    if (f->head.magic != TUTTI_FRAME_MAGIC || f->head.nbytes > max_bytes) return -1;
    if (!f->body) f->body = tutti_alloc((size_t)f->head.nbytes + 1);
    f->head.what[sizeof f->head.what - 1] = '\0';
    while (f->got < head + f->head.nbytes) {
        ssize_t n = read_some(fd, f->body + (f->got - head), head + f->head.nbytes - f->got);
        if (n <= 0) return (int)n;
        f->got += (size_t)n;
    }
    return 1;
}

void tutti_frame_release(tutti_frame *f)
{
    free(f->body);
    *f = (tutti_frame){0};
}

static bool write_all(int fd, const void *bytes, size_t nbytes, double until_s)
{
    const char *at = bytes;
    while (nbytes > 0) {
        ssize_t n = send(fd, at, nbytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            at += n, nbytes -= (size_t)n;
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
        double left = until_s - tutti_clock_s();
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        if (left <= 0 || poll(&room, 1, (int)(left * 1e3) + 1) < 0) return false;
    }
    return true;
}

bool tutti_frame_write(int fd, const tutti_frame_head *head, const void *body, double timeout_s)
{
    double until_s = tutti_clock_s() + timeout_s;
    return write_all(fd, head, sizeof *head, until_s) &&
           (head->nbytes == 0 || write_all(fd, body, head->nbytes, until_s));
}

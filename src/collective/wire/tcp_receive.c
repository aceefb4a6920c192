/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_receive.c: receives frames from sockets: a head, then its bytes into their place, in one call with the next
 * head. */
#include <errno.h>
#include <sys/uio.h>

#include "tcp_impl.h"

enum {
    MOST_BYTES = 8 << 20
}; /* most bytes received from a connection at a time, so that other connections get their turn */

/* --- frames --- */

/* Finds the place of a frame's bytes; false: there is none. */
static bool find_place(tcp_connection *c)
{
    tcp_wire *w = c->w;
    const tcp_head *h = &c->in;
    c->to = h->kind == TUTTI_TCP_PUT ? tutti_wire_memory_find(w->memories, h->address, h->nbytes)
                                     : tutti_wire_reads_place(&w->reads, h->word, h->address, h->nbytes);
    return c->to != NULL;
}

static void end_frame(tcp_connection *c)
{
    const tcp_head h = c->in;
    if (c->to && !tutti_tcp_body_is_whole(c->w, &h, c->to - h.nbytes)) {
        tutti_tcp_break(c, 0, "%llu bytes for 0x%llx were damaged on their way (their checksum is wrong)",
                        (unsigned long long)h.nbytes, (unsigned long long)h.address);
        return;
    }
    c->to = NULL;
    tutti_tcp_settle(c->w, c->rank, &h);
}

/* Begins to receive the bytes of a frame whose head is complete. */
static void begin_frame(tcp_connection *c)
{
    const tcp_head *h = &c->in;
    const char *why = tutti_tcp_judge_head(c->w, h);
    c->in_got = 0;
    if (why) {
        tutti_tcp_break(c, 0, "%s", why);
        return;
    }
    const bool body = h->kind == TUTTI_TCP_PUT || h->kind == TUTTI_TCP_ANSWER;
    if (body && !find_place(c)) {
        tutti_tcp_break(c, 0, "it sent %llu bytes for 0x%llx, where nothing is enrolled", (unsigned long long)h->nbytes,
                        (unsigned long long)h->address);
        return;
    }
    c->left = body ? h->nbytes : 0;
    if (c->left == 0) end_frame(c);
}

/* --- reading the socket --- */

static ssize_t receive_some(tcp_connection *c, size_t *wanted)
{
    struct iovec parts[2] = {{c->to, c->left}, {&c->next_in, sizeof c->next_in}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
    *wanted = c->left;
    /* discards bytes for which there is no place */
    if (c->left && !c->to) return recv(c->source.fd, NULL, c->left, MSG_DONTWAIT | MSG_TRUNC);
    if (c->left) {
        *wanted += sizeof c->next_in;
        return recvmsg(c->source.fd, &m, MSG_DONTWAIT);
    }
    *wanted = sizeof c->in - c->in_got;
    return recv(c->source.fd, (char *)&c->in + c->in_got, *wanted, MSG_DONTWAIT);
}

static void take(tcp_connection *c, size_t n)
{
    if (c->left > n) {
        c->left -= n;
        if (c->to) c->to += n;
        return;
    }
    if (c->left) { /* reads the next head in the same call, behind the frame's bytes */
        n -= c->left;
        if (c->to) c->to += c->left;
        c->left = 0;
        end_frame(c);
        c->in = c->next_in;
        c->in_got = n;
    } else {
        c->in_got += n;
    }
    if (c->in_got == sizeof c->in && c->state == TUTTI_TCP_UP) begin_frame(c);
}

static void lose(tcp_connection *c, int problem)
{
    if (c->w->peers[c->rank].left) /* the peer has sent its bye, so this end of the connection is no failure */
        tutti_tcp_end(c, true);
    else if (c->left)
        tutti_tcp_break(c, problem, "closed with %zu of %llu bytes still to come", c->left,
                        (unsigned long long)c->in.nbytes);
    else
        tutti_tcp_break(c, problem, "closed without a goodbye");
}

bool tutti_tcp_receive(tcp_connection *c)
{
    size_t bytes = 0, wanted;
    while (c->state == TUTTI_TCP_UP && bytes < MOST_BYTES) {
        const ssize_t n = receive_some(c, &wanted);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (n <= 0) {
            lose(c, n < 0 ? errno : 0);
            return true;
        }
        bytes += (size_t)n;
        take(c, (size_t)n);
        if ((size_t)n < wanted) break;             /* the read has emptied the socket */
        if (c->left == 0 && c->in_got == 0) break; /* returns after a word, because a thread may wait for it */
    }
    return bytes > 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_pin.c: sends long messages without a copy (MSG_ZEROCOPY, de Bruijn and Dumazet, netdev 2.1, 2017).
 *
 * Sending without a copy pays only if a network card reads the pages: over loopback and between namespaces the kernel
 * copies after all, and reports it (SO_EE_CODE_ZEROCOPY_COPIED). So the first long send of a connection tries it, and
 * the kernel's report on this send decides for all later ones. */
#include <errno.h>
#include <netinet/tcp.h>
#include <time.h>

#include <linux/errqueue.h> /* this header needs struct timespec, so it comes behind <time.h> */

#include "tcp_impl.h"

enum { WORTH_PINNING = 1 << 16 };

bool tutti_tcp_may_pin(tcp_connection *c, size_t nbytes)
{
    const int asked = c->w->settings.zerocopy;
    if (nbytes < WORTH_PINNING || asked == TUTTI_TCP_ZEROCOPY_OFF || c->pinning == TUTTI_TCP_PIN_NO) return false;
    if (c->pinning == TUTTI_TCP_PIN_UNKNOWN &&
        setsockopt(c->source.fd, SOL_SOCKET, SO_ZEROCOPY, &(int){1}, sizeof(int)) != 0)
        c->pinning = TUTTI_TCP_PIN_NO;
    /* until the kernel has reported on the first such send, others are copied, unless the user wants none copied */
    if (c->pinning == TUTTI_TCP_PIN_ASKED) return asked == TUTTI_TCP_ZEROCOPY_ON;
    return c->pinning != TUTTI_TCP_PIN_NO;
}

ssize_t tutti_tcp_send_pinned(tcp_connection *c, tcp_parcel *p, const char *from, size_t nbytes, int flags)
{
    const uint32_t at = c->next_pin % TUTTI_TCP_MOST_PINNED;
    if (c->pinned[at] || c->pinning == TUTTI_TCP_PIN_NO)
        return send(c->source.fd, from, nbytes, flags); /* no slot is free for this call, or sending without a copy does
                                                         * not pay */
    ssize_t n = send(c->source.fd, from, nbytes, flags | MSG_ZEROCOPY);
    /* net.core.optmem_max is exhausted */
    if (n < 0 && errno == ENOBUFS) return send(c->source.fd, from, nbytes, flags);
    if (n <= 0) return n;
    if (c->pinning == TUTTI_TCP_PIN_UNKNOWN) c->pinning = TUTTI_TCP_PIN_ASKED;
    c->pinned[at] = p;
    c->next_pin++;
    p->npinned++;
    return n;
}

static void take_notice(tcp_connection *c, const struct sock_extended_err *e)
{
    if (e->ee_origin != SO_EE_ORIGIN_ZEROCOPY || e->ee_errno != 0) return;
    if (c->w->settings.zerocopy != TUTTI_TCP_ZEROCOPY_ON)
        c->pinning = e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED ? TUTTI_TCP_PIN_NO : TUTTI_TCP_PIN_YES;
    for (uint32_t i = e->ee_info; i - e->ee_info <= e->ee_data - e->ee_info; i++) {
        tcp_parcel **at = &c->pinned[i % TUTTI_TCP_MOST_PINNED], *p = *at;
        if (!p) continue;
        *at = NULL;
        if (--p->npinned == 0 && p->gone == sizeof p->head + p->nbytes) tutti_tcp_end_parcel(p, true);
    }
}

void tutti_tcp_unpin(tcp_connection *c)
{
    for (;;) {
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(sizeof(struct sock_extended_err) + sizeof(struct sockaddr_in6))];
        } control;
        struct msghdr m = {.msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
        if (recvmsg(c->source.fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
        for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h))
            if ((h->cmsg_level == SOL_IP && h->cmsg_type == IP_RECVERR) ||
                (h->cmsg_level == SOL_IPV6 && h->cmsg_type == IPV6_RECVERR))
                take_notice(c, (const struct sock_extended_err *)(const void *)CMSG_DATA(h));
    }
}

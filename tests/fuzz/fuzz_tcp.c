/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tcp.c: any bytes on a connection of the wire tcp: as what a stranger says, or as frames of a peer. Nothing is
 * written but into enrolled memory and into what a read waits for (both end where AddressSanitizer looks), what breaks
 * has words, and it ends.
 *
 * The first byte says how the rest is meant. 1: to the port, else as frames; 2: with checksums; 4: frames get a right
 * magic word, addresses count from the enrolled memory, and checksums, where they are on, are made right. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective/wire/tcp_impl.h"

enum { TO_PORT = 1, SUMMED = 2, MENDED = 4, ENROLLED = 4096, WANTED = 100, MOST = 60000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Heads where heads would be read, made plausible. */
static void mend(const tcp_wire *w, char *bytes, size_t n, uint64_t base)
{
    for (size_t at = 0; at + sizeof(tcp_head) <= n;) {
        tcp_head h;
        memcpy(&h, bytes + at, sizeof h);
        const size_t behind = n - at - sizeof h;
        const int body = h.kind == TUTTI_TCP_PUT || h.kind == TUTTI_TCP_ANSWER;
        if (h.kind != TUTTI_TCP_ANSWER) h.address += base;
        if (!body || h.nbytes <= behind) tutti_tcp_seal(w, &h, bytes + at + sizeof h);
        memcpy(bytes + at, &h, sizeof h);
        at += sizeof h + (body && h.nbytes <= behind ? h.nbytes : 0);
    }
}

static void feed_frames(tcp_wire *w, char *bytes, size_t n, int mended)
{
    int ends[2];
    tutti_wire_memory *enrolled;
    tutti_failure err = {0};
    char *memory = calloc(1, ENROLLED), *wanted = calloc(1, WANTED);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends)) abort();
    if (tutti_wire_tcp.enrol(&w->wire, memory, ENROLLED, &enrolled, &err)) abort();
    w->peers[1].card = tutti_alloc(sizeof(tcp_card));
    tutti_tcp_expect(w, 1, 1);
    w->nawaited = 1;
    tcp_connection *c = &w->peers[1].connections[0];
    if (!tutti_tcp_watch(w, &(tcp_source){TUTTI_TCP_CONNECTION, ends[0]}, 0, 1)) abort();
    tutti_tcp_adopt(c, ends[0]);
    tutti_put *read = tutti_wire_tcp.read(&w->wire, 1, 8, wanted, WANTED);
    if (mended) mend(w, bytes, n, (uint64_t)(uintptr_t)memory);
    (void)!write(ends[1], bytes, n);
    for (int i = 0; i < 10000 && tutti_wire_tcp.progress(&w->wire); i++) {
    }
    close(ends[1]);
    for (int i = 0; i < 10 && tutti_wire_tcp.progress(&w->wire); i++) {
    }
    if (c->state == TUTTI_TCP_UP) abort(); /* its end was not seen */
    if (!w->wire.broken[1][0] && !w->peers[1].left) abort();
    tutti_wire_tcp.forget(enrolled);
    free(memory);
    if (!read->flying) tutti_put_release(read); /* else the wire's */
    tutti_wire_tcp.close(&w->wire, 0);
    free(wanted);
}

static void feed_port(tcp_wire *w, const char *bytes, size_t n)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends)) abort();
    w->callers[0] = (tcp_caller){.source = {TUTTI_TCP_CALLER, ends[0]}};
    if (!tutti_tcp_watch(w, &w->callers[0].source, 0, 1)) abort();
    w->peers[1].card = tutti_alloc(sizeof(tcp_card));
    w->nawaited = 1;
    (void)!write(ends[1], bytes, n);
    close(ends[1]);
    for (int i = 0; i < 100 && tutti_wire_tcp.progress(&w->wire); i++) {
    }
    if (w->peers[1].nup) abort(); /* the token cannot be guessed */
    tutti_wire_tcp.close(&w->wire, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    tutti_wire *w;
    tutti_failure err = {0};
    if (n == 0 || n > MOST) return 0;
    if (tutti_wire_tcp.open(0, 2, &w, &err)) abort();
    char *rest = malloc(n);
    memcpy(rest, bytes + 1, n - 1);
    ((tcp_wire *)w)->checksum = (bytes[0] & SUMMED) != 0;
    if (bytes[0] & TO_PORT)
        feed_port((tcp_wire *)w, rest, n - 1);
    else
        feed_frames((tcp_wire *)w, rest, n - 1, bytes[0] & MENDED);
    free(rest);
    return 0;
}

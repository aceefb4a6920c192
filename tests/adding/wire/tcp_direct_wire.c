/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_direct_wire.c: the wire tcp, with every put received in place: a round trip before the bytes go, whatever their
 * number, and never a copy where they arrive. */
#include "wire_impl.h"

extern const tutti_wire_row tutti_wire_tcp_direct;

static tutti_status direct_open(int rank, int nranks, tutti_wire **out, tutti_failure *err)
{
    const tutti_status st = tutti_wire_tcp.open(rank, nranks, out, err);
    if (!st) (*out)->row = &tutti_wire_tcp_direct;
    return st;
}

static void direct_close(tutti_wire *w, double flush_s)
{
    tutti_wire_tcp.close(w, flush_s);
}

static const void *direct_address(tutti_wire *w, size_t *nbytes)
{
    return tutti_wire_tcp.address(w, nbytes);
}

static tutti_status direct_connect(tutti_wire *w, int rank, const void *address, tutti_failure *err)
{
    return tutti_wire_tcp.connect(w, rank, address, err);
}

static int direct_awaited(tutti_wire *w, const char **why)
{
    return tutti_wire_tcp.awaited(w, why);
}

static const char *direct_describe(tutti_wire *w)
{
    return tutti_wire_tcp.describe(w);
}

static tutti_status direct_enrol(tutti_wire *w, void *base, size_t nbytes, tutti_wire_memory **out, tutti_failure *err)
{
    return tutti_wire_tcp.enrol(w, base, nbytes, out, err);
}

static void direct_forget(tutti_wire_memory *m)
{
    tutti_wire_tcp.forget(m);
}

static tutti_put *direct_put(tutti_wire *w, int rank, uint64_t address, const void *from, size_t nbytes, bool direct)
{
    (void)direct;
    return tutti_wire_tcp.put(w, rank, address, from, nbytes, true);
}

static tutti_put *direct_put_word(tutti_wire *w, int rank, uint64_t address, uint64_t word)
{
    return tutti_wire_tcp.put_word(w, rank, address, word);
}

static tutti_put *direct_read(tutti_wire *w, int rank, uint64_t address, void *to, size_t nbytes)
{
    return tutti_wire_tcp.read(w, rank, address, to, nbytes);
}

static void direct_drop(tutti_wire *w, int rank)
{
    tutti_wire_tcp.drop(w, rank);
}

static bool direct_progress(tutti_wire *w)
{
    return tutti_wire_tcp.progress(w);
}

static int direct_descriptor(tutti_wire *w)
{
    return tutti_wire_tcp.descriptor(w);
}

static bool direct_arm(tutti_wire *w)
{
    return tutti_wire_tcp.arm(w);
}

const tutti_wire_row tutti_wire_tcp_direct = {
    .name = "tcp-direct",
    .help = "tcp with every put received in place",
    .can = TUTTI_WIRE_CROSSES_HOSTS | TUTTI_WIRE_TELLS_ALL,
    .open = direct_open,
    .close = direct_close,
    .address = direct_address,
    .connect = direct_connect,
    .awaited = direct_awaited,
    .describe = direct_describe,
    .enrol = direct_enrol,
    .forget = direct_forget,
    .put = direct_put,
    .put_word = direct_put_word,
    .read = direct_read,
    .drop = direct_drop,
    .progress = direct_progress,
    .descriptor = direct_descriptor,
    .arm = direct_arm,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* group_wire.c: opens the wire to ranks of other hosts, and makes regions known to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/text/strbuf.h"
#include "group_impl.h"

enum { MOST_BLOB = 8000 }; /* largest size of an address; addresses have hundreds of bytes */
static const double MOST_CONNECT_S = 30;

/* The bytes that one rank sends to all others. */
typedef struct {
    uint32_t nbytes, status;
    char bytes[];
} blob;

/* The contribution of one rank to a gather: bytes or, if its status is not 0, words with the reason. */
typedef struct {
    const void *bytes;
    size_t nbytes;
    tutti_status status;
} told;

static told told_words(tutti_status status, const tutti_failure *why)
{
    return (told){why->text, status ? strlen(why->text) + 1 : 0, status};
}

static blob *blob_at(void *all, size_t stride, int rank)
{
    return (blob *)(void *)((char *)all + stride * (size_t)rank);
}

/* Gathers the blobs of all ranks into *all, `*stride` bytes apart; the caller gives *all to free(). Fails if the status
 * of some rank is not 0. */
static tutti_status gather(tutti_group *g, const char *what, const told *t, void **all, size_t *stride,
                           tutti_failure *err)
{
    const size_t nbytes = t->nbytes;
    uint32_t own = (uint32_t)nbytes, most = 0, *sizes = tutti_alloc(sizeof *sizes * (size_t)g->nranks);
    tutti_status st = nbytes > MOST_BLOB ? tutti_fail(err, TUTTI_ERR_FAILED, "%s: %zu bytes to tell", what, nbytes)
                                         : tutti_group_all_gather(g, what, &own, sizes, sizeof own, err);
    for (int r = 0; r < g->nranks; r++) most = sizes[r] > most ? sizes[r] : most;
    free(sizes);
    if (st) return st;
    *stride = (sizeof(blob) + most + 8) / 8 * 8;
    blob *mine = tutti_alloc(*stride);
    *mine = (blob){.nbytes = own, .status = t->status};
    if (nbytes) memcpy(mine->bytes, t->bytes, nbytes);
    *all = tutti_alloc(*stride * (size_t)g->nranks);
    st = tutti_group_all_gather(g, what, mine, *all, *stride, err);
    for (int r = 0; r < g->nranks && !st; r++) {
        const blob *b = blob_at(*all, *stride, r);
        if (b->status) st = tutti_fail(err, (tutti_status)b->status, "%s: %s", g->peers[r].describe, b->bytes);
    }
    free(mine);
    if (st) free(*all);
    return st;
}

/* Fails on all ranks, with the name and the message of the rank that failed, if the status of some rank is not 0. */
static tutti_status all_well(tutti_group *g, const char *what, tutti_status own, const tutti_failure *why,
                             tutti_failure *err)
{
    const told t = told_words(own, why);
    void *all;
    size_t stride;
    const tutti_status st = gather(g, what, &t, &all, &stride, err);
    if (!st) free(all);
    return st;
}

/* --- the wire --- */

static tutti_status connect_far(tutti_group *g, void *all, size_t stride, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int r = 0; r < g->nranks && !st; r++) {
        if (tutti_group_is_near(g, r)) continue;
        st = g->wire->row->connect(g->wire, r, blob_at(all, stride, r)->bytes, err);
        if (st) tutti_fail_at(err, "to %s", g->peers[r].describe);
    }
    return st;
}

/* Waits until all far peers are reached. It ends before the deadline, so that the rank which knows why a peer cannot be
 * reached is the one that names it. */
static tutti_status await_far(tutti_group *g, tutti_failure *err)
{
    const tutti_wire_row *row = g->wire->row;
    const double until = tutti_clock_s() + (g->deadline_s / 2 < MOST_CONNECT_S ? g->deadline_s / 2 : MOST_CONNECT_S);
    const char *why = "";
    int rank;
    while (row->awaited && (rank = row->awaited(g->wire, &why)) >= 0) {
        const bool broken = g->wire->broken[rank][0] != '\0';
        if (broken || tutti_clock_s() > until)
            return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: the wire %s from %s to %s: %s", row->name,
                              g->peers[g->rank].describe, g->peers[rank].describe,
                              broken ? g->wire->broken[rank] : why);
        struct pollfd wire = {.fd = row->descriptor(g->wire), .events = POLLIN};
        if (!row->progress(g->wire)) tutti_group_sleep(g, &wire, 1, 0.01, NULL, NULL);
        if (g->failed) return tutti_group_report(g, err);
    }
    return TUTTI_OK;
}

/* At the end all ranks are connected, or all know why not. */
tutti_status tutti_group_connect_wire(tutti_group *g, const tutti_wire_row *row, tutti_failure *err)
{
    tutti_failure why = {0};
    void *all = NULL;
    size_t nbytes = 0, stride;
    tutti_status own = row->open(g->rank, g->nranks, &g->wire, &why);
    const void *address = own ? NULL : row->address(g->wire, &nbytes);
    const told t = own ? told_words(own, &why) : (told){address, nbytes, TUTTI_OK};
    tutti_status st = gather(g, "addresses on the wire", &t, &all, &stride, err);
    if (st) return st;
    own = connect_far(g, all, stride, &why);
    free(all);
    if (!own) own = await_far(g, &why);
    if (g->failed) return tutti_fail(err, own, "%s", why.text);
    return all_well(g, "the wire", own, &why, err);
}

const char *tutti_group_asked_wire(void)
{
    const char *name = getenv("TUTTI_WIRE");
    return name && strcmp(name, "auto") ? name : "";
}

static tutti_status open_row(tutti_group *g, const char *name, tutti_failure *err)
{
    const tutti_wire_row *row = tutti_wire_find(name, err);
    if (!row) return TUTTI_ERR_USAGE;
    if (row->can & TUTTI_WIRE_CROSSES_HOSTS && !row->absent) return tutti_group_connect_wire(g, row, err);
    return tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                      "join: the ranks are on %d hosts (%s is on another one than %s), and the wire %s does not join "
                      "them%s%s",
                      g->nhosts, g->peers[g->nranks - 1].describe, g->peers[0].describe, row->name,
                      row->absent ? ": " : "", row->absent ? row->absent : "");
}

/* Writes "shm and tcp (eth0 10.77.0.1, 10 Gbit/s; for 1 MiB tcp 0.9 ms, ucx 1.1 ms)". */
static void describe_wires(tutti_group *g)
{
    const tutti_wire_row *row = g->wire->row;
    tutti_strbuf text = {0};
    if (g->nhosts < g->nranks) tutti_strbuf_puts(&text, "shm and ");
    tutti_strbuf_puts(&text, row->name);
    const char *over = row->describe ? row->describe(g->wire) : "";
    if (*over || g->trials[0])
        tutti_strbuf_printf(&text, " (%s%s%s%s)", over, *over && g->trials[0] ? "; " : "",
                            g->trials[0] ? "1 MiB took " : "", g->trials);
    if (g->untaken[0]) tutti_strbuf_printf(&text, ", without %s", g->untaken);
    snprintf(g->wires, sizeof g->wires, "%s", text.text);
    tutti_strbuf_release(&text);
}

/* Checks the interfaces of every rank, so that all end alike and name the ranks whose interfaces are wrong. */
static tutti_status check_interfaces(tutti_group *g, tutti_failure *err)
{
    tutti_failure why = {0};
    const tutti_status own = tutti_wire_check_interfaces(&why);
    return all_well(g, "TUTTI_NET_IF", own, &why, err);
}

tutti_status tutti_group_open_wire(tutti_group *g, const char *name, tutti_failure *err)
{
    if (g->nhosts == 1) return tutti_wire_check_interfaces(err);
    tutti_status st = check_interfaces(g, err);
    if (st) return st;
    st = *name ? open_row(g, name, err) : tutti_group_choose_wire(g, err);
    if (st) return st;
    describe_wires(g);
    return tutti_driver_start(g, err);
}

const char *tutti_group_wires(const tutti_group *g)
{
    return g->wire ? g->wires : "shm";
}

void tutti_group_close_wire(tutti_group *g)
{
    if (!g->wire) return;
    tutti_driver_stop(g);
    g->wire->row->close(g->wire, g->failed ? 0 : 2);
    g->wire = NULL;
}

/* --- regions --- */

tutti_status tutti_group_enrol(tutti_group *g, const char *name, tutti_own_memory own_memory,
                               tutti_wire_memory **memory, uint64_t *addresses, tutti_failure *err)
{
    const uint64_t own = (uint64_t)(uintptr_t)own_memory.base;
    tutti_group_lock(g);
    tutti_status st = g->wire->row->enrol(g->wire, own_memory.base, own_memory.nbytes, memory, err);
    tutti_group_unlock(g);
    return st ? st : tutti_group_all_gather(g, name, &own, addresses, sizeof own, err);
}

void tutti_group_forget(tutti_group *g, tutti_wire_memory *memory)
{
    tutti_group_lock(g);
    if (g->failed) g->wire->halted = true; /* puts of peers must not arrive in freed memory */
    g->wire->row->forget(memory);
    tutti_group_unlock(g);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* comm_board.c: a board on which each rank shows which call it has made, so that calls that differ are refused.
 *
 * The board of a rank is a ring of its last calls: number and notice. The writer stores the number last. The reader
 * looks at the number before and after it reads, and skips a notice that is being overwritten: its rank is many calls
 * ahead, so that call agreed. Posting costs two cache lines of this rank. Other ranks read them after they have waited
 * in vain for a while, or when a peer marks the invocation with another call number. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_impl.h"

enum { RING = 16, WORDS = sizeof(tutti_notice) / 8, LINE = 64 };

struct tutti_board_entry {
    _Atomic uint64_t number;
    _Atomic uint64_t words[WORDS];
};

static tutti_board_entry *entry_of(const tutti_comm *comm, int rank, uint64_t number)
{
    tutti_board_entry *ring = tutti_region_base(comm->board, rank);
    return ring ? &ring[number % RING] : NULL;
}

static void look(void *arg)
{
    tutti_comm *comm = arg;
    const uint64_t from = comm->calls > RING / 2 ? comm->calls - RING / 2 : 1;
    for (uint64_t number = from; number <= comm->calls; number++)
        if (!tutti_board_compare(comm, number)) return;
}

/* Sets comm->crowded on all ranks if any rank has no core of its own, so that all choose among the same ways through
 * memory. */
static tutti_status look_at_cores(tutti_comm *comm, tutti_failure *err)
{
    const uint64_t own = !tutti_group_has_cores(comm->group);
    uint64_t *all = tutti_alloc(sizeof *all * (size_t)comm->nranks);
    const tutti_status st = tutti_group_all_gather(comm->group, "calls", &own, all, sizeof own, err);
    for (int r = 0; r < comm->nranks && !st; r++) comm->crowded |= all[r] != 0;
    free(all);
    return st;
}

tutti_status tutti_board_open(tutti_comm *comm, tutti_failure *err)
{
    const size_t nbytes = RING * sizeof(tutti_board_entry) + TUTTI_MOST_CLASSES * LINE;
    tutti_status st = look_at_cores(comm, err);
    if (!st) st = tutti_group_probe_peers(comm->group, err);
    if (!st) st = tutti_region_create(comm->group, "calls", nbytes, &comm->board, err);
    if (!st) tutti_group_on_idle(comm->group, look, comm);
    return st;
}

_Atomic uint32_t *tutti_board_choice(const tutti_comm *comm, int number, int parity)
{
    char *base = tutti_region_base(comm->board, 0);
    return (_Atomic uint32_t *)(void *)(base + RING * sizeof(tutti_board_entry) + (size_t)number * LINE) + parity;
}

uint64_t tutti_board_post(tutti_comm *comm, const tutti_notice *notice)
{
    const uint64_t number = ++comm->calls;
    tutti_board_entry *e = entry_of(comm, comm->rank, number);
    uint64_t words[WORDS];
    memcpy(words, notice, sizeof words);
    atomic_store_explicit(&e->number, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (int i = 0; i < WORDS; i++) atomic_store_explicit(&e->words[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&e->number, number, memory_order_release);
    return number;
}

/* Returns false if the entry is not there yet, or was overwritten. */
static bool read_entry(const tutti_comm *comm, int rank, uint64_t number, tutti_notice *out)
{
    tutti_board_entry *e = entry_of(comm, rank, number);
    uint64_t words[WORDS];
    if (!e || atomic_load_explicit(&e->number, memory_order_acquire) != number) return false;
    for (int i = 0; i < WORDS; i++) words[i] = atomic_load_explicit(&e->words[i], memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&e->number, memory_order_relaxed) != number) return false;
    memcpy(out, words, sizeof words);
    return true;
}

static void describe_place(int64_t place, char *out, size_t size)
{
    if (place)
        snprintf(out, size, "allocation %lld + %lld", (long long)(place >> 48),
                 (long long)(place & (((int64_t)1 << 48) - 1)));
    else
        snprintf(out, size, "plain memory");
}

void tutti_notice_text(const tutti_notice *notice, char *out, size_t size)
{
    const tutti_call_key *k = &notice->key;
    char in[64], to[64], counts[40] = "", root[24] = "";
    describe_place(k->in, in, sizeof in), describe_place(k->out, to, sizeof to);
    if (notice->counts) snprintf(counts, sizeof counts, " (counts with hash %08x)", (unsigned)notice->counts);
    if (tutti_collective_has_root((tutti_collective)k->collective)) snprintf(root, sizeof root, ", root %d", k->root);
    snprintf(out, size, "%s%s of %lld %s%s, %s%s, algorithm %s, from %s to %s%s", notice->preparing ? "preparing " : "",
             tutti_collective_name((tutti_collective)k->collective), (long long)notice->count,
             tutti_dtype_name((tutti_dtype)k->type), counts, tutti_operation_name((tutti_operation)k->op), root,
             notice->algorithm[0] ? notice->algorithm : "auto", in, to, k->in_place ? " (in place)" : "");
}

bool tutti_board_compare(tutti_comm *comm, uint64_t number)
{
    tutti_notice own, other;
    if (!read_entry(comm, comm->rank, number, &own)) return true;
    for (int r = 0; r < comm->nranks; r++) {
        if (r == comm->rank || !read_entry(comm, r, number, &other) || !memcmp(&own, &other, sizeof own)) continue;
        char ours[260], theirs[260], words[760];
        tutti_notice_text(&own, ours, sizeof ours), tutti_notice_text(&other, theirs, sizeof theirs);
        snprintf(words, sizeof words, "the ranks disagree on call %llu: %s: %s; %s: %s", (unsigned long long)number,
                 tutti_comm_describe(comm, comm->rank), ours, tutti_comm_describe(comm, r), theirs);
        tutti_group_fail(comm->group, TUTTI_ERR_RENDEZVOUS, words);
        return false;
    }
    return true;
}

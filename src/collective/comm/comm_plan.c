/* SPDX-License-Identifier: Apache-2.0 */
/* comm_plan.c: checks the arguments of a call, finds where its memory lies, and lists the ways that it may go.
 *
 * Decisions use only values that are the same on all ranks, so that all ranks take the same way. */
#include <stdio.h>
#include <string.h>

#include "../../base/hash.h"
#include "comm_impl.h"

static const int64_t MOST =
    (int64_t)1 << 47; /* most elements of a vector, so that neither floor(f*n) nor the bytes come near 2^63 */

enum {
    FEW_RANKS = 4,          /* most ranks for which one-shot is tried, because its work grows with their number */
    FEW_BYTES = 1 << 14,    /* bytes up to which the time of a call is only waiting for other ranks */
    CHOICE_BYTES = 1 << 14, /* bytes from which the choice of a way through memory gains more than the trials cost */
    PAST_BYTES = 1 << 18    /* bytes from which a call that has no choice of ways writes shared memory with stores that
                             * bypass the caches */
};

bool tutti_is_auto(const tutti_call *call)
{
    return !call->algorithm || !*call->algorithm || !strcmp(call->algorithm, "auto");
}

int64_t tutti_block_count(const tutti_call *call, int32_t k)
{
    return call->counts ? call->counts[k] : call->count;
}

int32_t tutti_block_number(tutti_collective c, int32_t nranks)
{
    switch (c) {
    case TUTTI_REDUCE_SCATTER:
    case TUTTI_ALL_GATHER:
    case TUTTI_GATHER: return nranks;
    case TUTTI_ALL_TO_ALL: return nranks * nranks;
    default: return 1;
    }
}

static tutti_status refuse(const tutti_call *call, const char *what, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s", tutti_collective_name(call->collective), what);
}

static tutti_status check_numbers(const tutti_comm *comm, const tutti_call *call, tutti_failure *err)
{
    if ((int)call->collective < 0 || call->collective >= TUTTI_NCOLLECTIVES)
        return tutti_fail(err, TUTTI_ERR_USAGE, "no collective has number %d", (int)call->collective);
    if ((int)call->type < 0 || call->type >= TUTTI_NDTYPES || (int)call->op < 0 || call->op >= TUTTI_NOPERATIONS)
        return refuse(call, "no such type or operation", err);
    if (tutti_collective_reduces(call->collective) && !tutti_can_reduce(call->type, call->op))
        return refuse(call, "u8 is moved, not reduced", err);
    if (call->root < 0 || call->root >= comm->nranks) return refuse(call, "the root is not a rank", err);
    if (call->count < 0 || call->count > MOST) return refuse(call, "the count is out of range", err);
    if (!(call->deadline_s >= 0)) return refuse(call, "the deadline is not a number of seconds", err);
    if (call->counts && tutti_block_number(call->collective, 2) == 1)
        return refuse(call, "it has one count, not one a rank", err);
    if (call->algorithm && strlen(call->algorithm) >= TUTTI_ALGORITHM_TEXT)
        return refuse(call, "the name of the algorithm is too long", err);
    return TUTTI_OK;
}

static bool has_input(const tutti_comm *comm, const tutti_call *call)
{
    return call->collective != TUTTI_BROADCAST || comm->rank == call->root;
}

static bool has_output(const tutti_comm *comm, const tutti_call *call)
{
    const bool to_root = call->collective == TUTTI_GATHER || call->collective == TUTTI_REDUCE;
    return !to_root || comm->rank == call->root;
}

static int64_t sum_blocks(const tutti_call *call, int32_t n)
{
    if (!call->counts) return call->count * n;
    int64_t sum = 0;
    for (int32_t k = 0; k < n; k++) sum += call->counts[k];
    return sum;
}

static tutti_status measure_blocks(const tutti_call *call, tutti_call_plan *plan, tutti_failure *err)
{
    plan->longest = call->count;
    if (!call->counts) {
        if (call->count > MOST / plan->nblocks) return refuse(call, "the count is out of range", err);
        plan->total = call->count * plan->nblocks;
        return TUTTI_OK;
    }
    plan->longest = plan->total = 0;
    for (int32_t k = 0; k < plan->nblocks; k++) {
        const int64_t n = call->counts[k];
        if (n < 0 || n > MOST - plan->total) return refuse(call, "a count is out of range, or their sum", err);
        if (n > plan->longest) plan->longest = n;
        plan->has_empty |= n == 0;
        plan->total += n;
    }
    return TUTTI_OK;
}

/* Returns true if the rank's own block is where it belongs in the whole vector. */
static bool is_in_place(const tutti_comm *comm, const tutti_call *call, size_t bytes)
{
    const char *in = call->in, *out = call->out;
    const size_t before = (size_t)sum_blocks(call, comm->rank) * bytes;
    switch (call->collective) {
    case TUTTI_REDUCE_SCATTER: return in && out == in + before;
    case TUTTI_ALL_GATHER:
    case TUTTI_GATHER: return out && in == out + before;
    case TUTTI_ALL_TO_ALL:
    case TUTTI_BARRIER: return false;
    default: return in && in == out;
    }
}

/* Returns the number of elements of the n blocks first, first + step, ... */
static int64_t sum_every(const tutti_call *call, int32_t first, int32_t step, int32_t n)
{
    int64_t sum = 0;
    for (int32_t k = 0; k < n; k++) sum += tutti_block_count(call, first + k * step);
    return sum;
}

static int64_t own_input(const tutti_comm *comm, const tutti_call *call, const tutti_call_plan *plan)
{
    const int32_t p = comm->nranks, me = comm->rank;
    if (!has_input(comm, call)) return 0;
    if (call->collective == TUTTI_ALL_TO_ALL) return sum_every(call, me * p, 1, p);
    const bool own_block = call->collective == TUTTI_ALL_GATHER || call->collective == TUTTI_GATHER;
    return own_block ? tutti_block_count(call, me) : plan->total;
}

static int64_t own_output(const tutti_comm *comm, const tutti_call *call, const tutti_call_plan *plan)
{
    const int32_t p = comm->nranks, me = comm->rank;
    if (!has_output(comm, call)) return 0;
    if (call->collective == TUTTI_ALL_TO_ALL) return sum_every(call, me, p, p);
    return call->collective == TUTTI_REDUCE_SCATTER ? tutti_block_count(call, me) : plan->total;
}

static tutti_status check_memory(const tutti_comm *comm, const tutti_call *call, const tutti_call_plan *plan,
                                 tutti_failure *err)
{
    if (call->collective == TUTTI_BARRIER) return TUTTI_OK;
    const uintptr_t in = (uintptr_t)call->in, out = (uintptr_t)call->out;
    const uint64_t nin = (uint64_t)own_input(comm, call, plan) * plan->bytes;
    const uint64_t nout = (uint64_t)own_output(comm, call, plan) * plan->bytes;
    if ((nin && !in) || (nout && !out)) return refuse(call, "there is no memory for its input or output", err);
    if ((in | out) % tutti_element_alignment(call->type, call->op))
        return refuse(call, "an address is not a multiple of an element's alignment", err);
    if (nin > UINTPTR_MAX - in || nout > UINTPTR_MAX - out)
        return refuse(call, "the count is out of range: that much memory does not fit behind its address", err);
    if (plan->in_place || !nin || !nout || in + nin <= out || out + nout <= in) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "%s: input (%llu bytes at %p) and output (%llu bytes at %p) overlap; in place they lie where the "
                      "whole vector has them",
                      tutti_collective_name(call->collective), (unsigned long long)nin, call->in,
                      (unsigned long long)nout, call->out);
}

/* Rounds up to a size class. Each octave (from 2^k to 2^(k + 1)) has four classes, so that at most a quarter more is
 * moved than needed. */
static int64_t round_to_class(int64_t n)
{
    int64_t step = 1;
    while (step * 8 <= n) step *= 2;
    return n < 1 ? 1 : (n + step - 1) / step * step;
}

/* --- ways through memory --- */

static uint32_t bit(tutti_way way)
{
    return 1u << way;
}

static bool can_reach(const tutti_comm *comm)
{
    return tutti_group_peer_memory(comm->group, NULL) != TUTTI_PEERS_CLOSED;
}

static void choose_among(tutti_call_plan *plan, uint32_t ways, tutti_way first)
{
    plan->ways = ways | bit(first), plan->first = first;
}

/* With p ranks, one-shot reads p + 1 vectors on each rank, two-shot reads 3 - 2/p. If ranks take turns on a core, they
 * do not try one-shot for long vectors, where that difference costs time. */
static void ways_of_allreduce(const tutti_comm *comm, int64_t bytes, tutti_call_plan *plan)
{
    const bool few = comm->nranks <= FEW_RANKS, past = bytes >= PAST_BYTES;
    const uint32_t two = bit(TUTTI_WAY_TWO_SHOT), two_past = bit(TUTTI_WAY_TWO_SHOT_PAST);
    if (tutti_group_nhosts(comm->group) > 1)
        choose_among(plan, 0, few || bytes <= FEW_BYTES ? TUTTI_WAY_ONE_SHOT : TUTTI_WAY_STAGED);
    else if (bytes < CHOICE_BYTES)
        choose_among(plan, 0, few || bytes <= FEW_BYTES / 4 ? TUTTI_WAY_ONE_SHOT : TUTTI_WAY_TWO_SHOT);
    else if (few && !comm->crowded)
        choose_among(plan, bit(TUTTI_WAY_ONE_SHOT) | bit(TUTTI_WAY_ONE_SHOT_PAST) | two | two_past,
                     past ? TUTTI_WAY_ONE_SHOT_PAST : TUTTI_WAY_ONE_SHOT);
    else
        choose_among(plan, two | two_past, past && !comm->crowded ? TUTTI_WAY_TWO_SHOT_PAST : TUTTI_WAY_TWO_SHOT);
    if (bytes >= CHOICE_BYTES && can_reach(comm)) plan->ways |= bit(TUTTI_WAY_REACHED);
}

/* Lists the ways of collectives other than allreduce. Calls of a collective in which a rank may end before another has
 * begun try no ways. */
static void ways_of_others(const tutti_comm *comm, const tutti_call *call, int64_t bytes, tutti_call_plan *plan)
{
    const bool far = tutti_group_nhosts(comm->group) > 1;
    const tutti_way staged = bytes < PAST_BYTES || far ? TUTTI_WAY_STAGED : TUTTI_WAY_STAGED_PAST;
    const bool reached = can_reach(comm) && call->collective != TUTTI_REDUCE && !plan->has_empty;
    choose_among(plan, 0, staged);
    if (bytes < CHOICE_BYTES || far) return;
    if (tutti_collective_has_root(call->collective)) {
        if (reached) choose_among(plan, 0, TUTTI_WAY_REACHED);
        return;
    }
    choose_among(plan, bit(TUTTI_WAY_STAGED) | bit(TUTTI_WAY_STAGED_PAST), staged);
    if (reached) plan->ways |= bit(TUTTI_WAY_REACHED);
}

static void find_ways(const tutti_comm *comm, const tutti_call *call, tutti_call_plan *plan)
{
    const int64_t bytes = plan->total * (int64_t)plan->bytes;
    plan->in = tutti_place_of(comm, call->in), plan->out = tutti_place_of(comm, call->out);
    if (call->collective == TUTTI_BARRIER || (plan->in && plan->out)) {
        /* in place, only the whole vector lies at one offset on all ranks */
        if (plan->in_place && call->collective == TUTTI_REDUCE_SCATTER) plan->out = plan->in;
        if (plan->in_place && call->collective != TUTTI_REDUCE_SCATTER) plan->in = plan->out;
        choose_among(plan, 0, TUTTI_WAY_MAPPED);
        return;
    }
    plan->in = plan->out = 0;
    const bool sums = call->collective == TUTTI_ALLREDUCE, near = tutti_group_nhosts(comm->group) == 1;
    if (tutti_is_auto(call) && comm->nranks == 1)
        choose_among(plan, 0, TUTTI_WAY_REACHED);
    else if (tutti_is_auto(call) && sums)
        ways_of_allreduce(comm, bytes, plan);
    else if (tutti_is_auto(call))
        ways_of_others(comm, call, bytes, plan);
    else if (sums && !strncmp(call->algorithm, "one-shot", 8))
        choose_among(plan, 0, TUTTI_WAY_ONE_SHOT);
    else if (sums && near && !strncmp(call->algorithm, "two-shot", 8))
        choose_among(plan, 0, TUTTI_WAY_TWO_SHOT);
    else
        choose_among(plan, 0, TUTTI_WAY_STAGED);
}

tutti_status tutti_plan_call(const tutti_comm *comm, const tutti_call *call, tutti_call_plan *out, tutti_failure *err)
{
    tutti_status st = check_numbers(comm, call, err);
    if (st) return st;
    *out = (tutti_call_plan){.bytes = tutti_element_bytes(call->type, call->op)};
    out->nblocks = tutti_block_number(call->collective, comm->nranks);
    st = measure_blocks(call, out, err);
    if (st) return st;
    out->in_place = out->total > 0 && is_in_place(comm, call, out->bytes);
    if (call->collective == TUTTI_ALL_TO_ALL && call->in && call->in == call->out)
        return refuse(call, "it does not work in place", err);
    st = check_memory(comm, call, out, err);
    if (!st) find_ways(comm, call, out);
    return st;
}

/* Returns the number of elements of each block that an invocation moves. */
static int64_t piece_of(const tutti_comm *comm, const tutti_call *call, const tutti_call_plan *plan, tutti_way way)
{
    const int64_t most = tutti_way_piece(way, comm->nranks) / (int64_t)plan->bytes;
    if (tutti_way_at(way)->path != TUTTI_PATH_STAGED) return most;
    const int32_t blocks = call->collective == TUTTI_ALL_TO_ALL ? comm->nranks : plan->nblocks;
    const int64_t room = most / blocks > 0 ? most / blocks : 1, fitting = round_to_class(plan->longest);
    return fitting < room ? fitting : room;
}

tutti_call_key tutti_key_of(const tutti_comm *comm, const tutti_call *call, const tutti_call_plan *plan, tutti_way way)
{
    const tutti_path path = tutti_way_at(way)->path;
    const bool whole = path == TUTTI_PATH_MAPPED || path == TUTTI_PATH_REACHED;
    tutti_call_key k = {.way = (int32_t)way, .collective = (int32_t)call->collective, .type = (int32_t)call->type};
    k.op = (int32_t)call->op, k.root = call->root, k.in = plan->in, k.out = plan->out;
    /* A call on the path `staged` is never in place, because its data is copied before and after the exchange. Nor is a
     * call with a root on the path `reached`: ranks reach into the root's memory, in place or not. */
    k.in_place = plan->in_place && path != TUTTI_PATH_STAGED &&
                 !(path == TUTTI_PATH_REACHED && tutti_collective_has_root(call->collective));
    k.n = path == TUTTI_PATH_MAPPED || (whole && call->counts) ? plan->total
          : whole                                              ? MOST
                                                               : piece_of(comm, call, plan, way) * plan->nblocks;
    if (call->counts && whole) k.counts = tutti_hash(call->counts, sizeof *call->counts * (size_t)plan->nblocks) | 1;
    if (!tutti_is_auto(call)) k.algorithm = tutti_hash(call->algorithm, strlen(call->algorithm)) | 1;
    return k;
}

void tutti_notice_of(const tutti_comm *comm, const tutti_call *call, const tutti_call_plan *plan, tutti_notice *out)
{
    *out = (tutti_notice){.count = call->count, .key = tutti_key_of(comm, call, plan, plan->first)};
    if (call->counts) {
        out->counts = tutti_hash(call->counts, sizeof *call->counts * (size_t)plan->nblocks) | 1;
        out->count = plan->total;
    }
    if (!tutti_is_auto(call)) snprintf(out->algorithm, sizeof out->algorithm, "%.31s", call->algorithm);
}

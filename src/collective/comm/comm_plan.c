/* SPDX-License-Identifier: Apache-2.0 */
/* comm_plan.c: looks at a call: is it sound, where does its memory lie, which way does it go.
 *
 * Only what all ranks give alike decides, so that all go the same way. One-shot reads and writes plain memory itself and has one
 * synchronisation, but its work grows with the ranks: with up to 4 of them it moves less than copying in and out does. */
#include <stdio.h>
#include <string.h>

#include "../../base/hash.h"
#include "comm_impl.h"

enum {
    PIECE = 1 << 18,         /* bytes that all blocks of a piece have together: they stay in a second cache */
    ONE_SHOT_RANKS = 4,      /* whatever the length */
    ONE_SHOT_BYTES = 1 << 14 /* however many ranks */
};

bool tutti_is_auto(const tutti_call *call)
{
    return !call->algorithm || !*call->algorithm || !strcmp(call->algorithm, "auto");
}

int64_t tutti_block_count(const tutti_call *call, int32_t k)
{
    return call->counts ? call->counts[k] : call->count;
}

/* How many counts a call has; one, whatever the number of ranks: it takes no array of them. */
static int32_t count_blocks(tutti_collective c, int32_t nranks)
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
    if (call->root < 0 || call->root >= comm->nranks) return refuse(call, "the root is no rank", err);
    if (call->count < 0 || call->count > (int64_t)1 << 47) return refuse(call, "the count is out of range", err);
    if (!(call->deadline_s >= 0)) return refuse(call, "the deadline is no number of seconds", err);
    if (call->counts && count_blocks(call->collective, 2) == 1)
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
    for (int32_t k = 0; call->counts && k < plan->nblocks; k++) {
        if (call->counts[k] < 0 || call->counts[k] > (int64_t)1 << 47)
            return refuse(call, "a count is out of range", err);
        if (k == 0 || call->counts[k] > plan->longest) plan->longest = call->counts[k];
    }
    plan->total = sum_blocks(call, plan->nblocks);
    return TUTTI_OK;
}

/* Whether the rank's own block stands where it belongs in the whole vector. */
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

/* Allocation and offset of an address, 0 = in none. */
static int64_t place_of(const tutti_comm *comm, const void *address)
{
    const char *at = address;
    for (const tutti_allocation *a = comm->allocations; a && at; a = a->next)
        if (at >= a->own && at < a->own + a->bytes) return a->number << 48 | (int64_t)(at - a->own);
    return 0;
}

/* The size class: four in each octave, so that at most a quarter is moved in vain. */
static int64_t round_to_class(int64_t n)
{
    int64_t step = 1;
    while (step * 8 <= n) step *= 2;
    return n < 1 ? 1 : (n + step - 1) / step * step;
}

static void choose_path(const tutti_comm *comm, const tutti_call *call, tutti_call_plan *plan)
{
    const int64_t most = PIECE / (int64_t)plan->bytes;
    plan->in = place_of(comm, call->in), plan->out = place_of(comm, call->out);
    if (call->collective == TUTTI_BARRIER || (plan->in && plan->out)) {
        /* in place only the whole vector lies at one offset on all ranks */
        if (plan->in_place && call->collective == TUTTI_REDUCE_SCATTER) plan->out = plan->in;
        if (plan->in_place && call->collective != TUTTI_REDUCE_SCATTER) plan->in = plan->out;
        plan->path = TUTTI_PATH_MAPPED, plan->piece = plan->longest;
        return;
    }
    plan->in = plan->out = 0;
    const bool named = !tutti_is_auto(call);
    const bool small = comm->nranks <= ONE_SHOT_RANKS || plan->total * (int64_t)plan->bytes <= ONE_SHOT_BYTES;
    const bool one_shot = named ? !strncmp(call->algorithm, "one-shot", 8) : small;
    if (call->collective == TUTTI_ALLREDUCE && one_shot) {
        plan->path = TUTTI_PATH_DIRECT, plan->piece = most;
        return;
    }
    const int32_t blocks = call->collective == TUTTI_ALL_TO_ALL ? comm->nranks : plan->nblocks;
    const int64_t room = most / blocks > 0 ? most / blocks : 1, fitting = round_to_class(plan->longest);
    plan->path = TUTTI_PATH_STAGED, plan->piece = fitting < room ? fitting : room;
    plan->in_place = false; /* copies come between */
}

tutti_status tutti_plan_call(const tutti_comm *comm, const tutti_call *call, tutti_call_plan *out, tutti_failure *err)
{
    tutti_status s = check_numbers(comm, call, err);
    if (s) return s;
    *out = (tutti_call_plan){.bytes = tutti_element_bytes(call->type, call->op)};
    out->nblocks = count_blocks(call->collective, comm->nranks);
    s = measure_blocks(call, out, err);
    if (s) return s;
    const bool moves = call->collective != TUTTI_BARRIER && out->total > 0;
    if (moves && ((has_input(comm, call) && !call->in) || (has_output(comm, call) && !call->out)))
        return refuse(call, "there is no memory for its input or output", err);
    if (((uintptr_t)call->in | (uintptr_t)call->out) % tutti_element_alignment(call->type, call->op))
        return refuse(call, "an address is no multiple of an element's alignment", err);
    out->in_place = is_in_place(comm, call, out->bytes);
    if (call->collective == TUTTI_ALL_TO_ALL && call->in && call->in == call->out)
        return refuse(call, "it does not work in place", err);
    choose_path(comm, call, out);
    return TUTTI_OK;
}

void tutti_notice_of(const tutti_call *call, const tutti_call_plan *plan, tutti_notice *out)
{
    *out = (tutti_notice){.count = call->count};
    tutti_lane_key *k = &out->key;
    k->path = (int32_t)plan->path, k->collective = (int32_t)call->collective;
    k->type = (int32_t)call->type, k->op = (int32_t)call->op, k->root = call->root, k->in_place = plan->in_place;
    k->n = plan->path == TUTTI_PATH_MAPPED ? plan->total : plan->piece * plan->nblocks;
    k->in = plan->in, k->out = plan->out;
    if (call->counts) {
        out->counts = tutti_hash(call->counts, sizeof *call->counts * (size_t)plan->nblocks) | 1;
        if (plan->path == TUTTI_PATH_MAPPED) k->counts = out->counts;
        out->count = sum_blocks(call, plan->nblocks);
    }
    if (tutti_is_auto(call)) return;
    k->algorithm = tutti_hash(call->algorithm, strlen(call->algorithm)) | 1;
    snprintf(out->algorithm, sizeof out->algorithm, "%.31s", call->algorithm);
}

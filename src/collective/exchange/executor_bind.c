/* SPDX-License-Identifier: Apache-2.0 */
/* executor_bind.c: binds an exchange: slices become addresses, channels become counter words. */
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../schedule/part_builder.h"
#include "executor_impl.h"

static tutti_status bind_slice(tutti_binder *b, const tutti_slice *s, int64_t *n)
{
    tutti_binder_need(b, s->rank);
    if (s->buffer < 0 || s->buffer >= b->ranks[s->rank].nbuffers)
        return tutti_fail(b->err, TUTTI_ERR_DATA, "exchange '%s': rank %d has no buffer %d", b->x->name,
                          b->x->members[s->rank], s->buffer);
    const tutti_buffer_place *p = &b->ranks[s->rank].places[s->buffer];
    if (p->banks == 0) return b->err && b->err->status ? b->err->status : TUTTI_ERR_USAGE;
    const tutti_vector *v = &b->x->vector;
    if (p->plain && s->rank != b->x->me && b->x->group->peer_memory == TUTTI_PEERS_CLOSED)
        return tutti_fail(b->err, TUTTI_ERR_USAGE,
                          "exchange '%s': a step of rank %d touches buffer %d of rank %d, which lies in plain memory",
                          b->x->name, b->x->group->rank, s->buffer, b->x->members[s->rank]);
    int64_t from = tutti_vector_point(v, s->first, s->of), to = tutti_vector_point(v, s->first + s->count, s->of);
    *n = to - from;
    size_t end = to > from ? (size_t)(to - p->origin) * p->each : 0;
    if (to > from && (from < p->origin || end > p->bytes_left))
        return tutti_fail(
            b->err, TUTTI_ERR_USAGE,
            "exchange '%s': elements %lld..%lld of buffer %d of rank %d need %zu bytes, the region has %zu", b->x->name,
            (long long)from, (long long)to, s->buffer, b->x->members[s->rank], end, p->bytes_left);
    return TUTTI_OK;
}

static char *slice_address(const tutti_binder *b, const tutti_slice *s, int32_t set)
{
    const tutti_buffer_place *p = &b->ranks[s->rank].places[s->buffer];
    int64_t from = tutti_vector_point(&b->x->vector, s->first, s->of) - p->origin;
    return p->base + (size_t)(set % p->banks) * p->stride + from * (int64_t)p->each;
}

/* --- binding of steps --- */

static size_t counter_offset(const tutti_exchange *x, int32_t source, int32_t channel)
{
    return TUTTI_LINE * (TUTTI_OWN_LINES + (size_t)source * (size_t)x->nchannels + (size_t)channel);
}

static tutti_counter *counter_at(const tutti_exchange *x, int32_t owner, int32_t source, int32_t channel)
{
    char *base = tutti_exchange_base(x, owner);
    return (tutti_counter *)(void *)(base + counter_offset(x, source, channel));
}

static void bind_signal(tutti_binder *b, const tutti_step *step, tutti_op *op)
{
    tutti_exchange *x = b->x;
    char *base = tutti_binder_memory(b, x->region, step->peer, &op->wire) + x->at[step->peer];
    if (op->wire)
        op->far = (uint64_t)(uintptr_t)base + counter_offset(x, x->me, step->channel);
    else
        op->counter = counter_at(x, step->peer, x->me, step->channel);
}

/* Numbers the steps that signal (or wait): the i-th such step on a channel gets ordinal i. `each` becomes the number of
 * such steps on the channel in an invocation. */
static void number_counters(tutti_exchange *x, tutti_step_kind kind)
{
    int32_t *each = tutti_alloc(sizeof *each * ((size_t)x->group->nranks * (size_t)x->nchannels + 1));
    for (int32_t i = 0; i < x->nops; i++) {
        tutti_op *op = &x->ops[i];
        if (op->kind != kind) continue;
        op->ordinal = ++each[op->peer * x->nchannels + op->channel];
    }
    for (int32_t i = 0; i < x->nops; i++)
        if (x->ops[i].kind == kind) x->ops[i].each = each[x->ops[i].peer * x->nchannels + x->ops[i].channel];
    free(each);
}

static tutti_status bind_step(tutti_binder *b, const tutti_part *part, const tutti_step *step, tutti_op *op)
{
    tutti_exchange *x = b->x;
    *op = (tutti_op){.kind = step->kind, .when = step->when, .peer = -1, .channel = step->channel};
    if (step->peer >= 0) op->peer = x->members[step->peer];
    op->stage = step->stage;
    op->first_dep = step->first_dep, op->ndeps = step->ndeps;
    switch (step->kind) {
    case TUTTI_STEP_NOP: return TUTTI_OK;
    case TUTTI_STEP_SIGNAL: bind_signal(b, step, op); return TUTTI_OK;
    case TUTTI_STEP_WAIT: op->counter = counter_at(x, x->me, step->peer, step->channel); return TUTTI_OK;
    case TUTTI_STEP_REDUCE:
        op->folds = TUTTI_ARENA_NEW(&x->arena, uint8_t, step->nins);
        memcpy((uint8_t *)(uintptr_t)op->folds, part->folds + step->first_fold, (size_t)step->nins);
        break;
    case TUTTI_STEP_COPY:
    case TUTTI_STEP_PUT: break;
    default:
        return tutti_fail(b->err, TUTTI_ERR_USAGE, "exchange '%s': step kind %s: the schedule is not lowered", x->name,
                          tutti_step_kind_name(step->kind));
    }
    op->nins = step->nins, op->nouts = step->nouts;
    return TUTTI_OK;
}

/* Returns true if a step may write elements of the output's size, when sent values are rounded. Scratch holds values
 * that were rounded once, so they are summed into outputs alone. Copies keep elements as they are, round inputs into
 * scratch, or widen. */
static bool fits(const tutti_step *step, const tutti_op *op, const tutti_buffer_place *out)
{
    const bool wide = out->each == sizeof(float), took_wide = op->in_bytes == sizeof(float);
    if (step->kind == TUTTI_STEP_REDUCE) return !out->is_scratch || took_wide;
    return wide == took_wide || (step->kind == TUTTI_STEP_COPY && (wide || out->is_scratch));
}

/* Notes the element size of an operand; all inputs of a step must have one size, and all outputs one size. */
static tutti_status take_element(const tutti_binder *b, const tutti_step *step, int32_t k,
                                 const tutti_buffer_place *place, tutti_op *op)
{
    size_t *side = k < step->nins ? &op->in_bytes : &op->out_bytes;
    const bool alike = k == 0 || k == step->nins || *side == place->each;
    *side = place->each;
    if (!b->x->rounds || (alike && (k < step->nins || fits(step, op, place)))) return TUTTI_OK;
    return tutti_fail(
        b->err, TUTTI_ERR_USAGE,
        "exchange '%s': a %s of %s passes partial sums on, which %s would round: use a schedule that sums "
        "each element once, such as direct",
        b->x->name, tutti_step_kind_name(step->kind), b->x->algorithm, tutti_dtype_name(b->x->sent));
}

static tutti_status measure_step(tutti_binder *b, const tutti_part *part, const tutti_step *step, tutti_op *op)
{
    for (int32_t k = 0; k < op->nins + op->nouts; k++) {
        const tutti_slice *s = tutti_step_slice(part, step, k);
        int64_t n = 0;
        tutti_status st = bind_slice(b, s, &n);
        if (!st) st = take_element(b, step, k, &b->ranks[s->rank].places[s->buffer], op);
        if (st) return st;
        tutti_wire *wire = b->ranks[s->rank].places[s->buffer].wire;
        if (wire && (step->kind != TUTTI_STEP_PUT || k < step->nins))
            return tutti_fail(
                b->err, TUTTI_ERR_USAGE,
                "exchange '%s': a %s touches memory of rank %d, which is on another host: the schedule was "
                "lowered for other hosts than these",
                b->x->name, tutti_step_kind_name(step->kind), b->x->members[s->rank]);
        op->wire = wire;
        if (k > 0 && n != op->n)
            return tutti_fail(b->err, TUTTI_ERR_DATA, "exchange '%s': a step with slices of %lld and %lld elements",
                              b->x->name, (long long)op->n, (long long)n);
        op->n = n;
    }
    /* the peer's memory is mapped here, so the put is a copy */
    if (op->kind == TUTTI_STEP_PUT && !op->wire) op->kind = TUTTI_STEP_COPY;
    return TUTTI_OK;
}

/* Returns the slice of the result whose sums this rank divides to make an average: the slice that it owns. buffer -1:
 * it divides nothing. */
static tutti_slice owned_by(const tutti_binder *b, const tutti_part *part)
{
    const tutti_schedule_header *h = tutti_schedule_head(b->schedule);
    const int32_t me = b->x->me;
    tutti_slice owned = {.rank = me, .buffer = -1, .first = 0, .count = 1, .of = 1};
    if (b->x->op != TUTTI_AVG || !tutti_collective_reduces(h->collective)) return owned;
    if (h->collective == TUTTI_REDUCE && me != h->root) return owned;
    if (h->collective == TUTTI_REDUCE_SCATTER) owned = (tutti_slice){me, -1, me, 1, h->nranks};
    for (int32_t i = 0; i < part->nbuffers; i++)
        if (part->buffers[i].role == TUTTI_BUFFER_OUT) owned.buffer = i;
    return owned;
}

tutti_status tutti_exchange_measure(tutti_binder *b, const tutti_part *part)
{
    tutti_status st = TUTTI_OK;
    for (int32_t i = 0; i < part->nsteps && !st; i++) st = measure_step(b, part, &part->steps[i], &b->x->ops[i]);
    const tutti_slice owned = owned_by(b, part);
    if (!st && owned.buffer >= 0) st = bind_slice(b, &owned, &b->x->naverage);
    return st;
}

static void count_bytes(tutti_exchange *x, const tutti_part *part, const tutti_step *step, const tutti_op *op)
{
    if (!step->nouts) return;
    const int64_t bytes = op->n * (int64_t)op->out_bytes;
    x->stats.bytes_read += op->n * (int64_t)op->in_bytes * op->nins;
    x->stats.bytes_written += bytes * op->nouts;
    for (int32_t k = 0; k < op->nins + op->nouts; k++)
        if (tutti_step_slice(part, step, k)->rank != part->rank)
            x->stats.bytes_crossed += op->n * (int64_t)(k < op->nins ? op->in_bytes : op->out_bytes);
    if (op->wire && op->kind == TUTTI_STEP_PUT && op->wire->row->copied)
        x->stats.copies += (int64_t)op->wire->row->copied(op->wire, step->peer, (size_t)bytes);
    if (step->kind != TUTTI_STEP_COPY) return;
    for (int32_t k = 0; k < step->nouts; k++) {
        const tutti_slice *s = &part->slices[step->first_out + k];
        if (s->rank == part->rank && part->buffers[s->buffer].role == TUTTI_BUFFER_SCRATCH) x->stats.copies += bytes;
    }
}

static void bind_sequences(tutti_exchange *x, const tutti_part *part)
{
    x->nsequences = tutti_part_nsequences(part);
    x->sequences = TUTTI_ARENA_NEW(&x->arena, tutti_sequence, x->nsequences + 1);
    for (int32_t i = 0; i < part->nsteps; i++) x->sequences[part->steps[i].sequence].nops++;
    for (int32_t q = 0; q < x->nsequences; q++) {
        x->sequences[q].ops = TUTTI_ARENA_NEW(&x->arena, int32_t, x->sequences[q].nops + 1);
        x->sequences[q].nops = 0;
    }
    for (int32_t i = 0; i < part->nsteps; i++) {
        tutti_sequence *q = &x->sequences[part->steps[i].sequence];
        q->ops[q->nops++] = i;
    }
}

static int32_t common_multiple(int32_t a, int32_t b)
{
    int32_t m = a;
    while (m % b) m += a;
    return m;
}

static tutti_status count_sets(tutti_binder *b)
{
    tutti_exchange *x = b->x;
    x->nsets = 1;
    for (int32_t r = 0; r < x->nmembers; r++)
        for (int32_t i = 0; b->ranks[r].places && i < b->ranks[r].nbuffers; i++)
            if (b->ranks[r].places[i].banks > 1) x->nsets = common_multiple(x->nsets, b->ranks[r].places[i].banks);
    if (x->nsets <= TUTTI_MAX_BANK_SETS) return TUTTI_OK;
    return tutti_fail(b->err, TUTTI_ERR_USAGE, "exchange '%s': banks repeat after %d invocations, at most %d", x->name,
                      x->nsets, TUTTI_MAX_BANK_SETS);
}

static void point(const tutti_binder *b, const tutti_part *part, int32_t i, int32_t set, char **to)
{
    for (int32_t k = 0; k < b->x->ops[i].nins + b->x->ops[i].nouts; k++) {
        const tutti_slice *s = tutti_step_slice(part, &part->steps[i], k);
        if (b->ranks[s->rank].places[s->buffer].plain)
            tutti_plain_note(b->x, i, k, set, s);
        else
            to[k] = slice_address(b, s, set);
    }
}

void tutti_exchange_point(const tutti_binder *b, const tutti_part *part)
{
    tutti_exchange *x = b->x;
    const tutti_slice owned = owned_by(b, part);
    for (int32_t set = 0; set < x->nsets; set++)
        for (int32_t i = 0; i < x->nops; i++) point(b, part, i, set, x->pointers[set] + x->ops[i].first);
    if (owned.buffer < 0) return;
    if (x->plain)
        tutti_plain_note_average(x, &owned);
    else
        x->average = slice_address(b, &owned, 0);
}

/* Makes the arrays of pointers; returns the number of pointers in a set. */
static int32_t make_pointers(tutti_exchange *x)
{
    int32_t total = 0;
    for (int32_t i = 0; i < x->nops; i++) x->ops[i].first = total, total += x->ops[i].nins + x->ops[i].nouts;
    for (int32_t set = 0; set < x->nsets; set++) x->pointers[set] = TUTTI_ARENA_NEW(&x->arena, char *, total + 1);
    return total;
}

tutti_status tutti_exchange_bind(tutti_exchange *x, const tutti_schedule *schedule, const tutti_part *part,
                                 const tutti_exchange_binding *binding, tutti_failure *err)
{
    tutti_binder *b = TUTTI_ARENA_NEW(&x->arena, tutti_binder, 1);
    *b = (tutti_binder){.x = x, .schedule = schedule, .binding = *binding, .err = err};
    b->ranks = TUTTI_ARENA_NEW(&x->arena, tutti_rank_places, x->nmembers);
    x->nops = part->nsteps;
    x->ops = TUTTI_ARENA_NEW(&x->arena, tutti_op, part->nsteps + 1);
    x->deps = TUTTI_ARENA_NEW(&x->arena, int32_t, part->ndeps + 1);
    if (part->ndeps) memcpy(x->deps, part->deps, sizeof *x->deps * (size_t)part->ndeps);
    tutti_status st = TUTTI_OK;
    for (int32_t i = 0; i < part->nsteps && !st; i++) st = bind_step(b, part, &part->steps[i], &x->ops[i]);
    if (!st) st = tutti_exchange_measure(b, part);
    if (!st) st = count_sets(b);
    if (st) return st;
    for (int32_t i = 0; i < part->nsteps; i++) count_bytes(x, part, &part->steps[i], &x->ops[i]);
    number_counters(x, TUTTI_STEP_SIGNAL);
    number_counters(x, TUTTI_STEP_WAIT);
    bind_sequences(x, part);
    const int32_t npointers = make_pointers(x);
    if (binding->plain) tutti_plain_bind(b, npointers);
    tutti_exchange_point(b, part);
    if (!binding->plain) tutti_stores_choose(x, schedule, binding->past_caches);
    x->started = (tutti_counter *)(void *)tutti_exchange_base(x, x->me);
    b->err = NULL; /* the binder outlives this call, but `err` is the caller's */
    return TUTTI_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* executor_bind.c: slices become addresses, channels become counter words: once, at create.
 *
 * An input or output lies at its place with its whole index space, also where a rank stores only a window of it, because the
 * same place serves several schedules in place (reduce-scatter, then all-gather). Scratch and window places hold windows only. */
#include <string.h>

#include "../../base/clock.h"
#include "../schedule/part_builder.h"
#include "executor_impl.h"

/* Where the buffers of one rank lie: in our address space, or in that of a far rank. */
typedef struct {
    char *base;     /* of element `origin`, bank 0 */
    int64_t origin; /* first stored element */
    size_t stride;  /* between banks, bytes */
    int32_t banks;
    size_t bytes_left; /* from base to the end of its region */
    bool plain;        /* has no base yet */
    tutti_wire *wire;  /* far memory: base is the peer's address */
} buffer_place;

typedef struct {
    tutti_exchange *x;
    const tutti_schedule *schedule;
    const tutti_exchange_binding *binding;
    buffer_place **places; /* [rank][buffer], NULL until needed */
    int32_t *nbuffers;
    tutti_failure *err;
} binder;

static int64_t window_first(const tutti_buffer *b, const tutti_vector *v)
{
    return tutti_vector_point(v, b->window.first, b->window.of);
}

static size_t window_bytes(const tutti_buffer *b, const tutti_vector *v)
{
    const tutti_slice *w = &b->window;
    return (size_t)(tutti_vector_point(v, w->first + w->count, w->of) - window_first(b, v)) * v->bytes;
}

static size_t bank_bytes(const tutti_buffer *b, const tutti_vector *v)
{
    return (window_bytes(b, v) + TUTTI_LINE - 1) / TUTTI_LINE * TUTTI_LINE;
}

static size_t counters_bytes(int nranks, int32_t nchannels)
{
    return TUTTI_LINE * (1 + (size_t)nranks * (size_t)nchannels);
}

size_t tutti_exchange_own_bytes(const tutti_part *part, int nranks, int32_t nchannels, const tutti_vector *v)
{
    size_t bytes = counters_bytes(nranks, nchannels);
    for (int32_t i = 0; i < part->nbuffers; i++)
        if (part->buffers[i].role == TUTTI_BUFFER_SCRATCH)
            bytes += bank_bytes(&part->buffers[i], v) * (size_t)part->buffers[i].banks;
    return bytes;
}

int32_t tutti_part_channels(const tutti_part *part)
{
    int32_t channels = 0;
    for (int32_t i = 0; i < part->nsteps; i++)
        if (part->steps[i].channel >= channels) channels = part->steps[i].channel + 1;
    return channels;
}

/* --- buffers --- */

/* Where memory of `rank` begins: mapped here, or as the far rank sees it itself. */
static char *memory_of(const binder *b, const tutti_region *region, int32_t rank, tutti_wire **wire)
{
    *wire = tutti_group_is_near(b->x->group, rank) ? NULL : b->x->group->wire;
    return *wire ? (char *)(uintptr_t)tutti_region_far(region, rank) : tutti_region_base(region, rank);
}

static void place_scratch(const binder *b, int32_t rank, const tutti_buffer *buffer, size_t *scratch, buffer_place *out)
{
    tutti_wire *wire;
    char *base = memory_of(b, b->x->region, rank, &wire) + b->x->at[rank];
    size_t each = bank_bytes(buffer, &b->x->vector);
    *out = (buffer_place){
        .base = base + *scratch, .stride = each, .banks = buffer->banks, .bytes_left = each, .wire = wire};
    out->origin = window_first(buffer, &b->x->vector);
    *scratch += each * (size_t)buffer->banks;
}

/* packed: bytes of the outputs before this one in a window place, which it adds itself to. */
static tutti_status place_buffer(binder *b, int32_t rank, const tutti_buffer *buffer, size_t *packed, buffer_place *out)
{
    bool is_in = buffer->role == TUTTI_BUFFER_IN || tutti_schedule_head(b->schedule)->in_place;
    int32_t ordinal = buffer->role == TUTTI_BUFFER_IN ? buffer->ordinal : 0;
    if (is_in && ordinal >= b->binding->nin)
        return tutti_fail(b->err, TUTTI_ERR_USAGE, "exchange '%s': rank %d has input %d, the binding gives only %d",
                          b->x->name, rank, ordinal, b->binding->nin);
    const bool window = is_in ? b->binding->in_window : b->binding->out_window;
    if (b->binding->plain) { /* addresses come with each aim */
        *out = (buffer_place){.banks = 1, .bytes_left = SIZE_MAX, .plain = true};
        if (window) out->origin = window_first(buffer, &b->x->vector);
        return TUTTI_OK;
    }
    const tutti_place *place = is_in ? &b->binding->in[ordinal] : &b->binding->out;
    size_t offset = place->offset;
    if (window && !is_in) offset += *packed, *packed += window_bytes(buffer, &b->x->vector);
    if (!place->region || offset % tutti_element_alignment(b->x->type, b->x->op) ||
        offset > tutti_region_bytes(place->region, rank))
        return tutti_fail(b->err, TUTTI_ERR_USAGE, "exchange '%s': no place for buffer %s of rank %d", b->x->name,
                          buffer->name, rank);
    *out = (buffer_place){.banks = 1};
    out->base = memory_of(b, place->region, rank, &out->wire) + offset;
    if (window) out->origin = window_first(buffer, &b->x->vector);
    out->bytes_left = tutti_region_bytes(place->region, rank) - offset;
    return TUTTI_OK;
}

static void need_rank(binder *b, int32_t rank)
{
    tutti_part part;
    if (b->places[rank]) return;
    tutti_schedule_part(b->schedule, rank, &part);
    size_t scratch = counters_bytes(b->x->group->nranks, b->x->nchannels), packed = 0;
    b->places[rank] = TUTTI_ARENA_NEW(&b->x->arena, buffer_place, part.nbuffers + 1);
    b->nbuffers[rank] = part.nbuffers;
    /* A buffer that has no place is refused only if a step uses it: banks 0 marks it. */
    for (int32_t i = 0; i < part.nbuffers; i++)
        if (part.buffers[i].role == TUTTI_BUFFER_SCRATCH)
            place_scratch(b, rank, &part.buffers[i], &scratch, &b->places[rank][i]);
        else if (place_buffer(b, rank, &part.buffers[i], &packed, &b->places[rank][i]))
            b->places[rank][i].banks = 0;
    tutti_part_release(&part);
}

static tutti_status bind_slice(binder *b, const tutti_slice *s, int64_t *n)
{
    need_rank(b, s->rank);
    if (s->buffer < 0 || s->buffer >= b->nbuffers[s->rank])
        return tutti_fail(b->err, TUTTI_ERR_DATA, "exchange '%s': rank %d has no buffer %d", b->x->name, s->rank,
                          s->buffer);
    const buffer_place *p = &b->places[s->rank][s->buffer];
    if (p->banks == 0) return b->err && b->err->status ? b->err->status : TUTTI_ERR_USAGE;
    const tutti_vector *v = &b->x->vector;
    if (p->plain && s->rank != b->x->group->rank)
        return tutti_fail(b->err, TUTTI_ERR_USAGE,
                          "exchange '%s': a step of rank %d touches buffer %d of rank %d, which lies in plain memory",
                          b->x->name, b->x->group->rank, s->buffer, s->rank);
    int64_t from = tutti_vector_point(v, s->first, s->of), to = tutti_vector_point(v, s->first + s->count, s->of);
    *n = to - from;
    size_t end = to > from ? (size_t)(to - p->origin) * v->bytes : 0;
    if (to > from && (from < p->origin || end > p->bytes_left))
        return tutti_fail(
            b->err, TUTTI_ERR_USAGE,
            "exchange '%s': elements %lld..%lld of buffer %d of rank %d need %zu bytes, the region has %zu", b->x->name,
            (long long)from, (long long)to, s->buffer, s->rank, end, p->bytes_left);
    return TUTTI_OK;
}

static char *slice_address(const binder *b, const tutti_slice *s, int32_t set)
{
    const buffer_place *p = &b->places[s->rank][s->buffer];
    int64_t from = tutti_vector_point(&b->x->vector, s->first, s->of) - p->origin;
    return p->base + (size_t)(set % p->banks) * p->stride + from * (int64_t)b->x->vector.bytes;
}

/* --- steps --- */

static size_t counter_offset(const tutti_exchange *x, int32_t source, int32_t channel)
{
    return TUTTI_LINE * (1 + (size_t)source * (size_t)x->nchannels + (size_t)channel);
}

static tutti_counter *counter_at(const tutti_exchange *x, int32_t owner, int32_t source, int32_t channel)
{
    char *base = tutti_exchange_base(x, owner);
    return (tutti_counter *)(void *)(base + counter_offset(x, source, channel));
}

static void bind_signal(binder *b, const tutti_step *step, tutti_op *op)
{
    tutti_exchange *x = b->x;
    char *base = memory_of(b, x->region, step->peer, &op->wire) + x->at[step->peer];
    if (op->wire)
        op->far = (uint64_t)(uintptr_t)base + counter_offset(x, x->group->rank, step->channel);
    else
        op->counter = counter_at(x, step->peer, x->group->rank, step->channel);
}

/* The i-th signal (or wait) on a channel has ordinal i; all of an invocation are `each`. */
static void number_counters(tutti_exchange *x, tutti_step_kind kind)
{
    for (int32_t i = 0; i < x->nops; i++) {
        tutti_op *op = &x->ops[i];
        if (op->kind != kind) continue;
        op->each = op->ordinal = 0;
        for (int32_t k = 0; k < x->nops; k++) {
            const tutti_op *other = &x->ops[k];
            if (other->kind != kind || other->peer != op->peer || other->channel != op->channel) continue;
            op->each++;
            if (k <= i) op->ordinal++;
        }
    }
}

/* With plain memory invocations may be shorter than the vector: then all slices of a step must be cut at one element. */
static tutti_status note_begin(binder *b, const tutti_slice *s, int32_t k, tutti_op *op)
{
    const int64_t from = tutti_vector_point(&b->x->vector, s->first, s->of);
    if (k == 0) op->from = from;
    if (op->from == from || !b->binding->plain) return TUTTI_OK;
    return tutti_fail(b->err, TUTTI_ERR_USAGE,
                      "exchange '%s': a step moves elements to other positions: not with plain memory", b->x->name);
}

static tutti_status bind_step(binder *b, const tutti_part *part, const tutti_step *step, tutti_op *op)
{
    tutti_exchange *x = b->x;
    int me = x->group->rank;
    *op = (tutti_op){.kind = step->kind, .when = step->when, .peer = step->peer, .channel = step->channel};
    op->stage = step->stage;
    op->first_dep = step->first_dep, op->ndeps = step->ndeps;
    op->nins = step->nins, op->nouts = step->nouts;
    switch (step->kind) {
    case TUTTI_STEP_NOP: return TUTTI_OK;
    case TUTTI_STEP_SIGNAL: bind_signal(b, step, op); return TUTTI_OK;
    case TUTTI_STEP_WAIT: op->counter = counter_at(x, me, step->peer, step->channel); return TUTTI_OK;
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
    for (int32_t k = 0; k < step->nins + step->nouts; k++) {
        const tutti_slice *s =
            k < step->nins ? &part->slices[step->first_in + k] : &part->slices[step->first_out + k - step->nins];
        int64_t n = 0;
        tutti_status status = bind_slice(b, s, &n);
        if (status) return status;
        tutti_wire *wire = b->places[s->rank][s->buffer].wire;
        if (wire && (step->kind != TUTTI_STEP_PUT || k < step->nins))
            return tutti_fail(
                b->err, TUTTI_ERR_USAGE,
                "exchange '%s': a %s touches memory of rank %d, which is on another host: the schedule was "
                "lowered for other hosts than these",
                x->name, tutti_step_kind_name(step->kind), s->rank);
        op->wire = wire;
        if (k > 0 && n != op->n)
            return tutti_fail(b->err, TUTTI_ERR_DATA, "exchange '%s': a step with slices of %lld and %lld elements",
                              x->name, (long long)op->n, (long long)n);
        op->n = n;
        status = note_begin(b, s, k, op);
        if (status) return status;
    }
    if (op->kind == TUTTI_STEP_PUT && !op->wire) op->kind = TUTTI_STEP_COPY; /* into memory that is mapped here */
    return TUTTI_OK;
}

static void count_bytes(tutti_exchange *x, const tutti_part *part, const tutti_step *step, const tutti_op *op)
{
    if (!step->nouts) return;
    int64_t bytes = op->n * (int64_t)x->vector.bytes;
    x->stats.bytes_read += bytes * op->nins;
    x->stats.bytes_written += bytes * op->nouts;
    if (op->wire && op->kind == TUTTI_STEP_PUT && op->wire->row->can & TUTTI_WIRE_COPIES) x->stats.copies += bytes;
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

static tutti_status count_sets(binder *b)
{
    tutti_exchange *x = b->x;
    x->nsets = 1;
    for (int r = 0; r < x->group->nranks; r++)
        for (int32_t i = 0; b->places[r] && i < b->nbuffers[r]; i++)
            if (b->places[r][i].banks > 1) x->nsets = common_multiple(x->nsets, b->places[r][i].banks);
    if (x->nsets <= TUTTI_MAX_BANK_SETS) return TUTTI_OK;
    return tutti_fail(b->err, TUTTI_ERR_USAGE, "exchange '%s': banks repeat after %d invocations, at most %d", x->name,
                      x->nsets, TUTTI_MAX_BANK_SETS);
}

/* Bypass the caches when all that the ranks of this host touch cannot stay in them anyway. */
static bool exceeds_caches(const tutti_exchange *x, const tutti_schedule *schedule)
{
    double vectors = x->group->nmachine * (tutti_schedule_head(schedule)->in_place ? 1.0 : 2.0);
    return vectors * (double)x->vector.n * (double)x->vector.bytes > (double)x->group->cache_bytes;
}

static bool is_plain(const binder *b, const tutti_slice *s)
{
    return b->places[s->rank][s->buffer].plain;
}

/* Notes the pointers of the step that follow each aim. */
static void note_plain(binder *b, const tutti_part *part, int32_t i, int32_t set)
{
    tutti_exchange *x = b->x;
    tutti_op *op = &x->ops[i];
    const tutti_slice *slices = part->slices;
    for (int32_t k = 0; k < op->nins + op->nouts; k++) {
        const tutti_slice *s =
            k < op->nins ? &slices[part->steps[i].first_in + k] : &slices[part->steps[i].first_out + k - op->nins];
        if (!is_plain(b, s)) continue;
        const bool out = part->buffers[s->buffer].role == TUTTI_BUFFER_OUT;
        op->writes_plain |= k >= op->nins;
        const int64_t first = tutti_vector_point(&x->vector, s->first, s->of) - b->places[s->rank][s->buffer].origin;
        x->plain[x->nplain++] = (tutti_plain_pointer){set, op->first + k, out, first * (int64_t)x->vector.bytes};
    }
}

static void bind_pointers(binder *b, const tutti_part *part, bool large)
{
    tutti_exchange *x = b->x;
    int32_t total = 0;
    for (int32_t i = 0; i < x->nops; i++) x->ops[i].first = total, total += x->ops[i].nins + x->ops[i].nouts;
    if (b->binding->plain) x->plain = TUTTI_ARENA_NEW(&x->arena, tutti_plain_pointer, total * x->nsets + 1);
    for (int32_t set = 0; set < x->nsets; set++) {
        x->pointers[set] = TUTTI_ARENA_NEW(&x->arena, char *, total + 1);
        for (int32_t i = 0; i < x->nops; i++) {
            tutti_op *op = &x->ops[i];
            char **to = x->pointers[set] + op->first;
            const tutti_step *step = &part->steps[i];
            for (int32_t k = 0; k < op->nins; k++) to[k] = slice_address(b, &part->slices[step->first_in + k], set);
            for (int32_t k = 0; k < op->nouts; k++)
                to[op->nins + k] = slice_address(b, &part->slices[step->first_out + k], set);
            if (b->binding->plain) {
                note_plain(b, part, i, set);
                continue;
            }
            op->stream = large;
            for (int32_t k = 0; k < op->nins; k++)
                for (int32_t o = 0; o < op->nouts; o++)
                    if (to[k] == to[op->nins + o]) op->stream = false; /* the line has been read: it is ours already */
        }
    }
}

/* What this rank owns of the result of a collective that sums: it divides that. */
static tutti_status bind_average(binder *b, const tutti_part *part)
{
    const tutti_schedule_header *h = tutti_schedule_head(b->schedule);
    int me = b->x->group->rank;
    tutti_slice owned = {.rank = me, .buffer = -1, .first = 0, .count = 1, .of = 1};
    if (h->collective == TUTTI_REDUCE && me != h->root) return TUTTI_OK;
    if (h->collective == TUTTI_REDUCE_SCATTER) owned = (tutti_slice){me, -1, me, 1, h->nranks};
    for (int32_t i = 0; i < part->nbuffers; i++)
        if (part->buffers[i].role == TUTTI_BUFFER_OUT) owned.buffer = i;
    if (owned.buffer < 0) return TUTTI_OK; /* nothing comes out here */
    tutti_status s = bind_slice(b, &owned, &b->x->naverage);
    if (!s && !b->binding->plain) b->x->average = slice_address(b, &owned, 0);
    return s;
}

tutti_status tutti_exchange_bind(tutti_exchange *x, const tutti_schedule *schedule, const tutti_part *part,
                                 const tutti_exchange_binding *binding, tutti_failure *err)
{
    binder b = {.x = x, .schedule = schedule, .binding = binding, .err = err};
    b.places = TUTTI_ARENA_NEW(&x->arena, buffer_place *, x->group->nranks);
    b.nbuffers = TUTTI_ARENA_NEW(&x->arena, int32_t, x->group->nranks);
    x->nops = part->nsteps;
    x->ops = TUTTI_ARENA_NEW(&x->arena, tutti_op, part->nsteps + 1);
    x->deps = TUTTI_ARENA_NEW(&x->arena, int32_t, part->ndeps + 1);
    if (part->ndeps) memcpy(x->deps, part->deps, sizeof *x->deps * (size_t)part->ndeps);
    for (int32_t i = 0; i < part->nsteps; i++) {
        tutti_status s = bind_step(&b, part, &part->steps[i], &x->ops[i]);
        if (s) return s;
        count_bytes(x, part, &part->steps[i], &x->ops[i]);
    }
    tutti_status s = count_sets(&b);
    if (s) return s;
    number_counters(x, TUTTI_STEP_SIGNAL);
    number_counters(x, TUTTI_STEP_WAIT);
    bind_sequences(x, part);
    if (x->op == TUTTI_AVG && tutti_collective_reduces(tutti_schedule_head(schedule)->collective))
        s = bind_average(&b, part);
    if (s) return s;
    bind_pointers(&b, part, exceeds_caches(x, schedule));
    x->length = x->vector.n;
    x->started = (tutti_counter *)(void *)tutti_exchange_base(x, x->group->rank);
    return TUTTI_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* check_load.c: compiles parts for the replay. In the compiled form cells replace fractions of the vector, storages
 * replace buffers, and indices of channels replace peers.
 *
 * Parts are generated twice: first for the slices and buffers of all ranks, then for the steps, whose slices may lie on
 * other ranks. Only the compiled form is kept, with 32 bytes for each step and 4 for each slice, because a ring of
 * 1,024 ranks has 10 million steps. */
#include <stdlib.h>
#include <string.h>

#include "../schedule/part_builder.h"
#include "check_impl.h"

enum { MAX_THREADS = 1 << 15, MAX_CELLS = 400000000, MAX_MATRIX_RANKS = 1 << 14 };

static tutti_status header_shape(tutti_checker *c)
{
    const tutti_schedule_header *h = c->head;
    if ((unsigned)h->collective >= TUTTI_NCOLLECTIVES || (unsigned)h->wire >= TUTTI_NWIRE_CLASSES)
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "unknown collective or wire class");
    if (h->nranks < 1 || h->root < 0 || h->root >= h->nranks)
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "root %d of %d ranks", h->root, h->nranks);
    if ((h->wire == TUTTI_WIRE_MIXED) != (h->host_of != NULL))
        return tutti_fail(c->err, TUTTI_ERR_FAILED,
                          "hosts of the ranks belong to the wire class mixed, and to no other");
    if (h->slots < 0 || (h->slots & (h->slots - 1)))
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "%d slots: a power of two is needed", h->slots);
    if (h->collective == TUTTI_ALL_TO_ALL && (h->in_place || h->nranks > MAX_MATRIX_RANKS))
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "all-to-all is never in place, and has at most %d ranks",
                          MAX_MATRIX_RANKS);
    return TUTTI_OK;
}

/* Marks the elements that each rank must hold at the end, and those that its caller fills: slice r of nranks, row r of
 * a matrix, or all. */
static tutti_status mark_owed(tutti_checker *c, int32_t r)
{
    int32_t p = c->head->nranks;
    tutti_slice own = {r, 0, r, 1, p};
    tutti_status st = TUTTI_OK;
    if (c->head->collective == TUTTI_REDUCE_SCATTER || tutti_check_fills_slice(c->head))
        st = tutti_grid_mark(&c->grid, &own, c->err);
    tutti_slice owed;
    for (int32_t i = 0; c->source->owed && st == TUTTI_OK && c->source->owed(c->source->owner, r, i, &owed); i++)
        st = tutti_grid_mark(&c->grid, &owed, c->err);
    for (int32_t j = 0; c->head->collective == TUTTI_ALL_TO_ALL && j < p && st == TUTTI_OK; j++)
        st = tutti_grid_mark(&c->grid, &(tutti_slice){r, 0, r * p + j, 1, p * p}, c->err);
    return st;
}

static tutti_status load_buffers(tutti_checker *c, int32_t r)
{
    tutti_part part;
    (void)tutti_headway_tell(c->source->headway, 0, 0);
    c->source->part(c->source->owner, r, &part);
    tutti_check_rank *rank = &c->ranks[r];
    tutti_status st = part.rank == r ? tutti_check_part_shape(c, &part)
                                     : tutti_fail(c->err, TUTTI_ERR_FAILED, "part %d says rank %d", r, part.rank);
    if (st == TUTTI_OK) {
        rank->nbuffers = part.nbuffers;
        rank->buffers = TUTTI_ARENA_NEW(&c->arena, tutti_buffer, part.nbuffers + 1);
        rank->storage_of = TUTTI_ARENA_NEW(&c->arena, int32_t, part.nbuffers + 1);
        if (part.nbuffers) memcpy(rank->buffers, part.buffers, sizeof *part.buffers * (size_t)part.nbuffers);
        rank->nthreads = part.nsteps ? tutti_part_nsequences(&part) : 1;
        c->nstorages += part.nbuffers;
        st = mark_owed(c, r);
        for (int32_t b = 0; b < part.nbuffers && c->source->lies_in && st == TUTTI_OK; b++) {
            tutti_slice where;
            if (c->source->lies_in(c->source->owner, r, b, &where)) st = tutti_grid_mark(&c->grid, &where, c->err);
        }
    }
    c->source->release(&part);
    return st;
}

static void place_storage(tutti_checker *c, tutti_check_rank *rank, int32_t r, int32_t b)
{
    tutti_buffer *buffer = &rank->buffers[b];
    int32_t lo, hi, at = c->nstorages;
    tutti_grid_find(&c->grid, &buffer->window, &lo, &hi);
    for (int32_t k = 0; k < b && c->head->in_place && buffer->role != TUTTI_BUFFER_SCRATCH; k++)
        if (rank->buffers[k].role != TUTTI_BUFFER_SCRATCH && rank->buffers[k].ordinal == 0 && buffer->ordinal == 0)
            at = rank->storage_of[k];
    rank->storage_of[b] = at;
    tutti_storage *s = &c->storages[at];
    if (at == c->nstorages) {
        *s = (tutti_storage){r, b, lo, hi, buffer->banks, 0, -1, 0};
        tutti_slice where;
        if (c->source->lies_in && c->source->lies_in(c->source->owner, r, b, &where)) {
            tutti_grid_find(&c->grid, &where, &s->at, &hi);
            s->within = rank->storage_of[where.buffer];
        }
        c->nstorages++;
        return;
    }
    if (lo < s->lo) s->lo = lo;
    if (hi > s->hi) s->hi = hi;
}

static tutti_status place_cells(tutti_checker *c)
{
    c->storages = TUTTI_ARENA_NEW(&c->arena, tutti_storage, c->nstorages + 1);
    c->nstorages = 0;
    int32_t banks = 1;
    for (int32_t r = 0; r < c->head->nranks; r++)
        for (int32_t b = 0; b < c->ranks[r].nbuffers; b++) {
            place_storage(c, &c->ranks[r], r, b);
            if (c->ranks[r].buffers[b].banks > banks) banks = c->ranks[r].buffers[b].banks;
        }
    for (int32_t i = 0; i < c->nstorages; i++) {
        if (c->storages[i].within >= 0) continue;
        c->storages[i].base = c->ncells;
        c->ncells += (int64_t)(c->storages[i].hi - c->storages[i].lo) * c->storages[i].banks;
        if (c->ncells > MAX_CELLS)
            return tutti_fail(c->err, TUTTI_ERR_FAILED, "too large to check: more than %d million slices",
                              MAX_CELLS / 1000000);
    }
    for (int32_t i = 0; i < c->nstorages; i++) {
        tutti_storage *s = &c->storages[i];
        const tutti_storage *in = s->within < 0 ? s : &c->storages[s->within];
        if (in != s) s->base = in->base + s->at - in->lo;
    }
    tutti_runs_init(c);
    c->ninvocations = banks + 1;
    return TUTTI_OK;
}

static uint32_t channel_hash(int32_t src, int32_t dst, int32_t number)
{
    uint64_t x = ((uint64_t)(uint32_t)src << 32 | (uint32_t)dst) * 0x9e3779b97f4a7c15u + (uint32_t)number;
    x ^= x >> 31;
    return (uint32_t)((x * 0xbf58476d1ce4e5b9u) >> 32);
}

static void grow_channels(tutti_checker *c)
{
    c->channels_capacity = c->channels_capacity ? c->channels_capacity * 2 : 256;
    c->channels = tutti_realloc(c->channels, sizeof *c->channels * (size_t)c->channels_capacity);
    c->channel_mask = (uint32_t)c->channels_capacity * 2 - 1;
    c->channel_table = tutti_realloc(c->channel_table, sizeof(int32_t) * ((size_t)c->channel_mask + 1));
    memset(c->channel_table, -1, sizeof(int32_t) * ((size_t)c->channel_mask + 1));
    for (int32_t i = 0; i < c->nchannels; i++) {
        uint32_t at = channel_hash(c->channels[i].src, c->channels[i].dst, c->channels[i].number) & c->channel_mask;
        while (c->channel_table[at] >= 0) at = (at + 1) & c->channel_mask;
        c->channel_table[at] = i;
    }
}

int32_t tutti_check_channel(tutti_checker *c, int32_t src, int32_t dst, int32_t number)
{
    if (c->nchannels == c->channels_capacity) grow_channels(c);
    uint32_t at = channel_hash(src, dst, number) & c->channel_mask;
    for (; c->channel_table[at] >= 0; at = (at + 1) & c->channel_mask) {
        const tutti_channel *ch = &c->channels[c->channel_table[at]];
        if (ch->src == src && ch->dst == dst && ch->number == number) return c->channel_table[at];
    }
    c->channels[c->nchannels] = (tutti_channel){
        .src = src, .dst = dst, .number = number, .giver = -1, .taker = -1, .gave_thread = -1, .took_thread = -1};
    return c->channel_table[at] = c->nchannels++;
}

/* Finds the storage of a slice. Checks the number of the buffer, which may be another rank's, and its window. */
static tutti_status find_storage(tutti_checker *c, const tutti_slice *s, int32_t *storage)
{
    const tutti_check_rank *rank = &c->ranks[s->rank];
    if (s->buffer >= rank->nbuffers)
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "rank %d has no buffer %d", s->rank, s->buffer);
    const tutti_buffer *b = &rank->buffers[s->buffer];
    int32_t lo, hi, first, last;
    tutti_grid_find(&c->grid, s, &lo, &hi);
    tutti_grid_find(&c->grid, &b->window, &first, &last);
    if (lo < first || hi > last)
        return tutti_fail(c->err, TUTTI_ERR_FAILED,
                          "slice %d+%d/%d lies outside of the window %d+%d/%d of %.16s of rank %d", s->first, s->count,
                          s->of, b->window.first, b->window.count, b->window.of, b->name, s->rank);
    *storage = rank->storage_of[s->buffer];
    return TUTTI_OK;
}

typedef struct {
    const tutti_part *part;
    tutti_check_rank *rank;
    int32_t *node_of; /* for each step of the part: its node in the dependency graph, or -1 */
    int32_t nargs;
    int64_t units_in, units_out;
    struct {
        int32_t sequence, stage;
    } * reader; /* for each buffer: sequence and stage of the first step that reads it; sequence -1 = none yet */
} loader;

/* Notes that one sequence writes where another sequence read before. The order of the two accesses then often follows
 * only from messages through other ranks, which clocks that cover only neighbours lose. The note only chooses which
 * clocks are tried first. */
static void note_reuse(tutti_checker *c, loader *l, const tutti_step *s, const tutti_slice *slice, bool reads)
{
    int32_t lo, hi;
    if (c->head->wire != TUTTI_WIRE_TWO_SIDED || c->reuses) return;
    if (l->part->buffers[slice->buffer].role == TUTTI_BUFFER_SCRATCH) return;
    tutti_grid_find(&c->grid, slice, &lo, &hi);
    if (reads && !l->reader[lo].sequence)
        l->reader[lo].sequence = s->sequence + 1, l->reader[lo].stage = s->stage;
    else if (!reads && l->reader[lo].sequence && l->reader[lo].sequence != s->sequence + 1)
        c->reuses = l->reader[lo].stage < s->stage;
}

static tutti_status find_nodes(tutti_checker *c, loader *l)
{
    const tutti_part *p = l->part;
    l->node_of = tutti_alloc(sizeof(int32_t) * ((size_t)p->nsteps + 1));
    int64_t nargs = 1;
    for (int32_t i = 0; i < p->nsteps; i++) {
        const tutti_step *s = &p->steps[i];
        nargs += 3 + s->ndeps + 2 * s->nins + s->nouts;
        for (int32_t k = 0; k < s->ndeps; k++) {
            int32_t d = p->deps[s->first_dep + k];
            /* both steps are in one sequence, whose order implies the dependency */
            if (p->steps[d].sequence == s->sequence) continue;
            if (!l->node_of[d]) l->node_of[d] = ++l->rank->nnodes;
        }
    }
    if (nargs > INT32_MAX / 2) return tutti_fail(c->err, TUTTI_ERR_FAILED, "rank %d: too many slices", p->rank);
    l->rank->nodes = TUTTI_ARENA_NEW(&c->arena, tutti_step_node, l->rank->nnodes + 1);
    l->rank->args = TUTTI_ARENA_NEW(&c->arena, int32_t, nargs);
    for (int32_t i = 0; i < p->nsteps; i++)
        if (--l->node_of[i] >= 0) l->rank->nodes[l->node_of[i]] = (tutti_step_node){.step = i, .waiter = -1};
    return TUTTI_OK;
}

static tutti_status load_args(tutti_checker *c, loader *l, const tutti_step *s, tutti_check_step *out)
{
    const tutti_part *p = l->part;
    if (!s->ndeps && !s->nins && !s->nouts) return TUTTI_OK;
    int32_t *args = l->rank->args + l->nargs, n = 3;
    out->args = l->nargs;
    args[1] = s->nins;
    args[2] = s->nouts;
    for (int32_t k = 0; k < s->ndeps; k++) {
        int32_t d = p->deps[s->first_dep + k];
        if (p->steps[d].sequence == s->sequence) continue;
        args[n++] = l->node_of[d];
        l->rank->nodes[l->node_of[d]].ndependents++;
    }
    args[0] = n - 3;
    for (int32_t k = 0; k < s->nins + s->nouts; k++) {
        const tutti_slice *slice = &p->slices[k < s->nins ? s->first_in + k : s->first_out + k - s->nins];
        tutti_status st = find_storage(c, slice, &args[n++]);
        if (st != TUTTI_OK) return st;
        tutti_layout_touch(c, p->rank, slice->rank);
        note_reuse(c, l, s, slice, k < s->nins);
        const tutti_buffer *b = &c->ranks[slice->rank].buffers[slice->buffer];
        if (k < s->nins && slice->rank != p->rank && b->role != TUTTI_BUFFER_IN &&
            !tutti_check_is_mapped(c->head, p->rank, slice->rank))
            return tutti_fail(c->err, TUTTI_ERR_FAILED, "reads memory of rank %d that is not an input", slice->rank);
        bool is_out = c->head->in_place && b->ordinal == 0 && tutti_check_owes(c->head, slice->rank);
        if (k >= s->nins && b->role == TUTTI_BUFFER_IN && !is_out)
            return tutti_fail(c->err, TUTTI_ERR_FAILED, "writes to an input of rank %d, which is not in place",
                              slice->rank);
        int64_t units = slice->count * (c->grid.units / slice->of);
        *(k < s->nins ? &l->units_in : &l->units_out) += units;
        if (k == 0) tutti_grid_find(&c->grid, slice, &out->lo, &out->hi);
    }
    for (int32_t k = 0; s->kind == TUTTI_STEP_REDUCE && k < s->nins; k++) args[n++] = p->folds[s->first_fold + k];
    l->nargs += n;
    if (s->nins > c->stack_capacity) c->stack_capacity = s->nins;
    return TUTTI_OK;
}

static tutti_status load_step(tutti_checker *c, loader *l, int32_t index, tutti_check_step *out)
{
    const tutti_step *s = &l->part->steps[index];
    *out = (tutti_check_step){.kind = (uint8_t)s->kind,
                              .when = (uint8_t)s->when,
                              .hint = (uint16_t)s->hint,
                              .index = index,
                              .channel = -1,
                              .node = l->node_of[index],
                              .args = -1};
    bool gives = s->kind == TUTTI_STEP_SEND || s->kind == TUTTI_STEP_SIGNAL || s->kind == TUTTI_STEP_PUT;
    bool takes = s->kind == TUTTI_STEP_RECV || s->kind == TUTTI_STEP_WAIT;
    if (gives) out->channel = tutti_check_channel(c, l->part->rank, s->peer, s->channel);
    if (takes) out->channel = tutti_check_channel(c, s->peer, l->part->rank, s->channel);
    if (s->kind == TUTTI_STEP_PUT && !c->channels[out->channel].seen) {
        c->channels[out->channel].seen_capacity = 4;
        c->channels[out->channel].seen = tutti_alloc(sizeof(int32_t) * 8);
    }
    if (s->kind == TUTTI_STEP_SEND || s->kind == TUTTI_STEP_SIGNAL) c->report.nmessages++;
    if (s->stage >= c->report.nstages) c->report.nstages = s->stage + 1;
    return load_args(c, l, s, out);
}

/* Puts steps of one sequence next to each other, in program order (a counting sort). */
static tutti_status load_steps(tutti_checker *c, loader *l)
{
    const tutti_part *p = l->part;
    tutti_check_rank *rank = l->rank;
    rank->steps = TUTTI_ARENA_NEW(&c->arena, tutti_check_step, p->nsteps + 1);
    rank->nsteps = p->nsteps;
    tutti_thread *threads = &c->threads[rank->first_thread];
    for (int32_t i = 0; i < p->nsteps; i++) threads[p->steps[i].sequence].nsteps++;
    for (int32_t q = 0; q < rank->nthreads; q++) {
        threads[q].rank = p->rank;
        threads[q].sequence = q;
        threads[q].first = q ? threads[q - 1].first + threads[q - 1].nsteps : 0;
        threads[q].next_waiter = -1;
        c->rank_of[rank->first_thread + q] = p->rank;
    }
    for (int32_t i = 0; i < p->nsteps; i++) {
        tutti_thread *t = &threads[p->steps[i].sequence];
        tutti_status st = load_step(c, l, i, &rank->steps[t->first + t->at++]);
        if (st != TUTTI_OK) return tutti_fail_at(c->err, "rank %d: step %d", p->rank, i);
    }
    for (int32_t q = 0; q < rank->nthreads; q++) threads[q].at = 0;
    c->report.nsteps += p->nsteps;
    if (l->units_in > c->report.elements_in) c->report.elements_in = l->units_in;
    if (l->units_out > c->report.elements_out) c->report.elements_out = l->units_out;
    return TUTTI_OK;
}

static tutti_status load_part(tutti_checker *c, int32_t r)
{
    tutti_part part;
    (void)tutti_headway_tell(c->source->headway, 0, 0);
    c->source->part(c->source->owner, r, &part);
    loader l = {.part = &part, .rank = &c->ranks[r]};
    l.reader = tutti_alloc(sizeof *l.reader * ((size_t)c->grid.ncells + 1));
    tutti_status st = find_nodes(c, &l);
    if (st == TUTTI_OK) st = load_steps(c, &l);
    free(l.node_of);
    free(l.reader);
    c->source->release(&part);
    return st;
}

/* Returns the most messages and completed steps by which a thread passes on its knowledge in all invocations; its clock
 * grows by at most one each time. */
static int64_t most_tellings(const tutti_checker *c)
{
    int64_t most = 0;
    for (int32_t t = 0; t < c->nthreads; t++) {
        const tutti_thread *thread = &c->threads[t];
        const tutti_check_step *steps = c->ranks[thread->rank].steps + thread->first;
        int64_t n = 2;
        for (int32_t i = 0; i < thread->nsteps; i++)
            n += (steps[i].kind == TUTTI_STEP_SEND || steps[i].kind == TUTTI_STEP_SIGNAL) + (steps[i].node >= 0);
        if (n > most) most = n;
    }
    return most * (c->ninvocations + 1);
}

tutti_status tutti_check_load(tutti_checker *c)
{
    tutti_status st = header_shape(c);
    if (st != TUTTI_OK) return st;
    c->ranks = TUTTI_ARENA_NEW(&c->arena, tutti_check_rank, c->head->nranks);
    c->first_thread = TUTTI_ARENA_NEW(&c->arena, int32_t, c->head->nranks);
    st = tutti_grid_mark(&c->grid, &(tutti_slice){.count = 1, .of = 1}, c->err);
    for (int32_t r = 0; r < c->head->nranks && st == TUTTI_OK; r++) {
        c->ranks[r].first_thread = c->first_thread[r] = c->nthreads;
        st = load_buffers(c, r);
        c->nthreads += c->ranks[r].nthreads;
        if (st == TUTTI_OK && c->nthreads > MAX_THREADS)
            st = tutti_fail(c->err, TUTTI_ERR_FAILED, "too large to check: more than %d sequences", MAX_THREADS);
    }
    if (st == TUTTI_OK) st = tutti_grid_close(&c->grid, c->err);
    if (st == TUTTI_OK) st = place_cells(c);
    if (st == TUTTI_OK) st = tutti_check_leaves(c);
    if (st != TUTTI_OK) return st;
    c->report.units = c->grid.units;
    c->rank_of = TUTTI_ARENA_NEW(&c->arena, int32_t, c->nthreads);
    c->threads = TUTTI_ARENA_NEW(&c->arena, tutti_thread, c->nthreads);
    c->queue = TUTTI_ARENA_NEW(&c->arena, int32_t, c->nthreads);
    tutti_layout_begin(c);
    for (int32_t r = 0; r < c->head->nranks && st == TUTTI_OK; r++) st = load_part(c, r);
    if (st != TUTTI_OK) return st;
    tutti_layout_end(c);
    tutti_clocks_init(&c->clocks, c->layouts, c->head->nranks, most_tellings(c));
    for (int32_t t = 0; t < c->nthreads; t++) {
        int32_t r = c->rank_of[t];
        tutti_clock_init(&c->clocks, &c->threads[t].clock, t, c->full ? &c->layouts[0] : &c->layouts[r]);
    }
    c->stack = TUTTI_ARENA_NEW(&c->arena, uint32_t, c->stack_capacity + 1);
    return TUTTI_OK;
}

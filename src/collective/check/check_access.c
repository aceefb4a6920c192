/* SPDX-License-Identifier: Apache-2.0 */
/* check_access.c: finds races: checks whether every access is ordered after the accesses that it conflicts with.
 *
 * As in FastTrack, a cell keeps its last write and those reads since then that are not ordered among themselves. A
 * writer is one of
 *   thread        (t, clock)    known when the reader's clock of t has reached `clock`
 *   caller        (mark, e + 1) known to threads that were told READY or FREE of invocation e, and to those that heard
 *                               from them
 *   put           (channel, k)  known to a thread that follows the wait which met the k-th signal of the channel
 * The caller of a rank overwrites inputs and uses outputs; both count as writes. A second run, which keeps all accesses
 * to that one cell, names the accesses of a race (tutti_explain_race). */
#include <stdio.h>

#include "check_impl.h"

static int32_t first_put(const tutti_checker *c)
{
    return c->nthreads + 2 * c->head->nranks;
}

/* Returns true if the access of `writer` at its count `clock` happened before the present of thread t. */
static bool knows(const tutti_checker *c, const tutti_clock *t, int32_t writer, int32_t clock)
{
    if (writer < c->nthreads) return tutti_clock_of(t, writer) >= clock;
    if (writer < first_put(c)) return tutti_clock_marked(t, writer - c->nthreads) >= clock;
    const tutti_channel *ch = &c->channels[writer - first_put(c)];
    if (ch->ntaken < clock) return false;
    return tutti_clock_of(t, ch->seen[2 * (clock - 1)]) >= ch->seen[2 * (clock - 1) + 1];
}

bool tutti_access_known(const tutti_checker *c, const tutti_clock *t, const tutti_cell *cell)
{
    return cell->writer < 0 || knows(c, t, cell->writer, cell->wclock);
}

static void keep_witness(tutti_checker *c, const tutti_witness *w)
{
    c->witnesses = tutti_grow(c->witnesses, c->nwitnesses, &c->witnesses_capacity, sizeof *c->witnesses);
    c->witnesses[c->nwitnesses++] = *w;
}

static bool race(tutti_checker *c, tutti_cell *cell, int32_t other, int32_t clock, const char *now)
{
    c->race = cell - c->cells;
    c->finished = c->suspicion = true;
    tutti_explain_race(c, cell, other, clock, now);
    return false;
}

static void describe(tutti_checker *c, const tutti_thread *t, const tutti_check_step *s, char *out, size_t size)
{
    int n = snprintf(out, size, "invocation %d, ", c->ranks[t->rank].invocation);
    tutti_explain_step(c, t->rank, s->index, out + n, size - (size_t)n);
}

void tutti_reads_add(tutti_checker *c, tutti_cell *cell, int32_t thread, int32_t clock)
{
    if (c->spare_read < 0) {
        int32_t grown = c->reads_capacity ? 2 * c->reads_capacity : 256;
        c->reads = tutti_realloc(c->reads, sizeof *c->reads * (size_t)grown);
        for (int32_t i = c->reads_capacity; i < grown; i++) c->reads[i].next = i + 1 < grown ? i + 1 : -1;
        c->spare_read = c->reads_capacity;
        c->reads_capacity = grown;
    }
    int32_t at = c->spare_read;
    c->spare_read = c->reads[at].next;
    c->reads[at] = (tutti_read){thread, clock, cell->reader < -1 ? -2 - cell->reader : -1};
    cell->reader = -2 - at;
}

static void forget_reads(tutti_checker *c, tutti_cell *cell)
{
    for (int32_t at = cell->reader < -1 ? -2 - cell->reader : -1; at >= 0;) {
        int32_t next = c->reads[at].next;
        c->reads[at].next = c->spare_read;
        c->spare_read = at;
        at = next;
    }
    cell->reader = -1;
}

static void note_read(tutti_checker *c, const tutti_clock *t, tutti_cell *cell, int32_t clock)
{
    if (cell->reader >= 0) {
        if (tutti_clock_of(t, cell->reader) < cell->rclock) {
            int32_t reader = cell->reader;
            cell->reader = -1;
            tutti_reads_add(c, cell, reader, cell->rclock);
            tutti_reads_add(c, cell, t->thread, clock);
            return;
        }
    } else if (cell->reader < -1) {
        tutti_read *last = &c->reads[-2 - cell->reader];
        if (tutti_clock_of(t, last->thread) < last->clock)
            tutti_reads_add(c, cell, t->thread, clock);
        else
            *last = (tutti_read){t->thread, clock, last->next};
        return;
    }
    cell->reader = t->thread;
    cell->rclock = clock;
}

static bool watched(const tutti_checker *c, int64_t run, int64_t next)
{
    return c->watch >= run && c->watch < next;
}

bool tutti_access_displaced(const tutti_checker *c, const tutti_cell *cell, int32_t storage)
{
    const tutti_storage *a = &c->storages[storage], *b = &c->storages[cell->storage];
    return c->source->lies_in && a->base - a->lo != b->base - b->lo;
}

static bool read_run(tutti_checker *c, tutti_thread *t, const tutti_check_step *s, tutti_cell *cell, int32_t clock,
                     int32_t storage)
{
    if (cell->writer >= 0 && !knows(c, &t->clock, cell->writer, cell->wclock)) {
        char now[300];
        describe(c, t, s, now, sizeof now);
        return race(c, cell, cell->writer, cell->wclock, now);
    }
    if (!cell->value || tutti_access_displaced(c, cell, storage)) {
        char now[300], where[120];
        describe(c, t, s, now, sizeof now);
        tutti_explain_cell(c, cell, where, sizeof where);
        c->finished = c->misreads = true;
        tutti_fail(c->err, TUTTI_ERR_FAILED, "%s reads %s, which %s", now, where,
                   cell->value ? "holds other elements of the vector by then" : "nothing before it has written");
        return false;
    }
    note_read(c, &t->clock, cell, clock);
    return true;
}

bool tutti_access_read(tutti_checker *c, tutti_thread *t, const tutti_check_step *s, int32_t storage)
{
    int32_t clock = tutti_clock_event(&t->clock), e = c->ranks[t->rank].invocation;
    int64_t lo = tutti_cell_at(c, storage, e, s->lo), hi = lo + s->hi - s->lo;
    tutti_runs_cut(c, lo, hi);
    for (int64_t at = lo, next; at < hi; at = next) {
        next = tutti_run_after(c, at);
        if (watched(c, at, next))
            keep_witness(c, &(tutti_witness){t->clock.thread, clock, t->rank, s->index, e, false});
        if (!read_run(c, t, s, &c->cells[at], clock, storage)) return false;
    }
    tutti_runs_join(c, lo, hi);
    return true;
}

/* Finds the first access to the cell that did not happen before t's present; returns true if there is none. */
static bool ordered(const tutti_checker *c, const tutti_clock *t, const tutti_cell *cell, int32_t *other,
                    int32_t *clock)
{
    *other = cell->writer, *clock = cell->wclock;
    if (cell->writer >= 0 && !knows(c, t, cell->writer, cell->wclock)) return false;
    *other = cell->reader, *clock = cell->rclock;
    if (cell->reader >= 0) return tutti_clock_of(t, cell->reader) >= cell->rclock;
    for (int32_t at = cell->reader < -1 ? -2 - cell->reader : -1; at >= 0; at = c->reads[at].next) {
        *other = c->reads[at].thread, *clock = c->reads[at].clock;
        if (tutti_clock_of(t, *other) < *clock) return false;
    }
    return true;
}

bool tutti_access_write(tutti_checker *c, tutti_thread *t, const tutti_check_step *s, int32_t storage)
{
    int32_t clock = tutti_clock_event(&t->clock), writer = t->clock.thread, e = c->ranks[t->rank].invocation;
    if (s->kind == TUTTI_STEP_PUT) {
        writer = first_put(c) + s->channel;
        clock = c->channels[s->channel].ngiven + 1;
    }
    int64_t lo = tutti_cell_at(c, storage, e, s->lo), hi = lo + s->hi - s->lo;
    tutti_runs_cut(c, lo, hi);
    for (int64_t at = lo, next; at < hi; at = next) {
        int32_t other, since;
        next = tutti_run_after(c, at);
        if (watched(c, at, next)) keep_witness(c, &(tutti_witness){writer, clock, t->rank, s->index, e, true});
        if (!ordered(c, &t->clock, &c->cells[at], &other, &since)) {
            char now[300];
            describe(c, t, s, now, sizeof now);
            return race(c, &c->cells[at], other, since, now);
        }
        forget_reads(c, &c->cells[at]);
    }
    tutti_runs_write(c, lo, hi, &(tutti_cell){.writer = writer, .wclock = clock, .reader = -1, .storage = storage});
    return true;
}

/* Cells from .. to - 1 of a storage. */
typedef struct {
    int32_t storage, from, to;
} cell_range;

/* Lets rank r's caller write the cells `w` before its invocation e (mark 0) or after it (mark 1). The cells then hold
 * `value`. */
static bool owner_writes(tutti_checker *c, int32_t r, int32_t e, int mark, cell_range w, uint32_t value)
{
    const tutti_clock *begin = &c->threads[c->ranks[r].first_thread].clock;
    int32_t other, since, writer = c->nthreads + 2 * r + mark;
    if (w.from >= w.to) return true;
    int64_t lo = tutti_cell_at(c, w.storage, e, w.from), hi = lo + w.to - w.from;
    tutti_runs_cut(c, lo, hi);
    for (int64_t at = lo, next; at < hi; at = next) {
        tutti_cell *cell = &c->cells[at];
        next = tutti_run_after(c, at);
        if (watched(c, at, next)) keep_witness(c, &(tutti_witness){writer, e + 1, r, -1, e, true});
        /* the caller's own accesses in earlier invocations are ordered among themselves */
        bool own = cell->writer >= c->nthreads + 2 * r && cell->writer <= c->nthreads + 2 * r + 1 && cell->reader == -1;
        if (!own && !ordered(c, begin, cell, &other, &since)) {
            char now[300];
            snprintf(now, sizeof now, "rank %d after its invocation %d, whose caller %s", r, e - 1,
                     mark ? "uses its outputs" : "overwrites its inputs");
            return race(c, cell, other, since, now);
        }
        forget_reads(c, cell);
    }
    c->npieces = 0;
    tutti_pieces_add(c, value, w.to - w.from);
    tutti_runs_write(c, lo, hi, &(tutti_cell){.writer = writer, .wclock = e + 1, .reader = -1, .storage = w.storage});
    return true;
}

bool tutti_access_owner(tutti_checker *c, int32_t r, int32_t e)
{
    const tutti_check_rank *rank = &c->ranks[r];
    tutti_slice owed;
    int32_t own_lo = 0, own_hi = c->grid.ncells, ready_lo = 0, ready_hi = 0, in0 = -1;
    owed = (tutti_slice){.first = r, .count = 1, .of = c->head->nranks};
    if (tutti_check_fills_slice(c->head)) tutti_grid_find(&c->grid, &owed, &own_lo, &own_hi);
    for (int32_t b = 0; b < rank->nbuffers; b++) {
        if (rank->buffers[b].role != TUTTI_BUFFER_IN) continue;
        int32_t lo, hi, ordinal = rank->buffers[b].ordinal;
        tutti_grid_find(&c->grid, &rank->buffers[b].window, &lo, &hi);
        if (lo < own_lo) lo = own_lo;
        if (hi > own_hi) hi = own_hi;
        if (ordinal == 0) in0 = rank->storage_of[b], ready_lo = lo, ready_hi = hi;
        uint32_t leaf = 1 + (uint32_t)(e * c->nleaves + rank->first_leaf + ordinal);
        if (!owner_writes(c, r, e, 0, (cell_range){rank->storage_of[b], lo, hi}, leaf)) return false;
    }
    for (int32_t b = 0; b < rank->nbuffers; b++) {
        if (rank->buffers[b].role != TUTTI_BUFFER_OUT) continue;
        int32_t lo, hi;
        tutti_grid_find(&c->grid, &rank->buffers[b].window, &lo, &hi);
        /* where input and output share memory, the caller's new input has replaced the old output already */
        bool replaced = rank->storage_of[b] == in0 && ready_lo < ready_hi;
        int32_t left_hi = replaced && ready_lo < hi ? ready_lo : hi,
                right_lo = replaced && ready_hi > lo ? ready_hi : lo;
        if (!owner_writes(c, r, e, 1, (cell_range){rank->storage_of[b], lo, left_hi}, 0)) return false;
        if (replaced && !owner_writes(c, r, e, 1, (cell_range){rank->storage_of[b], right_lo, hi}, 0)) return false;
    }
    return true;
}

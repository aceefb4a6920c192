/* SPDX-License-Identifier: Apache-2.0 */
/* check_runs.c: joins neighbouring cells with one history into a run. Only the first cell of a run holds the history.
 *
 * One bit per cell says where runs begin. Most steps move ranges that were moved together before, so a step costs the
 * runs that it touches, not the cells: at 4,096 ranks halving-doubling touches 13 runs per rank instead of 4,096 cells,
 * and most of the cells' memory is never written and so never allocated. Runs are cut where an access begins or ends,
 * and joined again where it leaves neighbours alike. */
#include "check_impl.h"

void tutti_runs_init(tutti_checker *c)
{
    c->cells = tutti_alloc(sizeof *c->cells * (size_t)(c->ncells + 1));
    c->heads = tutti_alloc(sizeof *c->heads * (size_t)(c->ncells / 64 + 1));
    for (int32_t i = 0; i <= c->nstorages; i++) {
        const tutti_storage *s = &c->storages[i];
        int64_t width = i < c->nstorages ? s->hi - s->lo : 1;
        for (int32_t bank = 0; width && bank < (i < c->nstorages ? s->banks : 1); bank++) {
            /* a bit is also set behind the last cell, so that a search for the next run always ends */
            int64_t at = i < c->nstorages ? s->base + bank * width : c->ncells;
            c->heads[at / 64] |= (uint64_t)1 << (at % 64);
            c->cells[at].writer = c->cells[at].reader = -1;
        }
    }
}

/* Returns a copy of a list of reads. */
static int32_t copy_reads(tutti_checker *c, int32_t reader)
{
    int32_t copy = -1;
    for (int32_t at = -2 - reader; at >= 0; at = c->reads[at].next) {
        tutti_cell cell = {.reader = copy};
        tutti_reads_add(c, &cell, c->reads[at].thread, c->reads[at].clock);
        copy = cell.reader;
    }
    return copy;
}

static void cut(tutti_checker *c, int64_t at)
{
    if (c->heads[at / 64] >> (at % 64) & 1) return;
    tutti_cell cell = c->cells[tutti_run_of(c, at)];
    if (cell.reader < -1) cell.reader = copy_reads(c, cell.reader);
    c->cells[at] = cell;
    c->heads[at / 64] |= (uint64_t)1 << (at % 64);
}

void tutti_runs_cut(tutti_checker *c, int64_t lo, int64_t hi)
{
    cut(c, lo);
    cut(c, hi);
}

static bool alike(const tutti_cell *a, const tutti_cell *b)
{
    return a->value == b->value && a->writer == b->writer && a->wclock == b->wclock && a->reader == b->reader &&
           a->rclock == b->rclock && a->storage == b->storage && a->reader >= -1;
}

void tutti_runs_join(tutti_checker *c, int64_t lo, int64_t hi)
{
    for (int64_t run = lo, next = tutti_run_after(c, run); next < hi; next = tutti_run_after(c, next)) {
        if (alike(&c->cells[run], &c->cells[next]))
            c->heads[next / 64] &= ~((uint64_t)1 << (next % 64));
        else
            run = next;
    }
}

/* Makes the cells [lo, hi) one run. The caller has freed their lists of reads before. */
static void melt(tutti_checker *c, int64_t lo, int64_t hi)
{
    for (int64_t at = lo + 1; at < hi;) {
        if (at % 64 == 0 && hi - at >= 64) {
            c->heads[at / 64] = 0;
            at += 64;
        } else {
            c->heads[at / 64] &= ~((uint64_t)1 << (at % 64));
            at++;
        }
    }
}

void tutti_runs_write(tutti_checker *c, int64_t lo, int64_t hi, const tutti_cell *like)
{
    melt(c, lo, hi);
    int64_t at = lo;
    for (int32_t i = 0; i < c->npieces; i++) {
        c->cells[at] = *like;
        c->cells[at].value = c->pieces[i].value;
        c->heads[at / 64] |= (uint64_t)1 << (at % 64);
        at += c->pieces[i].ncells;
    }
}

void tutti_pieces_add(tutti_checker *c, uint32_t value, int32_t ncells)
{
    if (c->npieces && c->pieces[c->npieces - 1].value == value) {
        c->pieces[c->npieces - 1].ncells += ncells;
        return;
    }
    c->pieces = tutti_grow(c->pieces, c->npieces, &c->pieces_capacity, sizeof *c->pieces);
    c->pieces[c->npieces++] = (tutti_value_piece){value, ncells};
}

uint32_t tutti_runs_value(const tutti_checker *c, int64_t at, int32_t *ncells)
{
    int64_t left = tutti_run_after(c, at) - at;
    if (left < *ncells) *ncells = (int32_t)left;
    return c->cells[tutti_run_of(c, at)].value;
}

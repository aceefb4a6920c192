/* SPDX-License-Identifier: Apache-2.0 */
/* msccl_export.c: writes a schedule as MSCCL's XML.
 *
 * Each end of a channel is a thread block; local steps go to the block of the message before them in their sequence.
 * Steps of a block keep an order in which the schedule can be played. A step of another block that must come first
 * becomes the dep of a step; several of them become a chain of nops. Sums are made by steps of type `re` (reduce): a
 * chain in the output itself, a tree in scratch of its own. */
#include <stdlib.h>

#include "../../base/divisor.h"
#include "../schedule/part_builder.h"
#include "msccl_write.h"

/* ---- limits of the format ---- */

static int64_t common_multiple(int64_t a, int64_t b)
{
    return a / tutti_common_divisor(a, b) * b;
}

static tutti_status refuse(tutti_failure *err, const char *why)
{
    return tutti_fail(err, TUTTI_ERR_USAGE, "no MSCCL XML: %s", why);
}

static tutti_status header_fits(const tutti_schedule_header *h, tutti_failure *err)
{
    if (h->wire != TUTTI_WIRE_TWO_SIDED)
        return refuse(err, "it is lowered; the format knows sends and receives, so export the two-sided form");
    if (h->collective == TUTTI_GATHER || h->collective == TUTTI_BARRIER)
        return refuse(err, "the format has no gather and no barrier");
    if (h->slots) return refuse(err, "canonical sums have several inputs a rank, the format has one");
    if (tutti_collective_has_root(h->collective) && h->root)
        return refuse(err, "the format cannot name a root; number the ranks so that it is rank 0");
    if (h->room > tutti_msccl_holds(true))
        return refuse(err, "its channels hold more messages than connections of any protocol (8, LL)");
    return TUTTI_OK;
}

/* Finds the number of chunks that all slices are made of. */
static tutti_status find_chunks(msccl_writer *w, tutti_failure *err)
{
    int64_t p = w->head->nranks, of = 1;
    bool shared = w->head->collective == TUTTI_ALL_GATHER || w->head->collective == TUTTI_REDUCE_SCATTER;
    if (shared) of = p;
    if (w->head->collective == TUTTI_ALL_TO_ALL) of = p * p;
    for (int32_t r = 0; r < p; r++) {
        const tutti_part *part = &w->parts[r];
        for (int32_t i = 0; i < part->nbuffers + part->nslices && of <= MSCCL_MOST_CHUNKS; i++)
            of = common_multiple(of,
                                 i < part->nbuffers ? part->buffers[i].window.of : part->slices[i - part->nbuffers].of);
    }
    w->of = (int32_t)of;
    if (of <= MSCCL_MOST_CHUNKS) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE, "no MSCCL XML: slices have no common chunk: %d pieces are not enough",
                      MSCCL_MOST_CHUNKS);
}

/* ---- thread blocks ---- */

static int32_t find_block(msccl_writer *w, int32_t send, int32_t recv, int32_t channel)
{
    for (int32_t i = 0; i < w->nblocks; i++) {
        const msccl_out_block *b = &w->blocks[i];
        if (b->send == send && b->recv == recv && b->channel == channel && (send >= 0 || recv >= 0)) return i;
    }
    w->blocks = tutti_realloc(w->blocks, sizeof *w->blocks * ((size_t)w->nblocks + 1));
    w->blocks[w->nblocks] = (msccl_out_block){.send = send, .recv = recv, .channel = channel};
    return w->nblocks++;
}

static void find_blocks(msccl_writer *w, const tutti_part *p)
{
    int32_t *last = tutti_alloc(sizeof *last * ((size_t)w->nsequences + 1));
    for (int32_t q = 0; q < w->nsequences; q++) last[q] = -1;
    for (int32_t i = 0; i < p->nsteps; i++) {
        const tutti_step *s = &p->steps[i];
        w->block_of[i] = last[s->sequence];
        if (s->kind == TUTTI_STEP_SEND) w->block_of[i] = find_block(w, s->peer, -1, s->channel);
        if (s->kind == TUTTI_STEP_RECV) w->block_of[i] = find_block(w, -1, s->peer, s->channel);
        last[s->sequence] = w->block_of[i];
    }
    for (int32_t i = p->nsteps - 1; i >= 0; i--) { /* steps before the first message go to that message's block */
        int32_t *next = &last[p->steps[i].sequence];
        if (w->block_of[i] < 0 && *next < 0) *next = find_block(w, -1, -1, 0);
        if (w->block_of[i] < 0) w->block_of[i] = *next;
        *next = w->block_of[i];
    }
    free(last);
}

/* Finds an order in which one rank can play its steps; false = there is none. */
static bool find_order(msccl_writer *w, const tutti_part *p, int32_t *order)
{
    int32_t n = 0, before = -1;
    bool *done = tutti_alloc((size_t)p->nsteps + 1);
    int32_t *head = tutti_alloc(sizeof *head * ((size_t)w->nsequences + 1));
    while (n < p->nsteps && n != before) {
        before = n;
        for (int32_t q = 0; q < w->nsequences; q++) {
            for (; head[q] < p->nsteps; head[q]++) {
                const tutti_step *s = &p->steps[head[q]];
                if (s->sequence != q) continue;
                bool ready = true;
                for (int32_t k = 0; k < s->ndeps; k++) ready = ready && done[p->deps[s->first_dep + k]];
                if (!ready) break;
                done[head[q]] = true;
                order[n++] = head[q];
            }
        }
    }
    free(done);
    free(head);
    return n == p->nsteps;
}

/* ---- the program of one rank ---- */

static tutti_status write_rank(msccl_writer *w, int32_t r, tutti_failure *err)
{
    const tutti_part *p = &w->parts[r];
    size_t n = (size_t)p->nsteps + 1;
    w->rank = r;
    w->nblocks = 0;
    w->nsequences = tutti_part_nsequences(p);
    w->block_of = tutti_alloc(sizeof(int32_t) * n);
    w->last_of = tutti_alloc(sizeof(int32_t) * n);
    w->previous = tutti_alloc(sizeof(int32_t) * n);
    int32_t *order = tutti_alloc(sizeof *order * n), *last = tutti_alloc(sizeof *last * ((size_t)w->nsequences + 1));
    for (int32_t q = 0; q < w->nsequences; q++) last[q] = -1;
    for (int32_t i = 0; i < p->nsteps; i++) {
        w->previous[i] = last[p->steps[i].sequence];
        last[p->steps[i].sequence] = i;
    }
    tutti_status st = find_order(w, p, order) ? TUTTI_OK : refuse(err, "steps of a rank wait for each other");
    if (st == TUTTI_OK) {
        find_blocks(w, p);
        msccl_write_places(w, p);
        for (int32_t i = 0; i < p->nsteps; i++) msccl_write_step(w, p, order[i]);
        st = msccl_write_gpu(w, err);
    }
    for (int32_t i = 0; i < w->nblocks; i++) free(w->blocks[i].lines);
    free(w->block_of);
    free(w->last_of);
    free(w->previous);
    free(w->base);
    free(order);
    free(last);
    free(w->blocks);
    w->blocks = NULL;
    w->base = NULL;
    return st;
}

tutti_status tutti_msccl_export(const tutti_schedule *s, char **out, tutti_failure *err)
{
    tutti_strbuf text = {0};
    msccl_writer w = {.head = tutti_schedule_head(s), .text = &text};
    tutti_status st = header_fits(w.head, err);
    if (st != TUTTI_OK) return st;
    w.parts = tutti_alloc(sizeof *w.parts * (size_t)w.head->nranks);
    for (int32_t r = 0; r < w.head->nranks; r++) tutti_schedule_part(s, r, &w.parts[r]);
    st = find_chunks(&w, err);
    if (st == TUTTI_OK) msccl_write_algo(&w);
    for (int32_t r = 0; r < w.head->nranks && st == TUTTI_OK; r++) {
        st = write_rank(&w, r, err);
        if (st != TUTTI_OK) tutti_fail_at(err, "rank %d", r);
    }
    tutti_strbuf_puts(&text, "</algo>\n");
    for (int32_t r = 0; r < w.head->nranks; r++) tutti_part_release(&w.parts[r]);
    free(w.parts);
    if (st == TUTTI_OK)
        *out = tutti_strbuf_detach(&text);
    else
        tutti_strbuf_release(&text);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* msccl_write.c: writes steps of a schedule as lines of thread blocks, and these lines as XML. */
#include "msccl_write.h"

#include <stdlib.h>

static const msccl_place nowhere = {-1, -1};

/* ---- places of slices ---- */

static int32_t chunks_to(const msccl_writer *w, const tutti_slice *s, int32_t fraction)
{
    return (int32_t)((int64_t)fraction * w->of / s->of);
}

void msccl_write_places(msccl_writer *w, const tutti_part *p)
{
    w->nscratch = 0;
    w->base = tutti_alloc(sizeof *w->base * ((size_t)p->nbuffers + 1));
    for (int32_t i = 0; i < p->nbuffers; i++) {
        const tutti_buffer *b = &p->buffers[i];
        int32_t count = chunks_to(w, &b->window, b->window.count);
        /* all-to-all: the outputs lie one behind the other */
        if (b->role == TUTTI_BUFFER_OUT) w->base[i] = b->ordinal * count;
        if (b->role != TUTTI_BUFFER_SCRATCH) continue;
        w->base[i] = w->nscratch; /* all banks in one place: a two-sided rank writes only its own memory, in its own
                                   * order */
        w->nscratch += count;
    }
}

static msccl_place place_of(const msccl_writer *w, const tutti_part *p, const tutti_slice *s)
{
    const tutti_buffer *b = &p->buffers[s->buffer];
    const int32_t buffers[] = {
        [TUTTI_BUFFER_IN] = MSCCL_I, [TUTTI_BUFFER_OUT] = MSCCL_O, [TUTTI_BUFFER_SCRATCH] = MSCCL_S};
    int32_t at = chunks_to(w, s, s->first);
    if (w->head->in_place && b->role != TUTTI_BUFFER_SCRATCH) /* in place: in and out are one memory, named after the
                                                               * larger of the two */
        return (msccl_place){w->head->collective == TUTTI_REDUCE_SCATTER ? MSCCL_I : MSCCL_O, at};
    return (msccl_place){buffers[b->role], w->base[s->buffer] + at - chunks_to(w, &b->window, b->window.first)};
}

/* Returns true if the slices are in the same memory. Slices of one step are the same part of the vector, so it is
 * enough to compare their buffers. */
static bool same_memory(const msccl_writer *w, const tutti_part *p, const tutti_slice *a, const tutti_slice *b)
{
    bool outside =
        p->buffers[a->buffer].role != TUTTI_BUFFER_SCRATCH && p->buffers[b->buffer].role != TUTTI_BUFFER_SCRATCH;
    return a->buffer == b->buffer || (w->head->in_place && outside);
}

/* ---- lines of thread blocks ---- */

static msccl_line *add_line(msccl_writer *w, int32_t block, const char *type, msccl_place src, msccl_place dst,
                            int32_t count)
{
    msccl_out_block *b = &w->blocks[block];
    b->lines = tutti_grow(b->lines, b->nlines, &b->capacity, sizeof *b->lines);
    b->lines[b->nlines] = (msccl_line){type, src, dst, count, -1, -1, false};
    return &b->lines[b->nlines++];
}

/* Adds lines; a long run needs several. */
static void add_lines(msccl_writer *w, int32_t block, const char *type, msccl_place src, msccl_place dst, int32_t count)
{
    for (int32_t i = 0; i < count; i += MSCCL_MOST_AT_ONCE)
        add_line(w, block, type, src.buffer < 0 ? src : msccl_at(src, i), dst.buffer < 0 ? dst : msccl_at(dst, i),
                 count - i < MSCCL_MOST_AT_ONCE ? count - i : MSCCL_MOST_AT_ONCE);
}

/* Lists the latest line in each other block that must come before step `index`. Returns their number. */
static int32_t find_deps(msccl_writer *w, const tutti_part *p, int32_t index, msccl_place *deps)
{
    const tutti_step *s = &p->steps[index];
    int32_t n = 0;
    for (int32_t k = -1; k < s->ndeps; k++) {
        int32_t d = k < 0 ? w->previous[index] : p->deps[s->first_dep + k];
        if (d < 0 || w->block_of[d] == w->block_of[index]) continue;
        int32_t i = 0;
        while (i < n && deps[i].buffer != w->block_of[d]) i++;
        if (i == n) deps[n++] = (msccl_place){w->block_of[d], w->last_of[d]};
        if (deps[i].offset < w->last_of[d]) deps[i].offset = w->last_of[d];
    }
    return n;
}

/* ---- sums ---- */

typedef struct {
    msccl_place at;
    bool made; /* the operand is a partial sum in this step's own scratch, so another operand may be added to it in
                * place */
} operand;

static bool is_chain(const tutti_part *p, const tutti_step *s)
{
    for (int32_t k = 0; k < s->nins; k++)
        if (p->folds[s->first_fold + k] != (k > 0)) return false;
    return true;
}

/* Computes out = x0 + x1 + ... in the output itself, which may be one of the first two. */
static bool add_chain(msccl_writer *w, const tutti_part *p, const tutti_step *s, int32_t block, int32_t count)
{
    const tutti_slice *in = &p->slices[s->first_in], *out = &p->slices[s->first_out];
    int32_t own = -1;
    for (int32_t k = 0; k < s->nins; k++)
        if (same_memory(w, p, &in[k], out)) own = own < 0 ? k : s->nins;
    if (own > 1) return false;
    msccl_place target = place_of(w, p, out);
    if (own < 0) add_lines(w, block, "cpy", place_of(w, p, &in[0]), target, count);
    if (own == 1) add_lines(w, block, "re", place_of(w, p, &in[0]), target, count);
    for (int32_t k = 1; k < s->nins; k++)
        if (k != own) add_lines(w, block, "re", place_of(w, p, &in[k]), target, count);
    return true;
}

static void add_tree(msccl_writer *w, const tutti_part *p, const tutti_step *s, int32_t block, int32_t count)
{
    operand *stack = tutti_alloc(sizeof *stack * ((size_t)s->nins + 1));
    int32_t depth = 0;
    for (int32_t k = 0; k < s->nins; k++) {
        stack[depth++] = (operand){place_of(w, p, &p->slices[s->first_in + k]), false};
        for (int32_t f = 0; f < p->folds[s->first_fold + k]; f++) {
            operand right = stack[--depth], *left = &stack[depth - 1];
            if (!left->made && right.made) { /* only a partial sum may be added to, so the operands are swapped, which
                                              * does not change the sum */
                operand swap = *left;
                *left = right, right = swap;
            }
            if (!left->made) {
                msccl_place fresh = {MSCCL_S, w->nscratch};
                w->nscratch += count;
                add_lines(w, block, "cpy", left->at, fresh, count);
                *left = (operand){fresh, true};
            }
            add_lines(w, block, "re", right.at, left->at, count);
        }
    }
    add_lines(w, block, "cpy", stack[0].at, place_of(w, p, &p->slices[s->first_out]), count);
    free(stack);
}

static void add_reduce(msccl_writer *w, const tutti_part *p, const tutti_step *s, int32_t block, int32_t count)
{
    if (!is_chain(p, s) || !add_chain(w, p, s, block, count)) add_tree(w, p, s, block, count);
    for (int32_t k = 1; k < s->nouts; k++)
        add_lines(w, block, "cpy", place_of(w, p, &p->slices[s->first_out]),
                  place_of(w, p, &p->slices[s->first_out + k]), count);
}

/* ---- one step ---- */

static void add_work(msccl_writer *w, const tutti_part *p, const tutti_step *s, int32_t block)
{
    if (!s->nins && !s->nouts) return;
    const tutti_slice *in = &p->slices[s->first_in], *out = &p->slices[s->first_out];
    const tutti_slice *any = s->nins ? in : out;
    int32_t count = chunks_to(w, any, any->count);
    if (s->kind == TUTTI_STEP_SEND) add_lines(w, block, "s", place_of(w, p, in), nowhere, count);
    if (s->kind == TUTTI_STEP_RECV) add_lines(w, block, "r", nowhere, place_of(w, p, out), count);
    if (s->kind == TUTTI_STEP_REDUCE) add_reduce(w, p, s, block, count);
    for (int32_t k = 0; s->kind == TUTTI_STEP_COPY && k < s->nouts; k++)
        if (!same_memory(w, p, in, &out[k]))
            add_lines(w, block, "cpy", place_of(w, p, in), place_of(w, p, &out[k]), count);
}

void msccl_write_step(msccl_writer *w, const tutti_part *p, int32_t index)
{
    const tutti_step *s = &p->steps[index];
    int32_t block = w->block_of[index], begin = w->blocks[block].nlines;
    msccl_place *deps = tutti_alloc(sizeof *deps * ((size_t)s->ndeps + 2));
    int32_t n = find_deps(w, p, index, deps);
    for (int32_t i = 0; i + 1 < n; i++) add_line(w, block, "nop", nowhere, nowhere, 0);
    int32_t work = w->blocks[block].nlines;
    add_work(w, p, s, block);
    if (w->blocks[block].nlines == work) add_line(w, block, "nop", nowhere, nowhere, 0);
    for (int32_t i = 0; i < n; i++) {
        msccl_line *line = &w->blocks[block].lines[begin + i];
        line->block = deps[i].buffer, line->step = deps[i].offset;
        w->blocks[line->block].lines[line->step].awaited = true;
    }
    w->last_of[index] = w->blocks[block].nlines - 1;
    free(deps);
}

/* ---- XML ---- */

void msccl_write_algo(msccl_writer *w)
{
    static const char *const names[TUTTI_NCOLLECTIVES] = {
        [TUTTI_ALLREDUCE] = "allreduce",  [TUTTI_REDUCE_SCATTER] = "reduce_scatter",
        [TUTTI_ALL_GATHER] = "allgather", [TUTTI_BROADCAST] = "broadcast",
        [TUTTI_REDUCE] = "reduce",        [TUTTI_ALL_TO_ALL] = "alltoall"};
    const tutti_schedule_header *h = w->head;
    int32_t nchannels = 1, nchunks = h->collective == TUTTI_ALL_TO_ALL ? w->of / h->nranks : w->of;
    for (int32_t r = 0; r < h->nranks; r++)
        for (int32_t i = 0; i < w->parts[r].nsteps; i++)
            if (w->parts[r].steps[i].channel >= nchannels) nchannels = w->parts[r].steps[i].channel + 1;
    tutti_strbuf_printf(
        w->text,
        "<algo name=\"%s\" proto=\"%s\" nchannels=\"%d\" nchunksperloop=\"%d\" ngpus=\"%d\" coll=\"%s\" "
        "inplace=\"%d\" outofplace=\"%d\" minBytes=\"0\" maxBytes=\"134217728\">\n",
        h->algorithm, h->room > tutti_msccl_holds(false) ? "LL" : "Simple", nchannels, nchunks, h->nranks,
        names[h->collective], h->in_place, !h->in_place);
}

static tutti_status limits_hold(const msccl_writer *w, tutti_failure *err)
{
    if (w->nblocks > MSCCL_MOST_BLOCKS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "no MSCCL XML: %d thread blocks, at most %d fit on a GPU", w->nblocks,
                          MSCCL_MOST_BLOCKS);
    int32_t of_channel[MSCCL_MOST_CHANNELS] = {0};
    for (int32_t t = 0; t < w->nblocks; t++) {
        const msccl_out_block *b = &w->blocks[t];
        if (b->nlines > MSCCL_MOST_STEPS)
            return tutti_fail(err, TUTTI_ERR_USAGE, "no MSCCL XML: %d steps in a thread block, at most %d fit",
                              b->nlines, MSCCL_MOST_STEPS);
        if (b->channel >= MSCCL_MOST_CHANNELS || ++of_channel[b->channel] > MSCCL_MOST_OF_A_CHANNEL)
            return tutti_fail(err, TUTTI_ERR_USAGE,
                              "no MSCCL XML: more than %d thread blocks on a channel, or more than %d channels",
                              MSCCL_MOST_OF_A_CHANNEL, MSCCL_MOST_CHANNELS);
    }
    return TUTTI_OK;
}

static void write_line(const msccl_writer *w, const msccl_line *l, int32_t number)
{
    const char names[] = "ios";
    bool src = l->src.buffer >= 0, dst = l->dst.buffer >= 0;
    tutti_strbuf_printf(
        w->text,
        "      <step s=\"%d\" type=\"%s\" srcbuf=\"%c\" srcoff=\"%d\" dstbuf=\"%c\" dstoff=\"%d\" cnt=\"%d\" "
        "depid=\"%d\" deps=\"%d\" hasdep=\"%d\"/>\n",
        number, l->type, names[src ? l->src.buffer : MSCCL_I], src ? l->src.offset : -1,
        names[dst ? l->dst.buffer : MSCCL_O], dst ? l->dst.offset : -1, l->count, l->block, l->step, l->awaited);
}

tutti_status msccl_write_gpu(msccl_writer *w, tutti_failure *err)
{
    tutti_status st = limits_hold(w, err);
    if (st != TUTTI_OK) return st;
    const tutti_schedule_header *h = w->head;
    int32_t whole = h->collective == TUTTI_ALL_TO_ALL ? w->of / h->nranks : w->of, part = w->of / h->nranks;
    tutti_strbuf_printf(w->text, "  <gpu id=\"%d\" i_chunks=\"%d\" o_chunks=\"%d\" s_chunks=\"%d\">\n", w->rank,
                        h->collective == TUTTI_ALL_GATHER ? part : whole,
                        h->collective == TUTTI_REDUCE_SCATTER ? part : whole, w->nscratch);
    for (int32_t t = 0; t < w->nblocks; t++) {
        const msccl_out_block *b = &w->blocks[t];
        tutti_strbuf_printf(w->text, "    <tb id=\"%d\" send=\"%d\" recv=\"%d\" chan=\"%d\">\n", t, b->send, b->recv,
                            b->channel);
        for (int32_t i = 0; i < b->nlines; i++) write_line(w, &b->lines[i], i);
        tutti_strbuf_puts(w->text, "    </tb>\n");
    }
    tutti_strbuf_puts(w->text, "  </gpu>\n");
    return TUTTI_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* check_explain.c: writes counter-examples of the checker in words: races, deadlocks, wrong results. It runs only when
 * a check fails, so it may ask for parts again and search. */
#include <stdio.h>
#include <stdlib.h>

#include "../../base/text/strbuf.h"
#include "check_impl.h"

static void add_slice(const tutti_checker *c, tutti_strbuf *sb, int32_t self, const tutti_slice *s)
{
    const char *name = s->buffer < c->ranks[s->rank].nbuffers ? c->ranks[s->rank].buffers[s->buffer].name : "?";
    if (s->rank != self) tutti_strbuf_printf(sb, "rank %d's ", s->rank);
    tutti_strbuf_printf(sb, "%.16s", name);
    if (s->count != s->of) tutti_strbuf_printf(sb, " %d/%d", s->first, s->of);
    if (s->count != s->of && s->count != 1) tutti_strbuf_printf(sb, "+%d", s->count);
}

static void add_step(tutti_checker *c, tutti_strbuf *sb, const tutti_part *p, int32_t index)
{
    enum { SHOWN = 3 };
    const tutti_step *s = &p->steps[index];
    tutti_strbuf_printf(sb, "rank %d step %d (%s", p->rank, index, tutti_step_kind_name(s->kind));
    for (int32_t i = 0; i < s->nins && i < SHOWN; i++) {
        tutti_strbuf_puts(sb, i ? " + " : " ");
        add_slice(c, sb, p->rank, &p->slices[s->first_in + i]);
    }
    if (s->nins > SHOWN) tutti_strbuf_puts(sb, " + ...");
    for (int32_t i = 0; i < s->nouts && i < SHOWN; i++) {
        tutti_strbuf_puts(sb, i || s->kind == TUTTI_STEP_RECV ? " " : " -> ");
        add_slice(c, sb, p->rank, &p->slices[s->first_out + i]);
    }
    if (s->peer >= 0 && (s->kind == TUTTI_STEP_SEND || s->kind == TUTTI_STEP_SIGNAL || s->kind == TUTTI_STEP_PUT))
        tutti_strbuf_printf(sb, " to rank %d", s->peer);
    if (s->peer >= 0 && (s->kind == TUTTI_STEP_RECV || s->kind == TUTTI_STEP_WAIT))
        tutti_strbuf_printf(sb, " from rank %d", s->peer);
    if (s->peer >= 0) tutti_strbuf_printf(sb, ", channel %d", s->channel);
    tutti_strbuf_puts(sb, ")");
}

static void copy_out(tutti_strbuf *sb, char *out, size_t size)
{
    char *text = tutti_strbuf_detach(sb);
    snprintf(out, size, "%s", text);
    free(text);
}

void tutti_explain_step(tutti_checker *c, int32_t rank, int32_t step, char *out, size_t size)
{
    tutti_part part;
    tutti_strbuf sb = {0};
    if (c->source->describe_step) {
        c->source->describe_step(c->source->owner, rank, step, out, size);
        return;
    }
    c->source->part(c->source->owner, rank, &part);
    add_step(c, &sb, &part, step);
    c->source->release(&part);
    copy_out(&sb, out, size);
}

/* Writes where in the vector the cell `at` of the grid lies: "chunk 3 of 64" if the denominator of one end is a
 * multiple of the other's, else as fractions of the vector. */
static int add_place(const tutti_checker *c, int64_t at, char *out, size_t size)
{
    const int64_t first = c->grid.first[at], of = c->grid.of[at], end = c->grid.first[at + 1],
                  of_end = c->grid.of[at + 1];
    const int64_t n = of > of_end ? of : of_end;
    if (n % of || n % of_end)
        return snprintf(out, size, " from %lld/%lld to %lld/%lld", (long long)first, (long long)of, (long long)end,
                        (long long)of_end);
    const int64_t from = first * (n / of), to = end * (n / of_end) - 1;
    if (from == to) return snprintf(out, size, " chunk %lld of %lld", (long long)from, (long long)n);
    return snprintf(out, size, " chunks %lld to %lld of %lld", (long long)from, (long long)to, (long long)n);
}

void tutti_explain_cell(tutti_checker *c, const tutti_cell *cell, char *out, size_t size)
{
    int64_t index = cell - c->cells;
    const tutti_storage *s = c->storages;
    while (s->within >= 0 || index < s->base || index >= s->base + (int64_t)(s->hi - s->lo) * s->banks) s++;
    int64_t width = s->hi - s->lo, at = (index - s->base) % width + s->lo;
    if (c->source->describe_cell) {
        tutti_slice begin = {s->rank, s->buffer, c->grid.first[at], 0, c->grid.of[at]}, end = begin;
        end.first = c->grid.first[at + 1], end.of = c->grid.of[at + 1];
        c->source->describe_cell(c->source->owner, &begin, &end, out, size);
        return;
    }
    const tutti_buffer *b = &c->ranks[s->rank].buffers[s->buffer];
    int n = snprintf(out, size, "rank %d's %.16s", s->rank, b->name);
    if (c->grid.ncells > 1 && n > 0 && (size_t)n < size) n += add_place(c, at, out + n, size - (size_t)n);
    if (s->banks > 1 && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, " (bank %d)", (int)((index - s->base) / width));
}

void tutti_explain_leaf(const tutti_checker *c, uint32_t leaf, int32_t invocation, char *out, size_t size)
{
    int32_t of = ((int32_t)leaf - 1) / c->nleaves, i = ((int32_t)leaf - 1) % c->nleaves;
    int n = snprintf(out, size, "rank %d", c->leaf_rank[i]);
    if (c->ranks[c->leaf_rank[i]].nleaves > 1)
        n += snprintf(out + n, size - (size_t)n, "'s input %d (leaves %d+%d)", c->leaf_ordinal[i], c->leaf_first[i],
                      c->leaf_count[i]);
    if (of != invocation) snprintf(out + n, size - (size_t)n, " of invocation %d", of);
}

/* ---- races ---- */

static void add_witness(tutti_checker *c, tutti_strbuf *sb, const tutti_witness *w)
{
    char step[300];
    if (w->step < 0) {
        bool free = w->writer == c->nthreads + 2 * w->rank + 1;
        tutti_strbuf_printf(sb, "the caller's %s of rank %d before it says %s of invocation %d",
                            free ? "use of the outputs" : "overwriting of the inputs", w->rank, free ? "free" : "ready",
                            w->invocation);
        return;
    }
    tutti_explain_step(c, w->rank, w->step, step, sizeof step);
    tutti_strbuf_printf(sb, "the %s by invocation %d, %s", w->write ? "write" : "read", w->invocation, step);
}

tutti_status tutti_explain_race(tutti_checker *c, tutti_cell *cell, int32_t other, int32_t clock, const char *now)
{
    tutti_strbuf sb = {0};
    char where[120];
    tutti_explain_cell(c, cell, where, sizeof where);
    tutti_strbuf_printf(&sb, "race on %s: %s is not ordered after ", where, now);
    const tutti_witness *found = NULL;
    for (int32_t i = 0; i + 1 < c->nwitnesses; i++) /* the last witness is the access `now` itself, so it is left out */
        if (c->witnesses[i].writer == other && c->witnesses[i].clock == clock) found = &c->witnesses[i];
    if (found)
        add_witness(c, &sb, found);
    else
        tutti_strbuf_puts(&sb, "another access");
    tutti_fail(c->err, TUTTI_ERR_FAILED, "%s", sb.text);
    tutti_strbuf_release(&sb);
    return TUTTI_ERR_FAILED;
}

/* ---- deadlocks ---- */

static int32_t thread_of_step(const tutti_checker *c, int32_t r, int32_t index)
{
    const tutti_check_rank *rank = &c->ranks[r];
    for (int32_t q = 0; q < rank->nthreads; q++) {
        const tutti_thread *t = &c->threads[rank->first_thread + q];
        for (int32_t i = t->first; i < t->first + t->nsteps; i++)
            if (rank->steps[i].index == index) return rank->first_thread + q;
    }
    return -1;
}

/* Returns the thread of rank r that is the next to send or receive at the other end of `channel`, else any blocked
 * thread, or -1 if the rank has ended. */
static int32_t other_end(const tutti_checker *c, int32_t r, int32_t channel, const char **note)
{
    const tutti_check_rank *rank = &c->ranks[r];
    int32_t blocked = -1;
    for (int32_t q = 0; q < rank->nthreads; q++) {
        const tutti_thread *t = &c->threads[rank->first_thread + q];
        if (t->at < t->nsteps) blocked = rank->first_thread + q;
        for (int32_t i = t->at; i < t->nsteps; i++)
            if (rank->steps[t->first + i].channel == channel) return rank->first_thread + q;
    }
    *note = rank->invocation >= c->ninvocations ? ", which is through" : ", which does no such step in this invocation";
    return blocked;
}

static int32_t add_blocked(tutti_checker *c, tutti_strbuf *sb, int32_t thread)
{
    const tutti_thread *t = &c->threads[thread];
    const tutti_check_rank *rank = &c->ranks[t->rank];
    const tutti_check_step *s = &rank->steps[t->first + t->at];
    char step[300];
    tutti_explain_step(c, t->rank, s->index, step, sizeof step);
    tutti_strbuf_printf(sb, "%s in invocation %d waits for ", step, rank->invocation);
    const int32_t *args = s->args >= 0 ? rank->args + s->args : NULL;
    if (args && t->ndeps_met < args[0]) {
        int32_t dep = rank->nodes[args[3 + t->ndeps_met]].step;
        tutti_strbuf_printf(sb, "its step %d", dep);
        return thread_of_step(c, t->rank, dep);
    }
    const tutti_channel *ch = &c->channels[s->channel];
    int32_t peer = ch->src == t->rank ? ch->dst : ch->src;
    const char *note = "";
    int32_t next = other_end(c, peer, s->channel, &note);
    tutti_strbuf_printf(sb, "rank %d%s", peer, note);
    return next;
}

tutti_status tutti_explain_deadlock(tutti_checker *c)
{
    enum { SHOWN = 5 };
    int32_t thread = 0, nseen = 0, seen[SHOWN];
    while (c->threads[thread].at >= c->threads[thread].nsteps ||
           c->ranks[c->threads[thread].rank].invocation >= c->ninvocations)
        thread++;
    tutti_strbuf sb = {0};
    tutti_strbuf_puts(&sb, "deadlock: ");
    bool again = false;
    while (thread >= 0 && nseen < SHOWN && !again) {
        if (nseen) tutti_strbuf_puts(&sb, "; ");
        seen[nseen++] = thread;
        thread = add_blocked(c, &sb, thread);
        for (int32_t i = 0; i < nseen; i++) again = again || seen[i] == thread;
    }
    if (again) tutti_strbuf_printf(&sb, " (a cycle of %d)", nseen);
    if (!again && thread >= 0) tutti_strbuf_puts(&sb, "; ...");
    tutti_fail(c->err, TUTTI_ERR_FAILED, "%s", sb.text);
    tutti_strbuf_release(&sb);
    return TUTTI_ERR_FAILED;
}

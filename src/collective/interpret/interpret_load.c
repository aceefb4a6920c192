/* SPDX-License-Identifier: Apache-2.0 */
/* interpret_load.c: turns the parts of a schedule into actors and memory for the interpreter. A part is wrong before
 * anything runs if a number is out of range, if lengths differ for this n, or if a slice lies outside of its window. */
#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "interpret_impl.h"

static bool nonsense(char *text, int32_t rank, int32_t step, const char *what)
{
    snprintf(text, TUTTI_VERDICT_TEXT, "rank %d step %d: %s", rank, step, what);
    return false;
}

static bool slice_exists(const tutti_world *w, const tutti_slice *s)
{
    if (s->rank < 0 || s->rank >= w->nranks || s->buffer < 0 || s->buffer >= w->parts[s->rank].nbuffers) return false;
    if (s->of < 1 || s->first < 0 || s->count < 0 || (int64_t)s->first + s->count > s->of) return false;
    int64_t lo, hi, from, to;
    tutti_world_range(s, w->n, &lo, &hi);
    tutti_world_range(&w->parts[s->rank].buffers[s->buffer].window, w->n, &from, &to);
    return lo == hi || (lo >= from && hi <= to);
}

static bool step_makes_sense(const tutti_world *w, int32_t r, int32_t i, char *text)
{
    const tutti_part *p = &w->parts[r];
    const tutti_step *s = &p->steps[i];
    bool talks = s->kind != TUTTI_STEP_NOP && s->kind != TUTTI_STEP_REDUCE && s->kind != TUTTI_STEP_COPY;
    if (talks && (s->peer < 0 || s->peer >= w->nranks || s->peer == r)) return nonsense(text, r, i, "no such peer");
    if (s->sequence < 0) return nonsense(text, r, i, "no such sequence");
    int64_t length = -1;
    for (int32_t k = 0; k < s->nins + s->nouts; k++) {
        const tutti_slice *slice = &p->slices[k < s->nins ? s->first_in + k : s->first_out + k - s->nins];
        int64_t lo, hi;
        if (!slice_exists(w, slice)) return nonsense(text, r, i, "slice out of bounds");
        tutti_world_range(slice, w->n, &lo, &hi);
        if (length >= 0 && length != hi - lo) return nonsense(text, r, i, "slices of different lengths");
        length = hi - lo;
        bool own =
            slice->rank == r || w->head->wire == TUTTI_WIRE_MAPPED || (s->kind == TUTTI_STEP_PUT && k >= s->nins);
        if (w->head->host_of && w->head->host_of[slice->rank] == w->head->host_of[r]) own = true;
        if (!own) return nonsense(text, r, i, "memory of another rank");
    }
    int32_t depth = 0;
    for (int32_t k = 0; s->kind == TUTTI_STEP_REDUCE && k < s->nins; k++)
        if ((depth += 1 - p->folds[s->first_fold + k]) < 1) return nonsense(text, r, i, "sum of nothing");
    if (s->kind == TUTTI_STEP_REDUCE && depth != 1) return nonsense(text, r, i, "sum of several values");
    return true;
}

static int32_t find_line(tutti_world *w, int32_t src, int32_t dst, int32_t number)
{
    for (int32_t i = 0; i < w->nlines; i++)
        if (w->lines[i].src == src && w->lines[i].dst == dst && w->lines[i].number == number) return i;
    w->lines = tutti_realloc(w->lines, sizeof *w->lines * ((size_t)w->nlines + 1));
    w->lines[w->nlines] = (tutti_message_line){src, dst, number};
    return w->nlines++;
}

static void find_lines(tutti_world *w, int32_t r)
{
    const tutti_part *p = &w->parts[r];
    w->line_of[r] = tutti_alloc(sizeof(int32_t) * ((size_t)p->nsteps + 1));
    for (int32_t i = 0; i < p->nsteps; i++) {
        const tutti_step *s = &p->steps[i];
        bool gives = s->kind == TUTTI_STEP_SEND || s->kind == TUTTI_STEP_SIGNAL || s->kind == TUTTI_STEP_PUT;
        bool takes = s->kind == TUTTI_STEP_RECV || s->kind == TUTTI_STEP_WAIT;
        w->line_of[r][i] = gives   ? find_line(w, r, s->peer, s->channel)
                           : takes ? find_line(w, s->peer, r, s->channel)
                                   : -1;
        if (s->nins > w->max_inputs) w->max_inputs = s->nins;
    }
}

static void find_actors(tutti_world *w, int32_t r)
{
    const tutti_part *p = &w->parts[r];
    int32_t nsequences = 1;
    for (int32_t i = 0; i < p->nsteps; i++)
        if (p->steps[i].sequence >= nsequences) nsequences = p->steps[i].sequence + 1;
    w->first_actor[r] = w->nactors;
    w->actors = tutti_realloc(w->actors, sizeof *w->actors * (size_t)(w->nactors + nsequences + 2));
    for (int32_t q = 0; q < nsequences + 2; q++) {
        tutti_actor *a = &w->actors[w->nactors + q];
        *a = (tutti_actor){.actor_rank = r, .sequence = q < nsequences ? q : nsequences - 1 - q};
        a->steps = tutti_alloc(sizeof(int32_t) * ((size_t)p->nsteps + 1));
        for (int32_t i = 0; i < p->nsteps; i++)
            if (p->steps[i].sequence == a->sequence) a->steps[a->nsteps++] = i;
    }
    w->nactors += nsequences + 2;
    w->first_actor[r + 1] = w->nactors;
}

static void place_memory(tutti_world *w, int32_t r)
{
    const tutti_part *p = &w->parts[r];
    w->place[r] = tutti_alloc(sizeof(int64_t) * ((size_t)p->nbuffers + 1));
    for (int32_t b = 0; b < p->nbuffers; b++) {
        const tutti_buffer *buffer = &p->buffers[b];
        w->place[r][b] = w->nwords;
        w->nwords += w->n * buffer->banks;
        if (buffer->banks >= w->ninvocations) w->ninvocations = buffer->banks + 1;
    }
    for (int32_t b = 0; b < p->nbuffers; b++)
        for (int32_t k = 0; k < p->nbuffers && w->head->in_place; k++)
            if (p->buffers[b].role == TUTTI_BUFFER_OUT && p->buffers[k].role == TUTTI_BUFFER_IN &&
                p->buffers[k].ordinal == 0)
                w->place[r][b] = w->place[r][k];
}

/* ---- words that more than one actor touches, with at least one write ---- */

typedef struct {
    int32_t *first; /* for each word: 1 + the first actor that touches it */
    uint8_t *many, *written;
} touches;

static void touch(const tutti_world *w, touches *t, int32_t actor, const tutti_slice *s, bool writes)
{
    int64_t lo, hi, base = w->place[s->rank][s->buffer];
    tutti_world_range(s, w->n, &lo, &hi);
    for (int64_t i = base + lo; i < base + hi; i++) {
        if (t->first[i] && t->first[i] != actor + 1) t->many[i] = 1;
        t->first[i] = actor + 1;
        if (writes) t->written[i] = 1;
    }
}

static void find_shared(tutti_world *w)
{
    size_t n = (size_t)w->nwords + 1;
    touches t = {tutti_alloc(sizeof(int32_t) * n), tutti_alloc(n), tutti_alloc(n)};
    for (int32_t a = 0; a < w->nactors; a++) {
        const tutti_actor *actor = &w->actors[a];
        const tutti_part *p = &w->parts[actor->actor_rank];
        for (int32_t i = 0; i < actor->nsteps; i++) {
            const tutti_step *s = &p->steps[actor->steps[i]];
            for (int32_t k = 0; k < s->nins; k++) touch(w, &t, a, &p->slices[s->first_in + k], false);
            for (int32_t k = 0; k < s->nouts; k++) touch(w, &t, a, &p->slices[s->first_out + k], true);
        }
        for (int32_t b = 0; b < p->nbuffers; b++) {
            tutti_slice all = p->buffers[b].window;
            all.rank = actor->actor_rank, all.buffer = b;
            bool mine = (actor->sequence == TUTTI_SCRIBBLER && p->buffers[b].role == TUTTI_BUFFER_OUT) ||
                        (actor->sequence == TUTTI_FEEDER && p->buffers[b].role == TUTTI_BUFFER_IN);
            if (mine) touch(w, &t, a, &all, true);
        }
    }
    w->shared = tutti_alloc(n);
    for (size_t i = 0; i < n; i++) w->shared[i] = t.many[i] && t.written[i];
    free(t.first);
    free(t.many);
    free(t.written);
}

bool tutti_world_create(tutti_world *w, const tutti_part_source *source, int64_t n, bool whole_slices, char *text)
{
    int32_t p = source->head->nranks;
    *w = (tutti_world){.source = source, .head = source->head, .nranks = p, .n = n, .text = text, .ninvocations = 2};
    w->chunk = whole_slices && n > 0 ? n : 1;
    w->parts = tutti_alloc(sizeof *w->parts * (size_t)p);
    w->first_actor = tutti_alloc(sizeof(int32_t) * ((size_t)p + 1));
    w->first_done = tutti_alloc(sizeof(int32_t) * ((size_t)p + 1));
    w->line_of = tutti_alloc(sizeof *w->line_of * (size_t)p);
    w->place = tutti_alloc(sizeof *w->place * (size_t)p);
    for (int32_t r = 0; r < p; r++) {
        source->part(source->owner, r, &w->parts[r]);
        w->first_done[r + 1] = w->ndone += w->parts[r].nsteps;
    }
    for (int32_t r = 0; r < p; r++)
        for (int32_t i = 0; i < w->parts[r].nsteps; i++)
            if (!step_makes_sense(w, r, i, text)) return false;
    for (int32_t r = 0; r < p; r++) {
        find_lines(w, r);
        find_actors(w, r);
        place_memory(w, r);
    }
    find_shared(w);
    w->expected = tutti_alloc(sizeof(tutti_word) * (size_t)(w->ninvocations * n + 1));
    w->fixed = tutti_alloc(sizeof(tutti_word) * (size_t)w->ninvocations);
    return true;
}

void tutti_world_release(tutti_world *w)
{
    for (int32_t r = 0; r < w->nranks; r++) {
        w->source->release(&w->parts[r]);
        free(w->line_of[r]);
        free(w->place[r]);
    }
    for (int32_t a = 0; a < w->nactors; a++) free(w->actors[a].steps);
    free(w->actors);
    free(w->parts);
    free(w->first_actor);
    free(w->first_done);
    free(w->line_of);
    free(w->place);
    free(w->lines);
    free(w->shared);
    free(w->expected);
    free(w->fixed);
    *w = (tutti_world){0};
}

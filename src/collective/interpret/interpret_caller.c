/* SPDX-License-Identifier: Apache-2.0 */
/* interpret_caller.c: plays the caller of a rank: fills inputs and judges outputs. The scribbler judges the outputs of
 * the invocation that is complete, then overwrites them with rubbish, then reports FREE; the feeder writes the next
 * inputs, then reports READY. If outputs are in place, the feeder leaves the inputs alone until the outputs have been
 * judged. */
#include <stdio.h>

#include "interpret_impl.h"

static const tutti_buffer *find_buffer(const tutti_world *w, int32_t r, tutti_buffer_role role, int32_t ordinal,
                                       int32_t *index)
{
    const tutti_part *p = &w->parts[r];
    for (*index = 0; *index < p->nbuffers; ++*index)
        if (p->buffers[*index].role == role && p->buffers[*index].ordinal == ordinal) return &p->buffers[*index];
    return NULL;
}

/* Sets [*lo, *hi) to the elements of an input that the caller writes: the input's window, or only the rank's own slice
 * in collectives that take slices. */
static void input_range(const tutti_world *w, int32_t r, const tutti_buffer *in, int64_t *lo, int64_t *hi)
{
    tutti_collective c = w->head->collective;
    tutti_world_range(&in->window, w->n, lo, hi);
    if (c != TUTTI_ALL_GATHER && c != TUTTI_GATHER && c != TUTTI_ALL_TO_ALL) return;
    int64_t from, to;
    tutti_world_range(&(tutti_slice){r, 0, r, 1, w->nranks}, w->n, &from, &to);
    if (from > *lo) *lo = from;
    if (to < *hi) *hi = to;
    if (*hi < *lo) *hi = *lo;
}

static tutti_word *outputs_of(tutti_run *run, int32_t r, int32_t ordinal, int64_t *lo, int64_t *hi)
{
    const tutti_world *w = run->world;
    int32_t b;
    const tutti_buffer *out = find_buffer(w, r, TUTTI_BUFFER_OUT, ordinal, &b);
    if (!out && w->head->in_place && ordinal == 0) out = find_buffer(w, r, TUTTI_BUFFER_IN, 0, &b);
    if (!out) return NULL;
    tutti_world_range(&out->window, w->n, lo, hi);
    return run->state.words + w->place[r][b];
}

/* Judges elements [lo, hi) of the output of this ordinal. */
static void judge_range(tutti_run *run, int32_t r, int32_t e, int32_t ordinal, int64_t lo, int64_t hi)
{
    tutti_world *w = run->world;
    bool strict = tutti_world_reduces(w) && w->head->determinism != TUTTI_DETERMINISM_PER_SLICE;
    int64_t from = 0, to = 0;
    const tutti_word *out = outputs_of(run, r, ordinal, &from, &to), *want = w->expected + e * w->n;
    if (lo < hi && (!out || from > lo || to < hi)) {
        run->wrong = true;
        snprintf(w->text, TUTTI_VERDICT_TEXT, "rank %d has no place for its outputs", r);
        return;
    }
    for (int64_t i = lo; i < hi && !run->wrong; i++) {
        if (!w->fixed[e].sum) w->fixed[e] = (tutti_word){1, out[i].tree};
        bool tree = !strict || out[i].tree == w->fixed[e].tree;
        if (out[i].sum == want[i].sum && tree) continue;
        run->wrong = true;
        snprintf(w->text, TUTTI_VERDICT_TEXT, "rank %d, invocation %d: element %ld of %ld %s", r, e, (long)i,
                 (long)w->n, out[i].sum == want[i].sum ? "was summed in another order than claimed" : "is wrong");
    }
}

static void judge(tutti_run *run, int32_t r, int32_t e)
{
    const tutti_world *w = run->world;
    int32_t p = w->nranks;
    int64_t lo = 0, hi = w->n;
    switch (w->head->collective) {
    case TUTTI_BARRIER: return; /* a barrier is judged elsewhere, when a rank ends */
    case TUTTI_GATHER:
    case TUTTI_REDUCE:
        if (r == w->head->root) judge_range(run, r, e, 0, lo, hi);
        return;
    case TUTTI_REDUCE_SCATTER: tutti_world_range(&(tutti_slice){r, 0, r, 1, p}, w->n, &lo, &hi); break;
    case TUTTI_ALL_TO_ALL:
        for (int32_t q = 0; q < p; q++) {
            tutti_world_range(&(tutti_slice){r, 0, q * p + r, 1, p * p}, w->n, &lo, &hi);
            judge_range(run, r, e, q, lo, hi);
        }
        return;
    default: break;
    }
    judge_range(run, r, e, 0, lo, hi);
}

bool tutti_run_may_end(tutti_run *run, int32_t r)
{
    const tutti_world *w = run->world;
    int32_t e = run->state.ranks[r].completed;
    for (int32_t q = 0; w->head->collective == TUTTI_BARRIER && q < w->nranks; q++) {
        if (run->state.ranks[q].ready > e) continue;
        run->wrong = true;
        snprintf(w->text, TUTTI_VERDICT_TEXT, "rank %d is through invocation %d before rank %d has begun it", r, e, q);
        return false;
    }
    return true;
}

static bool is_input(const tutti_world *w, int32_t r, int64_t i)
{
    int32_t b;
    int64_t lo, hi;
    const tutti_buffer *in = w->head->in_place ? find_buffer(w, r, TUTTI_BUFFER_IN, 0, &b) : NULL;
    if (!in) return false;
    input_range(w, r, in, &lo, &hi);
    return i >= lo && i < hi;
}

tutti_act tutti_run_scribble(tutti_run *run, int32_t actor)
{
    const tutti_world *w = run->world;
    int32_t r = w->actors[actor].actor_rank, e = run->state.actors[actor].at;
    tutti_rank_state *rank = &run->state.ranks[r];
    int32_t *micro = &run->state.actors[actor].micro;
    if (e > w->ninvocations) return TUTTI_ACT_OVER;
    if (rank->completed < e) return TUTTI_ACT_BLOCKED;
    if (*micro == 0 && e > 0) {
        *micro = 1;
        judge(run, r, e - 1);
        rank->judged = e;
        return TUTTI_ACT_DONE;
    }
    /* each action handles one chunk; `skip` is the number of chunks before it, of all outputs. The last action reports
     * FREE */
    int64_t skip = (int64_t)(*micro)++ - (e > 0), left = 0;
    for (int32_t ordinal = 0;; ordinal++) {
        int64_t lo = 0, hi = 0;
        tutti_word *out = outputs_of(run, r, ordinal, &lo, &hi);
        if (!out) break;
        int64_t from = lo + skip * w->chunk;
        for (int64_t i = from; skip >= 0 && i < from + w->chunk && i < hi; i++)
            if (!is_input(w, r, i)) out[i].sum = out[i].tree = tutti_world_mix((uint64_t)(i + e * 1000) ^ w->salt);
        skip -= (hi - lo + w->chunk - 1) / w->chunk;
        left = -1 - skip; /* number of chunks up to the end of this output that are left for later actions */
    }
    if (left > 0) return TUTTI_ACT_DONE;
    rank->is_free = e + 1;
    run->state.actors[actor] = (tutti_actor_state){e + 1, 0};
    return TUTTI_ACT_DONE;
}

tutti_act tutti_run_feed(tutti_run *run, int32_t actor)
{
    const tutti_world *w = run->world;
    int32_t r = w->actors[actor].actor_rank, e = run->state.actors[actor].at, b;
    tutti_rank_state *rank = &run->state.ranks[r];
    if (e > w->ninvocations) return TUTTI_ACT_OVER;
    if (rank->completed < e || (w->head->in_place && rank->judged < e)) return TUTTI_ACT_BLOCKED;
    /* each action handles one chunk; `skip` is the number of chunks before it, of all inputs. The last action reports
     * READY */
    int64_t skip = run->state.actors[actor].micro++, left = 0;
    for (int32_t ordinal = 0;; ordinal++) {
        int64_t lo, hi;
        const tutti_buffer *in = find_buffer(w, r, TUTTI_BUFFER_IN, ordinal, &b);
        if (!in) break;
        input_range(w, r, in, &lo, &hi);
        int64_t chunks = (hi - lo + w->chunk - 1) / w->chunk, from = lo + skip * w->chunk;
        tutti_word *words = run->state.words + w->place[r][b];
        for (int64_t i = from; skip >= 0 && i < from + w->chunk && i < hi; i++)
            words[i] = tutti_world_leaf(w, r, ordinal, e, i);
        skip -= chunks;
        left = -1 - skip; /* number of chunks up to the end of this input that are left for later actions */
    }
    if (left > 0) return TUTTI_ACT_DONE;
    rank->ready = e + 1;
    run->state.actors[actor] = (tutti_actor_state){e + 1, 0};
    return TUTTI_ACT_DONE;
}

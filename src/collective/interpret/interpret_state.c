/* SPDX-License-Identifier: Apache-2.0 */
/* interpret_state.c: makes the start of an interpreter's run: memory full of rubbish, and the expected outputs. */
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "interpret_impl.h"

/* Makes one block in which all parts of the state follow each other, the widest first. */
void tutti_state_create(tutti_state *s, const tutti_world *w)
{
    size_t words = (size_t)w->nwords + 1, registers = (size_t)w->nactors * (size_t)((w->max_inputs + 1) * w->chunk);
    size_t bytes = sizeof(tutti_word) * (words + registers) + sizeof(tutti_actor_state) * (size_t)w->nactors +
                   sizeof(tutti_line_state) * (size_t)w->nlines + sizeof(tutti_rank_state) * (size_t)w->nranks +
                   (size_t)w->ndone + 1;
    char *at = s->block = tutti_alloc(bytes);
    s->nbytes = bytes;
    s->words = (tutti_word *)at, at += sizeof(tutti_word) * words;
    s->registers = (tutti_word *)at, at += sizeof(tutti_word) * registers;
    s->actors = (tutti_actor_state *)at, at += sizeof(tutti_actor_state) * (size_t)w->nactors;
    s->lines = (tutti_line_state *)at, at += sizeof(tutti_line_state) * (size_t)w->nlines;
    s->ranks = (tutti_rank_state *)at, at += sizeof(tutti_rank_state) * (size_t)w->nranks;
    s->done = (uint8_t *)at;
}

/* Computes the print (a hash) of the balanced sum over leaves first .. first + count - 1; false if the inputs do not
 * make that sum. */
static bool balanced(const tutti_world *w, int32_t e, int32_t first, int32_t count, tutti_word *out)
{
    for (int32_t r = 0; r < w->nranks; r++)
        for (int32_t b = 0; b < w->parts[r].nbuffers; b++) {
            const tutti_buffer *in = &w->parts[r].buffers[b];
            if (in->role != TUTTI_BUFFER_IN || in->leaf != first || in->nleaves != count) continue;
            *out = tutti_world_leaf(w, r, in->ordinal, e, 0);
            return true;
        }
    tutti_word left, right;
    if (count < 2 || !balanced(w, e, first, count / 2, &left) ||
        !balanced(w, e, first + count / 2, count - count / 2, &right))
        return false;
    *out = tutti_world_add(left, right);
    return true;
}

static void expect(tutti_world *w, int32_t e)
{
    tutti_word *out = w->expected + e * w->n, canonical = {0, 0};
    for (int64_t i = 0; i < w->n; i++) out[i] = (tutti_word){0, 0};
    if (w->head->determinism == TUTTI_DETERMINISM_CANONICAL && w->head->slots)
        balanced(w, e, 0, w->head->slots, &canonical);
    w->fixed[e] = (tutti_word){canonical.tree != 0, canonical.tree};
    for (int32_t r = 0; r < w->nranks; r++) {
        tutti_slice own = {r, 0, r, 1, w->nranks};
        int64_t lo = 0, hi = w->n;
        if (w->head->collective == TUTTI_BROADCAST)
            hi = r == w->head->root ? w->n : 0;
        else if (!tutti_world_reduces(w))
            tutti_world_range(&own, w->n, &lo, &hi);
        for (int32_t b = 0; b < w->parts[r].nbuffers; b++) {
            const tutti_buffer *in = &w->parts[r].buffers[b];
            if (in->role != TUTTI_BUFFER_IN) continue;
            for (int64_t i = lo; i < hi; i++) out[i].sum += tutti_world_leaf(w, r, in->ordinal, e, i).sum;
        }
    }
}

int32_t tutti_world_nrunning(const tutti_world *w, int32_t r)
{
    int32_t n = 0;
    for (int32_t a = w->first_actor[r]; a < w->first_actor[r + 1]; a++) n += w->actors[a].nsteps > 0;
    return n ? n : 1; /* a part without steps has one sequence, 0 */
}

static void drop_parcels(tutti_run *run)
{
    for (int32_t l = 0; l < run->world->nlines; l++)
        while (run->parcels[l]) {
            tutti_parcel *next = run->parcels[l]->next;
            free(run->parcels[l]);
            run->parcels[l] = next;
        }
    for (int32_t a = 0; a < run->world->nactors; a++) {
        free(run->partial[a]);
        run->partial[a] = NULL;
    }
    run->nflights = 0;
}

void tutti_run_reset(tutti_run *run)
{
    tutti_world *w = run->world;
    drop_parcels(run);
    memset(run->state.block, 0, run->state.nbytes);
    for (int64_t i = 0; i < w->nwords; i++) {
        uint64_t rubbish = tutti_world_mix(w->salt ^ (uint64_t)(i + 12345));
        run->state.words[i] = (tutti_word){rubbish, rubbish + 1};
    }
    for (int32_t r = 0; r < w->nranks; r++) run->state.ranks[r].running = tutti_world_nrunning(w, r);
    for (int32_t e = 0; e < w->ninvocations; e++) expect(w, e);
    run->wrong = false;
}

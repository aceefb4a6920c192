/* SPDX-License-Identifier: Apache-2.0 */
/* interpret_all.c: plays every interleaving of a schedule whose order can matter.
 *
 * It searches the states that a run can reach. Signals, waits, offers of messages, and accesses to words that only one
 * actor ever touches commute with everything that other actors may do. So the search plays them at once, in any order
 * (a persistent set of one action), and branches only over accesses to shared words. A hash of 64 bits recognises
 * states that were seen. */
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/hash.h"
#include "interpret_impl.h"

typedef struct {
    uint64_t *slots;
    uint64_t mask;
    int64_t n;
} seen_set;

static bool add_seen(seen_set *s, uint64_t key)
{
    if (!key) key = 1;
    for (uint64_t at = key & s->mask;; at = (at + 1) & s->mask) {
        if (s->slots[at] == key) return false;
        if (s->slots[at]) continue;
        s->slots[at] = key;
        s->n++;
        return true;
    }
}

typedef struct {
    char **blocks;
    int32_t n, capacity;
} state_stack;

static void push(state_stack *stack, const tutti_state *state)
{
    stack->blocks = tutti_grow(stack->blocks, stack->n, &stack->capacity, sizeof *stack->blocks);
    char *copy = tutti_alloc(state->nbytes);
    stack->blocks[stack->n++] = memcpy(copy, state->block, state->nbytes);
}

/* Plays all actions that commute with every action of other actors. */
static void settle(tutti_run *run)
{
    for (bool again = true; again && !run->wrong;) {
        again = false;
        for (int32_t a = 0; a < run->world->nactors && !run->wrong; a++)
            while (!run->wrong && !tutti_run_is_shared(run, a) && tutti_run_act(run, a) == TUTTI_ACT_DONE) again = true;
    }
}

static void branch(tutti_run *run, state_stack *stack, char *here)
{
    bool any = false;
    memcpy(here, run->state.block, run->state.nbytes);
    for (int32_t a = 0; a < run->world->nactors && !run->wrong; a++) {
        if (!tutti_run_is_shared(run, a)) continue;
        if (tutti_run_act(run, a) != TUTTI_ACT_DONE) continue;
        any = true;
        push(stack, &run->state);
        memcpy(run->state.block, here, run->state.nbytes);
    }
    if (!any && !run->wrong && !tutti_run_is_over(run)) tutti_run_say_hang(run);
}

static void search(tutti_run *run, int64_t max_states, tutti_verdict *out)
{
    seen_set seen = {.mask = 1024};
    while ((int64_t)seen.mask < 2 * max_states) seen.mask *= 2;
    seen.slots = tutti_alloc(sizeof *seen.slots * seen.mask);
    seen.mask--;
    state_stack stack = {0};
    char *here = tutti_alloc(run->state.nbytes);
    push(&stack, &run->state);
    while (stack.n && !run->wrong && seen.n < max_states) {
        char *block = stack.blocks[--stack.n];
        memcpy(run->state.block, block, run->state.nbytes);
        free(block);
        settle(run);
        if (!run->wrong && add_seen(&seen, tutti_hash(run->state.block, run->state.nbytes))) branch(run, &stack, here);
    }
    out->ntries = seen.n;
    out->wrong = run->wrong;
    out->complete = !stack.n && !run->wrong;
    while (stack.n) free(stack.blocks[--stack.n]);
    free(stack.blocks);
    free(seen.slots);
    free(here);
}

void tutti_interpret_all(const tutti_part_source *source, int64_t n, int64_t max_states, tutti_verdict *out)
{
    tutti_world world;
    *out = (tutti_verdict){0};
    if (source->head->wire == TUTTI_WIRE_ONE_SIDED || source->head->wire == TUTTI_WIRE_MIXED) return;
    if (!tutti_world_create(&world, source, n, true, out->text)) {
        out->wrong = true;
        tutti_world_release(&world);
        return;
    }
    tutti_run run = {.world = &world};
    tutti_state_create(&run.state, &world);
    run.parcels = tutti_alloc(sizeof(tutti_parcel *) * ((size_t)world.nlines + 1));
    run.partial = tutti_alloc(sizeof(tutti_parcel *) * (size_t)world.nactors);
    tutti_run_reset(&run);
    search(&run, max_states, out);
    free(run.parcels);
    free(run.partial);
    free(run.state.block);
    tutti_world_release(&world);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* interpret.c: plays a schedule on numbers under random interleavings. Four ways to choose the next actor take turns,
 * since each finds other mistakes: any actor for a short while; any actor for a long while; priorities with a few
 * changes (Burckhardt et al., ASPLOS 2010: a mistake that needs d orderings is found with a probability that does not
 * shrink with the length of the run); and one rank running ahead of all others as far as it can. */
#include <stdlib.h>

#include "../../base/arena.h"
#include "interpret_impl.h"

static uint64_t draw(tutti_run *run)
{
    return tutti_world_mix(run->random += 0x9e3779b97f4a7c15u);
}

static int32_t draw_below(tutti_run *run, int32_t n)
{
    return (int32_t)(draw(run) % (uint64_t)n);
}

static void land_one(tutti_run *run)
{
    int32_t i = draw_below(run, run->nflights);
    run->state.words[run->flights[i].to] = run->flights[i].value;
    run->flights[i] = run->flights[--run->nflights];
}

/* Goes through `order` from place `start` and plays one action of the first actor that can act; false if none can. */
static bool act_in_order(tutti_run *run, const int32_t *order, int32_t start)
{
    int32_t n = run->world->nactors;
    for (int32_t k = 0; k < n; k++) {
        int32_t actor = order[(start + k) % n];
        if (tutti_run_act(run, actor) == TUTTI_ACT_DONE) return true;
    }
    return false;
}

static void shuffle(tutti_run *run, int32_t *order, int32_t n)
{
    for (int32_t i = n - 1; i > 0; i--) {
        int32_t k = draw_below(run, i + 1), swap = order[i];
        order[i] = order[k], order[k] = swap;
    }
}

/* Puts actors of one rank next to each other, ranks in random order, each rank's own actors in random order. */
static void order_by_rank(tutti_run *run, int32_t *order, int32_t *ranks)
{
    const tutti_world *w = run->world;
    int32_t n = 0;
    for (int32_t r = 0; r < w->nranks; r++) ranks[r] = r;
    shuffle(run, ranks, w->nranks);
    for (int32_t i = 0; i < w->nranks; i++) {
        int32_t first = n;
        for (int32_t a = w->first_actor[ranks[i]]; a < w->first_actor[ranks[i] + 1]; a++) order[n++] = a;
        shuffle(run, order + first, n - first);
    }
}

typedef enum { SHORT_TURNS, LONG_TURNS, PRIORITIES, ONE_RANK_AHEAD, NMANNERS } manner;

static void play(tutti_run *run, int32_t *order, manner how)
{
    tutti_world *w = run->world;
    int32_t start = 0, left = 0;
    for (int32_t i = 0; i < w->nactors; i++) order[i] = i;
    if (how == PRIORITIES) shuffle(run, order, w->nactors);
    if (how == ONE_RANK_AHEAD) order_by_rank(run, order, order + w->nactors);
    while (!run->wrong && !tutti_run_is_over(run)) {
        bool turns = how == SHORT_TURNS || how == LONG_TURNS;
        if (turns && left-- <= 0) {
            start = draw_below(run, w->nactors);
            left = draw_below(run, how == SHORT_TURNS ? 3 : 60);
        } else if (!turns && draw_below(run, 300) == 0) {
            shuffle(run, order, how == PRIORITIES ? w->nactors : 2);
        }
        if (run->nflights && draw_below(run, 8) == 0) land_one(run);
        if (act_in_order(run, order, start)) continue;
        if (!tutti_run_is_over(run)) tutti_run_say_hang(run);
    }
}

void tutti_interpret(const tutti_part_source *source, int64_t n, uint64_t seed, int64_t ntries, tutti_verdict *out)
{
    static const int32_t capacities[] = {0, 1, 0, 2, 0, 0, 1};
    tutti_world world;
    *out = (tutti_verdict){0};
    if (!tutti_world_create(&world, source, n, false, out->text)) {
        out->wrong = true;
        tutti_world_release(&world);
        return;
    }
    tutti_run run = {.world = &world};
    tutti_state_create(&run.state, &world);
    run.parcels = tutti_alloc(sizeof(tutti_parcel *) * ((size_t)world.nlines + 1));
    run.partial = tutti_alloc(sizeof(tutti_parcel *) * (size_t)world.nactors);
    int32_t *order = tutti_alloc(sizeof(int32_t) * (size_t)(world.nactors + world.nranks));
    for (int64_t i = 0; i < ntries && !out->wrong; i++) {
        uint64_t number = seed + (uint64_t)i;
        run.random = tutti_world_mix(number);
        world.salt = draw(&run);
        world.capacity = capacities[number % 7];
        tutti_run_reset(&run);
        play(&run, order, (manner)(number % NMANNERS));
        out->ntries++;
        out->wrong = run.wrong;
        out->seed = number;
    }
    tutti_run_reset(&run); /* frees messages under way */
    free(order);
    free(run.parcels);
    free(run.partial);
    free(run.flights);
    free(run.state.block);
    tutti_world_release(&world);
}

void tutti_schedule_interpret(const tutti_schedule *s, int64_t n, uint64_t seed, int64_t ntries, tutti_verdict *out)
{
    const tutti_part_source source = tutti_part_source_of(s);
    tutti_interpret(&source, n, seed, ntries, out);
}

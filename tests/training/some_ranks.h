/* SPDX-License-Identifier: Apache-2.0 */
/* some_ranks.h: methods whose gradients are summed in stages between some ranks, so that every rank has the whole sum
 * in the end and updates all weights. What a stage is between follows from the rank count alone.
 *
 *   halves   sums in both halves of the ranks at once, then between rank i of the one and rank i of the other, all
 *            pairs at once
 *   folded   ranks from the largest power of two h on give their part to rank r - h; those below h sum; what they have
 *            goes back: 2 of 3 ranks sum, 4 of 6, 4 of 5 */
#ifndef TUTTI_SOME_RANKS_H
#define TUTTI_SOME_RANKS_H

#include <stdio.h>

#include "training/method/method_impl.h"

enum { MOST_STAGES = 3, MOST_SETS = 8, MOST_MEMBERS = 8 };

typedef struct {
    tutti_collective collective;
    int nsets, nmembers[MOST_SETS];
    int32_t members[MOST_SETS][MOST_MEMBERS];
} some_stage;

typedef struct {
    some_stage stages[MOST_STAGES];
    int nstages;
} some_stages;

typedef void some_scheme(int nranks, some_stages *out);

static inline some_stage *add_stage(some_stages *s, tutti_collective collective)
{
    some_stage *stage = &s->stages[s->nstages++];
    stage->collective = collective;
    return stage;
}

static inline void put_member(some_stage *s, int set, int rank)
{
    if (set >= s->nsets) s->nsets = set + 1;
    s->members[set][s->nmembers[set]++] = rank;
}

static inline void stages_of_halves(int nranks, some_stages *out)
{
    some_stage *inside = add_stage(out, TUTTI_ALLREDUCE), *across = add_stage(out, TUTTI_ALLREDUCE);
    for (int r = 0; r < nranks; r++) put_member(inside, r >= nranks / 2, r);
    for (int r = 0; r < nranks; r++) put_member(across, r % (nranks / 2), r);
}

static inline void stages_of_folded(int nranks, some_stages *out)
{
    int h = 1;
    while (2 * h <= nranks) h *= 2;
    some_stage *in = nranks > h ? add_stage(out, TUTTI_REDUCE) : NULL;
    some_stage *sum = add_stage(out, TUTTI_ALLREDUCE), *back = nranks > h ? add_stage(out, TUTTI_BROADCAST) : NULL;
    for (int r = h; r < nranks; r++) {
        put_member(in, r - h, r - h), put_member(in, r - h, r);
        put_member(back, r - h, r - h), put_member(back, r - h, r);
    }
    for (int r = 0; r < h; r++) put_member(sum, 0, r);
}

/* ---- a method of it ---- */

/* Exchanges are numbered by stage, set, bucket. -1: the rank is in no set of the stage. */
static inline int some_exchange(const some_stages *s, int stage, int rank, int nbuckets, int bucket)
{
    int before = 0;
    for (int i = 0; i < stage; i++) before += s->stages[i].nsets;
    for (int set = 0; set < s->stages[stage].nsets; set++)
        for (int m = 0; m < s->stages[stage].nmembers[set]; m++)
            if (s->stages[stage].members[set][m] == rank) return (before + set) * nbuckets + bucket;
    return -1;
}

static inline tutti_status declare_set(tutti_plan_builder *b, const some_stages *s, int stage, int set,
                                       tutti_failure *err)
{
    const tutti_plan *p = tutti_builder_plan(b);
    const some_stage *what = &s->stages[stage];
    const int gradients = tutti_plan_find_memory(p, TUTTI_ROLE_GRADIENTS, 0);
    const tutti_builder_request request = {what->collective, "direct", true, false};
    int schedule = 0;
    const tutti_status st =
        tutti_builder_schedule_among(b, &request, what->members[set], what->nmembers[set], &schedule, err);
    for (int i = 0; i < p->nbuckets && !st; i++) {
        char name[64];
        snprintf(name, sizeof name, "stage %d, set %d of bucket %d", stage, set, i);
        tutti_builder_exchange(b, &(tutti_plan_exchange){.name = name,
                                                         .schedule = schedule,
                                                         .members = what->members[set],
                                                         .nmembers = what->nmembers[set],
                                                         .bucket = i,
                                                         .first = p->buckets[i].offset,
                                                         .count = p->buckets[i].count,
                                                         .in = {gradients, 0},
                                                         .out = {gradients, 0}});
    }
    return st;
}

static inline tutti_status some_declare(tutti_plan_builder *b, some_scheme *scheme, tutti_failure *err)
{
    const tutti_method_vectors vectors = {
        .own_weights = true, .own_states = true, .weights_hold = TUTTI_HOLDS_ALL, .states_hold = TUTTI_HOLDS_ALL};
    some_stages s = {0};
    tutti_status st = TUTTI_OK;
    tutti_method_declare_vectors(b, &vectors);
    scheme(tutti_builder_plan(b)->config.nranks, &s);
    for (int i = 0; i < s.nstages; i++)
        for (int set = 0; set < s.stages[i].nsets && !st; set++) st = declare_set(b, &s, i, set, err);
    return st ? st : tutti_method_declare_control(b, err);
}

static inline void some_control(tutti_plan_builder *b)
{
    tutti_builder_start(b, tutti_builder_plan(b)->nexchanges - 1, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
}

static inline void some_list(tutti_plan_builder *b, some_scheme *scheme)
{
    static const tutti_walk walk = {.after_counting = some_control};
    const tutti_plan *p = tutti_builder_plan(b);
    some_stages s = {0};
    scheme(p->config.nranks, &s);
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    tutti_builder_walk(b, &walk);
    for (int stage = 0; stage < s.nstages; stage++) {
        const int first = some_exchange(&s, stage, tutti_builder_rank(b), p->nbuckets, 0);
        for (int i = 0; i < p->nbuckets && first >= 0; i++)
            tutti_builder_start(b, first + i, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        for (int i = 0; i < p->nbuckets && first >= 0; i++) tutti_builder_wait(b, first + i);
    }
    for (int i = 0; i < p->nbuckets; i++) {
        const tutti_action whole = {.kind = TUTTI_DO_APPLY,
                                    .bucket = i,
                                    .from = tutti_plan_find_memory(p, TUTTI_ROLE_GRADIENTS, 0),
                                    .to = tutti_plan_find_memory(p, TUTTI_ROLE_WEIGHTS, 0),
                                    .verdict = -1,
                                    .norm = -1,
                                    .share = 1,
                                    .first = p->buckets[i].offset,
                                    .count = p->buckets[i].count};
        tutti_builder_do(b, &whole);
    }
    tutti_builder_wait(b, p->nexchanges - 1);
}

/* EMITTER(name) makes the emitter `name` of the scheme stages_of_name. */
#define EMITTER(name)                                                                                                  \
    static tutti_status declare_##name(tutti_plan_builder *b, tutti_failure *err)                                      \
    {                                                                                                                  \
        return some_declare(b, stages_of_##name, err);                                                                 \
    }                                                                                                                  \
    static void list_##name(tutti_plan_builder *b)                                                                     \
    {                                                                                                                  \
        some_list(b, stages_of_##name);                                                                                \
    }                                                                                                                  \
    static const tutti_emitter name = {declare_##name, list_##name}

#endif

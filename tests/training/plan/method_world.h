/* SPDX-License-Identifier: Apache-2.0 */
/* method_world.h: what a method makes of a small net: graph, plan, loops. */
#ifndef TUTTI_METHOD_WORLD_H
#define TUTTI_METHOD_WORLD_H

#include "../planned.h"
#include "../toy_net.h"

typedef struct {
    toy_net net;
    tutti_graph *graph;
    tutti_plan *plan;
} world;

/* An action of which its kind says all. */
static inline void do_kind(tutti_plan_builder *b, tutti_action_kind kind)
{
    tutti_builder_do(b, &(tutti_action){.kind = kind});
}

static inline void make_frozen(world *w, const char *method, tutti_plan_config config, tutti_frozen frozen)
{
    static const char *const states[] = {"exp_avg", "exp_avg_sq"};
    tutti_failure err = {0};
    int64_t samples = 0;
    config.method = tutti_method_find(method)->emitter;
    config.batch = 48;
    config.bucket_bytes = 300;
    config.engine = "reference";
    config.nthreads = 1;
    config.states = states;
    toy_make(&w->net);
    tutti_status st = tutti_plan_samples_per_call(&config, &samples, &err);
    const tutti_graph_config graph = {
        .batch = samples, .engine = "reference", .nthreads = 1, .training = true, .frozen = frozen};
    if (!st) st = tutti_graph_build(&w->net.model, &graph, &w->graph, &err);
    if (!st) st = tutti_plan_build(w->graph, &config, &w->plan, &err);
    if (st) fail_msg("%s", err.text);
}

static inline void make(world *w, const char *method, tutti_plan_config config)
{
    make_frozen(w, method, config, (tutti_frozen){{NULL, 0}, NULL});
}

static inline void destroy(world *w)
{
    tutti_plan_destroy(w->plan);
    tutti_graph_destroy(w->graph);
}

static inline tutti_loop *loop_of(const world *w, tutti_loop_driver driver)
{
    return &w->plan->loops[driver];
}

#endif

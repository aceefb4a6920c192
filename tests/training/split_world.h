/* SPDX-License-Identifier: Apache-2.0 */
/* split_world.h: a small net whose first two dense layers are split, its graph and its plan. */
#ifndef TUTTI_SPLIT_WORLD_H
#define TUTTI_SPLIT_WORLD_H

#include "planned.h"
#include "toy_net.h"

enum { SPLIT_BATCH = 48 };

typedef struct {
    toy_net net;
    tutti_graph *graph;
    tutti_plan *plan;
} split_world;

/* dense 12 -> 8, relu, dropout, dense 8 -> 24 with a relu, dense 24 -> 4, loss; split layers have as many times the
 * outputs. */
static inline void split_net(toy_net *t, int times)
{
    toy_begin(t, 12);
    toy_add(t, "fc1", &tutti_op_dense, 8 * times);
    toy_add(t, "relu", &tutti_op_relu, 0);
    toy_add(t, "drop", &tutti_op_dropout, 0);
    t->dense[toy_add(t, "fc2", &tutti_op_dense, 24 * times)].relu =
        true; /* as a ReLU that was merged into it: masks its gradient */
    toy_add(t, "fc3", &tutti_op_dense, 4);
    toy_add(t, "loss", &tutti_op_softmax_cross_entropy, 0);
}

/* parts: ranks of a group; 1: nobody shares anything. */
static inline tutti_status split_try_wide(split_world *w, int parts, int times, tutti_plan_config config,
                                          tutti_failure *err)
{
    static const char *const states[] = {"momentum"}, *const layers[] = {"fc2", "fc1"};
    const tutti_method_row *method = tutti_method_find("sync-sgd");
    int64_t samples = 0;
    config.method = parts > 1 ? method->split : method->emitter;
    config.batch = SPLIT_BATCH;
    config.bucket_bytes = 300;
    config.engine = "reference";
    config.nthreads = 1;
    config.states = states;
    config.nstates = 1;
    w->plan = NULL;
    w->graph = NULL;
    split_net(&w->net, times);
    tutti_status st = tutti_plan_samples_per_call(&config, &samples, err);
    const tutti_graph_config graph = {.batch = samples,
                                      .engine = "reference",
                                      .nthreads = 1,
                                      .training = true,
                                      .split = {.parts = parts, .layers = layers, .nlayers = 2}};
    if (!st) st = tutti_graph_build(&w->net.model, &graph, &w->graph, err);
    return st ? st : tutti_plan_build(w->graph, &config, &w->plan, err);
}

static inline tutti_status split_try(split_world *w, int parts, tutti_plan_config config, tutti_failure *err)
{
    return split_try_wide(w, parts, 1, config, err);
}

static inline void split_make(split_world *w, int parts, tutti_plan_config config)
{
    tutti_failure err = {0};
    if (split_try(w, parts, config, &err)) fail_msg("%s", err.text);
}

static inline void split_destroy(split_world *w)
{
    tutti_plan_destroy(w->plan);
    tutti_graph_destroy(w->graph);
}

#endif

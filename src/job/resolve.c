/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c: resolves a job: job -> model -> step graph -> plan. Every rank does this for itself and gets the same
 * result, except for its own share: no part of it is sent, only hashes are compared. */
#include "resolve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../device/device_row.h"
#include "job_fields.h"

enum { FIRST_SCALE = 65536 }; /* the first dynamic loss scale: too large for some nets, which costs them a few steps */

/* Returns the size of buckets in bytes, or the TUTTI_BUCKET_ constant of the rule that cuts them. */
static int64_t bucket_bytes(const tutti_job *job)
{
    switch ((tutti_bucket_rule)job->exchange.buckets) {
    case TUTTI_BUCKETS_LAYER: return TUTTI_BUCKET_LAYER;
    case TUTTI_BUCKETS_ONE: return TUTTI_BUCKET_ALL;
    case TUTTI_BUCKETS_SOONEST: return TUTTI_BUCKET_SOONEST;
    case TUTTI_BUCKETS_CUT: return TUTTI_BUCKET_CUT;
    case TUTTI_BUCKETS_AUTO:
    case TUTTI_BUCKETS_SIZE: break;
    }
    return job->plan.bucket_bytes;
}

tutti_loss_scale tutti_job_loss_scale(const tutti_job *job)
{
    const bool automatic = !strcmp(job->loss_scale, "auto");
    const bool f16 = job->graph.precision == TUTTI_PRECISION_F16 || job->plan.sent == TUTTI_F16;
    const bool dynamic = automatic ? f16 : !strcmp(job->loss_scale, "dynamic");
    tutti_loss_scale l = job->train.loss_scale;
    l.dynamic = dynamic;
    l.start = dynamic ? FIRST_SCALE : 1;
    if (automatic || dynamic) return l;
    char *end;
    l.start = strtod(job->loss_scale, &end);
    if (*end || !isfinite((float)l.start) || !((float)l.start > 0) || !isfinite(1 / (float)l.start))
        l.start = (double)NAN;
    return l;
}

/* Copies the values of the method's keys into target: the plan's configuration, or the centre. */
static void hear_method(const tutti_job *job, bool of_centre, void *target)
{
    const tutti_method_row *method = tutti_method_find(job->method.name);
    const tutti_method_key *k;
    for (int i = 0; i < TUTTI_JOB_MAX_METHOD_KEYS && (k = tutti_method_key_at(i)); i++)
        if (k->of_centre == of_centre && tutti_method_takes(method, k))
            tutti_options_give(&k->field, &job->method.value[i], target);
}

tutti_centre tutti_job_centre(const tutti_job *job, int nranks)
{
    tutti_centre c = {0};
    hear_method(job, true, &c);
    tutti_centre_settle(&c, nranks ? nranks : (int)job->ranks, tutti_rate_largest(&job->train.rate));
    return c;
}

static tutti_norms norms_of(const tutti_job *job)
{
    if (tutti_job_rule(job)->trust) return TUTTI_NORMS_OF_TENSORS;
    return job->train.update.clip_norm > 0 ? TUTTI_NORM_OF_ALL : TUTTI_NO_NORMS;
}

tutti_plan_config tutti_job_plan_config(const tutti_job *job, const tutti_job_seat *seat)
{
    const tutti_rule_row *rule = tutti_job_rule(job);
    tutti_plan_config c = job->plan;
    c.rank = seat->rank;
    c.nranks = seat->nranks ? seat->nranks : (int)job->ranks;
    c.host_of = seat->host_of;
    c.prove_later = seat->prove_later;
    c.method = tutti_method_find(job->method.name)->emitter;
    c.replicated = job->exchange.update == TUTTI_UPDATE_REPLICATED;
    c.early = c.nranks > 1 && job->exchange.update_when == TUTTI_UPDATE_EARLY;
    c.by_need = job->exchange.order == TUTTI_TURN_PRIORITY || c.early;
    c.bucket_bytes = bucket_bytes(job);
    c.only_finite = tutti_job_loss_scale(job).dynamic || c.sent == TUTTI_F16;
    c.norms = norms_of(job);
    c.nstates = rule->nstates;
    c.states = rule->states;
    c.nthreads = (int)job->threads;
    c.period = 1; /* for methods that have no period */
    hear_method(job, false, &c);
    return c;
}

/* Returns the number of this rank's card: ranks of a host take its cards in order. */
static int card_of(const tutti_job_seat *seat)
{
    int card = 0;
    for (int r = 0; r < seat->rank; r++) card += !seat->host_of || seat->host_of[r] == seat->host_of[seat->rank];
    return card;
}

static tutti_status connect_device(const tutti_job *job, const tutti_job_seat *seat, tutti_resolved *r,
                                   tutti_failure *err)
{
    static const char *const names[] = {"auto", "cpu", "cuda"};
    const char *name = seat->on_device ? names[job->device] : "cpu";
    return tutti_device_connect(name, card_of(seat), &r->device, &r->why_cpu, err);
}

/* Sets one bucket for a single rank on a card: it exchanges nothing, and one launch then updates many parameters. */
static void take_one_bucket(const tutti_resolved *r, tutti_plan_config *config)
{
    const bool is_rule = config->bucket_bytes == TUTTI_BUCKET_LAYER || config->bucket_bytes == TUTTI_BUCKET_SOONEST;
    if (config->nranks == 1 && !r->device->shares_host && !is_rule) config->bucket_bytes = TUTTI_BUCKET_ALL;
}

tutti_status tutti_job_resolve(const tutti_job *job, const tutti_job_seat *seat, tutti_resolved *out,
                               tutti_failure *err)
{
    tutti_plan_config config = tutti_job_plan_config(job, seat);
    tutti_resolved r = {0};
    int64_t samples;
    tutti_status st = tutti_plan_samples_per_call(&config, &samples, err);
    if (!st) st = connect_device(job, seat, &r, err);
    if (!st) take_one_bucket(&r, &config);
    if (!st) st = tutti_job_open_times(job, seat->times, &r.times, err);
    if (!st) st = tutti_model_load(job->model, job->folder, &r.model, err);
    tutti_graph_config graph = job->graph;
    graph.batch = samples;
    graph.engine = config.engine;
    graph.nthreads = config.nthreads;
    graph.device = r.device;
    graph.training = true;
    graph.canonical = config.slots > 0;
    graph.tuned = tutti_job_times_tuned(r.times);
    if (!st && job->fuse) r.fused = tutti_model_fuse(r.model);
    const tutti_model *model = r.fused ? r.fused : r.model;
    if (!st) st = tutti_job_split(job, r.model, model, config.nranks, &graph, &graph.split, err);
    if (!st) st = tutti_graph_build(model, &graph, &r.graph, err);
    if (!st && r.graph->nsplit) config.method = tutti_method_find(job->method.name)->split;
    if (!st) st = tutti_job_match_groups(job, r.graph, err);
    if (!st) st = tutti_plan_build(r.graph, &config, &r.plan, err);
    if (st)
        tutti_resolved_release(&r);
    else
        *out = r;
    return st;
}

tutti_status tutti_resolved_plan(tutti_resolved *r, const tutti_plan_config *config, tutti_failure *err)
{
    tutti_plan *plan = NULL;
    const tutti_status st = tutti_plan_build(r->graph, config, &plan, err);
    if (st) return st;
    tutti_plan_destroy(r->plan);
    r->plan = plan;
    return TUTTI_OK;
}

/* True if the graph shares these layers now. */
static bool shares(const tutti_graph *g, const tutti_split_layers *split)
{
    const tutti_split_layers *now = &g->config.split;
    bool equal = now->nlayers == split->nlayers && (!split->nlayers || now->parts == split->parts);
    for (int i = 0; i < split->nlayers && equal; i++) equal = !strcmp(now->layers[i], split->layers[i]);
    return equal;
}

tutti_status tutti_resolved_share(tutti_resolved *r, const tutti_job *job, tutti_failure *err)
{
    const tutti_model *model = r->fused ? r->fused : r->model;
    tutti_graph_config config = r->graph->config;
    tutti_split_layers split;
    config.split = (tutti_split_layers){0};
    const tutti_status st = tutti_job_split(job, r->model, model, r->plan->config.nranks, &config, &split, err);
    if (st || shares(r->graph, &split)) return st;
    config.split = split;
    return tutti_graph_build(model, &config, &r->graph, err);
}

tutti_status tutti_resolved_replan(tutti_resolved *r, const tutti_plan_costs *costs, tutti_failure *err)
{
    tutti_plan_config config = r->plan->config;
    config.costs = costs;
    return tutti_resolved_plan(r, &config, err);
}

void tutti_resolved_release(tutti_resolved *r)
{
    tutti_plan_destroy(r->plan);
    tutti_graph_destroy(r->graph);
    tutti_model_destroy(r->fused);
    tutti_model_destroy(r->model);
    tutti_job_times_close(r->times);
    tutti_device_disconnect(r->device);
    free(r->why_cpu);
    *r = (tutti_resolved){0};
}

const char *tutti_resolved_device(const tutti_resolved *r)
{
    return r->device->about ? r->device->about : r->device->name;
}

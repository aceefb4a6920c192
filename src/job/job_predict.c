/* SPDX-License-Identifier: Apache-2.0 */
/* job_predict.c: predicts a job. For each rank count it makes the job's own plan, takes a profile of one rank's share,
 * and plays a timeline. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "../predict/play/timeline.h"
#include "../predict/profile/processor_model.h"
#include "../predict/profile/profile.h"
#include "job_choice.h"
#include "job_costs.h"
#include "job_fields.h"
#include "resolve.h"
#include "step_view.h"
#include "tutti/predict.h"

enum { MAX_PROFILE_BYTES = 1 << 24 };

typedef struct {
    const tutti_job *job;
    const tutti_topology *topology;
    const tutti_predict_options *options;
    char *known;                  /* text of the file options->read_profile, or NULL */
    tutti_layer_trace trace;      /* contents of options->read_trace */
    tutti_processor_model device; /* contents of options->device */
    tutti_strbuf saved;           /* lines for options->save_profile: the measurements */
} session;

/* Returns how many ranks of one host compute at the same time: on the topology `host` all ranks, but at most as many as
 * it has cores; on another topology one. */
static int busy_of(const session *s, int nranks)
{
    double most = s->topology->kind == TUTTI_TOPOLOGY_HOST ? s->topology->figure[TUTTI_FIGURE_CORES] : 1;
    int busy = nranks < most ? nranks : (int)most;
    return busy < TUTTI_MAX_BUSY ? busy : TUTTI_MAX_BUSY;
}

/* Gets the kernel times of a graph. To measure them, every busy thread needs a graph of its own. */
static tutti_status profile_take(session *s, tutti_graph *graph, int busy, tutti_profile *out, tutti_failure *err)
{
    if (s->options->device) return tutti_profile_of_processor_model(&s->device, graph, out, err);
    if (s->options->read_trace) return tutti_profile_of_trace(s->options->read_trace, &s->trace, graph, out, err);
    if (s->known) return tutti_profile_find(s->options->read_profile, s->known, graph, busy, out, err);
    if (s->saved.text && !tutti_profile_find("measured", s->saved.text, graph, busy, out, NULL)) return TUTTI_OK;
    tutti_graph *graphs[TUTTI_MAX_BUSY] = {graph};
    tutti_status st = TUTTI_OK;
    int made = 1;
    for (; made < busy && !st; made += !st) st = tutti_graph_build(graph->model, &graph->config, &graphs[made], err);
    if (!st) st = tutti_profile_measure(graphs, busy, out, err);
    for (int i = 1; i < made; i++) tutti_graph_destroy(graphs[i]);
    if (!st) tutti_profile_print(out, &s->saved);
    return st;
}

static tutti_status add_costs(const session *s, const tutti_profile *profile, tutti_resolved *r, tutti_failure *err)
{
    tutti_plan_costs costs = {0};
    tutti_status st = tutti_predict_costs(r->plan, profile, s->topology, &costs, err);
    if (!st) st = tutti_resolved_replan(r, &costs, err);
    tutti_plan_costs_release(&costs);
    return st;
}

tutti_status tutti_job_add_costs(const tutti_job *job, const tutti_topology *t, tutti_resolved *r, tutti_failure *err)
{
    const tutti_predict_options options = {0};
    session s = {.job = job, .topology = t, .options = &options};
    tutti_profile profile = {0};
    tutti_status st = profile_take(&s, r->graph, busy_of(&s, r->plan->config.nranks), &profile, err);
    if (!st) st = add_costs(&s, &profile, r, err);
    tutti_profile_release(&profile);
    tutti_strbuf_release(&s.saved);
    return st;
}

typedef struct {
    int32_t *host_of; /* the host of each rank in the topology */
    tutti_resolved parts;
    tutti_profile profile;
    double spread; /* spread of the steps: see tutti_prediction */
    tutti_job_choice choice;
} rank_view;

static void view_release(rank_view *v)
{
    free(v->choice.text);
    tutti_profile_release(&v->profile);
    tutti_resolved_release(&v->parts);
    free(v->host_of);
}

/* Returns the job for a rank count. A single rank, with which all rank counts are compared, exchanges nothing and needs
 * no algorithm. */
static tutti_job job_of(const session *s, int nranks)
{
    tutti_job job = *s->job;
    if (s->options->weak || s->options->read_trace) job.plan.batch *= nranks;
    if (s->options->device) job.plan.engine = s->device.kernels;
    if (nranks == 1) job.plan.algorithm = "auto";
    return job;
}

/* Makes the plan that `tutti train` makes on the topology: the hosts of the ranks decide the algorithm and how workers
 * visit. */
static tutti_status view_plan(const session *s, const tutti_job *job, int nranks, rank_view *v, tutti_failure *err)
{
    tutti_status st = tutti_topology_fits(s->topology, nranks, err);
    if (st) return st;
    v->host_of = tutti_alloc(sizeof *v->host_of * (size_t)nranks);
    tutti_topology_machines(s->topology, nranks, v->host_of);
    const tutti_job_seat seat = {
        .nranks = nranks, .host_of = v->host_of, .prove_later = true /* the plan is not run */
    };
    const tutti_plan_config config = tutti_job_plan_config(job, &seat);
    /* the job itself was checked for its own rank count only */
    st = tutti_method_find(job->method.name)->accept(&config, err);
    return st ? st : tutti_job_resolve(job, &seat, &v->parts, err);
}

/* If ranks wait for each other, stretches kernel times to those of the slowest rank. */
static void await_slowest(const session *s, const double *slowness, rank_view *v, tutti_profile *profile)
{
    const int nranks = v->parts.plan->config.nranks;
    const bool host = s->topology->kind == TUTTI_TOPOLOGY_HOST;
    tutti_waiting_ranks ranks = {.nranks = nranks,
                                 .nlanes = host ? (int)s->topology->figure[TUTTI_FIGURE_CORES] : nranks,
                                 .period = v->parts.plan->config.period,
                                 .slowness = slowness};
    const bool waits = !tutti_plan_is_async(v->parts.plan);
    if (waits) tutti_profile_stretch(profile, tutti_slowest_rank(&s->trace.spread, &ranks));
    ranks.slowness = NULL;
    if (s->trace.spread.n) v->spread = waits ? tutti_slowest_rank(&s->trace.spread, &ranks) : 1;
}

/* Stretches a rank's profile to the slowest rank, and by the options `share` and `speed`. */
static void adjust_profile(const session *s, const double *slowness, rank_view *v, tutti_profile *profile)
{
    await_slowest(s, slowness, v, profile);
    if (s->options->share > 0) tutti_profile_resize(profile, s->options->share);
    if (s->options->speed > 0) tutti_profile_stretch(profile, 1 / s->options->speed);
}

/* Argument of time_shared: the rank whose graphs it times. */
typedef struct {
    const session *s;
    const double *slowness;
    rank_view *view;
} timed_rank;

/* Gives the times of a graph whose layers are shared. A processor model has figures for any graph. Times that were
 * measured, or come from a trace, are of whole layers. They hold for shared layers, too: a rank computes a part of the
 * outputs, but for the samples of all ranks that share the layer, which is as many multiplications. */
static tutti_status time_shared(const void *arg, const tutti_graph *graph, tutti_profile *out, tutti_failure *err)
{
    const timed_rank *t = arg;
    if (!t->s->options->device) {
        tutti_profile_copy(&t->view->profile, out);
        out->parts = tutti_graph_parts(graph);
        return TUTTI_OK;
    }
    const tutti_status st = tutti_profile_of_processor_model(&t->s->device, graph, out, err);
    if (!st) adjust_profile(t->s, t->slowness, t->view, out);
    return st;
}

/* Chooses the keys that are auto, and takes the times of the chosen graph. */
static tutti_status choose(session *s, const tutti_job *job, const double *slowness, rank_view *v, tutti_failure *err)
{
    const timed_rank own = {s, slowness, v};
    const tutti_job_choice_by by = {.topology = s->topology,
                                    .profile = &v->profile,
                                    .profile_of = time_shared,
                                    .profile_arg = &own,
                                    .most_fan_in = s->options->most_fan_in,
                                    .memory = s->options->memory};
    const tutti_graph *before = v->parts.graph;
    tutti_profile shared;
    tutti_status st = tutti_job_choose(job, &by, &v->parts, &v->choice, err);
    if (st || v->parts.graph == before) return st;
    st = time_shared(&own, v->parts.graph, &shared, err);
    if (st) return st;
    tutti_profile_release(&v->profile);
    v->profile = shared;
    return TUTTI_OK;
}

/* Computes what rank 0 of nranks would do, and how long its kernels take: if ranks wait for each other, as long as the
 * slowest rank's. The caller releases *v in any case. */
static tutti_status view_make(session *s, int nranks, const double *slowness, rank_view *v, tutti_failure *err)
{
    const tutti_job job = job_of(s, nranks);
    *v = (rank_view){0};
    if (s->options->read_trace && job.reduction != TUTTI_REDUCTION_FAST)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "a layer trace has times of whole steps, and canonical sums need times of slots; use --profile");
    tutti_status st = view_plan(s, &job, nranks, v, err);
    if (!st) st = profile_take(s, v->parts.graph, busy_of(s, nranks), &v->profile, err);
    if (!st) adjust_profile(s, slowness, v, &v->profile);
    if (!st) st = choose(s, &job, slowness, v, err);
    if (!st && job.exchange.buckets == TUTTI_BUCKETS_SOONEST) st = add_costs(s, &v->profile, &v->parts, err);
    return st;
}

static tutti_status predict_one(session *s, int nranks, const double *slowness, tutti_prediction *out,
                                tutti_failure *err)
{
    rank_view v;
    tutti_status st = view_make(s, nranks, slowness, &v, err);
    if (!st) st = tutti_timeline_predict(v.parts.plan, &v.profile, s->topology, slowness, out, err);
    if (!st && s->options->most_fan_in && out->fan_in > s->options->most_fan_in)
        st = tutti_fail(err, TUTTI_ERR_USAGE,
                        "with %s, %d ranks send to one rank of another host at a time, and at most %d may; take "
                        "'exchange.algorithm: ring', or another of "
                        "'tutti coll explain --max-fan-in'",
                        out->algorithm, out->fan_in, s->options->most_fan_in);
    if (!st) out->memory = tutti_rank_memory_of(v.parts.plan);
    if (!st) out->spread = v.spread;
    if (!st) snprintf(out->choice, sizeof out->choice, "%s", v.choice.words);
    out->choice_s = v.choice.seconds;
    if (!st && s->options->read_trace) {
        out->assumes_updates = isnan(s->trace.update_s_per_element);
        out->assumes_loading = isnan(s->trace.load_s_per_sample);
    }
    view_release(&v);
    return st;
}

/* True if this rank count is refused only because of the algorithm or the groups of ranks. */
static bool would_do_without(const session *s, int nranks)
{
    rank_view v = {0};
    tutti_job job = job_of(s, nranks);
    job.plan.algorithm = "auto";
    job.parallel.groups = NULL;
    const tutti_status st = view_plan(s, &job, nranks, &v, NULL);
    view_release(&v);
    return !st;
}

/* Predicts one rank count. If it is refused while other counts are not, its line of the result says why. */
static tutti_status predict_count(session *s, int nranks, tutti_prediction *out, tutti_failure *err)
{
    tutti_failure why = {0};
    const tutti_status st = predict_one(s, nranks, s->options->slowness, out, &why);
    if (!st) return TUTTI_OK;
    *out = (tutti_prediction){.nranks = nranks};
    if (st != TUTTI_ERR_USAGE || !would_do_without(s, nranks)) return tutti_fail(err, st, "%s", why.text);
    snprintf(out->refused, sizeof out->refused, "%.255s", why.text);
    return TUTTI_OK;
}

/* Speed-up is relative to one rank that nothing slows down, which is predicted even if the caller did not ask for
 * it. */
static tutti_status predict_all(session *s, const int *ranks, int n, tutti_prediction *out, tutti_failure *err)
{
    const double *slowness = s->options->slowness;
    tutti_prediction alone = {0};
    tutti_status st = TUTTI_OK;
    int nserved = 0;
    for (int i = 0; i < n && !st; i++) {
        if (s->options->at) s->options->at(s->options->at_arg, ranks[i], i, n);
        st = predict_count(s, ranks[i], &out[i], err);
        nserved += !out[i].refused[0];
        if (!st && ranks[i] == 1 && (!slowness || slowness[0] == 1)) alone = out[i];
    }
    if (!st && !nserved) return tutti_fail(err, TUTTI_ERR_USAGE, "%d ranks: %s", out[0].nranks, out[0].refused);
    if (!st && !alone.nranks) st = predict_one(s, 1, NULL, &alone, err);
    for (int i = 0; i < n && !st; i++) {
        if (out[i].refused[0]) continue;
        out[i].speedup = out[i].samples_per_s / alone.samples_per_s;
        out[i].efficiency = out[i].speedup / ranks[i];
    }
    return st;
}

/* Opens the processor model. The topology `host` is refused for the model of another machine's processor, which does
 * not have this machine's memory. */
static tutti_status device_open(session *s, tutti_failure *err)
{
    tutti_status st = tutti_processor_model_open(s->options->device, &s->device, err);
    if (!st && s->topology->kind == TUTTI_TOPOLOGY_HOST && !s->device.shares_host) {
        tutti_processor_model_release(&s->device);
        st = tutti_fail(err, TUTTI_ERR_USAGE,
                        "device %s: --topology is missing, what joins the ranks: 'host' is the memory of this machine; "
                        "@k80-10gbe and such are machines (tutti topo make --help)",
                        s->options->device);
    }
    return st;
}

static tutti_status session_open(session *s, tutti_failure *err)
{
    const tutti_predict_options *o = s->options;
    size_t nbytes;
    if (!!o->read_profile + !!o->read_trace + !!o->device > 1)
        return tutti_fail(err, TUTTI_ERR_USAGE, "give one of a profile, a trace and a device, not several");
    if (o->measured && *o->measured) tutti_strbuf_puts(&s->saved, *o->measured);
    if (o->device) return device_open(s, err);
    if (o->read_profile)
        return tutti_file_read(o->read_profile, MAX_PROFILE_BYTES, TUTTI_ERR_USAGE, &s->known, &nbytes, err);
    if (!o->read_trace) return TUTTI_OK;
    return tutti_layer_trace_read(o->read_trace, &s->trace, err);
}

static void session_close(session *s)
{
    if (s->options->measured) {
        free(*s->options->measured);
        *s->options->measured = tutti_strbuf_detach(&s->saved);
    }
    tutti_layer_trace_release(&s->trace);
    if (s->options->device) tutti_processor_model_release(&s->device);
    free(s->known);
    tutti_strbuf_release(&s->saved);
}

tutti_status tutti_predict_job(const tutti_job *job, const tutti_topology *t, const tutti_predict_options *options,
                               const int *ranks, int n, tutti_prediction *out, tutti_failure *err)
{
    session s = {.job = job, .topology = t, .options = options};
    tutti_status st = session_open(&s, err);
    if (!st) st = predict_all(&s, ranks, n, out, err);
    if (!st && options->save_profile)
        st = tutti_file_write_atomic(options->save_profile, s.saved.text ? s.saved.text : "", s.saved.length, err);
    session_close(&s);
    return st;
}

tutti_status tutti_predict_layers(const tutti_job *job, const tutti_topology *t, const tutti_predict_options *options,
                                  int nranks, tutti_layer_prediction **rows, int *nrows, tutti_failure *err)
{
    session s = {.job = job, .topology = t, .options = options};
    rank_view v = {0};
    *rows = NULL;
    *nrows = 0;
    tutti_status st = session_open(&s, err);
    if (!st) st = view_make(&s, nranks, options->slowness, &v, err);
    if (!st) {
        *rows = tutti_alloc(sizeof **rows * (size_t)(v.parts.model->nlayers + 1));
        st = tutti_layer_table(v.parts.plan, &v.profile, t, *rows, nrows, err);
    }
    view_release(&v);
    session_close(&s);
    return st;
}

tutti_status tutti_job_look(const tutti_job *job, const tutti_topology *t, const tutti_predict_options *options,
                            int nranks, tutti_job_look_at *look, void *arg, tutti_failure *err)
{
    session s = {.job = job, .topology = t, .options = options};
    rank_view v = {0};
    tutti_status st = session_open(&s, err);
    if (!st) st = view_make(&s, nranks, options->slowness, &v, err);
    if (!st) st = look(v.parts.plan, &v.profile, t, options->slowness, arg, err);
    view_release(&v);
    session_close(&s);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* framework_steps.c: predicts steps of other frameworks and explains the gap between two. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../job/job_fields.h"
#include "../../job/resolve.h"
#include "../framework.h"
#include "planning_parts.h"

/* Returns the bytes of the samples of one rank and step, in f32. */
static tutti_status input_bytes(const tutti_predict_question *q, int nranks, double *out, tutti_failure *err)
{
    tutti_job job = *q->job;
    tutti_resolved r = {0};
    job.plan.engine = "reference";
    if (!q->options.weak) job.plan.batch = job.plan.batch / nranks > 0 ? job.plan.batch / nranks : 1;
    const tutti_status st = tutti_job_resolve(&job, &(tutti_job_seat){.nranks = 1}, &r, err);
    if (!st) *out = (double)job.plan.batch * (double)tutti_shape_count(&r.model->input) * sizeof(float);
    tutti_resolved_release(&r);
    return st;
}

/* Predicts the job with the framework's exchanges, on the topology slowed down to its transport. */
static tutti_status predict_as(const tutti_predict_question *q, const tutti_framework *f, const int *ranks, int n,
                               tutti_prediction *out, tutti_failure *err)
{
    tutti_framework_sets own;
    const char *sets[TUTTI_PREDICT_MAX_SETS + TUTTI_FRAMEWORK_MAX_SETS];
    tutti_topology t = q->topology;
    tutti_job *job = NULL;
    int nsets = q->nsets;
    memcpy(sets, q->sets, (size_t)nsets * sizeof *sets);
    const int nown = tutti_framework_overrides(f, own);
    for (int i = 0; i < nown; i++) sets[nsets++] = own[i];
    tutti_framework_slow_down(f, &t);
    tutti_status st = tutti_job_load_for_any(q->job_path, sets, nsets, &job, err);
    if (!st) st = tutti_predict_job(job, &t, &q->options, ranks, n, out, err);
    for (int i = 0; i < n && !st; i++) {
        double bytes = 0;
        if (out[i].refused[0]) continue;
        st = input_bytes(q, ranks[i], &bytes, err);
        if (!st) tutti_framework_apply(f, bytes, &out[i]);
    }
    tutti_job_destroy(job);
    return st;
}

tutti_status tutti_predict_framework(const char *name, tutti_predict_question *q, tutti_failure *err)
{
    tutti_framework f;
    const int one = 1;
    tutti_prediction alone = {0};
    tutti_status st = tutti_framework_open(name, &f, err);
    if (st) return st;
    tutti_framework_guard(&f, &q->topology, q->guard);
    st = predict_as(q, &f, q->ranks, q->nranks, q->predicted, err);
    if (!st) st = predict_as(q, &f, &one, 1, &alone, err);
    for (int i = 0; i < q->nranks && !st; i++) {
        if (q->predicted[i].refused[0]) continue;
        q->predicted[i].speedup = q->predicted[i].samples_per_s / alone.samples_per_s;
        q->predicted[i].efficiency = q->predicted[i].speedup / q->ranks[i];
    }
    tutti_framework_release(&f);
    return st;
}

/* ---- another framework that is faster ---- */

/* Adds the keys of exchanges that the job fixes: ", exchange.update: sharded". */
static void add_fixed(const tutti_predict_question *q, tutti_strbuf *out)
{
    static const char *const keys[] = {"exchange.algorithm", "exchange.buckets",     "exchange.order",
                                       "exchange.update",    "exchange.update_when", "exchange.precision",
                                       "reduction"};
    const tutti_job *job = q->job;
    const bool fixed[] = {strcmp(job->plan.algorithm, "auto") != 0,
                          job->exchange.buckets != TUTTI_BUCKETS_AUTO,
                          job->exchange.order != TUTTI_TURN_AUTO,
                          job->exchange.update != TUTTI_UPDATE_AUTO,
                          job->exchange.update_when != TUTTI_UPDATE_ANYTIME,
                          job->plan.sent != TUTTI_F32,
                          job->reduction != TUTTI_REDUCTION_FAST};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (fixed[i]) tutti_strbuf_printf(out, "%s%s", out->length ? ", " : "", keys[i]);
    if (q->options.most_fan_in) tutti_strbuf_printf(out, "%s--max-fan-in", out->length ? ", " : "");
}

tutti_status tutti_predict_faster(tutti_predict_question *q, tutti_failure *err)
{
    const tutti_prediction *own = tutti_predict_last(q);
    const int nranks = own->nranks;
    tutti_framework f;
    tutti_prediction ddp;
    tutti_strbuf fixed = {0};
    if (q->topology.kind == TUTTI_TOPOLOGY_HOST || nranks == 1 || own->refused[0] || own->visits > 0 ||
        strcmp(q->job->method.name, "sync-sgd") != 0)
        return TUTTI_OK;
    tutti_status st = tutti_framework_open("pytorch-ddp", &f, err);
    if (st) return st;
    st = predict_as(q, &f, &nranks, 1, &ddp, NULL); /* if DDP cannot run the job, it is not called faster */
    if (!st && ddp.step_s < own->step_s * (1 - 1e-3)) {
        add_fixed(q, &fixed);
        snprintf(q->faster, sizeof q->faster,
                 "PyTorch DDP's model takes %.3f ms: %s, buckets of %.0f MiB, every rank updates all; here %s%s.",
                 ddp.step_s * 1e3, ddp.algorithm, f.bucket_bytes / 1048576,
                 fixed.length ? "the job fixes " : "what it would do is not among what was compared",
                 fixed.length ? fixed.text : "");
    }
    tutti_strbuf_release(&fixed);
    tutti_framework_release(&f);
    return TUTTI_OK;
}

/* ---- the gap ---- */

static void print_gap(const tutti_framework *a, const tutti_framework *b, int nranks, const double *step_s,
                      tutti_strbuf *out)
{
    int64_t part[TUTTI_NFACTORS];
    const int64_t gap = tutti_framework_gap(step_s, part);
    tutti_strbuf_printf(out, "%5d ranks  %12.6f ms  %s\n", nranks, step_s[0] * 1e3, a->file.name);
    for (int i = 0; i < TUTTI_NFACTORS; i++)
        tutti_strbuf_printf(out, "%12s %+13.6f ms  %s: %s\n", "", (double)part[i] / 1e6,
                            tutti_factor_name((tutti_factor)i), tutti_factor_meaning((tutti_factor)i));
    tutti_strbuf_printf(out, "%12s %13.6f ms  %s, %+.6f ms\n", "", step_s[TUTTI_NFACTORS] * 1e3, b->file.name,
                        (double)gap / 1e6);
}

static void print_gap_json(const tutti_framework *a, const tutti_framework *b, int nranks, const double *step_s,
                           tutti_strbuf *out)
{
    int64_t part[TUTTI_NFACTORS];
    tutti_json j = {.out = out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "from", a->file.name);
    tutti_json_text(&j, "to", b->file.name);
    tutti_json_int(&j, "ranks", nranks);
    tutti_json_real(&j, "from_step_s", step_s[0]);
    tutti_json_real(&j, "to_step_s", step_s[TUTTI_NFACTORS]);
    tutti_json_int(&j, "gap_ns", tutti_framework_gap(step_s, part));
    tutti_json_open(&j, "parts_ns", '{');
    for (int i = 0; i < TUTTI_NFACTORS; i++) tutti_json_int(&j, tutti_factor_name((tutti_factor)i), part[i]);
    tutti_json_close(&j, '}');
    tutti_json_close(&j, '}');
    tutti_strbuf_puts(out, "\n");
}

/* Predicts a step for each way from framework a to framework b, at each rank count: first the step of a, then each time
 * with one more factor of b in place of a's. */
static tutti_status steps_between(const tutti_predict_question *q, const tutti_framework *a, const tutti_framework *b,
                                  double step_s[TUTTI_PREDICT_MAX_RANKS][TUTTI_NFACTORS + 1], tutti_failure *err)
{
    tutti_framework f = *a;
    tutti_status st = TUTTI_OK;
    for (int turned = 0; turned <= TUTTI_NFACTORS && !st; turned++) {
        tutti_prediction p[TUTTI_PREDICT_MAX_RANKS];
        if (turned) tutti_framework_turn(&f, b, (tutti_factor)(turned - 1));
        st = predict_as(q, &f, q->ranks, q->nranks, p, err);
        for (int i = 0; i < q->nranks && !st; i++) {
            step_s[i][turned] = p[i].step_s;
            if (p[i].refused[0]) st = tutti_fail(err, TUTTI_ERR_USAGE, "%d ranks: %s", q->ranks[i], p[i].refused);
        }
    }
    return st;
}

tutti_status tutti_predict_gap(const char *names, const tutti_predict_question *q, tutti_strbuf *text,
                               tutti_strbuf *json, tutti_failure *err)
{
    double step_s[TUTTI_PREDICT_MAX_RANKS][TUTTI_NFACTORS + 1];
    tutti_framework a, b;
    char first[200];
    const char *comma = strchr(names, ',');
    if (!comma || comma == names || comma - names >= (long)sizeof first || !comma[1])
        return tutti_fail(err, TUTTI_ERR_USAGE, "--explain-gap %s: wanted two frameworks, such as tensorflow,caffe-mpi",
                          names);
    snprintf(first, sizeof first, "%.*s", (int)(comma - names), names);
    tutti_status st = tutti_framework_open(first, &a, err);
    if (st) return st;
    st = tutti_framework_open(comma + 1, &b, err);
    if (!st) {
        st = steps_between(q, &a, &b, step_s, err);
        for (int i = 0; i < q->nranks && !st; i++) {
            print_gap(&a, &b, q->ranks[i], step_s[i], text);
            print_gap_json(&a, &b, q->ranks[i], step_s[i], json);
        }
        tutti_framework_release(&b);
    }
    tutti_framework_release(&a);
    return st;
}

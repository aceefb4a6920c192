/* SPDX-License-Identifier: Apache-2.0 */
/* predict_answers.c: what planners ask for, read from flags; epochs of the job's own set; what of it goes into --json. */
#include "predict_answers.h"
#include "predict_advise.h"
#include "predict_wait.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../job/job_fields.h"
#include "../../predict/profile/device.h"

static const double QUIET_S = 5; /* without a word */

/* ---- reading ---- */

/* What an epoch of the job has; sets that are read are opened to be counted. */
static tutti_status count_samples(const tutti_job *job, int64_t *out, tutti_failure *err)
{
    const tutti_dataset_config config = tutti_job_data_config(job);
    tutti_dataset *data = NULL;
    tutti_failure why = {0};
    *out = job->data.train_samples;
    if (*out > 0) return TUTTI_OK;
    if (tutti_dataset_open(&config, TUTTI_SPLIT_TRAIN, &data, &why))
        return tutti_fail(err, why.status, "%s; --samples N says how many samples an epoch has", why.text);
    *out = tutti_dataset_count(data);
    tutti_dataset_destroy(data);
    return TUTTI_OK;
}

/* Takes the prices of --price, else those of the named machine's file. */
static tutti_status read_prices(const tutti_flags *f, const tutti_topology *t, tutti_predict_answers *a,
                                tutti_failure *err)
{
    const char *price = tutti_cli_value(f, "price", NULL);
    if (price) return tutti_predict_read_price("--price", price, &a->plan.price, err);
    a->prices_of = tutti_topology_machine_prices(t, &a->prices) ? t->machine : NULL;
    if (!a->prices_of) return TUTTI_OK;
    a->plan.price = a->prices.node / a->prices.hours;
    a->plan.once = a->prices.once / a->prices.hours;
    return TUTTI_OK;
}

/* epochs: of the job; 0: it has none. */
static tutti_status read_epochs(const tutti_flags *f, double of_job, const char *without, tutti_predict_answers *a,
                                tutti_failure *err)
{
    const char *epochs = tutti_cli_value(f, "epochs", NULL), *deadline = tutti_cli_value(f, "deadline", NULL);
    tutti_status st = TUTTI_OK;
    a->plan.epochs = of_job;
    if (epochs) st = tutti_predict_read_real("--epochs", epochs, 0, 1e6, &a->plan.epochs, err);
    if (!st && !(a->plan.epochs > 0))
        st = epochs ? tutti_fail(err, TUTTI_ERR_USAGE, "--epochs: %s is no training", epochs)
                    : tutti_fail(err, TUTTI_ERR_USAGE, "--%s is of a whole training, and %s: --epochs N is missing",
                                 deadline ? "deadline" : "price", without);
    if (!st && deadline) st = tutti_predict_read_time("--deadline", deadline, &a->plan.deadline_s, err);
    return st;
}

static bool wants_plan(const tutti_flags *f)
{
    return tutti_cli_has(f, "epochs") || tutti_cli_has(f, "deadline") || tutti_cli_has(f, "price");
}

bool tutti_predict_plans_weakly(const tutti_flags *f)
{
    return wants_plan(f) && !tutti_cli_has(f, "strong");
}

tutti_status tutti_predict_answers_refuse(const tutti_flags *f, const char *what, tutti_failure *err)
{
    static const char *const flags[] = {"html",  "epochs", "strong",         "samples", "deadline",
                                        "price", "memory", "ranks-per-node", "advise",  "what-if"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (tutti_cli_has(f, flags[i])) return tutti_fail(err, TUTTI_ERR_USAGE, "--%s is not for %s", flags[i], what);
    return TUTTI_OK;
}

tutti_status tutti_predict_plan_read(const tutti_flags *f, const tutti_topology *topology, double epochs,
                                     const char *without, tutti_predict_answers *a, tutti_failure *err)
{
    static const char *const others[] = {"samples", "ranks-per-node", "strong"};
    long samples = 0, per_node = 0;
    a->plans = wants_plan(f);
    for (int i = 0; i < 3 && !a->plans; i++)
        if (tutti_cli_has(f, others[i]))
            return tutti_fail(err, TUTTI_ERR_USAGE, "--%s has no effect without --epochs", others[i]);
    if (!a->plans) return TUTTI_OK;
    tutti_status st = read_epochs(f, epochs, without, a, err);
    if (!st) st = read_prices(f, topology, a, err);
    if (!st) st = tutti_cli_int(f, "samples", 1, 1L << 50, 0, &samples, err);
    if (!st) st = tutti_cli_int(f, "ranks-per-node", 1, 65536, 0, &per_node, err);
    a->samples_given = samples > 0;
    a->plan.samples = samples;
    a->ranks_per_node = (int)per_node;
    return st;
}

/* Memory that the device says it has; 0: it does not. */
static tutti_status read_device(const char *name, long long *bytes, tutti_failure *err)
{
    tutti_device device;
    const tutti_status st = tutti_device_open(name, &device, err);
    if (st) return st;
    *bytes = (long long)device.memory_bytes;
    tutti_device_release(&device);
    return TUTTI_OK;
}

tutti_status tutti_predict_answers_read(const tutti_flags *f, const tutti_predict_question *q,
                                        tutti_predict_answers *out, tutti_failure *err)
{
    long long bytes = 0;
    const char *memory = tutti_cli_value(f, "memory", NULL);
    *out = (tutti_predict_answers){.svg = tutti_cli_value(f, "svg", NULL),
                                   .html = tutti_cli_value(f, "html", NULL),
                                   .advises = tutti_cli_has(f, "advise")};
    tutti_status st = tutti_predict_plan_read(f, &q->topology, q->job->epochs, "the job counts steps", out, err);
    if (!st && out->plans && !out->samples_given) st = count_samples(q->job, &out->plan.samples, err);
    if (!st) st = tutti_predict_changes_read(f, q, out, err);
    if (!st && memory) st = tutti_cli_bytes("--memory", memory, &bytes, err);
    if (!st && memory && bytes == 0) st = tutti_fail(err, TUTTI_ERR_USAGE, "--memory: 0 bytes hold nothing");
    out->is_other = tutti_cli_has(f, "framework");
    if (!st && out->is_other && (out->advises || out->nchanges))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--%s is of the job's own steps, not of those of --framework",
                        out->advises ? "advise" : "what-if");
    if (!st && tutti_cli_has(f, "strong") && (q->options.weak || q->options.read_trace))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--strong: kernel times are of the job's batch on each rank");
    if (!st && q->options.device && !memory) st = read_device(q->options.device, &bytes, err);
    out->device_bytes = bytes;
    return st;
}

/* ---- what follows ---- */

int tutti_predict_nodes_of(const tutti_topology *topology, const tutti_predict_answers *a, int nranks)
{
    if (a->ranks_per_node) return (nranks + a->ranks_per_node - 1) / a->ranks_per_node;
    int32_t *host_of = tutti_alloc(sizeof *host_of * (size_t)nranks);
    int n = 0;
    tutti_topology_machines(topology, nranks, host_of);
    for (int r = 0; r < nranks; r++) n += host_of[r] == r;
    free(host_of);
    return n;
}

tutti_status tutti_predict_answers_find(const tutti_predict_question *q, tutti_predict_answers *a, tutti_failure *err)
{
    tutti_predict_options options = q->options;
    for (int i = 0; i < q->nranks; i++) {
        const int nranks = q->predicted[i].nranks;
        a->seats[i] = (tutti_run_seats){.batch = q->job->batch * (q->options.weak ? nranks : 1),
                                        .nnodes = tutti_predict_nodes_of(&q->topology, a, nranks)};
    }
    if (a->plans) tutti_run_plan_rows(&a->plan, q->predicted, a->seats, q->nranks, a->rows);
    options.save_profile = NULL;
    options.at = NULL; /* whom the table's predictions are told is gone */
    tutti_status st = tutti_predict_changes_find(q, a, err);
    if (!st && a->advises) {
        tutti_predict_wait *wait = tutti_predict_wait_begin(stderr, QUIET_S);
        options.at = tutti_predict_wait_at;
        options.at_arg = wait;
        a->advised = tutti_alloc(sizeof *a->advised);
        st = tutti_predict_advise(q, &options, a->advised, err);
        options.at = NULL;
        tutti_predict_wait_end(wait);
    }
    if (!st && !a->is_other)
        st = tutti_job_view_step(q->job, &q->topology, &options, tutti_predict_last(q)->nranks, &a->step, err);
    if (!st) st = tutti_predict_pictures_write(q, a, err);
    return st;
}

void tutti_predict_answers_release(tutti_predict_answers *a)
{
    tutti_step_view_release(&a->step);
    free(a->changes);
    free(a->advised);
    free(a->measured);
}

bool tutti_predict_fits(const tutti_predict_answers *a, const tutti_prediction *p)
{
    return !a->device_bytes || p->memory.all <= a->device_bytes;
}

static void add_memory(const tutti_rank_memory *m, tutti_json *j)
{
    tutti_json_int(j, "memory_bytes", m->all);
    tutti_json_open(j, "memory", '{');
    tutti_json_int(j, "weights", m->weights);
    tutti_json_int(j, "gradients", m->gradients);
    tutti_json_int(j, "states", m->states);
    tutti_json_int(j, "activations", m->activations);
    tutti_json_int(j, "exchange", m->exchange);
    tutti_json_close(j, '}');
}

void tutti_predict_answers_json(const tutti_predict_question *q, int i, tutti_json *j)
{
    const tutti_predict_answers *a = q->answers;
    const tutti_run_row *r = &a->rows[i];
    if (q->predicted[i].memory.all) add_memory(&q->predicted[i].memory, j);
    if (a->device_bytes) tutti_json_bool(j, "fits", tutti_predict_fits(a, &q->predicted[i]));
    if (a->step.nranks == q->predicted[i].nranks) tutti_predict_step_json(&a->step, j);
    tutti_predict_changes_json(a, i, j);
    if (!a->plans) return;
    tutti_json_int(j, "nodes", r->nnodes);
    tutti_json_int(j, "steps", r->steps);
    tutti_json_real(j, "epoch_s", r->epoch_s);
    tutti_json_real(j, "run_s", r->run_s);
    tutti_json_real(j, "node_hours", r->node_hours);
    if (a->plan.price > 0) tutti_json_real(j, "cost", r->cost);
    if (a->prices_of) tutti_json_text(j, "prices_of", a->prices_of);
    if (a->plan.deadline_s > 0) tutti_json_bool(j, "in_time", r->in_time);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* predict_flags.c: reads the flags of `tutti predict`: rank counts, topology, whole runs, memory, other machines. */
#include "predict_flags.h"

#include <string.h>

#include "../../job/job_fields.h"
#include "../../predict/profile/processor_model.h"
#include "../topo/topo.h"

tutti_status tutti_predict_read_machine(const tutti_flags *f, int *ranks, int *n, tutti_topology *out,
                                        tutti_failure *err)
{
    long given[TUTTI_PREDICT_MAX_RANKS];
    tutti_cli_list list = {given, TUTTI_PREDICT_MAX_RANKS, 0};
    int most = 0;
    tutti_status st = TUTTI_OK;
    if (tutti_cli_has(f, "ranks")) {
        st = tutti_cli_ints(f, "ranks", (tutti_cli_range){1, 4096}, &list, err);
        *n = list.n;
    }
    for (int i = 0; i < *n && !st && tutti_cli_has(f, "ranks"); i++) ranks[i] = (int)given[i];
    for (int i = 0; i < *n; i++) most = ranks[i] > most ? ranks[i] : most;
    if (!st) st = tutti_topo_open(f, tutti_cli_value(f, "topology", "host"), out, err);
    if (!st) tutti_topology_grow(out, most);
    return st;
}

tutti_status tutti_predict_write(const tutti_flags *f, const tutti_strbuf *json, const tutti_strbuf *text,
                                 tutti_failure *err)
{
    const char *path = tutti_cli_value(f, "json", NULL);
    const bool alone = path && !strcmp(path, "-");
    const tutti_status st = path ? tutti_cli_write(alone ? NULL : path, json->text ? json->text : "", err) : TUTTI_OK;
    return st || alone ? st : tutti_cli_write(NULL, text->text, err);
}

/* Reads the prices of --price; without this flag, those in the file of the machine that the topology names. */
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

/* Reads the number of epochs. of_job: the epochs that the job gives; 0: it gives none, and `without` is the message
 * that says so. */
static tutti_status read_epochs(const tutti_flags *f, double of_job, const char *without, tutti_predict_answers *a,
                                tutti_failure *err)
{
    const char *epochs = tutti_cli_value(f, "epochs", NULL), *deadline = tutti_cli_value(f, "deadline", NULL);
    tutti_status st = TUTTI_OK;
    a->plan.epochs = of_job;
    if (epochs) st = tutti_predict_read_real("--epochs", epochs, 0, 1e6, &a->plan.epochs, err);
    if (!st && !(a->plan.epochs > 0))
        st = epochs ? tutti_fail(err, TUTTI_ERR_USAGE, "--epochs: %s is not a training", epochs)
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

tutti_status tutti_predict_plan_read(const tutti_flags *f, const tutti_topology *topology, double epochs,
                                     const char *without, tutti_predict_answers *a, tutti_failure *err)
{
    static const char *const others[] = {"samples", "ranks-per-node", "strong", NULL};
    const char *other = tutti_cli_first(f, others);
    long samples = 0, per_node = 0;
    a->plans = wants_plan(f);
    if (!a->plans && other) return tutti_fail(err, TUTTI_ERR_USAGE, "--%s has no effect without --epochs", other);
    if (!a->plans) return TUTTI_OK;
    tutti_status st = read_epochs(f, epochs, without, a, err);
    if (!st) st = read_prices(f, topology, a, err);
    if (!st) st = tutti_cli_int(f, "samples", (tutti_cli_range){1, 1L << 50}, 0, &samples, err);
    if (!st) st = tutti_cli_int(f, "ranks-per-node", (tutti_cli_range){1, 65536}, 0, &per_node, err);
    a->samples_given = samples > 0;
    a->plan.samples = samples;
    a->ranks_per_node = (int)per_node;
    return st;
}

tutti_status tutti_predict_read_memory(const tutti_flags *f, long long *bytes, tutti_failure *err)
{
    const char *memory = tutti_cli_value(f, "memory", NULL);
    tutti_status st = memory ? tutti_cli_bytes("--memory", memory, bytes, err) : TUTTI_OK;
    if (!st && memory && *bytes == 0) st = tutti_fail(err, TUTTI_ERR_USAGE, "--memory: 0 bytes hold nothing");
    return st;
}

/* Reads the memory that the device's file gives; 0: it gives none. */
static tutti_status read_device(const char *name, long long *bytes, tutti_failure *err)
{
    tutti_processor_model device;
    const tutti_status st = tutti_processor_model_open(name, &device, err);
    if (st) return st;
    *bytes = (long long)device.memory_bytes;
    tutti_processor_model_release(&device);
    return TUTTI_OK;
}

tutti_status tutti_predict_answers_read(const tutti_flags *f, const tutti_predict_question *q,
                                        tutti_predict_answers *out, tutti_failure *err)
{
    long long bytes = 0;
    const char *memory = tutti_cli_value(f, "memory", NULL);
    const int changes = tutti_cli_row(f, "what-if");
    *out = (tutti_predict_answers){.svg = tutti_cli_value(f, "svg", NULL),
                                   .html = tutti_cli_value(f, "html", NULL),
                                   .advises = tutti_cli_has(f, "advise")};
    tutti_status st = tutti_predict_plan_read(f, &q->topology, q->job->epochs, "the job counts steps", out, err);
    if (!st && out->plans && !out->samples_given) st = tutti_predict_count_samples(q->job, &out->plan.samples, err);
    for (int i = 0; i < f->count[changes] && !st; i++) st = tutti_predict_change_add(q, f->value[changes][i], out, err);
    if (!st) st = tutti_predict_read_memory(f, &bytes, err);
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

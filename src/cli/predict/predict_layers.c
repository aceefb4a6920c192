/* SPDX-License-Identifier: Apache-2.0 */
/* predict_layers.c: `tutti predict LAYERS.txt`: reads its flags and predicts from a layer file. */
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/text/options.h"
#include "../../metrics/trace.h"
#include "../../predict/plan/layers_file.h"
#include "predict_flags.h"

bool tutti_predict_wants_layers_file(const tutti_flags *f)
{
    static const char *const own[] = {"batch", "speed", "schedule", "exchange", NULL};
    return tutti_cli_first(f, own) || tutti_layer_trace_is(f->rest[0]);
}

static tutti_status refuse_of_jobs(const tutti_flags *f, tutti_failure *err)
{
    static const char *const read[] = {"set",     "profile", "save-profile", "trace", "weak",       "layers",
                                       "measure", "slow",    "check",        "svg",   "max-fan-in", NULL},
                             *const others[] = {"html", "strong", "advise", "what-if", NULL};
    const char *first = tutti_cli_first(f, read), *other = tutti_cli_first(f, others);
    if (first) return tutti_fail(err, TUTTI_ERR_USAGE, "--%s is not for layer files, as %s is read", first, f->rest[0]);
    return other ? tutti_fail(err, TUTTI_ERR_USAGE, "--%s is not for layer files", other) : TUTTI_OK;
}

/* Reads the questions about a whole run, and the memory of a rank. */
static tutti_status read_layers_plan(const tutti_flags *f, tutti_layers_question *q, tutti_failure *err)
{
    long long bytes = 0;
    tutti_status st = tutti_predict_plan_read(f, &q->topology, 0, "a layer file says no epochs", &q->plan, err);
    if (!st && q->plan.plans && !q->plan.samples_given)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--samples N is missing: a layer file does not say what an epoch has");
    if (!st) st = tutti_predict_read_memory(f, &bytes, err);
    q->plan.device_bytes = bytes;
    return st;
}

/* Reads a factor: "100x", "100" or "0.5x". */
static tutti_status read_speed(const char *text, double *out, tutti_failure *err)
{
    char *end;
    *out = strtod(text, &end);
    if (!tutti_options_is_number(text) || end == text || (*end && strcmp(end, "x") != 0) ||
        !(*out >= 1e-6 && *out <= 1e9))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--speed %.40s: wants a factor such as 100x", text);
    return TUTTI_OK;
}

static tutti_status read_layers(const tutti_flags *f, tutti_layers_question *q, tutti_failure *err)
{
    int ranks[TUTTI_PREDICT_MAX_RANKS] = {1, 2, 4, 8};
    long batch = 0;
    *q = (tutti_layers_question){.path = f->rest[0],
                                 .n = 4,
                                 .speed = 1,
                                 .schedule_name = tutti_cli_value(f, "schedule", "wfbp"),
                                 .exchange_text = tutti_cli_value(f, "exchange", "allreduce")};
    tutti_status st = refuse_of_jobs(f, err);
    if (!st && !tutti_cli_has(f, "batch"))
        st = tutti_fail(err, TUTTI_ERR_USAGE,
                        "--batch is missing: a layer file does not say of how many samples a rank its times are");
    if (!st) st = tutti_cli_int(f, "batch", (tutti_cli_range){1, 1 << 30}, 1, &batch, err);
    if (!st && tutti_cli_has(f, "speed")) st = read_speed(tutti_cli_value(f, "speed", "1x"), &q->speed, err);
    if (!st) st = tutti_predict_read_machine(f, ranks, &q->n, &q->topology, err);
    q->batch = batch;
    for (int i = 0; i < q->n; i++) q->at[i].nranks = ranks[i];
    return st ? st : read_layers_plan(f, q, err);
}

tutti_status tutti_predict_layers_file(const tutti_flags *f, tutti_failure *err)
{
    tutti_layers_question *q = tutti_alloc(sizeof *q);
    tutti_strbuf text = {0}, json = {0};
    tutti_status st = read_layers(f, q, err);
    if (!st) st = tutti_layers_file_predict(q, err);
    if (!st) {
        tutti_layers_file_print(q, &text);
        tutti_layers_file_print_json(q, &json);
        st = tutti_predict_write(f, &json, &text, err);
    }
    tutti_strbuf_release(&text);
    tutti_strbuf_release(&json);
    tutti_layers_file_release(q);
    free(q);
    return st;
}

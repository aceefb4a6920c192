/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_predict.c: `tutti predict JOB.yaml`: predicts the time of a step at several rank counts, on this host or on
 * another topology. A trace of svm-train: predict_trace.c; a layer file: predict_layers.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../job/job_fields.h"
#include "../../predict/plan/measure_run.h"
#include "../../svm/svm_trace.h"
#include "../topo/topo.h"
#include "../train/train_cmd.h"
#include "predict_flags.h"
#include "predict_wait.h"
#include "tutti/job.h"

static const tutti_flag flags[] = {
    {"ranks", "P,P,...", "rank counts; 1,2,4,..,64 goes on as it began (default 1,2,4,8; of a TRACE to 64)", 0},
    {"topology", "T", "host (default), " TUTTI_TOPO_KINDS, 0},
    TUTTI_TOPO_CORES_FLAG,
    {"set", "KEY=VALUE", "change a key of the job", TUTTI_FLAG_MANY},
    {"profile", "FILE", "read kernel times from FILE instead of measuring them", TUTTI_FLAG_READS},
    {"save-profile", "FILE", "write the measured kernel times to FILE", TUTTI_FLAG_WRITES},
    {"trace", "FILE", "or read them from a layer trace of a one-rank run (tutti train --ranks 1 --trace N); weak",
     TUTTI_FLAG_READS},
    {"device", "NAME|FILE", "or compute them from the job's FLOPs and bytes on a device (tutti devices)", 0},
    {"framework", "NAME|FILE", "steps of a training system: caffe-mpi, cntk, mxnet, tensorflow, pytorch-ddp, tutti", 0},
    {"explain-gap", "A,B", "which factor makes which part of the gap between the steps of two of them", 0},
    {"weak", NULL, "weak scaling: the job's batch is that of each rank", 0},
    {"max-fan-in", "N", "refuse a count by whose algorithm more than N ranks send to one of another host at a time", 0},
    {"layers", NULL, "what each layer means for scaling, at the last of the rank counts", 0},
    {"measure", NULL, "also train 200 steps at each rank count on this host, and print the error", 0},
    {"slow", "RANK=FACTOR", "that rank's computing takes FACTOR times as long (see above)", TUTTI_FLAG_MANY},
    {"check", "FILE", "of a TRACE: that of the same training on more ranks, printed beside the prediction",
     TUTTI_FLAG_READS},
    {"svg", "FILE", "draw speed-up and efficiency", TUTTI_FLAG_WRITES},
    {"batch", "B", "of LAYERS.txt: samples a rank that its times are of", 0},
    {"speed", "FACTOR", "of LAYERS.txt: compute FACTOR times as fast, for example 100x", 0},
    {"schedule", "S", "of LAYERS.txt: bsp, bsp-one, io, wfbp (default), mg-wfbp or priority (see above)", 0},
    {"exchange", "X", "of LAYERS.txt: allreduce (default), allreduce:ALGORITHM[,PARAMETER=N], ps or ps:SERVERS", 0},
    TUTTI_PREDICT_ANSWERS_FLAGS,
    {"json", "FILE",
     "also write one JSON object a rank count (with --layers, then a layer) and line; -: print that alone",
     TUTTI_FLAG_WRITES},
};
static const double QUIET_S = 5; /* seconds without output before the first progress line, and between progress lines */

/* Reads which ranks are slow. A rank is refused if it exists at none of the rank counts; counts without this rank are
 * predicted as usual. */
static tutti_status slowness_read(const tutti_flags *f, tutti_predict_question *q, tutti_failure *err)
{
    int most = 0;
    if (!tutti_cli_has(f, "slow")) return TUTTI_OK;
    if (tutti_cli_has(f, "measure"))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "--measure cannot slow a rank down; leave --slow out, or measure with tutti train --slow");
    for (int i = 0; i < q->nranks; i++) most = q->ranks[i] > most ? q->ranks[i] : most;
    tutti_run_handicap *of_all = tutti_alloc(sizeof *of_all * (size_t)most);
    const tutti_status st = tutti_cli_handicaps(f, most, of_all, err);
    q->slowness = tutti_alloc(sizeof *q->slowness * (size_t)most);
    for (int i = 0; i < most; i++) q->slowness[i] = of_all[i].slowness > 1 ? of_all[i].slowness : 1;
    q->options.slowness = q->slowness;
    free(of_all);
    return st;
}

static tutti_status question_read(const tutti_flags *f, tutti_predict_question *q, tutti_failure *err)
{
    static const int ranks[] = {1, 2, 4, 8};
    long fan_in = 0;
    q->options = (tutti_predict_options){.read_profile = tutti_cli_value(f, "profile", NULL),
                                         .save_profile = tutti_cli_value(f, "save-profile", NULL),
                                         .read_trace = tutti_cli_value(f, "trace", NULL),
                                         .device = tutti_cli_value(f, "device", NULL),
                                         .weak = tutti_cli_has(f, "weak") || tutti_cli_has(f, "trace") ||
                                                 tutti_predict_plans_weakly(f)};
    q->job_path = f->rest[0];
    q->nranks = 4;
    memcpy(q->ranks, ranks, sizeof ranks);
    const int sets = tutti_cli_row(f, "set");
    for (int i = 0; i < f->count[sets] && i < TUTTI_PREDICT_MAX_SETS; i++) q->sets[q->nsets++] = f->value[sets][i];
    tutti_status st = tutti_predict_read_machine(f, q->ranks, &q->nranks, &q->topology, err);
    if (!st) st = tutti_cli_int(f, "max-fan-in", (tutti_cli_range){1, 65536}, 0, &fan_in, err);
    q->options.most_fan_in = (int)fan_in;
    if (!st) st = slowness_read(f, q, err);
    if (!st && tutti_cli_has(f, "measure") && q->topology.kind != TUTTI_TOPOLOGY_HOST)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--measure runs on this host; it cannot measure a %s",
                        tutti_cli_value(f, "topology", "host"));
    if (!st) st = tutti_job_load_for_any(q->job_path, q->sets, q->nsets, &q->job, err);
    return st ? st : tutti_cli_check_job(f, q->job, err);
}

static tutti_status measure(tutti_predict_question *q, int i, tutti_failure *err)
{
    char batch[32];
    int nsets = q->nsets;
    if (q->options.weak) {
        snprintf(batch, sizeof batch, "batch=%lld", (long long)q->job->plan.batch * q->ranks[i]);
        q->sets[nsets++] = batch;
    }
    return tutti_measure_run(q->job_path, q->ranks[i], q->sets, nsets, &q->measured_s[i], err);
}

/* Starts a thread that prints a progress line on stderr now and then until the prediction ends. */
static void wait_begin(tutti_predict_question *q)
{
    q->options.at = tutti_predict_wait_at;
    q->options.at_arg = tutti_predict_wait_begin(stderr, QUIET_S);
}

static void wait_end(tutti_predict_question *q)
{
    tutti_predict_wait_end(q->options.at_arg);
    q->options.at = NULL;
}

static tutti_status question_answer(const tutti_flags *f, tutti_predict_question *q, tutti_failure *err)
{
    const char *framework = tutti_cli_value(f, "framework", NULL);
    wait_begin(q);
    tutti_status st =
        framework ? tutti_predict_framework(framework, q, err)
                  : tutti_predict_job(q->job, &q->topology, &q->options, q->ranks, q->nranks, q->predicted, err);
    if (!st && !framework) st = tutti_predict_faster(q, err);
    if (!st && !framework) tutti_predict_shared(q);
    wait_end(q);
    if (!st && tutti_cli_has(f, "layers"))
        st = tutti_predict_layers(q->job, &q->topology, &q->options, q->ranks[q->nranks - 1], &q->layers, &q->nlayers,
                                  err);
    for (int i = 0; i < q->nranks; i++) {
        q->measured_s[i] = NAN;
        if (!st && tutti_cli_has(f, "measure")) st = measure(q, i, err);
    }
    return st;
}

/* Computes all answers about a job, except the gap between two frameworks. */
static tutti_status answer(const tutti_flags *f, tutti_predict_question *q, tutti_predict_answers *a,
                           tutti_failure *err)
{
    tutti_strbuf text = {0}, json = {0};
    q->answers = a;
    tutti_status st = tutti_predict_answers_read(f, q, a, err);
    q->options.measured = &a->measured;
    q->options.memory = a->memory = tutti_predict_memory_create();
    if (!st) st = question_answer(f, q, err);
    wait_begin(q);
    if (!st) st = tutti_predict_answers_find(q, a, err);
    wait_end(q);
    if (!st) st = tutti_predict_pictures_write(q, a, err);
    if (!st) {
        tutti_predict_print(q, &text);
        tutti_predict_print_json(q, &json);
        st = tutti_predict_write(f, &json, &text, err);
    }
    tutti_strbuf_release(&text);
    tutti_strbuf_release(&json);
    return st;
}

static tutti_status explain_gap(const tutti_flags *f, const tutti_predict_question *q, tutti_failure *err)
{
    tutti_strbuf text = {0}, json = {0};
    tutti_status st = tutti_predict_gap(tutti_cli_value(f, "explain-gap", NULL), q, &text, &json, err);
    if (!st) st = tutti_predict_write(f, &json, &text, err);
    tutti_strbuf_release(&text);
    tutti_strbuf_release(&json);
    return st;
}

static tutti_status predict(const tutti_flags *f, tutti_failure *err)
{
    static const char *const not_of_gaps[] = {"html",   "epochs",         "strong", "samples", "deadline", "price",
                                              "memory", "ranks-per-node", "advise", "what-if", NULL};
    tutti_predict_question q = {0};
    tutti_predict_answers answers = {0};
    if (tutti_predict_wants_layers_file(f)) return tutti_predict_layers_file(f, err);
    if (tutti_svm_trace_is(f->rest[0])) return tutti_predict_svm(f, err);
    if (tutti_cli_has(f, "check"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--check is for a trace of svm-train; %s is none", f->rest[0]);
    const bool gap = tutti_cli_has(f, "explain-gap");
    const char *other = gap ? tutti_cli_first(f, not_of_gaps) : NULL;
    tutti_status st = other ? tutti_fail(err, TUTTI_ERR_USAGE, "--%s is not for --explain-gap", other) : TUTTI_OK;
    if (!st) st = question_read(f, &q, err);
    if (!st) st = gap ? explain_gap(f, &q, err) : answer(f, &q, &answers, err);
    tutti_predict_answers_release(&answers);
    free(q.layers);
    free(q.slowness);
    tutti_job_destroy(q.job);
    return st;
}

static const char about[] =
    "Predicts times, not labels (those: tutti infer, tutti eval --predictions): how long a "
    "training step takes, from kernel\n"
    "times measured here, the job's own schedules and a topology. Of a TRACE made on one rank "
    "by `tutti svm-train --trace\n"
    "FILE`: the time of that training on more ranks, and what bounds it.\n\n"
    "--slow 1=3: rank 1's computing, updates and loading included, takes three times as long, in "
    "all rank counts that have\n"
    "it. Of methods whose workers take steps of their own (easgd, async-sgd, ...) that worker's "
    "alone; of all others ranks\n"
    "wait for each other in each step or period, and the largest factor is that of the step. "
    "Speed-up is against one rank\n"
    "that nothing slows down. `tutti train --slow` holds a rank up in a real run.\n\n"
    "--trace: where the trace says how its steps differ, computing of ranks that wait for each other "
    "takes what half of their\n"
    "steps stay below: the median of one rank's steps, of P ranks the quantile at 0.5^(1/P).\n\n"
    "Of LAYERS.txt (six columns, docs/traces.md): a step of that network, no job and no model wanted; "
    "each rank has --batch\n"
    "samples. bsp: one thing after the other, a message a layer (bsp-one: one message); io: the next "
    "batch is read meanwhile;\n"
    "wfbp: a layer's exchange begins with its gradient; mg-wfbp: neighbours merged so that the step "
    "ends soonest; priority:\n"
    "what the next forward pass needs first goes first, and it waits for each layer alone.";

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "predict",
        .usage = "tutti predict JOB.yaml|TRACE|LAYERS.txt [options]",
        .about = about,
        TUTTI_CLI_FLAGS(flags),
        .wanted = "one job file, trace of svm-train or layer file is wanted: "
                  "tutti predict JOB.yaml|TRACE|LAYERS.txt [options]",
        .run = predict,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_predict = {"predict", "how long a step takes, here or on another topology",
                                             run_command};

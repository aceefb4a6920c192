/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_predict.c: `tutti predict JOB.yaml`: the time of a step at several rank counts, on this host or on another topology; with
 * --measure beside real runs on this host and the error. Of a trace of svm-train: predict_svm.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/json.h"
#include "../job/job_impl.h"
#include "../svm/svm_trace.h"
#include "measure_run.h"
#include "predict_svm.h"
#include "topo.h"
#include "train_cmd.h"
#include "tutti/job.h"
#include "tutti/predict.h"

static const tutti_flag flags[] = {
    {"ranks", "P,P,...", "rank counts (default 1,2,4,8; of a TRACE to 64)", 0},
    {"topology", "T", "host, or star,bw=10Gb,lat=5us (default: host)", 0},
    TUTTI_TOPO_CORES_FLAG,
    {"set", "KEY=VALUE", "change a key of the job", TUTTI_FLAG_MANY},
    {"profile", "FILE", "read kernel times from FILE instead of measuring them", TUTTI_FLAG_READS},
    {"save-profile", "FILE", "write the measured kernel times to FILE", TUTTI_FLAG_WRITES},
    {"trace", "FILE", "or read them from a layer trace of a one-rank run (tutti train --ranks 1 --trace N); weak",
     TUTTI_FLAG_READS},
    {"weak", NULL, "weak scaling: the job's batch is that of each rank", 0},
    {"layers", NULL, "what each layer means for scaling, at the last of the rank counts", 0},
    {"measure", NULL, "also train 200 steps at each rank count on this host, and print the error", 0},
    {"slow", "RANK=FACTOR", "that rank's computing takes so many times as long (see above)", TUTTI_FLAG_MANY},
    {"check", "FILE", "of a TRACE: that of the same training on more ranks, printed beside the prediction",
     TUTTI_FLAG_READS},
    {"svg", "FILE", "of a TRACE: draw speed-up and efficiency", TUTTI_FLAG_WRITES},
    {"json", NULL, "one JSON object a rank count and line", 0},
};
enum { NFLAGS = sizeof flags / sizeof flags[0], FLAG_SET = 3 /* row of --set above */, MAX_RANKS = 32, MAX_SETS = 64 };

typedef struct {
    const char *job_path;
    tutti_job *job;
    tutti_topology topology;
    const char *sets[MAX_SETS + 1];
    int nsets, nranks;
    int ranks[MAX_RANKS];
    tutti_prediction predicted[MAX_RANKS];
    double measured_s[MAX_RANKS]; /* NaN: not measured */
    tutti_predict_options options;
    double *slowness;               /* of the ranks of the largest count; NULL: not asked for */
    tutti_layer_prediction *layers; /* at the last rank count; NULL: not asked for */
    int nlayers;
} question;

/* A rank that no count has is refused; counts without it are predicted as ever. */
static tutti_status slowness_read(const tutti_flags *f, question *q, tutti_failure *err)
{
    int most = 0;
    if (!tutti_cli_has(f, "slow")) return TUTTI_OK;
    if (tutti_cli_has(f, "measure"))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "--measure holds no rank up; leave --slow out, or measure with tutti train --slow");
    for (int i = 0; i < q->nranks; i++) most = q->ranks[i] > most ? q->ranks[i] : most;
    tutti_handicap *of_all = tutti_alloc(sizeof *of_all * (size_t)most);
    const tutti_status st = tutti_cli_handicaps(f, most, of_all, err);
    q->slowness = tutti_alloc(sizeof *q->slowness * (size_t)most);
    for (int i = 0; i < most; i++) q->slowness[i] = of_all[i].slowness > 1 ? of_all[i].slowness : 1;
    q->options.slowness = q->slowness;
    free(of_all);
    return st;
}

static tutti_status question_read(const tutti_flags *f, question *q, tutti_failure *err)
{
    long ranks[MAX_RANKS] = {1, 2, 4, 8};
    const char *topology = tutti_cli_value(f, "topology", "host");
    q->options = (tutti_predict_options){.read_profile = tutti_cli_value(f, "profile", NULL),
                                         .save_profile = tutti_cli_value(f, "save-profile", NULL),
                                         .read_trace = tutti_cli_value(f, "trace", NULL),
                                         .weak = tutti_cli_has(f, "weak") || tutti_cli_has(f, "trace")};
    q->nranks = 4;
    q->job_path = f->rest[0];
    tutti_status st = TUTTI_OK;
    if (tutti_cli_has(f, "ranks")) st = tutti_cli_ints(f, "ranks", 1, 4096, ranks, MAX_RANKS, &q->nranks, err);
    for (int i = 0; i < q->nranks; i++) q->ranks[i] = (int)ranks[i];
    for (int i = 0; i < f->count[FLAG_SET] && i < MAX_SETS; i++) q->sets[q->nsets++] = f->value[FLAG_SET][i];
    if (!st) st = slowness_read(f, q, err);
    if (!st) st = tutti_topo_open(f, topology, &q->topology, err);
    if (!st && tutti_cli_has(f, "measure") && q->topology.kind != TUTTI_TOPOLOGY_HOST)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--measure runs on this host; it cannot measure a %s", topology);
    if (!st) st = tutti_job_load(q->job_path, q->sets, q->nsets, &q->job, err);
    return st;
}

static tutti_status measure(question *q, int i, tutti_failure *err)
{
    char batch[32];
    int nsets = q->nsets;
    if (q->options.weak) {
        snprintf(batch, sizeof batch, "batch=%lld", (long long)q->job->batch * q->ranks[i]);
        q->sets[nsets++] = batch;
    }
    return tutti_measure_run(q->job_path, q->ranks[i], q->sets, nsets, &q->measured_s[i], err);
}

static tutti_status question_answer(const tutti_flags *f, question *q, tutti_failure *err)
{
    tutti_status st = tutti_predict_job(q->job, &q->topology, &q->options, q->ranks, q->nranks, q->predicted, err);
    if (!st && tutti_cli_has(f, "layers"))
        st = tutti_predict_layers(q->job, &q->topology, &q->options, q->ranks[q->nranks - 1], &q->layers, &q->nlayers,
                                  err);
    for (int i = 0; i < q->nranks; i++) {
        q->measured_s[i] = NAN;
        if (!st && tutti_cli_has(f, "measure")) st = measure(q, i, err);
    }
    return st;
}

static void print_json(const question *q)
{
    char *topology = tutti_topology_print(&q->topology);
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *p = &q->predicted[i];
        tutti_strbuf out = {0};
        tutti_json j = {.out = &out};
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "job", q->job_path);
        tutti_json_text(&j, "topology", topology);
        tutti_json_int(&j, "ranks", p->nranks);
        tutti_json_int(&j, "ranks_per_core", p->ranks_per_core);
        tutti_json_real(&j, "step_s", p->step_s);
        tutti_json_real(&j, "lower_s", p->lower_s);
        tutti_json_real(&j, "upper_s", p->upper_s);
        tutti_json_real(&j, "compute_s", p->compute_s);
        tutti_json_real(&j, "exchange_s", p->exchange_s);
        tutti_json_real(&j, "exposed_s", p->exposed_s);
        if (p->groups) tutti_json_int(&j, "groups", p->groups);
        if (p->groups) tutti_json_real(&j, "travel_s", p->travel_s);
        tutti_json_real(&j, "samples_per_s", p->samples_per_s);
        tutti_json_real(&j, "speedup", p->speedup);
        tutti_json_real(&j, "efficiency", p->efficiency);
        tutti_json_real(&j, "measured_s", q->measured_s[i]);
        tutti_json_real(&j, "error", p->step_s / q->measured_s[i] - 1);
        tutti_json_close(&j, '}');
        puts(out.text);
        tutti_strbuf_release(&out);
    }
    free(topology);
}

/* Which ranks are slow, and what that means for the others. */
static void print_slowness(const question *q)
{
    int most = 0;
    for (int i = 0; i < q->nranks; i++) most = q->ranks[i] > most ? q->ranks[i] : most;
    printf("\nSlow on purpose:");
    for (int i = 0; i < most; i++)
        if (q->slowness[i] > 1) printf(" rank %d %g times", i, q->slowness[i]);
    printf(q->predicted[0].visits > 0 ? "; whoever need not wait for it takes more of the shares.\n"
                                      : "; all ranks wait for the slowest.\n");
}

/* Where groups of ranks share layers. */
static void print_groups(const question *q)
{
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *p = &q->predicted[i];
        if (p->groups)
            printf("%s%d ranks in %d group%s: of the exchanges %.3f ms are what split layers hand on, which is waited "
                   "for at "
                   "once.\n",
                   i ? "" : "\n", p->nranks, p->groups, p->groups == 1 ? "" : "s", p->travel_s * 1e3);
    }
}

static void print_table(const question *q)
{
    bool measured = false;
    int shared = 0;
    char *described = tutti_topology_describe(&q->topology);
    const tutti_prediction *last = &q->predicted[q->nranks - 1];
    const double mb = (double)last->exchanged_bytes / 1e6;
    printf("%s\n%s, ", described, q->job_path);
    if (last->visits > 0)
        printf("visits of %.3f MB each way, %.3g a worker and step\n\n", mb / last->visits, last->visits);
    else
        printf("%d exchanges a step of %.3f MB in all\n\n", last->nexchanges, mb);
    for (int i = 0; i < q->nranks; i++) measured |= isfinite(q->measured_s[i]);
    printf("%5s %10s %10s %10s %10s %10s %10s %10s %9s %10s%s\n", "ranks", "step ms", "compute", "exchange", "exposed",
           "at least", "at most", "samples/s", "speed-up", "efficiency", measured ? "   measured    error" : "");
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *p = &q->predicted[i];
        printf("%5d %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f %10.1f %9.2f %9.1f%%", p->nranks, p->step_s * 1e3,
               p->compute_s * 1e3, p->exchange_s * 1e3, p->exposed_s * 1e3, p->lower_s * 1e3, p->upper_s * 1e3,
               p->samples_per_s, p->speedup, p->efficiency * 100);
        if (isfinite(q->measured_s[i]))
            printf(" %10.3f %+7.1f%%", q->measured_s[i] * 1e3, 100 * (p->step_s / q->measured_s[i] - 1));
        printf("\n");
        if (p->ranks_per_core > 1) shared = p->ranks_per_core;
    }
    print_groups(q);
    if (q->options.weak) printf("\nWeak scaling: each rank has the job's batch of %lld.\n", (long long)q->job->batch);
    if (q->slowness) print_slowness(q);
    if (shared)
        printf("\nMore ranks than cores: compute is shared in time, up to %d ranks take turns on a core.\n", shared);
    if (q->topology.kind == TUTTI_TOPOLOGY_HOST)
        printf("\nOn a host the ranks' own cores move the bytes, so no exchange is hidden behind compute.\n");
    printf(
        "Not in the model: noise, %sstragglers, evaluation, checkpoints; on a network: packets, congestion control.\n",
        q->slowness ? "other " : "");
    free(described);
}

static void print_layer_json(const tutti_layer_prediction *p, int nranks)
{
    tutti_strbuf out = {0};
    tutti_json j = {.out = &out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "layer", p->name);
    tutti_json_int(&j, "ranks", nranks);
    tutti_json_real(&j, "forward_s", p->forward_s);
    tutti_json_real(&j, "backward_s", p->backward_s);
    tutti_json_int(&j, "bytes", p->bytes);
    tutti_json_real(&j, "flop_per_byte", p->flop_per_byte);
    tutti_json_real(&j, "exchange_s", p->exchange_s);
    tutti_json_real(&j, "window_s", p->window_s);
    tutti_json_real(&j, "exposed_s", p->exposed_s);
    if (p->hybrid_groups) tutti_json_int(&j, "hybrid_groups", p->hybrid_groups);
    tutti_json_close(&j, '}');
    puts(out.text);
    tutti_strbuf_release(&out);
}

/* After Das et al. 2016, section 3. */
static void print_layers(const question *q, bool json)
{
    const int nranks = q->ranks[q->nranks - 1];
    if (!json)
        printf(
            "\neach layer alone, at %d ranks (after Das et al. 2016)\n%-24s %10s %10s %12s %10s %10s %10s %10s %7s\n",
            nranks, "layer", "forward ms", "backward", "bytes", "FLOP/byte", "exchange", "window", "exposed", "groups");
    for (int i = 0; i < q->nlayers; i++) {
        const tutti_layer_prediction *p = &q->layers[i];
        char groups[16] = "";
        if (p->hybrid_groups) snprintf(groups, sizeof groups, "%d", p->hybrid_groups);
        if (json)
            print_layer_json(p, nranks);
        else
            printf("%-24s %10.3f %10.3f %12lld %10.1f %10.3f %10.3f %10.3f %7s\n", p->name, p->forward_s * 1e3,
                   p->backward_s * 1e3, (long long)p->bytes, p->flop_per_byte, p->exchange_s * 1e3, p->window_s * 1e3,
                   p->exposed_s * 1e3, groups);
    }
}

static tutti_status predict(const tutti_flags *f, tutti_failure *err)
{
    question q = {0};
    if (tutti_svm_trace_is(f->rest[0])) return tutti_predict_svm(f, err);
    if (tutti_cli_has(f, "check") || tutti_cli_has(f, "svg"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--check and --svg are for a trace of svm-train; %s is none",
                          f->rest[0]);
    tutti_status st = question_read(f, &q, err);
    if (!st) st = question_answer(f, &q, err);
    if (!st && tutti_cli_has(f, "json"))
        print_json(&q);
    else if (!st)
        print_table(&q);
    if (!st && q.layers) print_layers(&q, tutti_cli_has(f, "json"));
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
    "that nothing slows down. `tutti train --slow` holds a rank up in a real run.";

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "predict",
        .usage = "tutti predict JOB.yaml|TRACE [options]",
        .about = about,
        .flags = flags,
        .nflags = NFLAGS,
        .wanted = "wants one job file or trace of svm-train: tutti predict JOB.yaml|TRACE [options]",
        .run = predict,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_predict = {"predict", "how long a step takes, here or on another topology",
                                             run_command};

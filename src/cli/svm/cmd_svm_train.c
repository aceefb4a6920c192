/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_svm_train.c: `tutti svm-train`: one rank, several ranks of its own, or one rank of a run that somebody else
 * started. What it prints on stdout is what LIBSVM prints.
 *
 * Signals: see stop.h; with a checkpoint, each round checks whether an end was asked for. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/text/strbuf.h"
#include "../../collective/comm/comm_group.h"
#include "../../collective/launch/join.h"
#include "../cli.h"
#include "../stop.h"
#include "../train/rank_report.h"
#include "svm_flags.h"
#include "svm_progress.h"

typedef struct {
    tutti_svm_order order;
    tutti_comm *comm;
    tutti_svm_progress progress;
    tutti_stop *signals;
    int stop;    /* the signal that asked for an end, else 0 */
    int stopped; /* the signal that ended training on all ranks, else 0 */
} trainer;

static void on_event(void *arg, const tutti_svm_event *event)
{
    trainer *t = arg;
    if (t->order.config.checkpoint) {
        tutti_stop_saves(t->signals);
        t->stop = tutti_stop_asked(t->signals);
    }
    t->stopped = event->stop;
    if (tutti_comm_rank(t->comm) == 0) tutti_svm_progress_event(&t->progress, event);
}

/* ---- messages ---- */

static void print_summary(const trainer *t, const tutti_svm_model *m, const tutti_svm_summary *s)
{
    const tutti_svm_order *o = &t->order;
    if (o->quiet) return;
    for (int i = 0, pair = 0; i < m->nclasses; i++)
        for (int j = i + 1; j < m->nclasses; j++, pair++) {
            const tutti_svm_pair_result *r = &s->pair[pair];
            printf("optimization finished, #iter = %lld\n", (long long)r->iterations);
            if (r->nu >= 0) printf("nu = %f\n", r->nu);
            printf("obj = %f, rho = %f\nnSV = %lld, nBSV = %lld\n", r->objective, r->rho, (long long)r->nsv,
                   (long long)r->nbsv);
        }
    printf("Total nSV = %lld\n", (long long)m->nsv);
}

static void warn(const trainer *t, const char *words)
{
    if (tutti_comm_rank(t->comm) == 0) fprintf(stderr, "tutti svm-train: %s\n", words);
}

static void warn_of_gaps(const trainer *t, const tutti_svm_model *m, const tutti_svm_summary *s)
{
    const double eps = t->order.config.eps;
    for (int i = 0, pair = 0; i < m->nclasses; i++)
        for (int j = i + 1; j < m->nclasses; j++, pair++)
            if (!(s->pair[pair].gap < eps))
                fprintf(stderr,
                        "tutti svm-train: classes %d and %d: ended with a violation of %g, which is not below -e %g: "
                        "scale the data, or give a smaller -c or a larger -e\n",
                        m->label[i], m->label[j], s->pair[pair].gap, eps);
}

/* Warns of weights for classes without samples, as LIBSVM does; they are no failure. */
static void warn_of_weights(const trainer *t, const tutti_svm_model *m)
{
    const tutti_svm_config *c = &t->order.config;
    for (int i = 0; i < c->nweights; i++) {
        bool found = false;
        for (int k = 0; k < m->nclasses; k++) found = found || m->label[k] == c->weight_label[i];
        if (!found)
            fprintf(stderr, "tutti svm-train: -w%d: no sample is of class %d\n", c->weight_label[i],
                    c->weight_label[i]);
    }
}

/* ---- one rank ---- */

static tutti_status make_model(trainer *t, const tutti_svm_data *data, tutti_failure *err)
{
    tutti_svm_model model = {0};
    tutti_svm_summary summary = {0};
    tutti_status st = tutti_svm_train(t->comm, data, &t->order.config, &model, &summary, err);
    if (!st && tutti_comm_rank(t->comm) == 0) {
        if (t->progress.open) fprintf(stderr, "\n");
        t->progress.open = false;
        warn_of_weights(t, &model);
        warn_of_gaps(t, &model, &summary);
        st = tutti_svm_model_write(&model, t->order.model, err);
        /* the checkpoint is removed, because the next run would continue from it */
        if (!st && t->order.config.checkpoint) unlink(t->order.config.checkpoint);
        if (!st) print_summary(t, &model, &summary);
    }
    tutti_svm_model_release(&model);
    tutti_svm_summary_release(&summary);
    return st;
}

static tutti_status cross_validate(trainer *t, const tutti_svm_data *data, tutti_failure *err)
{
    int nfolds = t->order.nfolds;
    if (nfolds > data->total && data->total >= 2) {
        nfolds = (int)data->total;
        warn(t, "more folds than samples: each sample is a fold");
    }
    double *predicted = tutti_alloc((size_t)(data->nrows + 1) * sizeof *predicted);
    tutti_status st = tutti_svm_cross_validate(t->comm, data, &t->order.config, nfolds, predicted, err);
    int64_t right = 0, all_right = 0;
    for (int64_t i = 0; !st && i < data->nrows; i++) right += predicted[i] == (double)(int32_t)data->label[i];
    if (!st) st = tutti_comm_allreduce(t->comm, &right, &all_right, 1, TUTTI_I64, TUTTI_SUM, err);
    if (!st && tutti_comm_rank(t->comm) == 0)
        printf("Cross Validation Accuracy = %g%%\n", 100.0 * (double)all_right / (double)data->total);
    free(predicted);
    return st;
}

static tutti_status play(trainer *t, tutti_failure *err)
{
    const tutti_svm_order *o = &t->order;
    tutti_svm_data data = {0};
    tutti_status st = tutti_svm_data_read(t->comm, o->data, &o->reading, &data, err);
    if (st) return st;
    double error = tutti_svm_kernel_error(&o->config.kernel, &data);
    st = tutti_comm_allreduce(t->comm, &error, &error, 1, TUTTI_F64, TUTTI_MAX, err);
    if (!st && tutti_comm_rank(t->comm) == 0) tutti_svm_warn_of_cancelling("svm-train", error);
    if (!st) st = o->nfolds ? cross_validate(t, &data, err) : make_model(t, &data, err);
    tutti_svm_data_release(&data);
    return st;
}

/* Prints the failure. If all ranks have found the same failure, only rank 0 prints it. Returns the exit code. */
static int end_code(const trainer *t, int rank, const tutti_failure *err)
{
    if (t->stopped && err->status) {
        if (rank == 0)
            fprintf(stderr, "tutti svm-train: stopped by signal %d; the same command goes on from %s\n", t->stopped,
                    t->order.config.checkpoint);
        return 128 + t->stopped;
    }
    const bool together = err->status == TUTTI_ERR_USAGE || err->status == TUTTI_ERR_DATA;
    if (err->status && err->text[0] && (rank == 0 || !together)) fprintf(stderr, "tutti svm-train: %s\n", err->text);
    return (int)err->status;
}

/* Rank 0 checks the files that only it writes; if it cannot, all ranks end, and rank 0 prints why. */
static tutti_status open_files(trainer *t, tutti_group *group, tutti_failure *err)
{
    const tutti_svm_order *o = &t->order;
    const bool first = tutti_group_rank(group) == 0;
    tutti_failure found = {0};
    /* true: a checkpoint of an earlier training exists, so it is read before a new one is written */
    const bool begun = o->config.checkpoint && !access(o->config.checkpoint, F_OK);
    const tutti_output files[] = {
        {.what = "the model", .path = o->nfolds ? NULL : o->model, .written = true},
        {.what = "--trace", .path = o->trace, .written = true},
        {.what = "--checkpoint", .path = begun ? NULL : o->config.checkpoint, .written = true}};
    tutti_status st = first ? tutti_outputs_try(files, sizeof files / sizeof *files, &found) : TUTTI_OK;
    if (!st)
        st = tutti_svm_progress_begin(o->progress, &o->config, first ? o->trace : NULL, tutti_group_nranks(group),
                                      &t->progress, &found);
    int32_t of_first = (int32_t)st;
    st = tutti_group_broadcast(group, "the files of rank 0", 0, &of_first, sizeof of_first, err);
    return st || !of_first ? st : tutti_fail(err, (tutti_status)of_first, "%s", found.text);
}

static int run_rank(trainer *t, tutti_group_config *config, char **argv)
{
    tutti_strbuf words = {0};
    tutti_failure err = {0}, trace_err = {0};
    tutti_group *group = NULL;
    for (char **a = argv; *a; a++) tutti_strbuf_printf(&words, "%s\n", *a);
    config->fingerprint = words.text;
    tutti_cli_block_quit();
    err.status = tutti_cli_join("svm-train", config, &group, &err);
    tutti_strbuf_release(&words);
    if (err.status) return end_code(t, 0, &err);
    tutti_cli_reporter reporter = {"svm-train", group};
    tutti_status st = tutti_cli_report(&reporter, &err);
    t->comm = tutti_comm_of_group(group);
    if (!t->order.config.nthreads)
        t->order.config.nthreads = tutti_svm_threads_share(tutti_group_nmachine(group), tutti_group_ncores(group));
    if (!st) st = open_files(t, group, &err);
    t->order.config.on_event = on_event;
    t->order.config.arg = t;
    t->order.config.stop = &t->stop;
    if (!st) st = play(t, &err);
    tutti_status traced = tutti_svm_progress_end(&t->progress, &trace_err);
    err.status = st;
    if (!st && traced) err = trace_err;
    const int code = end_code(t, config->rank, &err);
    tutti_comm_destroy(t->comm);
    return code;
}

/* ---- the command ---- */

static tutti_status take_environment(const tutti_group_config *config, tutti_svm_order *o, tutti_failure *err)
{
    if (!config->launcher) return TUTTI_OK;
    if (o->nranks != 1 && o->nranks != config->nranks)
        return tutti_cli_refuse_ranks(o->nranks, config->nranks, config->launcher, err);
    o->nranks = config->nranks;
    return TUTTI_OK;
}

static int run_command(int argc, char **argv)
{
    trainer *t = tutti_alloc(sizeof *t);
    tutti_group_config config = {0};
    tutti_failure err = {0};
    int code = TUTTI_OK;
    tutti_status st = tutti_svm_order_read(argc, argv, &t->order, &err);
    const bool runs = !st && !t->order.help;
    if (runs) st = tutti_group_config_from_env(&config, &err);
    if (runs && !st) {
        st = take_environment(&config, &t->order, &err);
        config.ncores = t->order.ncores;
        if (!st && t->order.nranks > 1 && !config.launcher) {
            code = tutti_cli_launch("svm-train", &(tutti_launch_options){.nranks = t->order.nranks}, argv);
        } else if (!st) {
            st = tutti_stop_begin("svm-train", config.rank == 0, &t->signals, &err);
            if (!st) code = run_rank(t, &config, argv);
            tutti_stop_end(t->signals);
        }
        tutti_group_config_end(&config, st ? (int)st : code, "tutti svm-train: a rank failed");
    }
    free(t);
    return st ? tutti_cli_fail("svm-train", &err) : code;
}

const tutti_command tutti_command_svm_train = {
    "svm-train", "train an SVM on one or many ranks (LIBSVM's formats and flags)", run_command};

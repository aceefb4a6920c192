/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_eval.c: `tutti eval CKPT`: test accuracy of a checkpoint, on the data of its job or on other data. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/strbuf.h"
#include "../job/job_impl.h"
#include "../job/session.h"
#include "../training/run/checkpoint.h"
#include "cli.h"

static const tutti_flag flags[] = {
    {"data", "KEY=VALUE,...", "other data: set=mnist,path=DIR or shape=[1,28,28] (keys of the job's data:)",
     TUTTI_FLAG_MANY},
};
enum { NFLAGS = sizeof flags / sizeof *flags, MAX_DATA = 16 };

static const char about[] = "Prints accuracy and loss of a checkpoint on the test set. CKPT is a checkpoint "
                            "(DIR/checkpoints/step_N) or a run's\n"
                            "folder (then its newest whole checkpoint).";

/* Up to the comma that ends a key: commas inside a list, [1, 28, 28], do not. */
static size_t length_of_key(const char *at)
{
    size_t n = 0;
    for (int depth = 0; at[n] && (at[n] != ',' || depth > 0); n++) depth += (at[n] == '[') - (at[n] == ']');
    return n;
}

/* "set=mnist,path=DIR" -> "data.set=mnist", "data.path=DIR"; how many, at most MAX_DATA + 1, the last of which is lost. */
static int split_data(const tutti_flags *f, tutti_arena *arena, const char *out[MAX_DATA])
{
    int n = 0;
    for (int i = 0; i < f->count[0]; i++)
        for (const char *at = f->value[0][i]; *at;) {
            if (n == MAX_DATA) return n + 1;
            const size_t length = length_of_key(at);
            char *text = tutti_arena_alloc(arena, length + 6);
            memcpy(text, "data.", 5);
            memcpy(text + 5, at, length);
            out[n++] = text;
            at += length + (at[length] == ',');
        }
    return n;
}

typedef struct {
    char *path, *job_text, *model_text;
    tutti_job *job;
    tutti_model *model, *fused; /* as the file has it; as the job ran it, NULL = so too */
    tutti_graph *graph;         /* for the list of parameters */
    tutti_dataset *test;
    tutti_arena arena;
} evaluation;

static tutti_status find_checkpoint(const char *where, evaluation *e, tutti_failure *err)
{
    char *notes = NULL;
    if (tutti_checkpoint_is(where)) {
        e->path = strdup(where);
        return tutti_cli_check_checkpoint(where, err);
    }
    tutti_status st = tutti_checkpoint_newest(where, &e->path, &notes, err);
    if (notes) fprintf(stderr, "tutti eval: %s", notes);
    free(notes);
    if (!st && !e->path)
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: neither a checkpoint nor a run's folder with one", where);
    if (!st) st = tutti_cli_check_checkpoint(e->path, err);
    return st;
}

static tutti_status open_parts(const tutti_flags *f, evaluation *e, tutti_failure *err)
{
    const char *overrides[MAX_DATA];
    const int n = split_data(f, &e->arena, overrides);
    if (n > MAX_DATA) return tutti_fail(err, TUTTI_ERR_USAGE, "--data: more than %d keys", MAX_DATA);
    tutti_status st = tutti_checkpoint_read_text(e->path, "job.yaml", &e->job_text, err);
    if (!st) st = tutti_checkpoint_read_text(e->path, "model.yaml", &e->model_text, err);
    if (!st) st = tutti_job_parse("job.yaml", e->job_text, strlen(e->job_text), overrides, n, &e->job, err);
    if (!st) st = tutti_model_parse("model.yaml", e->model_text, strlen(e->model_text), &e->model, err);
    if (st) return st;
    const tutti_graph_config graph = {.batch = 1,
                                      .engine = e->job->kernels,
                                      .nthreads = (int)e->job->threads,
                                      .precision = (tutti_precision)e->job->precision};
    if (e->job->fuse) e->fused = tutti_model_fuse(e->model);
    st = tutti_graph_build(e->fused ? e->fused : e->model, &graph, &e->graph, err);
    if (st) return st;
    const tutti_dataset_config c = tutti_job_data_config(e->job);
    return tutti_dataset_open(&c, TUTTI_SPLIT_TEST, &e->test, err);
}

static tutti_status evaluate(evaluation *e, tutti_failure *err)
{
    const tutti_graph *g = e->graph;
    int64_t *offset = TUTTI_ARENA_NEW(&e->arena, int64_t, g->nparams + 1), total = 0;
    for (int p = 0; p < g->nparams; p++) {
        offset[p] = total;
        total += (g->params[p].desc.elements + 15) / 16 * 16;
    }
    tutti_checkpoint c = {.params = g->params, .nparams = g->nparams, .offset = offset};
    c.weights = TUTTI_ARENA_NEW(&e->arena, float, total + 1);
    tutti_eval_result r;
    tutti_status st = tutti_checkpoint_read(e->path, &c, err);
    if (!st) st = tutti_evaluate(e->graph, c.weights, offset, e->test, NULL, &r, err);
    if (st) return st;
    char hash[17];
    tutti_hash_text(tutti_weights_hash(&c), hash);
    printf("weights %s step %" PRId64 " samples %" PRId64 " loss %.6f accuracy %.4f\n", hash, c.step, r.nsamples,
           r.loss, (double)r.correct / (double)r.nsamples);
    return TUTTI_OK;
}

static tutti_status eval(const tutti_flags *f, tutti_failure *err)
{
    evaluation e = {0};
    tutti_status st = find_checkpoint(f->rest[0], &e, err);
    if (!st) st = open_parts(f, &e, err);
    if (!st) st = evaluate(&e, err);
    tutti_dataset_destroy(e.test);
    tutti_graph_destroy(e.graph);
    tutti_model_destroy(e.fused);
    tutti_model_destroy(e.model);
    tutti_job_destroy(e.job);
    free(e.path);
    free(e.job_text);
    free(e.model_text);
    tutti_arena_release(&e.arena);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "eval",
        .usage = "tutti eval CKPT [--data set=S,path=DIR]",
        .about = about,
        .flags = flags,
        .nflags = NFLAGS,
        .wanted = "wants one checkpoint: tutti eval CKPT [options]",
        .run = eval,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_eval = {"eval", "test accuracy of a checkpoint", run_command};

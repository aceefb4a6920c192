/* SPDX-License-Identifier: Apache-2.0 */
/* trained.c: finds a checkpoint, or takes a file of weights with what the command line says of it, reads its job and its model, and its weights into the order that kernels of one rank want. */
#include "trained.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/file.h"
#include "../../base/text/strbuf.h"
#include "../../job/session.h"

enum { MAX_DATA = 16, MAX_SET = 64 };

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

static tutti_status find_checkpoint(const char *command, const char *where, tutti_trained *t, tutti_failure *err)
{
    char *notes = NULL;
    if (tutti_checkpoint_is(where)) {
        t->path = strdup(where);
        return tutti_cli_check_checkpoint(where, err);
    }
    if (access(where, F_OK) == 0 && !tutti_file_is_folder(where))
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: is a file; a checkpoint is a folder (DIR/checkpoints/step_N), as is a run", where);
    tutti_status st = tutti_checkpoint_newest(where, &t->path, &notes, err);
    if (notes) fprintf(stderr, "tutti %s: %s", command, notes);
    free(notes);
    if (!st && !t->path)
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: neither a checkpoint nor a run's folder with one", where);
    if (!st) st = tutti_cli_check_checkpoint(t->path, err);
    return st;
}

static tutti_status build(tutti_trained *t, tutti_failure *err)
{
    const tutti_graph_config graph = {.batch = 1,
                                      .engine = t->job->plan.engine,
                                      .nthreads = (int)t->job->threads,
                                      .precision = (tutti_precision)t->job->graph.precision};
    if (t->job->fuse) t->fused = tutti_model_fuse(t->model);
    tutti_status st = tutti_graph_build(t->fused ? t->fused : t->model, &graph, &t->graph, err);
    if (!st) st = tutti_graph_prepare_threads(t->graph, err);
    if (!st) t->data = tutti_job_data_config(t->job);
    return st;
}

static tutti_status open_parts(const tutti_flags *f, tutti_trained *t, tutti_failure *err)
{
    const char *overrides[MAX_DATA];
    const int n = split_data(f, &t->arena, overrides);
    if (n > MAX_DATA) return tutti_fail(err, TUTTI_ERR_USAGE, "--data: more than %d keys", MAX_DATA);
    tutti_status st = tutti_checkpoint_read_text(t->path, "job.yaml", &t->job_text, err);
    if (!st) st = tutti_checkpoint_read_text(t->path, "model.yaml", &t->model_text, err);
    if (!st) st = tutti_job_parse("job.yaml", t->job_text, strlen(t->job_text), overrides, n, &t->job, err);
    if (!st) st = tutti_model_parse("model.yaml", t->model_text, strlen(t->model_text), &t->model, err);
    if (!st) st = build(t, err);
    t->has_other_data = n > 0;
    if (!st) st = tutti_checkpoint_read_data(t->path, &t->trained_on, &t->knows_data, err);
    return st;
}

/* ---- weights from elsewhere ---- */

static int row_of(const tutti_flags *f, const char *name)
{
    int i = 0;
    while (strcmp(f->flags[i].name, name) != 0) i++;
    return i;
}

static const char *override_of(const char *const *overrides, int n, const char *key)
{
    for (int i = n - 1; i >= 0; i--)
        if (!strncmp(overrides[i], key, strlen(key)) && overrides[i][strlen(key)] == '=')
            return overrides[i] + strlen(key) + 1;
    return NULL;
}

static const char * override(tutti_trained *t, const char *key, const char *value)
{
    tutti_strbuf text = {0};
    tutti_strbuf_printf(&text, "%s=%s", key, value);
    const char *kept = tutti_arena_strdup(&t->arena, text.text);
    tutti_strbuf_release(&text);
    return kept;
}

/* Pictures may come without a folder of their set: then it is only said how they are cut and normalised, and classes have no names. */
static int add_missing(tutti_trained *t, const char **overrides, int n)
{
    const char *set = override_of(overrides, n, "data.set");
    if (!set) overrides[n++] = "data.set=images";
    if (override_of(overrides, n, "data.path") || !tutti_dataset_reads_files(set ? set : "images")) return n;
    t->is_unnamed = true;
    overrides[n++] = override(t, "data.path", ".");
    return n;
}

static tutti_status list_overrides(const tutti_flags *f, bool pictures, tutti_trained *t, const char **out, int *n,
                                   tutti_failure *err)
{
    const char *model = tutti_cli_value(f, "model", NULL);
    const int set = row_of(f, "set"), ndata = split_data(f, &t->arena, out);
    if (ndata > MAX_DATA) return tutti_fail(err, TUTTI_ERR_USAGE, "--data: more than %d keys", MAX_DATA);
    *n = ndata;
    for (int i = 0; i < f->count[set]; i++) out[(*n)++] = f->value[set][i];
    out[(*n)++] = override(t, "init.from", t->path);
    if (!model) return TUTTI_OK;
    out[(*n)++] = override(t, "model", model);
    if (pictures)
        *n = add_missing(t, out, *n);
    else if (!override_of(out, *n, "data.set"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--model says nothing of the data: add --data set=NAME,path=DIR");
    return TUTTI_OK;
}

static tutti_status open_weights(const tutti_flags *f, bool pictures, tutti_trained *t, tutti_failure *err)
{
    static const char text[] = "batch: 1\nsteps: 0\noptimiser: {lr: 1}\n"; /* nothing is trained */
    const char *job = tutti_cli_value(f, "job", NULL), *overrides[MAX_DATA + MAX_SET + 4];
    int n = 0;
    if (job && tutti_cli_value(f, "model", NULL))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--model and --job: a job names its model; give one");
    tutti_status st = list_overrides(f, pictures, t, overrides, &n, err);
    if (st) return st;
    st = job ? tutti_job_load(job, overrides, n, &t->job, err)
             : tutti_job_parse("--model", text, strlen(text), overrides, n, &t->job, err);
    if (!st) st = tutti_model_load(t->job->model, t->job->folder, &t->model, err);
    return st ? st : build(t, err);
}

/* A file, and no folder: whose weights they are has to be said. */
static tutti_status open_file(const tutti_flags *f, bool pictures, const char *where, tutti_trained *t,
                              tutti_failure *err)
{
    t->path = strdup(where);
    t->is_foreign = true;
    tutti_status st = tutti_init_check_form(where, err);
    if (!st && !tutti_cli_value(f, "model", NULL) && !tutti_cli_value(f, "job", NULL))
        st = tutti_fail(
            err, TUTTI_ERR_USAGE,
            "%s: is a file; a checkpoint is a folder. A file of weights is taken with --model NAME|FILE and --data "
            "set=NAME,path=DIR, or with --job JOB.yaml, which say of which network it is",
            where);
    return st ? st : open_weights(f, pictures, t, err);
}

static tutti_status load_foreign(tutti_trained *t, const char *command, tutti_checkpoint *c, tutti_failure *err)
{
    const tutti_init_wanted wanted = {t->graph->params, t->graph->nparams, NULL, 0};
    tutti_init_config config = t->job->train.init;
    tutti_init *init = NULL;
    config.said.from = t->path;
    config.takes_states = false;
    tutti_status st = tutti_init_open(&config, &wanted, &init, err);
    if (st) return st;
    const char *missing = tutti_init_missing(init);
    char *summary = tutti_init_summary(init);
    fprintf(stderr, "tutti %s: %s\n", command, summary);
    if (missing)
        st = tutti_fail(err, TUTTI_ERR_USAGE,
                        "%s: no tensor in it is '%s' of the model, which would be asked untrained: --set "
                        "init.map=THEIRS=OURS gives other names",
                        t->path, missing);
    else
        tutti_init_fill(init, NULL, c->offset, c->weights);
    free(summary);
    tutti_init_destroy(init);
    return st;
}

/* Weights in the order that kernels of one rank want; if they are not finite, a line on stderr says so. */
static tutti_status load(tutti_trained *t, const char *command, tutti_failure *err)
{
    const tutti_graph *g = t->graph;
    int64_t total = 0;
    t->offset = TUTTI_ARENA_NEW(&t->arena, int64_t, g->nparams + 1);
    for (int p = 0; p < g->nparams; p++) {
        t->offset[p] = total;
        total += (g->params[p].desc.elements + 15) / 16 * 16;
    }
    t->weights = TUTTI_ARENA_NEW(&t->arena, float, total + 1);
    tutti_checkpoint c = {.params = g->params, .nparams = g->nparams, .offset = t->offset, .weights = t->weights};
    tutti_status st = t->is_foreign ? load_foreign(t, command, &c, err) : tutti_checkpoint_read(t->path, &c, err);
    t->step = c.step;
    char what[120];
    if (!st && tutti_checkpoint_find_bad(&c, false, what))
        fprintf(stderr, "tutti %s: %s: its weights are not finite: %s holds NaN or infinite numbers\n", command,
                t->path, what);
    if (!st) t->weights_hash = tutti_weights_hash(&c);
    return st;
}

/* RUN/checkpoints/step_N is of RUN. */
static tutti_status check_outputs(const tutti_flags *f, const tutti_trained *t, tutti_failure *err)
{
    tutti_strbuf run = {0}, metrics = {0};
    tutti_strbuf_printf(&run, "%s/../..", t->path);
    tutti_strbuf_printf(&metrics, "%s/metrics.jsonl", run.text);
    tutti_status st = tutti_cli_check_read(f, "the checkpoint", t->path, err);
    if (!st) st = tutti_cli_check_read(f, "the data", t->data.path, err);
    if (!st && access(metrics.text, F_OK) == 0) st = tutti_cli_check_read(f, "the run", run.text, err);
    tutti_strbuf_release(&run);
    tutti_strbuf_release(&metrics);
    return st;
}

static tutti_status open_run(const char *command, const tutti_flags *f, tutti_trained *out, tutti_failure *err)
{
    const char *where = f->rest[0];
    const bool is_run = !tutti_checkpoint_is(where);
    tutti_status st = TUTTI_OK;
    for (int look = 0; look < TUTTI_CHECKPOINT_LOOKS; look++) {
        *out = (tutti_trained){0};
        st = find_checkpoint(command, where, out, err);
        if (!st) st = open_parts(f, out, err);
        if (!st) st = load(out, command, err);
        if (!st) return check_outputs(f, out, err);
        if (!is_run || !out->path || !tutti_checkpoint_is_gone(out->path)) return st;
        tutti_trained_release(out); /* the run has removed it meanwhile, and has a newer one */
    }
    *out = (tutti_trained){0};
    return st;
}

tutti_status tutti_trained_open(const char *command, const tutti_flags *f, bool pictures, tutti_trained *out,
                                tutti_failure *err)
{
    static const char *const of_files[] = {"model", "job", "set"};
    const char *where = f->rest[0];
    struct stat info;
    *out = (tutti_trained){0};
    const bool is_said = tutti_cli_value(f, "model", NULL) || tutti_cli_value(f, "job", NULL);
    const bool is_there = !stat(where, &info);
    if (is_there ? !S_ISDIR(info.st_mode) : is_said) {
        tutti_status st = open_file(f, pictures, where, out, err);
        if (!st) st = tutti_cli_check_job(f, out->job, err);
        return st ? st : load(out, command, err);
    }
    for (int i = 0; i < 3; i++)
        if (f->count[row_of(f, of_files[i])])
            return tutti_fail(err, TUTTI_ERR_USAGE,
                              "--%s is for a file of weights; %s is none: a checkpoint has its own model and job",
                              of_files[i], where);
    return open_run(command, f, out, err);
}

void tutti_trained_release(tutti_trained *t)
{
    tutti_graph_destroy(t->graph);
    tutti_model_destroy(t->fused);
    tutti_model_destroy(t->model);
    tutti_job_destroy(t->job);
    tutti_data_identity_release(&t->trained_on);
    free(t->path);
    free(t->job_text);
    free(t->model_text);
    tutti_arena_release(&t->arena);
}

/* ---- data ---- */

tutti_status tutti_trained_check_data(const tutti_trained *t, const char *command, const tutti_dataset *test,
                                      tutti_failure *err)
{
    tutti_data_identity now;
    char *classes = NULL, *rest = NULL;
    if (!t->knows_data) return TUTTI_OK;
    tutti_status st = tutti_data_identity_of(&t->data, NULL, test, &now, err);
    const bool named = !st && now.names.n && t->trained_on.names.n;
    if (named) classes = tutti_data_identity_differ(&t->trained_on, &now, TUTTI_IDENTITY_CLASSES);
    if (!st) rest = tutti_data_identity_differ(&t->trained_on, &now, TUTTI_IDENTITY_TEST | TUTTI_IDENTITY_NORMAL);
    if (classes)
        st = tutti_fail(err, TUTTI_ERR_DATA,
                        "%s: its classes are not those of the data: %s; a label would be taken for another class: put "
                        "the folders of classes back, or give data with the same ones (--data path=DIR)",
                        t->path, classes);
    else if (rest)
        fprintf(stderr, "tutti %s: %s than the run was tested on: %s%s\n", command,
                t->has_other_data ? "other data" : "the data have changed: others", rest,
                t->trained_on.names.n ? "; classes are called as in the checkpoint" : "");
    free(classes);
    free(rest);
    tutti_data_identity_release(&now);
    return st;
}

void tutti_trained_names(const tutti_trained *t, const char *command, tutti_names *out)
{
    tutti_failure why = {0};
    if (t->is_unnamed) return;
    if (t->knows_data) {
        for (int64_t i = 0; i < t->trained_on.names.n; i++) tutti_names_add(out, t->trained_on.names.name[i]);
        return;
    }
    if (tutti_class_names(&t->data, out, &why))
        fprintf(stderr, "tutti %s: classes are numbers, for want of their names: %s\n", command, why.text);
    else if (!t->is_foreign && t->data.path && out->n)
        fprintf(stderr,
                "tutti %s: the checkpoint is of an earlier version, which kept no names of classes: they are called as "
                "%s has them now\n",
                command, t->data.path);
    if (out->n <= t->model->nclasses) return;
    fprintf(stderr, "tutti %s: classes are numbers: the set has %lld names, the network %d classes\n", command,
            (long long)out->n, t->model->nclasses);
    tutti_names_release(out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* trained.c: opens trained weights. It finds a checkpoint, or takes a file of weights and a description from the
 * command line. It reads job, model and weights; the weights lie in the memory orders that kernels of one rank need. */
#include "trained.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/file.h"
#include "../../base/text/strbuf.h"
#include "../../training/run/train.h"
#include "../session.h"

enum { MAX_DATA = 16, MAX_SET = 64 };

/* Returns the length of KEY=VALUE up to the comma behind it; commas inside a list, [1, 28, 28], do not end it. */
static size_t length_of_key(const char *at)
{
    size_t n = 0;
    for (int depth = 0; at[n] && (at[n] != ',' || depth > 0); n++) depth += (at[n] == '[') - (at[n] == ']');
    return n;
}

/* Splits "set=mnist,path=DIR" into "data.set=mnist", "data.path=DIR". Returns their number; MAX_DATA + 1 = there are
 * more, which are left out. */
static int split_data(tutti_trained *t, const char *out[MAX_DATA])
{
    int n = 0;
    for (int i = 0; i < t->question->ndata; i++)
        for (const char *at = t->question->data[i]; *at;) {
            if (n == MAX_DATA) return n + 1;
            const size_t length = length_of_key(at);
            char *text = tutti_arena_alloc(&t->arena, length + 6);
            memcpy(text, "data.", 5);
            memcpy(text + 5, at, length);
            out[n++] = text;
            at += length + (at[length] == ',');
        }
    return n;
}

/* Passes a line to the caller's `say`. */
__attribute__((format(printf, 2, 3))) static void say(const tutti_trained *t, const char *format, ...)
{
    tutti_strbuf line = {0};
    va_list list;
    va_start(list, format);
    tutti_strbuf_vprintf(&line, format, list);
    va_end(list);
    t->question->say(t->question->arg, line.text);
    tutti_strbuf_release(&line);
}

static tutti_status find_checkpoint(const char *where, tutti_trained *t, tutti_failure *err)
{
    char *notes = NULL;
    if (tutti_checkpoint_is(where)) {
        t->path = strdup(where);
        return tutti_job_check_checkpoint(where, err);
    }
    if (access(where, F_OK) == 0 && !tutti_file_is_folder(where))
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: is a file; a checkpoint is a folder (DIR/checkpoints/step_N), as is a run", where);
    tutti_status st = tutti_checkpoint_newest(where, &t->path, &notes, err);
    for (char *rest = notes, *line; (line = strsep(&rest, "\n"));)
        if (*line) say(t, "%s", line);
    free(notes);
    if (!st && !t->path)
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: neither a checkpoint nor a run's folder with one", where);
    if (!st) st = tutti_job_check_checkpoint(t->path, err);
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

static tutti_status open_parts(tutti_trained *t, tutti_failure *err)
{
    const char *overrides[MAX_DATA];
    const int n = split_data(t, overrides);
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

/* Pictures may come without a folder of their set: then the job only says how they are cropped and normalised, and
 * classes have no names. */
static int add_missing(tutti_trained *t, const char **overrides, int n)
{
    const char *set = override_of(overrides, n, "data.set");
    if (!set) overrides[n++] = "data.set=images";
    if (override_of(overrides, n, "data.path") || !tutti_dataset_reads_files(set ? set : "images")) return n;
    t->is_unnamed = true;
    overrides[n++] = override(t, "data.path", ".");
    return n;
}

static tutti_status list_overrides(tutti_trained *t, const char **out, int *n, tutti_failure *err)
{
    const char *model = t->question->model;
    const int ndata = split_data(t, out);
    if (ndata > MAX_DATA) return tutti_fail(err, TUTTI_ERR_USAGE, "--data: more than %d keys", MAX_DATA);
    *n = ndata;
    for (int i = 0; i < t->question->nsets; i++) out[(*n)++] = t->question->sets[i];
    out[(*n)++] = override(t, "init.from", t->path);
    if (!model) return TUTTI_OK;
    out[(*n)++] = override(t, "model", model);
    if (t->question->pictures)
        *n = add_missing(t, out, *n);
    else if (!override_of(out, *n, "data.set"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--model does not say which data: add --data set=NAME,path=DIR");
    return TUTTI_OK;
}

static tutti_status open_weights(tutti_trained *t, tutti_failure *err)
{
    /* keys that every job must have; nothing is trained */
    static const char text[] = "batch: 1\nsteps: 0\noptimiser: {lr: 1}\n";
    const char *job = t->question->job, *overrides[MAX_DATA + MAX_SET + 4];
    int n = 0;
    if (job && t->question->model)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--model and --job: a job names its model; give one");
    tutti_status st = list_overrides(t, overrides, &n, err);
    if (st) return st;
    st = job ? tutti_job_load(job, overrides, n, &t->job, err)
             : tutti_job_parse("--model", text, strlen(text), overrides, n, &t->job, err);
    if (!st) st = tutti_model_load(t->job->model, t->job->folder, &t->model, err);
    return st ? st : build(t, err);
}

/* Opens a file of weights: the command line must say for which network they are. */
static tutti_status open_file(const char *where, tutti_trained *t, tutti_failure *err)
{
    t->path = strdup(where);
    t->is_foreign = true;
    tutti_status st = tutti_init_check_form(where, err);
    if (!st && !t->question->model && !t->question->job)
        st = tutti_fail(
            err, TUTTI_ERR_USAGE,
            "%s: is a file; a checkpoint is a folder. A file of weights is taken with --model NAME|FILE and --data "
            "set=NAME,path=DIR, or with --job JOB.yaml, which say of which network it is",
            where);
    return st ? st : open_weights(t, err);
}

static tutti_status load_foreign(tutti_trained *t, tutti_checkpoint *c, tutti_failure *err)
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
    say(t, "%s", summary);
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

/* Loads weights in the memory orders that kernels of one rank need. If weights are not finite, the caller's `say` gets
 * a line about it. */
static tutti_status load(tutti_trained *t, tutti_failure *err)
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
    tutti_status st = t->is_foreign ? load_foreign(t, &c, err) : tutti_checkpoint_read(t->path, &c, err);
    t->step = c.step;
    char what[120];
    if (!st && tutti_checkpoint_find_bad(&c, false, what))
        say(t, "%s: its weights are not finite: %s holds NaN or infinite numbers", t->path, what);
    if (!st) t->weights_hash = tutti_weights_hash(&c);
    return st;
}

static tutti_status open_run(const tutti_trained_question *q, tutti_trained *out, tutti_failure *err)
{
    const bool is_run = !tutti_checkpoint_is(q->where);
    tutti_status st = TUTTI_OK;
    for (int look = 0; look < TUTTI_CHECKPOINT_LOOKS; look++) {
        *out = (tutti_trained){.question = q};
        st = find_checkpoint(q->where, out, err);
        if (!st) st = open_parts(out, err);
        if (!st) st = load(out, err);
        if (!st || !is_run || !out->path || !tutti_checkpoint_is_gone(out->path)) return st;
        tutti_trained_release(out); /* the run has removed the checkpoint meanwhile, and has a newer one */
    }
    *out = (tutti_trained){.question = q};
    return st;
}

tutti_status tutti_trained_open(const tutti_trained_question *q, tutti_trained *out, tutti_failure *err)
{
    const char *of_files = q->model ? "model" : q->job ? "job" : q->nsets ? "set" : NULL;
    struct stat info;
    *out = (tutti_trained){.question = q};
    const bool is_there = !stat(q->where, &info);
    if (is_there ? !S_ISDIR(info.st_mode) : q->model || q->job) {
        const tutti_status st = open_file(q->where, out, err);
        return st ? st : load(out, err);
    }
    if (of_files)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "--%s is for a file of weights; %s is none: a checkpoint has its own model and job", of_files,
                          q->where);
    return open_run(q, out, err);
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

tutti_status tutti_trained_check_data(const tutti_trained *t, const tutti_dataset *test, tutti_failure *err)
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
        say(t, "%s than the run was tested on: %s%s",
            t->has_other_data ? "other data" : "the data have changed: others", rest,
            t->trained_on.names.n ? "; classes are called as in the checkpoint" : "");
    free(classes);
    free(rest);
    tutti_data_identity_release(&now);
    return st;
}

void tutti_trained_names(const tutti_trained *t, tutti_names *out)
{
    tutti_failure why = {0};
    if (t->is_unnamed) return;
    if (t->knows_data) {
        for (int64_t i = 0; i < t->trained_on.names.n; i++) tutti_names_add(out, t->trained_on.names.name[i]);
        return;
    }
    if (tutti_class_names(&t->data, out, &why))
        say(t, "classes are numbers, for want of their names: %s", why.text);
    else if (!t->is_foreign && t->data.path && out->n)
        say(t,
            "the checkpoint is of an earlier version, which kept no names of classes: they are called as %s has them "
            "now",
            t->data.path);
    if (out->n <= t->model->nclasses) return;
    say(t, "classes are numbers: the set has %lld names, the network %d classes", (long long)out->n,
        t->model->nclasses);
    tutti_names_release(out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* job.c: reads a job file, applies the overrides of --set, checks and completes the job, and prints it.
 *
 * A loaded job is resolved: defaults are filled in, and paths are made absolute (a path in the file is relative to the
 * file's folder, a path of --set to the working folder). So the printed job means the same wherever it is read again:
 * in a folder of results, or by ranks with another working folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "../collective/compile/algorithms.h"
#include "job_fields.h"
#include "resolve.h"

enum { MAX_JOB_BYTES = 1 << 20 };

/* `--set steps=20` replaces the epochs of a job that has epochs, or the other way round; if the overrides give both,
 * both stay and are refused. */
static void let_override_replace(tutti_job *job, const tutti_job_source *source)
{
    bool epochs = tutti_job_source_override(source, "epochs"), steps = tutti_job_source_override(source, "steps");
    if (steps && !epochs) job->epochs = 0;
    if (epochs && !steps && job->epochs > 0) job->train.nsteps = 0;
}

/* Stores where the job gave values that can be checked only later, when the model and other files have been read. */
static void note_places(tutti_job *job, const tutti_job_source *source)
{
    job->optimiser.said_rate = tutti_job_said(source, "optimiser.groups.rate", &job->arena);
    job->graph.frozen.said = tutti_job_said(source, "optimiser.groups.freeze", &job->arena);
    job->optimiser.said_decay = tutti_job_said(source, "optimiser.groups.decay", &job->arena);
    job->parallel.said_layers = tutti_job_said(source, "parallel.layers", &job->arena);
    job->parallel.said_groups = tutti_job_said(source, "parallel.groups", &job->arena);
    const char *from = tutti_job_given_name(source, "init.from", "init");
    job->train.init.said.from = tutti_job_said(source, from, &job->arena);
    job->train.init.said.skip = tutti_job_said(source, "init.skip", &job->arena);
    job->train.init.said.map = tutti_job_said(source, "init.map", &job->arena);
    job->train.init.said.state = tutti_job_said(source, "init.state", &job->arena);
}

/* Checks the job. If the partition has set the number of ranks, the message of a failure says so. */
static tutti_status check(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const tutti_status st = tutti_job_check(job, source, err);
    if (!st || !job->ranks_by_partition || !err) return st;
    const size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof err->text - n, "; ranks: %lld, as many as 'partition: %s' has groups here",
             (long long)job->ranks, job->partition);
    return st;
}

static bool takes_update(const tutti_job *job)
{
    const tutti_method_row *method = tutti_method_find(job->method.name);
    for (int i = 0; method && tutti_method_key_name(method, i); i++)
        if (!strcmp(tutti_method_key_name(method, i), "exchange.update")) return true;
    return false;
}

/* Lets every rank update all weights if the job's algorithm lacks the collectives by which ranks update only slices. */
static void fix_update(tutti_job *job)
{
    char rows[2][TUTTI_ALGORITHM_TEXT];
    const int nrows = tutti_plan_algorithms(job->plan.algorithm ? job->plan.algorithm : "auto", rows);
    if (job->exchange.update != TUTTI_UPDATE_AUTO || !takes_update(job)) return;
    const tutti_plan_config config = tutti_job_plan_config(job, &(tutti_job_seat){0});
    const unsigned wanted = tutti_method_find(job->method.name)->collectives(&config);
    for (int i = 0; i < nrows; i++) {
        const tutti_algorithm *row = tutti_algorithm_find(rows[i]);
        if (row && (row->collectives & wanted) != wanted) job->exchange.update = TUTTI_UPDATE_REPLICATED;
    }
}

/* Sets the rule of buckets if the job gives only the size of buckets, or the buckets themselves, which imply a rule. */
static void fix_buckets(tutti_job *job)
{
    enum { USUAL = 1 << 20 }; /* bytes: the default of exchange.bucket_bytes */
    if (job->exchange.buckets != TUTTI_BUCKETS_AUTO) return;
    if (job->plan.bucket_bytes != USUAL) job->exchange.buckets = TUTTI_BUCKETS_SIZE;
    if (job->plan.cut.n) job->exchange.buckets = TUTTI_BUCKETS_CUT;
}

static tutti_status read_job(tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    tutti_job_fields fields;
    const char *preset[TUTTI_JOB_PRESET_KEYS];
    const int npreset = tutti_job_preset_overrides(source, preset), n = npreset + source->noverrides;
    const char **overrides = tutti_arena_alloc(&job->arena, sizeof *overrides * (size_t)(n + 1));
    for (int i = 0; i < n; i++) overrides[i] = i < npreset ? preset[i] : source->overrides[i - npreset];
    const tutti_options_into into = {tutti_job_fields_list(&fields), &job->arena, job};
    tutti_status st = tutti_options_read(&into, source->name, source->root, overrides, n, err);
    if (st != TUTTI_OK) return st;
    fix_buckets(job);
    fix_update(job);
    let_override_replace(job, source);
    note_places(job, source);
    st = tutti_job_read_topology(job, source, err);
    if (!st) st = tutti_job_share_out(job, source, source->nlocal, err);
    return st ? st : check(job, source, err);
}

static tutti_status parse(const char *name, const char *text, size_t nbytes, tutti_job_source *source, tutti_job **out,
                          tutti_failure *err)
{
    tutti_yaml *yaml = NULL;
    tutti_status st = tutti_yaml_parse(name, text, nbytes, &yaml, err);
    if (st != TUTTI_OK) return st;
    tutti_job *job = tutti_alloc(sizeof *job);
    char *folder = tutti_file_folder(name);
    job->folder = tutti_arena_strdup(&job->arena, folder);
    free(folder);
    source->name = name;
    source->root = tutti_yaml_root(yaml);
    st = read_job(job, source, err);
    source->root = NULL;
    tutti_yaml_destroy(yaml);
    if (st == TUTTI_OK)
        *out = job;
    else
        tutti_job_destroy(job);
    return st;
}

tutti_status tutti_job_parse(const char *name, const char *text, size_t nbytes, const char *const *overrides,
                             int noverrides, tutti_job **out, tutti_failure *err)
{
    tutti_job_source source = {.overrides = overrides, .noverrides = noverrides};
    return parse(name, text, nbytes, &source, out, err);
}

/* A path given in the file is relative to the file's folder, a path given by an override to the working folder.
 * shorter: a shorter name of the key, or NULL. */
static void make_absolute(tutti_job *job, const tutti_job_source *source, const char *key, const char *shorter,
                          const char **path)
{
    if (!*path || (*path)[0] == '/') return;
    const bool overridden =
        tutti_job_source_override(source, key) || (shorter && tutti_job_source_override(source, shorter));
    char *start = realpath(overridden ? "." : job->folder, NULL);
    if (!start) return; /* the folder is gone: opening the path will fail with a message */
    tutti_strbuf whole = {0};
    tutti_strbuf_printf(&whole, "%s/%s", strcmp(start, "/") == 0 ? "" : start, *path);
    *path = tutti_arena_strdup(&job->arena, whole.text);
    tutti_strbuf_release(&whole);
    free(start);
}

/* True for a path, by the same rule as in tutti_model_load: other words are names of models that come with the
 * program. */
static bool is_model_path(const char *model)
{
    size_t n = strlen(model);
    return strchr(model, '/') || (n >= 5 && strcmp(model + n - 5, ".yaml") == 0);
}

static tutti_status load(const char *path, tutti_job_source source, tutti_job **out, tutti_failure *err)
{
    char *text = NULL;
    size_t nbytes = 0;
    tutti_status st = tutti_file_read(path, MAX_JOB_BYTES, TUTTI_ERR_USAGE, &text, &nbytes, err);
    if (st != TUTTI_OK) return st;
    tutti_job *job = NULL;
    st = parse(path, text, nbytes, &source, &job, err);
    free(text);
    if (st != TUTTI_OK) return st;
    make_absolute(job, &source, "data.path", NULL, &job->data.path);
    make_absolute(job, &source, "init.from", "init", &job->train.init.from);
    make_absolute(job, &source, "kernels.tuned", NULL, &job->kernels.tuned);
    if (is_model_path(job->model)) make_absolute(job, &source, "model", NULL, &job->model);
    *out = job;
    return TUTTI_OK;
}

tutti_status tutti_job_load(const char *path, const char *const *overrides, int noverrides, tutti_job **out,
                            tutti_failure *err)
{
    return tutti_job_load_here(path, overrides, noverrides, 0, out, err);
}

tutti_status tutti_job_load_here(const char *path, const char *const *overrides, int noverrides, int nlocal,
                                 tutti_job **out, tutti_failure *err)
{
    const tutti_job_source source = {.overrides = overrides, .noverrides = noverrides, .nlocal = nlocal};
    return load(path, source, out, err);
}

tutti_status tutti_job_load_for_any(const char *path, const char *const *overrides, int noverrides, tutti_job **out,
                                    tutti_failure *err)
{
    const tutti_job_source source = {.overrides = overrides, .noverrides = noverrides, .any_ranks = true};
    return load(path, source, out, err);
}

void tutti_job_destroy(tutti_job *job)
{
    if (!job) return;
    tutti_arena_release(&job->arena);
    free(job);
}

char *tutti_job_print(const tutti_job *job)
{
    tutti_job_fields fields;
    tutti_strbuf out = {0};
    tutti_options_print(tutti_job_fields_list(&fields), job, &out);
    return tutti_strbuf_detach(&out);
}

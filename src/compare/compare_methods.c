/* SPDX-License-Identifier: Apache-2.0 */
/* compare_methods.c: reads the list of methods and the goal of `tutti compare`, and makes the job of each run. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/text/options.h"
#include "../job/outputs.h"
#include "../job/resolve.h"
#include "compare.h"

static char *text_of(tutti_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
static char *text_of(tutti_arena *arena, const char *format, ...)
{
    tutti_strbuf sb = {0};
    va_list args;
    va_start(args, format);
    tutti_strbuf_vprintf(&sb, format, args);
    va_end(args);
    char *text = tutti_strbuf_detach(&sb), *copy = tutti_arena_strdup(arena, text);
    free(text);
    return copy;
}

/* ---- the list of methods ---- */

/* Adds a key of the list to the method. A key without a dot is one of the method's own keys. */
static tutti_status take_key(tutti_compare *c, tutti_compare_method *m, const char *word, tutti_failure *err)
{
    const size_t length = strcspn(word, "=");
    if (!length || word[length] != '=' || !word[length + 1])
        return tutti_fail(err, TUTTI_ERR_USAGE, "--methods: %s: '%s' is not a KEY=VALUE", m->label, word);
    if (m->nkeys == TUTTI_COMPARE_MAX_KEYS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--methods: %s: more than %d keys", m->label, TUTTI_COMPARE_MAX_KEYS);
    const char *key = text_of(&c->arena, "%s%s", memchr(word, '.', length) ? "" : "method.", word);
    if (!strncmp(key, "method.name=", 12))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--methods: %s: the method's name comes first", m->label);
    m->keys[m->nkeys++] = key;
    return TUTTI_OK;
}

/* Returns the label with underscores in place of characters that mean something to a shell, a path or a link. */
static const char *folder_of(tutti_arena *arena, const char *label)
{
    char *folder = tutti_arena_strdup(arena, label);
    for (char *at = folder; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-_.=+", *at)) *at = '_';
    return folder;
}

static tutti_status take_method(tutti_compare *c, const char *label, tutti_failure *err)
{
    if (c->nmethods == TUTTI_COMPARE_MAX_METHODS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--methods: more than %d", TUTTI_COMPARE_MAX_METHODS);
    tutti_compare_method *m = &c->methods[c->nmethods];
    char *rest = NULL, *words = tutti_arena_strdup(&c->arena, label), *name = strtok_r(words, ":", &rest);
    *m = (tutti_compare_method){.label = label, .folder = folder_of(&c->arena, label)};
    if (!name) return tutti_fail(err, TUTTI_ERR_USAGE, "--methods: a name is missing");
    tutti_status st = tutti_job_find_method(name, &m->row, err);
    if (st) return tutti_fail_at(err, "--methods");
    for (char *w; !st && (w = strtok_r(NULL, ":", &rest));) st = take_key(c, m, w, err);
    for (int i = 0; !st && i < c->nmethods; i++)
        if (!strcmp(c->methods[i].folder, m->folder))
            st = tutti_fail(err, TUTTI_ERR_USAGE, "--methods: %s is given twice", label);
    c->nmethods++;
    return st;
}

tutti_status tutti_compare_read_methods(tutti_compare *c, const char *list, tutti_failure *err)
{
    if (!list) return tutti_fail(err, TUTTI_ERR_USAGE, "--methods is missing: a,b,..; 'tutti methods' lists them");
    tutti_status st = TUTTI_OK;
    for (const char *at = list; at && !st;) {
        const size_t length = strcspn(at, ",");
        st = take_method(c, text_of(&c->arena, "%.*s", (int)length, at), err);
        at = at[length] ? at + length + 1 : NULL;
    }
    return st;
}

tutti_status tutti_compare_read_goal(tutti_compare *c, const char *text, tutti_failure *err)
{
    char *end;
    c->goal = TUTTI_UNTIL_END;
    if (!text) return TUTTI_OK;
    const char *value = strchr(text, '=');
    c->goal_value = value ? strtod(value + 1, &end) : NAN;
    if (!value || !tutti_options_is_number(value + 1) || end == value + 1 || *end || !isfinite(c->goal_value) ||
        c->goal_value <= 0)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--until: '%s' is neither accuracy=A nor seconds=S", text);
    if (!strncmp(text, "seconds=", 8))
        c->goal = TUTTI_UNTIL_SECONDS;
    else if (!strncmp(text, "accuracy=", 9) && c->goal_value <= 1)
        c->goal = TUTTI_UNTIL_ACCURACY;
    else if (!strncmp(text, "accuracy=", 9))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--until: accuracy=%g: a share of the test set, at most 1",
                          c->goal_value);
    else
        return tutti_fail(err, TUTTI_ERR_USAGE, "--until: '%s' is neither accuracy=A nor seconds=S", text);
    return TUTTI_OK;
}

/* ---- the jobs of the runs ---- */

int tutti_compare_keys(tutti_compare *c, const tutti_compare_method *m, const char *seed,
                       const char *keys[TUTTI_COMPARE_MAX_SETS])
{
    static const char tests[] = "eval_points=5"; /* fewer tests would make a poor curve */
    int n = 0;
    if (m->few_tests) keys[n++] = tests;
    for (int i = 0; i < c->nsets; i++) keys[n++] = c->sets[i];
    if (c->ranks) keys[n++] = text_of(&c->arena, "ranks=%s", c->ranks);
    keys[n++] = text_of(&c->arena, "method.name=%s", m->row->name);
    for (int i = 0; i < m->nkeys; i++) keys[n++] = m->keys[i];
    if (seed) keys[n++] = text_of(&c->arena, "seed=%s", seed);
    return n;
}

/* Loads the job of a method. seed NULL means the job's own seed. */
static tutti_status load(tutti_compare *c, const tutti_compare_method *m, const char *seed, tutti_job **out,
                         tutti_failure *err)
{
    const char *keys[TUTTI_COMPARE_MAX_SETS];
    if (c->nsets + m->nkeys + 4 > TUTTI_COMPARE_MAX_SETS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: more than %d keys, those of --set included", m->label,
                          TUTTI_COMPARE_MAX_SETS - 4);
    const int n = tutti_compare_keys(c, m, seed, keys);
    const tutti_status st = tutti_job_load(c->path, keys, n, out, err);
    return st ? tutti_fail_at(err, "%s", m->label) : TUTTI_OK;
}

static bool says_points(const char *const *keys, int n)
{
    for (int i = 0; i < n; i++)
        if (!strncmp(keys[i], "eval_points=", 12)) return true;
    return false;
}

/* Plans the job as a run would. The plan is not verified here, because the run itself verifies it. */
static tutti_status plan(tutti_arena *arena, tutti_compare_method *m, const tutti_job *job, tutti_failure *err)
{
    tutti_resolved parts = {0};
    tutti_strbuf says = {0}, rule = {0};
    const tutti_status st = tutti_job_resolve(job, &(tutti_job_seat){.prove_later = true}, &parts, err);
    if (!st) {
        tutti_method_say(m->row, parts.plan, &says);
        m->says = tutti_arena_strdup(arena, says.text);
        m->parallelism = tutti_plan_parallelism(parts.plan);
        if (tutti_method_rule_differs(m->row, tutti_rule_at(job->optimiser.rule)->name, &rule))
            m->warning = tutti_arena_strdup(arena, rule.text);
    }
    tutti_strbuf_release(&rule);
    tutti_strbuf_release(&says);
    tutti_resolved_release(&parts);
    return st ? tutti_fail_at(err, "%s", m->label) : TUTTI_OK;
}

/* Checks that report and run are not written to places from which the job reads. */
static tutti_status check_places(const tutti_compare *c, const tutti_compare_run *r, const tutti_job *job,
                                 tutti_failure *err)
{
    char *table = NULL, *page = NULL;
    if (asprintf(&table, "%s/compare.csv", c->dir) < 0 || asprintf(&page, "%s/compare.html", c->dir) < 0)
        tutti_no_memory(strlen(c->dir));
    const tutti_output files[] = {{.what = "the table", .path = table, .written = true},
                                  {.what = "the page", .path = page, .written = true},
                                  {.what = "a run", .path = r->dir, .written = true, .is_run = true},
                                  {.what = "the job", .path = c->path},
                                  {.what = "the job's model", .path = job->model},
                                  {.what = "the job's data", .path = job->data.path},
                                  {.what = "the job's tuned kernels", .path = job->kernels.tuned},
                                  {.what = "the initial weights", .path = job->train.init.from}};
    const tutti_status st = tutti_outputs_check(files, sizeof files / sizeof *files, err);
    free(table);
    free(page);
    return st;
}

static tutti_status prepare_run(tutti_compare *c, const tutti_compare_method *m, int64_t seed, tutti_compare_run *r,
                                tutti_failure *err)
{
    tutti_job *job = NULL;
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)seed);
    tutti_status st = load(c, m, number, &job, err);
    if (st) return st;
    char *text = tutti_job_print(job);
    *r = (tutti_compare_run){.method = m,
                             .seed = seed,
                             .batch = job->plan.batch,
                             .dir = text_of(&c->arena, "%s/%s-%s", c->dir, m->folder, number),
                             .job = tutti_arena_strdup(&c->arena, text)};
    st = check_places(c, r, job, err);
    free(text);
    tutti_job_destroy(job);
    return st;
}

tutti_status tutti_compare_prepare(tutti_compare *c, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    c->runs = TUTTI_ARENA_NEW(&c->arena, tutti_compare_run, c->nmethods * c->nseeds);
    for (int m = 0; m < c->nmethods && !st; m++) {
        tutti_job *job = NULL;
        st = load(c, &c->methods[m], NULL, &job, err);
        if (!st) st = plan(&c->arena, &c->methods[m], job, err);
        c->methods[m].few_tests = !st && !job->train.eval_points && !says_points(c->sets, c->nsets) &&
                                  !says_points(c->methods[m].keys, c->methods[m].nkeys);
        const int64_t first = job ? job->train.seed : 0;
        if (job) c->nranks = job->ranks;
        tutti_job_destroy(job);
        for (int s = 0; s < c->nseeds && !st; s++)
            st = prepare_run(c, &c->methods[m], first + s, tutti_compare_at(c, m, s), err);
    }
    return st;
}

void tutti_compare_release(tutti_compare *c)
{
    for (int i = 0; c->runs && i < c->nmethods * c->nseeds; i++) tutti_run_lines_release(&c->runs[i].lines);
    tutti_arena_release(&c->arena);
}

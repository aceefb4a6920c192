/* SPDX-License-Identifier: Apache-2.0 */
/* job.c: reads a job through its table and checks what one key cannot know of another. Failures name file and line of the
 * key to change, or the --set that gave it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "job_impl.h"

enum { MAX_JOB_BYTES = 1 << 20 };

typedef struct {
    const tutti_job *job;
    const char *name;
    const tutti_yaml_node *root;
    tutti_failure *err;
} checker;

/* Line of "a.b", or of the file's first line if --set or a default gave the value. */
static int line_of(const tutti_yaml_node *root, const char *key)
{
    char part[64];
    const tutti_yaml_node *node = root;
    for (const char *p = key; node && *p;) {
        size_t n = strcspn(p, ".");
        snprintf(part, sizeof part, "%.*s", (int)n, p);
        node = tutti_yaml_get(node, part);
        p += n + (p[n] == '.');
    }
    return node ? node->line : root->line;
}

/* For `return refuse(c, "batch", ...)`: the words are in err already. */
static tutti_status at_key(const checker *c, const char *key)
{
    return tutti_fail_at(c->err, "%s: line %d: %s", c->name, line_of(c->root, key), key);
}

static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static int64_t power_of_two_from(int64_t n)
{
    int64_t p = 1;
    while (p < n) p *= 2;
    return p;
}

static tutti_status check_length(const checker *c)
{
    const tutti_job *j = c->job;
    if (j->epochs > 0 && j->steps > 0) {
        tutti_fail(c->err, TUTTI_ERR_USAGE, "epochs and steps are both given; give one");
        return at_key(c, "steps");
    }
    if (j->epochs <= 0 && j->steps <= 0) {
        tutti_fail(c->err, TUTTI_ERR_USAGE, "the key 'epochs' is missing (or 'steps'): how long to train");
        return tutti_fail_at(c->err, "%s: line %d", c->name, c->root->line);
    }
    return TUTTI_OK;
}

static tutti_status check_slots(const checker *c)
{
    const tutti_job *j = c->job;
    if (j->reduction == TUTTI_REDUCTION_FAST) {
        if (j->slots == 0) return TUTTI_OK;
        tutti_fail(c->err, TUTTI_ERR_USAGE, "slots are of canonical sums only; add 'reduction: canonical'");
        return at_key(c, "slots");
    }
    if (j->slots == 0) {
        tutti_fail(c->err, TUTTI_ERR_USAGE, "canonical sums need 'slots: S', a power of two of at least %" PRId64,
                   power_of_two_from(j->ranks));
        return at_key(c, "reduction");
    }
    if (!is_power_of_two(j->slots)) {
        tutti_fail(c->err, TUTTI_ERR_USAGE, "%" PRId64 " is no power of two; use %" PRId64, j->slots,
                   power_of_two_from(j->slots));
        return at_key(c, "slots");
    }
    if (j->slots < j->ranks) {
        tutti_fail(c->err, TUTTI_ERR_USAGE,
                   "%" PRId64 " slots for %" PRId64 " ranks: each rank needs one; use %" PRId64, j->slots, j->ranks,
                   power_of_two_from(j->ranks));
        return at_key(c, "slots");
    }
    return TUTTI_OK;
}

/* The batch must divide into what shares it: ranks, or slots in canonical mode. */
static tutti_status check_batch(const checker *c)
{
    const tutti_job *j = c->job;
    bool canonical = j->reduction == TUTTI_REDUCTION_CANONICAL;
    int64_t parts = canonical ? j->slots : j->ranks;
    if (j->batch % parts == 0) return TUTTI_OK;
    int64_t below = j->batch / parts * parts, above = below + parts;
    if (below)
        tutti_fail(c->err, TUTTI_ERR_USAGE,
                   "%" PRId64 " does not divide into %" PRId64 " %s; %" PRId64 " or %" PRId64 " would", j->batch, parts,
                   canonical ? "slots" : "ranks", below, above);
    else
        tutti_fail(c->err, TUTTI_ERR_USAGE, "%" PRId64 " does not divide into %" PRId64 " %s; %" PRId64 " would",
                   j->batch, parts, canonical ? "slots" : "ranks", above);
    return at_key(c, "batch");
}

static tutti_status check_rate(const checker *c)
{
    const tutti_job *j = c->job;
    if (j->optimiser.schedule == TUTTI_RATE_STEP && j->optimiser.milestones.n == 0) {
        tutti_fail(c->err, TUTTI_ERR_USAGE, "step needs 'milestones: [10, 20]' (epochs)");
        return at_key(c, "optimiser.schedule");
    }
    for (int i = 1; i < j->optimiser.milestones.n; i++) {
        if (j->optimiser.milestones.values[i] > j->optimiser.milestones.values[i - 1]) continue;
        tutti_fail(c->err, TUTTI_ERR_USAGE, "epochs must grow from one to the next");
        return at_key(c, "optimiser.milestones");
    }
    if (j->optimiser.rule == TUTTI_RULE_NESTEROV && j->optimiser.momentum <= 0) {
        tutti_fail(c->err, TUTTI_ERR_USAGE, "nesterov needs a momentum above 0");
        return at_key(c, "optimiser.momentum");
    }
    return TUTTI_OK;
}

static tutti_status check_names(const checker *c)
{
    const tutti_job *j = c->job;
    static const char *const engines[] = {"onednn", "reference"};
    if (!tutti_method_find(j->method)) {
        tutti_fail(c->err, TUTTI_ERR_USAGE, "unknown method '%s'; known: %s", j->method, tutti_method_at(0)->name);
        return at_key(c, "method");
    }
    if (strcmp(j->kernels, engines[0]) != 0 && strcmp(j->kernels, engines[1]) != 0) {
        tutti_fail(c->err, TUTTI_ERR_USAGE, "unknown engine '%s'; known: onednn, reference", j->kernels);
        return at_key(c, "kernels");
    }
    return TUTTI_OK;
}

static tutti_status check_job(const checker *c)
{
    tutti_status st = check_length(c);
    if (st == TUTTI_OK) st = check_slots(c);
    if (st == TUTTI_OK) st = check_batch(c);
    if (st == TUTTI_OK) st = check_rate(c);
    if (st == TUTTI_OK) st = check_names(c);
    return st;
}

static tutti_status read_job(tutti_job *job, const char *name, const tutti_yaml *y, const char *const *overrides,
                             int noverrides, tutti_failure *err)
{
    const tutti_yaml_node *root = tutti_yaml_root(y);
    tutti_status st = tutti_options_read(&tutti_job_fields, name, root, overrides, noverrides, &job->arena, job, err);
    if (st != TUTTI_OK) return st;
    char *folder = tutti_file_folder(name);
    job->folder = tutti_arena_strdup(&job->arena, folder);
    free(folder);
    return check_job(&(checker){job, name, root, err});
}

tutti_status tutti_job_parse(const char *name, const char *text, size_t nbytes, const char *const *overrides,
                             int noverrides, tutti_job **out, tutti_failure *err)
{
    tutti_yaml *y = NULL;
    tutti_status st = tutti_yaml_parse(name, text, nbytes, &y, err);
    if (st != TUTTI_OK) return st;
    tutti_job *job = tutti_alloc(sizeof *job);
    st = read_job(job, name, y, overrides, noverrides, err);
    tutti_yaml_destroy(y);
    if (st != TUTTI_OK)
        tutti_job_destroy(job);
    else
        *out = job;
    return st;
}

tutti_status tutti_job_load(const char *path, const char *const *overrides, int noverrides, tutti_job **out,
                            tutti_failure *err)
{
    char *text = NULL;
    size_t nbytes = 0;
    tutti_status st = tutti_file_read(path, MAX_JOB_BYTES, TUTTI_ERR_USAGE, &text, &nbytes, err);
    if (st != TUTTI_OK) return st;
    st = tutti_job_parse(path, text, nbytes, overrides, noverrides, out, err);
    free(text);
    return st;
}

void tutti_job_destroy(tutti_job *job)
{
    if (!job) return;
    tutti_arena_release(&job->arena);
    free(job);
}

char *tutti_job_print(const tutti_job *job)
{
    tutti_strbuf sb = {0};
    tutti_options_print(&tutti_job_fields, job, &sb);
    return tutti_strbuf_detach(&sb);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_check.c: checks a checkpoint for `eval`, `infer` and `ckpt verify`, which all use this one check. It
 * checks that the files are whole (tutti_checkpoint_verify) and that the job can be read. Step and samples must fit the
 * job's batch. All tensors must fit the checkpoint's model, and the weights must have the hash that was printed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../training/run/train.h"
#include "../job_fields.h"
#include "trained.h"

typedef struct {
    char *job_text, *model_text;
    tutti_job *job;
    tutti_model *model, *fused;
    tutti_graph *graph;
    float *weights, *state[TUTTI_RULE_MAX_STATES];
    tutti_arena arena;
} content;

static void release(content *c)
{
    tutti_graph_destroy(c->graph);
    tutti_model_destroy(c->fused);
    tutti_model_destroy(c->model);
    tutti_job_destroy(c->job);
    free(c->job_text);
    free(c->model_text);
    free(c->weights);
    for (int i = 0; i < TUTTI_RULE_MAX_STATES; i++) free(c->state[i]);
    tutti_arena_release(&c->arena);
}

/* Makes a graph, only for its list of parameters, with the reference kernels, which any build has. */
static tutti_status make_graph(const char *path, content *c, tutti_failure *err)
{
    tutti_status st = tutti_checkpoint_read_text(path, "job.yaml", &c->job_text, err);
    if (!st) st = tutti_checkpoint_read_text(path, "model.yaml", &c->model_text, err);
    if (st) return st;
    st = tutti_job_parse("job.yaml", c->job_text, strlen(c->job_text), NULL, 0, &c->job, err);
    if (!st) st = tutti_model_parse("model.yaml", c->model_text, strlen(c->model_text), &c->model, err);
    if (!st && c->job->fuse) c->fused = tutti_model_fuse(c->model);
    tutti_graph_config config = {.batch = 1, .engine = "reference", .nthreads = 1};
    if (!st) /* there is a job only if nothing has failed */
        config.frozen = (tutti_frozen){c->job->graph.frozen.patterns, c->job->graph.frozen.said};
    if (!st) st = tutti_graph_build(c->fused ? c->fused : c->model, &config, &c->graph, err);
    if (!st) return st;
    tutti_fail_at(err, "%s", path);
    if (err) err->status = TUTTI_ERR_DATA; /* the user wrote neither the job nor the model in it */
    return TUTTI_ERR_DATA;
}

/* True if each rank has a file of its own for vectors that other checkpoints keep once. */
static bool is_of_ranks(const tutti_manifest *m)
{
    for (int i = 0; i < m->nfiles; i++)
        if (strchr(m->files[i].name, '@')) return true;
    return false;
}

/* Reads weights and states of every rank, one after the other into the same memory. */
static tutti_status read_ranks(const char *path, tutti_checkpoint *checkpoint, const tutti_rule_row *rule, int nranks,
                               tutti_failure *err)
{
    bool found = true;
    tutti_status st = TUTTI_OK;
    checkpoint->nown = rule->nstates + 1;
    checkpoint->own[0] = (tutti_checkpoint_own){"weights", false, checkpoint->weights};
    for (int i = 0; i < rule->nstates; i++)
        checkpoint->own[i + 1] = (tutti_checkpoint_own){rule->states[i], true, checkpoint->state[i]};
    for (checkpoint->rank = 0; checkpoint->rank < nranks && !st; checkpoint->rank++) {
        checkpoint->nranks = nranks;
        st = tutti_checkpoint_read_own(path, checkpoint, &found, err);
    }
    return st;
}

static tutti_status read_tensors(const char *path, content *c, tutti_failure *err)
{
    const tutti_graph *g = c->graph;
    int64_t *offset = TUTTI_ARENA_NEW(&c->arena, int64_t, g->nparams + 1), total = 0;
    for (int p = 0; p < g->nparams; p++) {
        offset[p] = total;
        total += g->params[p].desc.elements;
    }
    const size_t nbytes = (size_t)(total + 1) * sizeof(float);
    const tutti_rule_row *rule = tutti_job_rule(c->job);
    bool there = (c->weights = malloc(nbytes)) != NULL;
    for (int i = 0; i < TUTTI_RULE_MAX_STATES; i++) there = (c->state[i] = malloc(nbytes)) && there;
    if (!there) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: no memory for %lld parameters", path, (long long)total);
    tutti_checkpoint checkpoint = {
        .params = g->params, .nparams = g->nparams, .offset = offset, .weights = c->weights, .nstates = rule->nstates};
    memcpy(checkpoint.state_name, rule->states, sizeof checkpoint.state_name);
    memcpy(checkpoint.state, c->state, sizeof checkpoint.state);
    tutti_manifest m;
    tutti_status st = tutti_manifest_read(path, &m, err);
    if (st) return st;
    if (m.cursor % c->job->plan.batch || m.cursor / c->job->plan.batch != m.step)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: step %" PRId64 " and sample %" PRId64 " do not go together", path,
                          m.step, m.cursor);
    const tutti_method_row *method = tutti_method_find(c->job->method.name);
    const bool of_ranks = is_of_ranks(&m);
    if (method->saves_no_states) checkpoint.nstates = 0;
    if (of_ranks) {
        checkpoint.state_name[0] = method->centre_state;
        checkpoint.nstates = checkpoint.state_name[0] != NULL;
    }
    st = tutti_checkpoint_read(path, &checkpoint, err);
    return st || !of_ranks ? st : read_ranks(path, &checkpoint, rule, m.nranks, err);
}

tutti_status tutti_job_check_checkpoint(const char *path, tutti_failure *err)
{
    content c = {0};
    tutti_status st = tutti_checkpoint_verify(path, err);
    if (!st) st = make_graph(path, &c, err);
    if (!st) st = read_tensors(path, &c, err);
    release(&c);
    return st;
}

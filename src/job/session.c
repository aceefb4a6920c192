/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: opens a session: turns a job's keys into the trainer's configuration, and fixes keys that are auto, by the
 * group or by the earlier run. */
#include "session.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "../base/text/strbuf.h"
#include "../collective/exchange/executor.h"
#include "../data/identity.h"
#include "job_choice.h"
#include "job_costs.h"
#include "job_fields.h"

static char *renew_job(const char *text)
{
    tutti_job *job = NULL;
    if (tutti_job_parse("job.yaml", text, strlen(text), NULL, 0, &job, NULL)) return NULL;
    char *renewed = tutti_job_print(job);
    tutti_job_destroy(job);
    return renewed;
}

static tutti_status identify_data(const tutti_job *job, const tutti_session_data *data, char **out, tutti_failure *err)
{
    const tutti_dataset_config config = tutti_job_data_config(job);
    tutti_data_identity d;
    const tutti_status st = tutti_data_identity_of(&config, data->train, data->test, &d, err);
    if (!st) *out = tutti_data_identity_print(&d);
    tutti_data_identity_release(&d);
    return st;
}

/* Returns what a person could change in the job of a run that has diverged. */
static char *advise_diverged(const tutti_job *job, const tutti_plan *plan)
{
    tutti_strbuf words = {0};
    tutti_strbuf_printf(&words, "Take a lower optimiser.lr (%g now", job->train.rate.lr);
    if (tutti_plan_is_async(plan) && plan->config.nranks > 1)
        tutti_strbuf_printf(&words, ", and steps of %d workers add up at one centre", plan->config.nranks);
    tutti_strbuf_puts(&words, ")");
    if (job->train.rate.warmup_epochs == 0) tutti_strbuf_puts(&words, ", or a warm-up (optimiser.warmup_epochs)");
    if (job->graph.precision == TUTTI_PRECISION_F16) tutti_strbuf_puts(&words, ", or precision bf16");
    if (strcmp(job->loss_scale, "auto") != 0 && strcmp(job->loss_scale, "dynamic") != 0)
        tutti_strbuf_printf(&words, ", or a lower loss_scale (%s now)", job->loss_scale);
    tutti_strbuf_puts(&words, ", and look at the data for samples that are not numbers");
    return tutti_strbuf_detach(&words);
}

static void configure(const tutti_job *job, const tutti_session_data *data, tutti_session *s)
{
    const int64_t per_epoch = tutti_dataset_count(data->train) / job->plan.batch;
    const int64_t wanted = llround(job->epochs * (double)per_epoch);
    tutti_train_config *c = &s->config;
    *c = job->train;
    c->plan = s->parts.plan;
    c->method = tutti_method_find(job->method.name);
    c->device = s->parts.device;
    c->train = data->train;
    c->test = data->test;
    c->update = tutti_job_update(job);
    c->centre = tutti_job_centre(job, s->parts.plan->config.nranks);
    c->loss_scale = tutti_job_loss_scale(job);
    if (job->epochs > 0) c->nsteps = wanted > 0 ? wanted : 1;
    c->steps_per_epoch = per_epoch;
    c->job_text = s->job_text;
    c->data_text = s->data_text;
    c->model_text = s->parts.model->text;
    c->free_keys = s->free_keys;
    c->renew_job = renew_job;
    c->if_diverged = s->if_diverged;
}

static tutti_job_seat seat_in(const tutti_group *group)
{
    if (!group) return (tutti_job_seat){.on_device = true};
    return (tutti_job_seat){.rank = tutti_group_rank(group),
                            .nranks = tutti_group_nranks(group),
                            .host_of = tutti_group_hosts(group),
                            .prove_later = true,
                            .on_device = true};
}

tutti_status tutti_session_open(const tutti_job *job, const tutti_session_data *data, tutti_group *group,
                                const char *times, tutti_session *out, tutti_failure *err)
{
    const int64_t count = tutti_dataset_count(data->train);
    tutti_session s = {0};
    if (job->plan.batch > count)
        return tutti_fail(err, TUTTI_ERR_USAGE, "a batch of %" PRId64 " is more than the %" PRId64 " training samples",
                          job->plan.batch, count);
    tutti_job_seat seat = seat_in(group);
    seat.times = times;
    tutti_status st = tutti_job_resolve(job, &seat, &s.parts, err);
    if (!st) st = tutti_train_check_data(s.parts.model, data->train, err);
    if (!st) st = tutti_train_check_data(s.parts.model, data->test, err);
    if (!st) st = tutti_graph_prepare_threads(s.parts.graph, err);
    if (st) {
        tutti_session_release(&s);
        return st;
    }
    s.again = group && tutti_group_epoch(group) > 1;
    s.job_text = tutti_job_print(job);
    if (group && tutti_group_rank(group) == 0) st = identify_data(job, data, &s.data_text, err);
    if (st) {
        tutti_session_release(&s);
        return st;
    }
    s.if_diverged = advise_diverged(job, s.parts.plan);
    s.free_keys = tutti_job_free_keys(job);
    configure(job, data, &s);
    *out = s;
    return TUTTI_OK;
}

/* ---- choosing the keys that are auto ---- */

enum { MOST_JOB_BYTES = 1 << 20 };

/* Finds the run that began in this folder. If it had the same number of ranks, returns the values that it began with
 * for keys that the job leaves auto, as overrides; else NULL. again: the run has begun and lost a rank, so the folder
 * has its job even before the first checkpoint. */
static char *find_kept(const tutti_job *job, const char *dir, int nranks, bool again)
{
    char *path = NULL, *text = NULL, *out = NULL;
    size_t nbytes;
    tutti_job *kept = NULL;
    if (dir && !tutti_checkpoint_newest(dir, &path, NULL, NULL) && path)
        (void)tutti_checkpoint_read_text(path, "job.yaml", &text, NULL);
    if (dir && !path && again) {
        path = tutti_checkpoint_path("%s/job.yaml", dir);
        (void)tutti_file_read(path, MOST_JOB_BYTES, TUTTI_ERR_DATA, &text, &nbytes, NULL);
    }
    if (text && !tutti_job_parse("job.yaml", text, strlen(text), NULL, 0, &kept, NULL) && kept->ranks == nranks)
        out = tutti_job_keep(job, kept);
    tutti_job_destroy(kept);
    free(path);
    free(text);
    return out;
}

/* Makes the job with these overrides the job of the session, and makes its plan. */
static tutti_status take(const tutti_job *job, const char *overrides, tutti_session *s, tutti_failure *err)
{
    tutti_job *chosen = tutti_job_with(job, overrides);
    if (!chosen) return tutti_fail(err, TUTTI_ERR_FAILED, "exchange: this rank cannot read the choice of rank 0");
    const tutti_graph *before = s->parts.graph;
    tutti_status st = tutti_job_replan(chosen, &s->parts, err);
    if (!st && s->parts.graph != before) st = tutti_graph_prepare_threads(s->parts.graph, err);
    if (st) {
        tutti_job_forget(chosen);
        return st;
    }
    tutti_job_forget(s->chosen);
    s->chosen = chosen;
    s->config.plan = s->parts.plan;
    free(s->job_text);
    s->job_text = tutti_job_print(chosen);
    s->config.job_text = s->job_text;
    return TUTTI_OK;
}

static char *joined(char *a, char *b)
{
    tutti_strbuf both = {0};
    tutti_strbuf_puts(&both, a ? a : "");
    tutti_strbuf_puts(&both, b ? b : "");
    free(a);
    free(b);
    return tutti_strbuf_detach(&both);
}

tutti_status tutti_session_choose(const tutti_job *job, const tutti_topology *t, const char *dir, tutti_session *s,
                                  char **overrides, tutti_failure *err)
{
    const tutti_plan_config *config = &s->parts.plan->config;
    tutti_job_choice choice = {0};
    *overrides = NULL;
    if (config->nranks == 1 || !tutti_job_is_open(job)) return TUTTI_OK;
    char *kept = find_kept(job, dir, config->nranks, s->again);
    if (kept && (!*kept || take(job, kept, s, NULL))) { /* take fails if the hosts do not fit the kept groups */
        free(kept);
        kept = NULL;
    }
    const tutti_job *now = kept ? s->chosen : job;
    s->is_kept = kept != NULL;
    /* pretended kernels take times of whole layers from a trace, so no layer is shared */
    const tutti_job_choice_by by = {.topology = t, .keeps_layers = s->pretended != NULL};
    tutti_status st = t ? tutti_job_choose(now, &by, &s->parts, &choice, err) : TUTTI_OK;
    s->choice_s = choice.seconds;
    s->predicted_s = choice.step_s;
    *overrides = joined(kept, choice.text);
    if (!st && **overrides) st = take(job, *overrides, s, err);
    if (!st && **overrides) tutti_job_exchange_words(s->parts.plan, s->exchange);
    return st;
}

/* Rank 0 chooses, and sends the choice to the other ranks. */
static tutti_status choose_together(const tutti_job *job, tutti_group *group, const char *dir, tutti_session *s,
                                    tutti_failure *err)
{
    const bool tells = tutti_group_rank(group) == 0;
    const int nranks = tutti_group_nranks(group);
    char *text = NULL;
    tutti_topology t;
    if (nranks == 1 || !tutti_job_is_open(job)) return TUTTI_OK;
    const bool known = tells && tutti_job_machine(tutti_group_hosts(group), nranks, tutti_group_ncores(group), &t);
    tutti_status st = tells ? tutti_session_choose(job, known ? &t : NULL, dir, s, &text, err) : TUTTI_OK;
    if (st) tutti_group_abort(group, err->text);
    int64_t nbytes = tells && text ? (int64_t)strlen(text) + 1 : 1;
    if (!st) st = tutti_group_broadcast(group, "exchange", 0, &nbytes, sizeof nbytes, err);
    if (!st && !text) text = tutti_alloc((size_t)nbytes);
    if (!st && nbytes > 1) st = tutti_group_broadcast(group, "exchange", 0, text, (size_t)nbytes, err);
    if (!st && !tells && nbytes > 1) {
        st = take(job, text, s, err);
        if (st) tutti_group_abort(group, err->text); /* the other ranks must not wait for this rank */
    }
    free(text);
    return st;
}

tutti_status tutti_session_settle(const tutti_job *job, tutti_group *group, const char *dir, tutti_session *s,
                                  tutti_failure *err)
{
    const tutti_prover together = tutti_group_prover(group);
    tutti_status st = choose_together(job, group, dir, s, err);
    if (!st) st = tutti_plan_prove(s->parts.plan, &together, err);
    const tutti_job *now = s->chosen ? s->chosen : job;
    if (st || now->exchange.buckets != TUTTI_BUCKETS_SOONEST) return st;
    st = tutti_job_merge_measured(now, group, dir, &s->parts, err);
    s->config.plan = s->parts.plan;
    return st ? st : tutti_plan_prove(s->parts.plan, &together, err);
}

void tutti_session_release(tutti_session *s)
{
    tutti_resolved_release(&s->parts);
    free(s->job_text);
    free(s->data_text);
    free(s->if_diverged);
    free(s->free_keys);
    free(s->pretended);
    tutti_job_forget(s->chosen);
    *s = (tutti_session){0};
}

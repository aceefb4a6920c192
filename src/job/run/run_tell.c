/* SPDX-License-Identifier: Apache-2.0 */
/* run_tell.c: passes the trainer's events to the caller of a run. At the start it reports the data, the memory, and an
 * update rule that the method's paper does not use. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../collective/launch/launch.h"
#include "run_impl.h"

static void tell(const tutti_rank_run *r, tutti_run_event *e)
{
    if (!r->events || !r->events->on_event) return;
    e->rank = r->rank;
    e->nranks = r->nranks;
    e->epoch_of_group = r->now.epoch ? r->now.epoch : 1;
    if (!e->text) e->text = "";
    r->events->on_event(r->events->arg, e);
}

void tutti_run_tell(const tutti_rank_run *r, tutti_run_event_kind kind, const char *text)
{
    tell(r, &(tutti_run_event){.kind = kind, .text = text});
}

void tutti_run_tell_failure(tutti_rank_run *r)
{
    if (!r->err.text[0] || r->is_told) return;
    r->is_told = true;
    tell(r, &(tutti_run_event){
                .kind = TUTTI_RUN_FAILED, .text = r->err.text, .status = r->err.status, .is_borne = r->is_borne});
}

void tutti_run_tell_end(const tutti_rank_run *r)
{
    if (r->rank != 0) return;
    tell(r, &(tutti_run_event){.kind = TUTTI_RUN_END,
                               .step = r->result.step,
                               .nsteps = r->result.nsteps,
                               .text = r->seat.words.text,
                               .result = &r->result});
}

/* ---- before the first step ---- */

void tutti_run_rule_words(const tutti_job *job, tutti_strbuf *out)
{
    tutti_strbuf words = {0};
    if (tutti_method_rule_differs(tutti_method_find(job->method.name), tutti_rule_at(job->optimiser.rule)->name,
                                  &words))
        tutti_strbuf_printf(out, "method %s: %s", job->method.name, words.text);
    tutti_strbuf_release(&words);
}

void tutti_run_tell_rule(const tutti_rank_run *r)
{
    tutti_strbuf words = {0};
    if (r->rank == 0) tutti_run_rule_words(r->job, &words);
    if (words.length) tutti_run_tell(r, TUTTI_RUN_NOTE, words.text);
    tutti_strbuf_release(&words);
}

void tutti_run_data_words(const char *before, const tutti_session_data *data, int64_t batch, tutti_strbuf *out)
{
    const int64_t count = tutti_dataset_count(data->train), left = count % batch;
    const char *train = tutti_dataset_notes(data->train), *test = tutti_dataset_notes(data->test);
    if (*train) tutti_strbuf_printf(out, "%strain: %s\n", before, train);
    if (*test) tutti_strbuf_printf(out, "%stest: %s\n", before, test);
    if (left)
        tutti_strbuf_printf(out,
                            "%san epoch takes %" PRId64 " of %" PRId64 " samples; %" PRId64
                            " are left out, drawn anew in each epoch: batch %" PRId64 " does not divide %" PRId64 "\n",
                            before, count - left, count, left, batch, count);
}

void tutti_run_tell_data(const tutti_rank_run *r, const tutti_session_data *d)
{
    const int64_t nbytes = tutti_session_data_bytes(d);
    tutti_strbuf words = {0};
    if (r->rank != 0) return;
    tutti_run_data_words("", d, r->job->plan.batch, &words);
    if (r->nranks > 1 && nbytes)
        tutti_strbuf_printf(&words, "data: %lld training and %lld test samples, %.1f MB, once for all ranks %s\n",
                            (long long)tutti_dataset_count(d->train), (long long)tutti_dataset_count(d->test),
                            1e-6 * (double)nbytes,
                            r->seat.is_bound && r->seat.partition.ndomains > 1 ? "near one memory" : "of a host");
    tutti_run_tell(r, TUTTI_RUN_DATA, words.text);
    tutti_strbuf_release(&words);
}

/* Adds the exchange that rank 0 has chosen. On one host the predicted step leaves kernels out, because their times are
 * not measured yet. */
static void add_exchange(const tutti_rank_run *r, tutti_strbuf *out)
{
    const tutti_session *s = r->session;
    if (!s->exchange[0]) return;
    if (s->is_kept) {
        tutti_strbuf_printf(out, "exchange: %s, as this run began\n", s->exchange);
        return;
    }
    tutti_strbuf_printf(out, "exchange: %s, chosen in %.2f s: %.3g ms a step predicted%s\n", s->exchange, s->choice_s,
                        s->predicted_s * 1e3, tutti_group_nhosts(r->group) == 1 ? ", beside kernels" : "");
}

/* Describes the run, when nothing can refuse it any more. says: the plan in at most ten words. */
static void tell_plan(const tutti_rank_run *r, const char *says)
{
    char *kernels = tutti_graph_say_choices(r->session->parts.graph);
    const int nhosts = tutti_group_nhosts(r->group);
    tutti_strbuf out = {0}, preset = {0};
    if (nhosts > 1) /* with several hosts the wire was chosen among those available, so it is named */
        tutti_strbuf_printf(&out, "%d ranks on %d hosts over %s\n", r->nranks, nhosts, tutti_group_wires(r->group));
    if (r->seat.is_bound) tutti_strbuf_printf(&out, "%s\n%s", r->seat.words.text, r->seat.list.text);
    tutti_strbuf_printf(&out, "%s\n", says);
    tutti_job_preset_describe(r->job, &preset);
    if (preset.length) tutti_strbuf_printf(&out, "%s\n", preset.text);
    if (kernels) tutti_strbuf_printf(&out, "kernels, passes: %s ('tutti plan' says why)\n", kernels);
    add_exchange(r, &out);
    tutti_run_tell(r, TUTTI_RUN_PLAN, out.text);
    tutti_strbuf_release(&preset);
    tutti_strbuf_release(&out);
    free(kernels);
}

/* ---- the trainer's events ---- */

void tutti_run_hear(void *arg, const tutti_train_event *e)
{
    static const tutti_run_event_kind kind_of[] = {
        [TUTTI_TRAIN_NOTE] = TUTTI_RUN_NOTE,        [TUTTI_TRAIN_INIT] = TUTTI_RUN_INIT,
        [TUTTI_TRAIN_PROVED] = TUTTI_RUN_PROVED,    [TUTTI_TRAIN_BEGIN] = TUTTI_RUN_BEGIN,
        [TUTTI_TRAIN_STEP] = TUTTI_RUN_STEP,        [TUTTI_TRAIN_EVAL] = TUTTI_RUN_TEST,
        [TUTTI_TRAIN_SAVED] = TUTTI_RUN_CHECKPOINT, [TUTTI_TRAIN_TRACED] = TUTTI_RUN_TRACED,
        [TUTTI_TRAIN_COPIES] = TUTTI_RUN_COPIES,    [TUTTI_TRAIN_RESTARTED] = TUTTI_RUN_RESTARTED,
        [TUTTI_TRAIN_COST] = TUTTI_RUN_COST,        [TUTTI_TRAIN_VISITS] = TUTTI_RUN_VISITS,
    };
    const tutti_rank_run *r = arg;
    if (e->kind == TUTTI_TRAIN_BEARS) { /* a launcher does not know that this run goes on after a failure, so the
                                         * rank tells it */
        tutti_launch_tell_borne();
        return;
    }
    if (e->kind == TUTTI_TRAIN_BUSY) {
        tutti_launch_tell_busy(r->now.epoch, e->rank);
        return;
    }
    if (e->kind == TUTTI_TRAIN_PLAN) {
        tell_plan(r, e->text);
        return;
    }
    tell(r, &(tutti_run_event){.kind = kind_of[e->kind],
                               .text = e->text,
                               .step = e->step,
                               .nsteps = e->nsteps,
                               .epoch = e->epoch,
                               .loss = e->loss,
                               .accuracy = e->accuracy,
                               .lr = e->lr,
                               .is_logged = e->logged,
                               .images_per_s = e->ips,
                               .step_ms = e->step_ms,
                               .comm_ms = e->comm_ms,
                               .loss_scale = e->loss_scale,
                               .nskipped = e->skipped});
}

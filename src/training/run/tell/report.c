/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: reports a run: lines of metrics.jsonl, points of event files, and events for the caller. Rank 0 only. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/clock.h"
#include "../../../base/hash.h"
#include "../../../metrics/metrics.h"
#include "tracing.h"

enum { MAX_METRICS = 16 };

static void tell_of_step(const tutti_telling *t, int64_t step, tutti_train_event event)
{
    const tutti_train_config *c = t->run->config;
    if (t->run->rank != 0 || !c->on_event) return;
    event.step = step;
    event.nsteps = c->nsteps;
    event.epoch = (double)step / (double)c->steps_per_epoch;
    c->on_event(c->on_event_arg, &event);
}

static void tell(const tutti_telling *t, tutti_train_event event)
{
    tell_of_step(t, t->run->step, event);
}

static tutti_status put(const tutti_telling *t, const char *event, const tutti_metric *metrics, int n,
                        tutti_failure *err)
{
    tutti_metric line[MAX_METRICS + 1];
    if (!t->metrics) return TUTTI_OK;
    memcpy(line, metrics, sizeof *line * (size_t)n);
    line[n] = TUTTI_METRIC_REAL("ts", round(1e3 * tutti_clock_wall_s()) / 1e3); /* wall time, for people only */
    return tutti_metrics_write(t->metrics, event, line, n + 1, err);
}

static tutti_status plot(const tutti_telling *t, const tutti_scalar *scalars, int n, tutti_failure *err)
{
    return t->tensorboard ? tutti_tensorboard_write(t->tensorboard, t->run->step, scalars, n, err) : TUTTI_OK;
}

void tutti_report_note(const tutti_telling *t, const char *text)
{
    tell(t, (tutti_train_event){.kind = TUTTI_TRAIN_NOTE, .text = text});
}

/* Writes a line that says that another process wrote the lines before it: the run was resumed. */
static tutti_status report_resume(const tutti_telling *t, tutti_failure *err)
{
    return put(t, "resume", (tutti_metric[]){TUTTI_METRIC_INT("step", t->run->step)}, 1, err);
}

static tutti_status report_bound(const tutti_telling *t, tutti_failure *err)
{
    const tutti_metric line[] = {TUTTI_METRIC_INT("step", t->run->step),
                                 TUTTI_METRIC_TEXT("words", t->run->config->bound)};
    return put(t, "bound", line, 2, err);
}

/* Reports that kernels only wait, even where a run is quiet: a reader of its figures must know. */
static tutti_status report_pretended(const tutti_telling *t, tutti_failure *err)
{
    static const char words[] = "kernels only wait (--pretend): nothing is computed, learned, tested or saved";
    const tutti_metric line[] = {TUTTI_METRIC_INT("step", t->run->step), TUTTI_METRIC_TEXT("words", words)};
    tutti_report_note(t, words);
    return put(t, "pretended", line, 2, err);
}

/* ---- opening and closing the files ---- */

/* Removes files of an earlier run beside metrics.jsonl, because all files in the folder must be of one run. */
static tutti_status remove_earlier(const char *dir, tutti_failure *err)
{
    tutti_status st = tutti_tensorboard_remove(dir, err);
    return st ? st : tutti_tracing_remove(dir, err);
}

static tutti_status open_metrics(tutti_telling *t, bool resumed, tutti_failure *err)
{
    const tutti_train_config *c = t->run->config;
    const int64_t step = t->run->step, last_step = resumed ? step : -1;
    if (t->run->rank != 0 || !c->dir) return TUTTI_OK;
    char *path = tutti_checkpoint_path("%s/metrics.jsonl", c->dir);
    const bool was_done = step >= c->nsteps && resumed && tutti_run_lines_end_at(path, step);
    tutti_status st = resumed ? TUTTI_OK : remove_earlier(c->dir, err);
    if (!st && !was_done) st = tutti_metrics_open(path, last_step, &t->metrics, err);
    if (!st && !was_done && resumed) st = report_resume(t, err);
    if (!st && !was_done && c->bound) st = report_bound(t, err);
    if (!st && !was_done && c->tensorboard) st = tutti_tensorboard_open(c->dir, last_step, &t->tensorboard, err);
    free(path);
    return st;
}

tutti_status tutti_telling_open(tutti_telling *t, const tutti_stepping *run, tutti_writing *writing, bool resumed,
                                tutti_failure *err)
{
    *t = (tutti_telling){.run = run, .writing = writing, .logged_step = run->step};
    const tutti_status st = open_metrics(t, resumed, err);
    if (!st) t->tracing = tutti_tracing_create(run);
    return st;
}

void tutti_telling_close(tutti_telling *t)
{
    tutti_tracing_destroy(t->tracing);
    tutti_tensorboard_close(t->tensorboard);
    tutti_metrics_close(t->metrics);
}

void tutti_telling_resume(tutti_telling *t)
{
    t->resumed_at = tutti_clock_s();
}

void tutti_telling_tick(tutti_telling *t)
{
    const double now = tutti_clock_s();
    t->seconds += now - t->resumed_at;
    t->resumed_at = now;
}

/* Reports replaced samples, and adds their number to the next line. */
static int put_replaced(const tutti_telling *t, const char *split, const tutti_replaced *r, tutti_metric *line)
{
    tutti_strbuf text = {0};
    if (!r->n) return 0;
    tutti_strbuf_printf(&text, "%s data: %" PRId64 " unreadable sample%s replaced; %s", split, r->n,
                        r->n > 1 ? "s" : "", r->first);
    tutti_report_note(t, text.text);
    tutti_strbuf_release(&text);
    *line = TUTTI_METRIC_INT("replaced", r->n);
    return 1;
}

tutti_status tutti_report_diverged(const tutti_telling *t, const char *words, bool ends, tutti_failure *err)
{
    const tutti_metric line[] = {TUTTI_METRIC_INT("step", t->run->step), TUTTI_METRIC_INT("ends", ends),
                                 TUTTI_METRIC_TEXT("words", words)};
    if (!ends) tutti_report_note(t, words);
    const tutti_status st = put(t, "diverged", line, 3, err);
    return st || !t->metrics ? st : tutti_metrics_sync(t->metrics, err);
}

/* Reports the plan that is played. Called once no check can refuse the plan any more. */
static tutti_status report_plan(const tutti_telling *t, tutti_failure *err)
{
    tutti_strbuf words = {0};
    if (!t->run->config->method) return TUTTI_OK;
    tutti_method_say(t->run->config->method, t->run->plan, &words);
    const tutti_metric line[] = {
        TUTTI_METRIC_INT("step", t->run->step), TUTTI_METRIC_TEXT("method", t->run->config->method->name),
        TUTTI_METRIC_TEXT("parallelism", tutti_plan_parallelism(t->run->plan)), TUTTI_METRIC_TEXT("words", words.text)};
    tell(t, (tutti_train_event){.kind = TUTTI_TRAIN_PLAN, .text = words.text});
    const tutti_status st = put(t, "plan", line, 4, err);
    tutti_strbuf_release(&words);
    return st;
}

static tutti_status say_skips(const tutti_telling *t, tutti_strbuf *words, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    if (words->length) {
        const tutti_metric line[] = {TUTTI_METRIC_INT("step", t->run->step), TUTTI_METRIC_TEXT("words", words->text)};
        tutti_report_note(t, words->text);
        st = put(t, "skips", line, 2, err);
    }
    tutti_strbuf_release(words);
    return st;
}

/* Reports which convolutions skip zeros before anything has been tested, from shapes alone. */
static tutti_status report_first_skips(const tutti_telling *t, tutti_failure *err)
{
    tutti_strbuf words = {0};
    tutti_relus_begin(t->run->plan->graph, &words);
    return say_skips(t, &words, err);
}

/* Reports what copies in memory cost, and what losing a rank costs. */
static void report_copies(const tutti_telling *t, const tutti_copies *copies)
{
    const tutti_train_config *c = t->run->config;
    char words[240], often[60] = "for at most 1 % of the time", loss[60] = "the steps since the last one";
    if (c->copies <= 0) return;
    if (c->copy_every) {
        snprintf(often, sizeof often, "every %" PRId64 " steps", c->copy_every);
        snprintf(loss, sizeof loss, "at most %" PRId64 " steps", c->copy_every);
    }
    if (copies)
        snprintf(words, sizeof words, "copies: %s, %.1f MB each from all ranks, %.1f MB of memory; a loss costs %s",
                 often, 1e-6 * (double)tutti_copies_bytes(copies), 1e-6 * (double)tutti_copies_file_bytes(copies),
                 loss);
    else
        snprintf(
            words, sizeof words,
            "copies: none, because workers visit a centre or a card computes; a loss that ends the group costs the "
            "steps since the newest checkpoint");
    tell(t, (tutti_train_event){.kind = TUTTI_TRAIN_COPIES, .text = words});
}

tutti_status tutti_report_begin(const tutti_telling *t, const tutti_copies *copies, bool was_done, bool is_new,
                                tutti_failure *err)
{
    tutti_status st = was_done ? TUTTI_OK : report_plan(t, err);
    if (!was_done) report_copies(t, copies);
    const tutti_graph_config *c = &t->run->plan->graph->config;
    char text[128];
    tutti_kernel_precision_describe(c->engine, c->precision, text);
    if (t->run->device->about)
        snprintf(text, sizeof text, "%s on %s", tutti_precision_name(c->precision), t->run->device->about);
    tell(t, (tutti_train_event){.kind = TUTTI_TRAIN_BEGIN, .text = text});
    if (!st && t->run->config->pretended && !was_done) st = report_pretended(t, err);
    return st || !is_new ? st : report_first_skips(t, err);
}

tutti_status tutti_report_restart(tutti_telling *t, const tutti_start *start, tutti_failure *err)
{
    const tutti_train_config *c = t->run->config;
    if (c->epoch <= 1 || t->has_restarted) return TUTTI_OK;
    t->has_restarted = true;
    const double seconds = c->lost_ns ? 1e-9 * (double)(tutti_clock_ns() - c->lost_ns) : 0;
    const char *from = start->copied >= 0 ? "memory" : start->path ? "checkpoint" : "start";
    const int64_t step = t->run->visits ? t->run->first_step : t->run->step - 1;
    char words[160], why[48];
    if (c->lost_ns)
        snprintf(why, sizeof why, "%.2f s after the loss", seconds);
    else
        snprintf(why, sizeof why, "with %d ranks", t->run->nranks);
    snprintf(words, sizeof words, "group epoch %u: goes on after step %" PRId64 " from %s, %s", c->epoch, step,
             start->copied >= 0 ? "the copy in memory"
             : start->path      ? "the newest checkpoint"
                                : "the beginning",
             why);
    tell(t, (tutti_train_event){.kind = TUTTI_TRAIN_RESTARTED, .text = words});
    const tutti_metric line[] = {TUTTI_METRIC_INT("step", step),
                                 TUTTI_METRIC_INT("lost", c->lost),
                                 TUTTI_METRIC_INT("ranks", t->run->nranks),
                                 TUTTI_METRIC_INT("epoch", c->epoch),
                                 TUTTI_METRIC_TEXT("from", from),
                                 TUTTI_METRIC_REAL("seconds", seconds)};
    const tutti_status st = put(t, "restart", line, 6, err);
    return st ? st : plot(t, &(tutti_scalar){"restart/seconds", seconds}, 1, err);
}

void tutti_report_bears(const tutti_telling *t)
{
    tell(t, (tutti_train_event){.kind = TUTTI_TRAIN_BEARS});
}

void tutti_report_saved(const tutti_telling *t, int64_t step)
{
    tell_of_step(t, step, (tutti_train_event){.kind = TUTTI_TRAIN_SAVED, .text = t->run->config->dir});
}

tutti_status tutti_report_written(const tutti_telling *t, bool waits, tutti_failure *err)
{
    const int64_t step = tutti_writing_step(t->writing);
    if (step < 0 || (!waits && !tutti_writing_is_over(t->writing))) return TUTTI_OK;
    const tutti_status st = tutti_writing_end(t->writing, err);
    if (!st) tutti_report_saved(t, step);
    return st;
}

void tutti_report_traced(const tutti_telling *t, int64_t first, int64_t last)
{
    tutti_strbuf text = {0};
    tutti_strbuf_printf(&text, "traced steps %" PRId64 " to %" PRId64 ": %s/trace.json, %s/layers.txt", first, last,
                        t->run->config->dir, t->run->config->dir);
    tell(t, (tutti_train_event){.kind = TUTTI_TRAIN_TRACED, .text = text.text});
    tutti_strbuf_release(&text);
}

/* Returns the seconds of exchanges. In a run with visits these include waits to visit, and waits for other ranks where
 * all meet. */
static double exchanged_seconds(const tutti_telling *t)
{
    return t->run->visits ? 1e-9 * (double)t->run->account.cost.ns[TUTTI_COST_EXCHANGE]
                          : tutti_shared_seconds(&t->run->shared);
}

bool tutti_report_is_due(const tutti_telling *t)
{
    const tutti_train_config *c = t->run->config;
    return t->run->step % c->log_every == 0 || t->run->step == c->nsteps || t->run->asked_to_stop;
}

/* Reports a step. Figures of an interval are means over its steps, which are computed only when a line is written. */
tutti_status tutti_report_step(tutti_telling *t, tutti_failure *err)
{
    const tutti_train_config *c = t->run->config;
    tutti_train_event e = {.kind = TUTTI_TRAIN_STEP,
                           .loss = t->run->last_loss,
                           .loss_scale = t->run->scale.scale,
                           .skipped = t->run->scale.skipped,
                           .lr = tutti_rate_at(&c->rate, t->run->step - 1, c->steps_per_epoch, c->nsteps),
                           .logged = tutti_report_is_due(t)};
    if (t->run->rank != 0) return TUTTI_OK;
    tutti_status st = TUTTI_OK;
    if (e.logged) {
        const double steps = (double)(t->run->step - t->logged_step), seconds = t->seconds - t->logged_seconds;
        const double exchanged = exchanged_seconds(t);
        e.step_ms = 1e3 * seconds / steps;
        e.comm_ms = 1e3 * (exchanged - t->logged_exchange_seconds) / steps;
        e.ips = steps * (double)t->run->plan->config.batch / seconds;
        t->logged_step = t->run->step;
        t->logged_seconds = t->seconds;
        t->logged_exchange_seconds = exchanged;
        const tutti_metric line[] = {TUTTI_METRIC_INT("step", t->run->step),
                                     TUTTI_METRIC_REAL("epoch", (double)t->run->step / (double)c->steps_per_epoch),
                                     TUTTI_METRIC_REAL("loss", e.loss),
                                     TUTTI_METRIC_REAL("lr", e.lr),
                                     TUTTI_METRIC_REAL("ips", e.ips),
                                     TUTTI_METRIC_REAL("step_ms", e.step_ms),
                                     TUTTI_METRIC_REAL("comm_ms", e.comm_ms),
                                     TUTTI_METRIC_REAL("loss_scale", t->run->scale.scale),
                                     TUTTI_METRIC_INT("skipped", t->run->scale.skipped)};
        const tutti_scalar scalars[] = {{"train/loss", e.loss},
                                        {"train/lr", e.lr},
                                        {"speed/images_per_s", e.ips},
                                        {"speed/step_ms", e.step_ms},
                                        {"speed/comm_ms", e.comm_ms},
                                        {"train/loss_scale", t->run->scale.scale},
                                        {"train/skipped", (double)t->run->scale.skipped}};
        /* without only_finite, the line's last two numbers have no meaning and are left out */
        const int told = t->run->plan->config.only_finite ? 2 : 0;
        st = put(t, "step", line, (int)(sizeof line / sizeof *line) - 2 + told, err);
        if (!st) st = plot(t, scalars, (int)(sizeof scalars / sizeof *scalars) - 2 + told, err);
    }
    tell(t, e);
    return st;
}

/* Sums the bytes that were sent between ranks since this process began, each byte once; on rank 0. Collective where
 * ranks step together. A visit brings a vector to the centre and takes a vector back, within a host as between hosts.
 * The centre lies in rank 0's memory, so rank 0's own visits move nothing. */
static tutti_status sum_crossed(const tutti_telling *t, int64_t *sum, tutti_failure *err)
{
    *sum = 0;
    if (t->run->visits) {
        tutti_staleness own;
        tutti_visits_staleness(t->run->visits, &own);
        *sum = 2 * (int64_t)sizeof(float) * t->run->plan->total * (tutti_visits_count(t->run->visits) - own.nvisits);
        return TUTTI_OK;
    }
    const int64_t mine = tutti_shared_crossed_bytes(&t->run->shared);
    int64_t *all = tutti_alloc(sizeof *all * (size_t)t->run->nranks);
    const tutti_status st = tutti_group_all_gather(t->run->group, "bytes that travelled", &mine, all, sizeof mine, err);
    for (int r = 0; r < t->run->nranks && !st; r++) *sum += all[r];
    free(all);
    return st;
}

tutti_status tutti_report_eval(const tutti_telling *t, const tutti_eval_result *r, tutti_failure *err)
{
    int64_t crossed;
    tutti_status st = sum_crossed(t, &crossed, err);
    const double epoch = (double)t->run->step / (double)t->run->config->steps_per_epoch;
    const double accuracy = (double)r->correct / (double)r->nsamples;
    tutti_metric line[MAX_METRICS] = {TUTTI_METRIC_INT("step", t->run->step),
                                      TUTTI_METRIC_REAL("epoch", epoch),
                                      TUTTI_METRIC_REAL("accuracy", accuracy),
                                      TUTTI_METRIC_REAL("loss", r->loss),
                                      TUTTI_METRIC_REAL("seconds", t->seconds + t->eval_seconds),
                                      TUTTI_METRIC_REAL("train_seconds", t->seconds),
                                      TUTTI_METRIC_INT("exchanged_bytes", crossed)};
    if (st) return st;
    const int n = 7 + put_replaced(t, "test", &r->replaced, &line[7]);
    tell(t, (tutti_train_event){.kind = TUTTI_TRAIN_EVAL, .loss = r->loss, .accuracy = accuracy});
    const tutti_scalar scalars[] = {{"test/accuracy", accuracy}, {"test/loss", r->loss}};
    st = put(t, "eval", line, n, err);
    return st ? st : plot(t, scalars, sizeof scalars / sizeof *scalars, err);
}

tutti_status tutti_report_centre(const tutti_telling *t, double x, double y, tutti_failure *err)
{
    const tutti_metric line[] = {TUTTI_METRIC_INT("step", t->run->step), TUTTI_METRIC_REAL("x", x),
                                 TUTTI_METRIC_REAL("y", y)};
    return put(t, "centre", line, sizeof line / sizeof *line, err);
}

tutti_status tutti_report_worker(const tutti_telling *t, const tutti_worker_place *w, tutti_failure *err)
{
    const tutti_metric line[] = {TUTTI_METRIC_INT("step", t->run->step), TUTTI_METRIC_INT("rank", w->rank),
                                 TUTTI_METRIC_REAL("distance", w->distance), TUTTI_METRIC_REAL("x", w->x),
                                 TUTTI_METRIC_REAL("y", w->y)};
    return put(t, "worker", line, sizeof line / sizeof *line, err);
}

tutti_status tutti_report_sparsity(const tutti_telling *t, const tutti_evaluator *e, int64_t nsamples,
                                   tutti_failure *err)
{
    int64_t *zeros;
    const tutti_relus *relus = tutti_evaluator_relus(e, &zeros);
    tutti_scalar *scalars = tutti_alloc(sizeof *scalars * (size_t)(relus->n + 1));
    tutti_strbuf *tags = tutti_alloc(sizeof *tags * (size_t)(relus->n + 1));
    tutti_status st = TUTTI_OK;
    int n = 0;
    for (int i = 0; i < relus->n; i++) {
        const tutti_relu *relu = &relus->relus[i];
        if (!relu->name) continue;
        const int64_t elements = nsamples * relu->elements;
        const double sparsity = (double)zeros[i] / (double)elements;
        const tutti_metric line[] = {TUTTI_METRIC_INT("step", t->run->step), TUTTI_METRIC_TEXT("relu", relu->name),
                                     TUTTI_METRIC_INT("zeros", zeros[i]), TUTTI_METRIC_INT("elements", elements),
                                     TUTTI_METRIC_REAL("sparsity", sparsity)};
        if (!st) st = put(t, "sparsity", line, sizeof line / sizeof *line, err);
        tutti_strbuf_printf(&tags[i], "sparsity/%s", relu->name);
        scalars[n++] = (tutti_scalar){tags[i].text, sparsity};
    }
    if (!st && n) st = plot(t, scalars, n, err);
    for (int i = 0; i < relus->n; i++) tutti_strbuf_release(&tags[i]);
    free(tags);
    free(scalars);
    return st;
}

tutti_status tutti_report_skips(const tutti_telling *t, const tutti_evaluator *e, int64_t nsamples, tutti_failure *err)
{
    int64_t *zeros;
    tutti_strbuf words = {0};
    const tutti_relus *relus = tutti_evaluator_relus(e, &zeros);
    tutti_relus_decide(relus, zeros, nsamples, t->run->plan->graph, &words);
    return say_skips(t, &words, err);
}

tutti_status tutti_report_visits(const tutti_telling *t, const tutti_staleness *s, const char *text, tutti_failure *err)
{
    const tutti_metric line[] = {TUTTI_METRIC_INT("step", t->run->step), TUTTI_METRIC_INT("visits", s->nvisits),
                                 TUTTI_METRIC_REAL("staleness", (double)s->sum / (double)s->nvisits),
                                 TUTTI_METRIC_INT("most_stale", s->most), TUTTI_METRIC_TEXT("words", text)};
    if (t->run->rank != 0) return TUTTI_OK;
    tell(t, (tutti_train_event){.kind = TUTTI_TRAIN_VISITS, .text = text});
    tutti_metric all[MAX_METRICS];
    int n = (int)(sizeof line / sizeof *line);
    memcpy(all, line, sizeof line);
    if (t->run->plan->admission == TUTTI_ADMIT_EVERYBODY) all[n++] = TUTTI_METRIC_INT("lost", s->nlost);
    if (s->nserved) all[n++] = TUTTI_METRIC_INT("served", s->nserved);
    if (s->nserved) all[n++] = TUTTI_METRIC_INT("moved_bytes", s->moved_bytes);
    return put(t, "visits", all, n, err);
}

tutti_status tutti_report_lost(const tutti_telling *t, int rank, int64_t played, const char *text, tutti_failure *err)
{
    const tutti_metric line[] = {TUTTI_METRIC_INT("step", t->run->step), TUTTI_METRIC_INT("rank", rank),
                                 TUTTI_METRIC_INT("shares", played), TUTTI_METRIC_TEXT("words", text)};
    tutti_report_note(t, text);
    return put(t, "lost", line, sizeof line / sizeof *line, err);
}

tutti_status tutti_report_cost(const tutti_telling *t, const double seconds[TUTTI_NCOSTS], const tutti_cost_more *more,
                               tutti_failure *err)
{
    const int nranks = tutti_group_nliving(t->run->group);
    tutti_metric line[MAX_METRICS] = {TUTTI_METRIC_INT("step", t->run->step), TUTTI_METRIC_INT("ranks", nranks)};
    tutti_strbuf table = {0};
    if (t->run->rank != 0) return TUTTI_OK;
    for (int p = 0; p < TUTTI_NCOSTS; p++) line[2 + p] = TUTTI_METRIC_REAL(tutti_cost_key(p), seconds[p]);
    int n = 2 + TUTTI_NCOSTS;
    tutti_cost_table(seconds, nranks, &table);
    tutti_cost_add_words(more, seconds, nranks, &table);
    if (more->served > 0) line[n++] = TUTTI_METRIC_REAL("served", more->served);
    if (nranks > 1) {
        line[n++] = TUTTI_METRIC_INT("slowest", more->slowest);
        line[n++] = TUTTI_METRIC_REAL("slowest_compute", more->slowest_s);
    }
    tell(t, (tutti_train_event){.kind = TUTTI_TRAIN_COST, .text = table.text});
    tutti_strbuf_release(&table);
    return put(t, "cost", line, n, err);
}

tutti_status tutti_report_end(const tutti_telling *t, const tutti_train_result *r, int nlost, tutti_failure *err)
{
    char hash[17];
    int64_t crossed;
    tutti_status st = sum_crossed(t, &crossed, err);
    tutti_hash_text(r->weights_hash, hash);
    tutti_metric line[MAX_METRICS] = {TUTTI_METRIC_TEXT("weights", hash),
                                      TUTTI_METRIC_INT("step", r->step),
                                      TUTTI_METRIC_REAL("loss", r->loss),
                                      TUTTI_METRIC_REAL("seconds", t->seconds + t->eval_seconds),
                                      TUTTI_METRIC_REAL("train_seconds", t->seconds),
                                      TUTTI_METRIC_INT("exchanged_bytes", crossed)};
    int n = 6;
    if (st) return st;
    if (!isnan(r->accuracy)) line[n++] = TUTTI_METRIC_REAL("accuracy", r->accuracy);
    n += put_replaced(t, "training", &r->replaced, &line[n]);
    if (nlost) {
        line[n++] = TUTTI_METRIC_INT("lost_ranks", nlost);
        line[n++] = TUTTI_METRIC_INT("unplayed_shares", tutti_visits_unplayed(t->run->visits));
    }
    if (r->stop_signal) line[n++] = TUTTI_METRIC_INT("signal", r->stop_signal);
    st = put(t, "end", line, n, err);
    return st || !t->metrics ? st : tutti_metrics_sync(t->metrics, err);
}

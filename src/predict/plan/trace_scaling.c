/* SPDX-License-Identifier: Apache-2.0 */
/* trace_scaling.c: predicts a traced SVM training on more ranks, and prints and draws it. */
#include "trace_scaling.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../base/clock.h"
#include "../../base/text/json.h"
#include "planning_parts.h"

static tutti_status read_load(const char *path, tutti_svm_load *out, tutti_failure *err)
{
    tutti_svm_trace trace = {0};
    const tutti_status st = tutti_svm_trace_read(path, &trace, err);
    if (!st) tutti_svm_load_of(&trace, out);
    tutti_svm_trace_release(&trace);
    return st;
}

/* Reads the trace of the run to compare with. It must be of the same training, on one of the rank counts of the
 * question. */
static tutti_status read_check(const char *path, tutti_trace_question *q, tutti_failure *err)
{
    const tutti_status st = read_load(path, &q->checked, err);
    if (st) return st;
    if (q->checked.samples != q->one.samples || q->checked.pairs != q->one.pairs)
        return tutti_fail(
            err, TUTTI_ERR_DATA, "%s: %.0f pairs of %lld samples, in %s %.0f of %lld: not the same training", path,
            q->checked.pairs, (long long)q->checked.samples, q->path, q->one.pairs, (long long)q->one.samples);
    for (int i = 0; i < q->n; i++)
        if (q->at[i].nranks == q->checked.nranks) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s is of %d ranks, which are not among --ranks", path, q->checked.nranks);
}

tutti_status tutti_trace_scaling_predict(tutti_trace_question *q, tutti_failure *err)
{
    tutti_status st = read_load(q->path, &q->one, err);
    for (int i = 0; i < q->n && !st; i++) st = tutti_svm_scale(&q->one, &q->topology, q->ranks[i], &q->at[i], err);
    return !st && q->check ? read_check(q->check, q, err) : st;
}

/* --- the answer in words, as JSON and as a picture --- */

static bool is_checked(const tutti_trace_question *q, int i)
{
    return q->at[i].nranks == q->checked.nranks;
}

void tutti_trace_scaling_print_json(const tutti_trace_question *q, tutti_strbuf *out)
{
    char *topology = tutti_topology_print(&q->topology);
    for (int i = 0; i < q->n; i++) {
        const tutti_svm_scaling *s = &q->at[i];
        tutti_json j = {.out = out};
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "trace", q->path);
        tutti_json_text(&j, "topology", topology);
        tutti_json_int(&j, "ranks", s->nranks);
        tutti_json_real(&j, "seconds", s->seconds);
        tutti_json_real(&j, "speedup", s->speedup);
        tutti_json_real(&j, "efficiency", s->efficiency);
        for (int w = 0; w < TUTTI_SVM_NWORKS; w++) {
            char key[32];
            snprintf(key, sizeof key, "%s_s", tutti_svm_work_name((tutti_svm_work)w));
            tutti_json_real(&j, key, s->spent_s[w]);
        }
        tutti_json_real(&j, "least_s", tutti_svm_scaling_least_s(&q->one));
        tutti_json_real(&j, "extremes_s", s->extremes_s);
        tutti_json_real(&j, "offers_s", s->offers_s);
        tutti_json_int(&j, "offers_bytes", s->offers_bytes);
        tutti_json_real(&j, "rows_s", s->rows_s);
        tutti_json_int(&j, "rows_bytes", s->gather_bytes);
        if (is_checked(q, i)) {
            tutti_json_real(&j, "measured_s", q->checked.seconds);
            tutti_json_real(&j, "error", s->seconds / q->checked.seconds - 1);
        }
        tutti_json_close(&j, '}');
        tutti_strbuf_puts(out, "\n");
    }
    free(topology);
}

static void print_parts(const double *spent_s, double seconds, tutti_strbuf *out)
{
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++)
        tutti_strbuf_printf(out, " %*.1f%%", w == TUTTI_SVM_ELIMINATING ? 10 : 8,
                            seconds > 0 ? 100 * spent_s[w] / seconds : 0);
    tutti_strbuf_printf(out, "\n");
}

static void print_rows(const tutti_trace_question *q, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "%5s %10s %9s %10s  ", "ranks", "seconds", "speed-up", "efficiency");
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++)
        tutti_strbuf_printf(out, " %*s", w == TUTTI_SVM_ELIMINATING ? 11 : 9, tutti_svm_work_name((tutti_svm_work)w));
    tutti_strbuf_printf(out, "\n");
    for (int i = 0; i < q->n; i++) {
        const tutti_svm_scaling *s = &q->at[i];
        tutti_strbuf_printf(out, "%5d %10.3f %9.2f %9.1f%%  ", s->nranks, s->seconds, s->speedup, 100 * s->efficiency);
        print_parts(s->spent_s, s->seconds, out);
        if (!is_checked(q, i)) continue;
        const double speedup = q->one.seconds / q->checked.seconds;
        tutti_strbuf_printf(out, "%5s %10.3f %9.2f %9.1f%%  ", "ran", q->checked.seconds, speedup,
                            100 * speedup / s->nranks);
        print_parts(q->checked.spent_s, q->checked.seconds, out);
        tutti_strbuf_printf(out, "%5s %+9.1f%%\n", "error", 100 * (s->seconds / q->checked.seconds - 1));
    }
}

static void print_bound(const tutti_trace_question *q, tutti_strbuf *out)
{
    const double least_s = tutti_svm_scaling_least_s(&q->one);
    const tutti_svm_scaling *best = &q->at[0], *idle = NULL;
    for (int i = 0; i < q->n; i++) {
        if (q->at[i].seconds < best->seconds) best = &q->at[i];
        if (q->at[i].efficiency < 0.5 && (!idle || q->at[i].nranks < idle->nranks)) idle = &q->at[i];
    }
    tutti_strbuf_printf(out, "\nWhat does not divide (alike, other, laying rows side by side) takes %.3f s", least_s);
    if (least_s > 0)
        tutti_strbuf_printf(out, ": nothing is more than %.1f times as fast as one rank", q->one.seconds / least_s);
    tutti_strbuf_printf(out, ".\nOf these, %d rank%s: %.2f times.", best->nranks,
                        best->nranks > 1 ? "s are the fastest" : " is the fastest", best->speedup);
    if (idle) tutti_strbuf_printf(out, " From %d ranks on the efficiency is below 50 %%.", idle->nranks);
    tutti_strbuf_printf(
        out, "\nNot in the model: an uneven spread of active samples, caches, noise; on a network: packets, congestion "
             "control.\n");
}

void tutti_trace_scaling_print(const tutti_trace_question *q, tutti_strbuf *out)
{
    const tutti_svm_scaling *last = &q->at[q->n - 1];
    char *described = tutti_topology_describe(&q->topology);
    tutti_strbuf_printf(out, "%s\n%s, %lld samples, %.0f pairs in %lld rounds, %d thread%s a rank\n", described,
                        q->path, (long long)q->one.samples, q->one.pairs, (long long)q->one.rounds, q->one.nthreads,
                        q->one.nthreads > 1 ? "s" : "");
    if (last->nranks > 1)
        tutti_strbuf_printf(out,
                            "a round at %d ranks: the worst pair %s, candidates of %.1f kB %s, rows of %.1f kB %s\n",
                            last->nranks, tutti_time_words(last->extremes_s).text, (double)last->offers_bytes / 1e3,
                            tutti_time_words(last->offers_s).text, (double)last->gather_bytes / 1e3,
                            tutti_time_words(last->rows_s).text);
    tutti_strbuf_printf(out, "\n");
    print_rows(q, out);
    print_bound(q, out);
    free(described);
}

void tutti_trace_scaling_draw(const tutti_trace_question *q, tutti_strbuf *out)
{
    double ranks[TUTTI_PREDICT_MAX_RANKS], speedup[TUTTI_PREDICT_MAX_RANKS], efficiency[TUTTI_PREDICT_MAX_RANKS];
    for (int i = 0; i < q->n; i++) {
        ranks[i] = q->at[i].nranks, speedup[i] = q->at[i].speedup, efficiency[i] = 100 * q->at[i].efficiency;
    }
    tutti_predict_draw_scaling(q->path, ranks, speedup, efficiency, q->n, out);
}

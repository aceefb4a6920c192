/* SPDX-License-Identifier: Apache-2.0 */
/* step_view.c: keeps the log, the longest chain and the busiest link of a predicted step, with the names of layers and
 * exchanges. */
#include "step_view.h"

#include <stdlib.h>
#include <string.h>

#include "../predict/play/timeline.h"
#include "../predict/profile/profile.h"

static const char *copy_text(tutti_arena *arena, const char *text)
{
    const size_t n = strlen(text) + 1;
    char *copy = TUTTI_ARENA_NEW(arena, char, n);
    return memcpy(copy, text, n);
}

static void keep_names(const tutti_plan *plan, tutti_step_view *v)
{
    const tutti_model *model = plan->graph->model;
    v->nlayers = model->nlayers;
    v->nexchanges = plan->nexchanges;
    v->layers = TUTTI_ARENA_NEW(&v->arena, const char *, model->nlayers + 1);
    v->exchanges = TUTTI_ARENA_NEW(&v->arena, const char *, plan->nexchanges + 1);
    for (int i = 0; i < v->nlayers; i++) v->layers[i] = copy_text(&v->arena, model->layers[i].name);
    for (int i = 0; i < v->nexchanges; i++) v->exchanges[i] = copy_text(&v->arena, plan->exchanges[i].name);
}

static tutti_status look(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                         const double *slowness, void *arg, tutti_failure *err)
{
    tutti_step_view *v = arg;
    keep_names(plan, v);
    v->period = plan->config.period;
    tutti_status st =
        tutti_timeline_record(&(tutti_timeline_question){plan, profile, t, slowness}, &v->log, &v->predicted, err);
    if (!st) st = tutti_predict_busiest(plan, t, &v->busiest, err);
    v->predicted.memory = tutti_rank_memory_of(plan);
    v->npath = tutti_step_log_path(&v->log, &v->path);
    return st;
}

tutti_status tutti_job_view_step(const tutti_job *job, const tutti_topology *t, const tutti_predict_options *options,
                                 int nranks, tutti_step_view *out, tutti_failure *err)
{
    *out = (tutti_step_view){.nranks = nranks};
    return tutti_job_look(job, t, options, nranks, look, out, err);
}

void tutti_step_view_release(tutti_step_view *view)
{
    tutti_step_log_release(&view->log);
    free(view->path);
    tutti_arena_release(&view->arena);
    *view = (tutti_step_view){0};
}

const char *tutti_step_view_name(const tutti_step_view *view, tutti_stretch_kind kind, int what)
{
    const bool wire = kind == TUTTI_STRETCH_EXCHANGE || kind == TUTTI_STRETCH_BESIDE;
    if (what < 0 || what >= (wire ? view->nexchanges : view->nlayers)) return "";
    return wire ? view->exchanges[what] : view->layers[what];
}

/* For a chain of too many stretches (each one activity of the rank, without a gap): adds the seconds of each kind of
 * stretch, kinds in the order in which they first occur. */
static void add_sums(const tutti_step_view *view, tutti_strbuf *out)
{
    double seconds[TUTTI_NSTRETCHES] = {0};
    int times[TUTTI_NSTRETCHES] = {0}, nkinds = 0;
    for (int i = 0; i < view->npath; i++) {
        seconds[view->path[i].kind] += view->path[i].end_s - view->path[i].begin_s;
        times[view->path[i].kind]++;
    }
    for (int i = 0; i < view->npath; i++) {
        const tutti_stretch_kind k = view->path[i].kind;
        if (!times[k]) continue; /* the times of this kind were added already */
        tutti_strbuf_printf(out, "%s%s %.3f ms", nkinds++ ? ", " : "", tutti_stretch_name(k), seconds[k] * 1e3);
        if (times[k] > 1) tutti_strbuf_printf(out, " in %d stretches", times[k]);
        times[k] = 0;
    }
}

void tutti_step_view_words(const tutti_step_view *view, tutti_strbuf *out)
{
    enum { MOST_NAMED = 6 };
    if (view->npath > MOST_NAMED) {
        add_sums(view, out);
        return;
    }
    for (int i = 0; i < view->npath; i++) {
        const tutti_step_stretch *s = &view->path[i];
        const char *first = tutti_step_view_name(view, s->kind, s->what),
                   *last = tutti_step_view_name(view, s->kind, s->last);
        tutti_strbuf_printf(out, "%s%s %.3f ms", i ? ", " : "", tutti_stretch_name(s->kind),
                            (s->end_s - s->begin_s) * 1e3);
        if (first[0] && !strcmp(first, last)) tutti_strbuf_printf(out, " (%s)", first);
        if (first[0] && strcmp(first, last)) tutti_strbuf_printf(out, " (%s to %s)", first, last);
    }
}

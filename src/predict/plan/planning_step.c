/* SPDX-License-Identifier: Apache-2.0 */
/* predict_step.c: what `tutti predict JOB` says of a step at the last of the rank counts: its busiest link, and what makes it as long as it
 * is. */
#include "predict_answers.h"

void tutti_predict_step_words(const tutti_step_view *v, tutti_strbuf *out)
{
    if (v->busiest.busy_s > 0)
        tutti_strbuf_printf(
            out, "Busiest link at %d rank%s: %s, %.0f %% of the step, %.0f %% of the exchanges' time.\n", v->nranks,
            v->nranks == 1 ? "" : "s", v->busiest.name, 100 * v->busiest.busy_s / v->predicted.step_s,
            100 * v->busiest.busy_s / v->busiest.exchange_s);
    if (!v->npath) return;
    tutti_strbuf_printf(out, "What makes the %s as long as it is at %d rank%s: ", v->period > 1 ? "period" : "step",
                        v->nranks, v->nranks == 1 ? "" : "s");
    tutti_step_view_words(v, out);
    tutti_strbuf_puts(out, ".\n");
}

void tutti_predict_step_json(const tutti_step_view *v, tutti_json *j)
{
    tutti_json_text(j, "busiest_link", v->busiest.name[0] ? v->busiest.name : NULL);
    tutti_json_real(j, "busiest_link_s", v->busiest.busy_s);
    tutti_json_open(j, "critical_path", '[');
    for (int i = 0; i < v->npath; i++) {
        const tutti_step_stretch *s = &v->path[i];
        tutti_json_open(j, NULL, '{');
        tutti_json_text(j, "kind", tutti_stretch_name(s->kind));
        tutti_json_text(j, "first", tutti_step_view_name(v, s->kind, s->what));
        tutti_json_text(j, "last", tutti_step_view_name(v, s->kind, s->last));
        tutti_json_real(j, "begin_s", s->begin_s);
        tutti_json_real(j, "end_s", s->end_s);
        tutti_json_close(j, '}');
    }
    tutti_json_close(j, ']');
}

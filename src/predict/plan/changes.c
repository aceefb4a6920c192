/* SPDX-License-Identifier: Apache-2.0 */
/* changes.c: predicts the job on a machine with changed figures, beside the machine as it is. */

#include "../../base/arena.h"
#include "../what_if.h"
#include "planning_parts.h"

tutti_status tutti_predict_change_add(const tutti_predict_question *q, const char *text, tutti_predict_answers *a,
                                      tutti_failure *err)
{
    if (a->nchanges == TUTTI_PREDICT_MAX_CHANGES)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--what-if stands there more than %d times", TUTTI_PREDICT_MAX_CHANGES);
    if (!a->changes) a->changes = tutti_alloc(sizeof *a->changes * TUTTI_PREDICT_MAX_CHANGES);
    tutti_predict_change *c = &a->changes[a->nchanges++];
    *c = (tutti_predict_change){.text = text, .topology = q->topology, .speed = 1};
    return tutti_what_if_apply("--what-if", text, &c->topology, &c->speed, err);
}

tutti_status tutti_predict_changes_find(const tutti_predict_question *q, tutti_predict_answers *a, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int c = 0; c < a->nchanges && !st; c++) {
        tutti_predict_change *change = &a->changes[c];
        tutti_predict_options options = q->options;
        options.save_profile = NULL;
        options.memory = NULL; /* keeps no simulations, because the memory's simulations are of the unchanged machine */
        options.at = NULL;
        options.speed = (options.speed > 0 ? options.speed : 1) * change->speed;
        st = tutti_predict_job(q->job, &change->topology, &options, q->ranks, q->nranks, change->predicted, err);
    }
    return st;
}

void tutti_predict_changes_json(const tutti_predict_answers *a, int i, tutti_json *j)
{
    if (!a->nchanges) return;
    tutti_json_open(j, "what_if", '[');
    for (int c = 0; c < a->nchanges; c++) {
        const tutti_prediction *p = &a->changes[c].predicted[i];
        tutti_json_open(j, NULL, '{');
        tutti_json_text(j, "change", a->changes[c].text);
        tutti_json_real(j, "step_s", p->step_s);
        tutti_json_real(j, "samples_per_s", p->samples_per_s);
        tutti_json_real(j, "efficiency", p->efficiency);
        tutti_json_close(j, '}');
    }
    tutti_json_close(j, ']');
}

static void print_change(const tutti_predict_question *q, const tutti_predict_change *c, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "\nWhat if %s\n%5s %10s %10s %7s %10s %10s\n", c->text, "ranks", "step ms", "now", "ratio",
                        "samples/s", "efficiency");
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *was = &q->predicted[i], *is = &c->predicted[i];
        if (is->refused[0]) continue;
        tutti_strbuf_printf(out, "%5d %10.3f %10.3f %7.3f %10.1f %9.1f%%\n", is->nranks, is->step_s * 1e3,
                            was->step_s * 1e3, is->step_s / was->step_s, is->samples_per_s, is->efficiency * 100);
    }
}

void tutti_predict_add_changes(const tutti_predict_question *q, tutti_strbuf *out)
{
    for (int i = 0; i < q->answers->nchanges; i++) print_change(q, &q->answers->changes[i], out);
}

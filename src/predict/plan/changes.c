/* SPDX-License-Identifier: Apache-2.0 */
/* predict_changes.c: `tutti predict JOB --what-if CHANGE`: the same job on a machine with other figures, beside what is now. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../predict/what_if.h"
#include "predict_answers.h"

tutti_status tutti_predict_changes_read(const tutti_flags *f, const tutti_predict_question *q, tutti_predict_answers *a,
                                        tutti_failure *err)
{
    int row = 0;
    while (row < f->nflags && strcmp(f->flags[row].name, "what-if")) row++;
    const int n = row < f->nflags ? f->count[row] : 0;
    tutti_status st = TUTTI_OK;
    if (n > TUTTI_PREDICT_MAX_CHANGES)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--what-if stands there more than %d times", TUTTI_PREDICT_MAX_CHANGES);
    a->changes = tutti_alloc(sizeof *a->changes * (size_t)(n + 1));
    for (; a->nchanges < n && !st; a->nchanges++) {
        tutti_predict_change *c = &a->changes[a->nchanges];
        *c = (tutti_predict_change){.text = f->value[row][a->nchanges], .topology = q->topology, .speed = 1};
        st = tutti_what_if_apply("--what-if", c->text, &c->topology, &c->speed, err);
    }
    return st;
}

tutti_status tutti_predict_changes_find(const tutti_predict_question *q, tutti_predict_answers *a, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int c = 0; c < a->nchanges && !st; c++) {
        tutti_predict_change *change = &a->changes[c];
        tutti_predict_options options = q->options;
        options.save_profile = NULL;
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

static void print_change(const tutti_predict_question *q, const tutti_predict_change *c)
{
    printf("\nWhat if %s\n%5s %10s %10s %7s %10s %10s\n", c->text, "ranks", "step ms", "now", "ratio", "samples/s",
           "efficiency");
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *was = &q->predicted[i], *is = &c->predicted[i];
        if (is->refused[0]) continue;
        printf("%5d %10.3f %10.3f %7.3f %10.1f %9.1f%%\n", is->nranks, is->step_s * 1e3, was->step_s * 1e3,
               is->step_s / was->step_s, is->samples_per_s, is->efficiency * 100);
    }
}

void tutti_predict_changes_print(const tutti_predict_question *q)
{
    for (int i = 0; i < q->answers->nchanges; i++) print_change(q, &q->answers->changes[i]);
}

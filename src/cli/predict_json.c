/* SPDX-License-Identifier: Apache-2.0 */
/* predict_json.c: what `tutti predict JOB --json` prints: one object a rank count, or a layer, and line. */
#include <stdio.h>
#include <stdlib.h>

#include "../base/json.h"
#include "predict_question.h"
#include "tutti/topology.h"

void tutti_predict_print_json(const tutti_predict_question *q)
{
    char *topology = tutti_topology_print(&q->topology);
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *p = &q->predicted[i];
        tutti_strbuf out = {0};
        tutti_json j = {.out = &out};
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "job", q->job_path);
        tutti_json_text(&j, "topology", topology);
        tutti_json_int(&j, "ranks", p->nranks);
        tutti_json_int(&j, "ranks_per_core", p->ranks_per_core);
        tutti_json_real(&j, "step_s", p->step_s);
        tutti_json_real(&j, "lower_s", p->lower_s);
        tutti_json_real(&j, "upper_s", p->upper_s);
        tutti_json_real(&j, "compute_s", p->compute_s);
        tutti_json_real(&j, "exchange_s", p->exchange_s);
        tutti_json_real(&j, "exposed_s", p->exposed_s);
        if (p->groups) tutti_json_int(&j, "groups", p->groups);
        if (p->groups) tutti_json_real(&j, "travel_s", p->travel_s);
        tutti_json_real(&j, "samples_per_s", p->samples_per_s);
        tutti_json_real(&j, "speedup", p->speedup);
        tutti_json_real(&j, "efficiency", p->efficiency);
        tutti_json_real(&j, "measured_s", q->measured_s[i]);
        tutti_json_real(&j, "error", p->step_s / q->measured_s[i] - 1);
        tutti_json_close(&j, '}');
        puts(out.text);
        tutti_strbuf_release(&out);
    }
    free(topology);
}

static void print_layer_json(const tutti_layer_prediction *p, int nranks)
{
    tutti_strbuf out = {0};
    tutti_json j = {.out = &out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "layer", p->name);
    tutti_json_int(&j, "ranks", nranks);
    tutti_json_real(&j, "forward_s", p->forward_s);
    tutti_json_real(&j, "backward_s", p->backward_s);
    tutti_json_int(&j, "bytes", p->bytes);
    tutti_json_real(&j, "flop_per_byte", p->flop_per_byte);
    tutti_json_real(&j, "exchange_s", p->exchange_s);
    tutti_json_real(&j, "window_s", p->window_s);
    tutti_json_real(&j, "exposed_s", p->exposed_s);
    if (p->hybrid_groups) tutti_json_int(&j, "hybrid_groups", p->hybrid_groups);
    tutti_json_close(&j, '}');
    puts(out.text);
    tutti_strbuf_release(&out);
}

void tutti_predict_print_layers_json(const tutti_predict_question *q)
{
    for (int i = 0; i < q->nlayers; i++) print_layer_json(&q->layers[i], q->ranks[q->nranks - 1]);
}

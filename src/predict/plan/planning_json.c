/* SPDX-License-Identifier: Apache-2.0 */
/* predict_json.c: what `tutti predict JOB --json FILE` writes: one object a rank count, then one a layer, a line each. */
#include <stdlib.h>
#include <string.h>

#include "../../base/text/json.h"
#include "../cli.h"
#include "predict_answers.h"
#include "tutti/topology.h"

/* Of what there is no prediction of. */
static void print_refusal(tutti_json *j, const tutti_prediction *p)
{
    tutti_json_text(j, "refused", p->refused);
    tutti_json_close(j, '}');
    tutti_strbuf_puts(j->out, "\n");
}

void tutti_predict_print_json(const tutti_predict_question *q, tutti_strbuf *out)
{
    char *topology = tutti_topology_print(&q->topology);
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *p = &q->predicted[i];
        tutti_json j = {.out = out};
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "job", q->job_path);
        tutti_json_text(&j, "topology", topology);
        tutti_json_int(&j, "ranks", p->nranks);
        if (q->guard[0]) tutti_json_text(&j, "guard", q->guard);
        if (p->refused[0]) {
            print_refusal(&j, p);
            continue;
        }
        tutti_json_real(&j, "step_ms", p->step_s * 1e3);
        tutti_json_text(&j, "algorithm", p->algorithm);
        if (p->choice[0]) tutti_json_text(&j, "choice", p->choice);
        if (p->choice[0]) tutti_json_real(&j, "choice_s", p->choice_s);
        tutti_json_real(&j, "exchange_ms", p->exchange_s * 1e3);
        tutti_json_real(&j, "exposed_ms", p->exposed_s * 1e3);
        tutti_json_open(&j, "exchange_s_by_bytes", '{');
        for (int k = 0; k < TUTTI_PREDICTED_SIZES; k++) {
            static const char *const bytes[TUTTI_PREDICTED_SIZES] = {"4096", "65536", "1048576", "16777216"};
            tutti_json_real(&j, bytes[k], p->by_size_s[k]);
        }
        tutti_json_close(&j, '}');
        tutti_json_int(&j, "fan_in", p->fan_in);
        tutti_json_int(&j, "bytes_per_rank", p->bytes_per_rank);
        tutti_json_text(&j, "bottleneck", p->bottleneck);
        tutti_json_int(&j, "ranks_per_core", p->ranks_per_core);
        tutti_json_real(&j, "step_s", p->step_s);
        tutti_json_real(&j, "lower_s", p->lower_s);
        tutti_json_real(&j, "upper_s", p->upper_s);
        tutti_json_real(&j, "compute_s", p->compute_s);
        tutti_json_real(&j, "exchange_s", p->exchange_s);
        tutti_json_real(&j, "exposed_s", p->exposed_s);
        tutti_json_real(&j, "communication", p->exposed_s / p->step_s);
        if (q->options.read_trace) tutti_json_bool(&j, "assumes_updates", p->assumes_updates);
        if (q->options.read_trace) tutti_json_bool(&j, "assumes_loading", p->assumes_loading);
        if (p->spread > 0) tutti_json_real(&j, "spread", p->spread);
        if (p->groups) tutti_json_int(&j, "groups", p->groups);
        if (p->groups) tutti_json_real(&j, "travel_s", p->travel_s);
        tutti_json_real(&j, "samples_per_s", p->samples_per_s);
        tutti_json_real(&j, "speedup", p->speedup);
        tutti_json_real(&j, "efficiency", p->efficiency);
        tutti_json_real(&j, "measured_s", q->measured_s[i]);
        tutti_json_real(&j, "error", p->step_s / q->measured_s[i] - 1);
        tutti_predict_answers_json(q, i, &j);
        tutti_json_close(&j, '}');
        tutti_strbuf_puts(out, "\n");
    }
    free(topology);
}

static void print_layer_json(const tutti_layer_prediction *p, int nranks, tutti_strbuf *out)
{
    tutti_json j = {.out = out};
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
    tutti_strbuf_puts(out, "\n");
}

void tutti_predict_print_layers_json(const tutti_predict_question *q, tutti_strbuf *out)
{
    for (int i = 0; i < q->nlayers; i++) print_layer_json(&q->layers[i], q->ranks[q->nranks - 1], out);
}

tutti_status tutti_predict_write_json(const char *path, const tutti_strbuf *lines, tutti_failure *err)
{
    return tutti_cli_write(strcmp(path, "-") ? path : NULL, lines->text ? lines->text : "", err);
}

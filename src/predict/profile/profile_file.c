/* SPDX-License-Identifier: Apache-2.0 */
/* profile_file.c: writes and reads profiles as JSON lines, so that times measured on one machine serve predictions made
 * on another. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "../../base/text/json.h"
#include "profile.h"

void tutti_profile_print(const tutti_profile *p, tutti_strbuf *out)
{
    tutti_json j = {.out = out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_int(&j, "samples_per_call", p->samples_per_call);
    tutti_json_text(&j, "precision", tutti_precision_name(p->precision));
    tutti_json_int(&j, "busy", p->nbusy);
    if (p->parts > 1) tutti_json_int(&j, "parts", p->parts);
    tutti_json_real(&j, "update_s_per_element", p->update_s_per_element);
    tutti_json_real(&j, "load_s_per_sample", p->load_s_per_sample);
    tutti_json_open(&j, "layers", '[');
    for (int l = 0; l < p->nlayers; l++) {
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "name", p->layers[l].name);
        tutti_json_real(&j, "forward_s", p->layers[l].forward_s);
        tutti_json_real(&j, "backward_params_s", p->layers[l].params_s);
        tutti_json_real(&j, "backward_data_s", p->layers[l].data_s);
        if (p->layers[l].sum_s > 0) tutti_json_real(&j, "sum_s", p->layers[l].sum_s);
        tutti_json_close(&j, '}');
    }
    tutti_json_close(&j, ']');
    tutti_json_close(&j, '}');
    tutti_strbuf_puts(out, "\n");
}

/* Returns the finite number >= 0 under `key`, or NaN. */
static double number_of(const cJSON *object, const char *key)
{
    const double number = tutti_json_number_of(object, key, NAN);
    return isfinite(number) && number >= 0 ? number : NAN;
}

static tutti_status layers_take(const char *name, int line, const cJSON *list, const tutti_graph *g, tutti_profile *out,
                                tutti_failure *err)
{
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    if (n != g->model->nlayers)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: times of %d layers, model %s has %d", name, line, n,
                          g->model->name, g->model->nlayers);
    out->nlayers = n;
    out->layers = TUTTI_ARENA_NEW(&out->arena, tutti_layer_time, n);
    for (int l = 0; l < n; l++) {
        const cJSON *object = cJSON_GetArrayItem(list, l), *text = cJSON_GetObjectItemCaseSensitive(object, "name");
        const char *want = g->model->layers[l].name;
        if (!cJSON_IsString(text) || strcmp(text->valuestring, want))
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: layer %d is '%s', in model %s it is '%s'", name, line,
                              l, cJSON_IsString(text) ? text->valuestring : "?", g->model->name, want);
        tutti_layer_time *time = &out->layers[l];
        *time = (tutti_layer_time){.name = tutti_arena_strdup(&out->arena, want),
                                   .forward_s = number_of(object, "forward_s"),
                                   .params_s = number_of(object, "backward_params_s"),
                                   .data_s = number_of(object, "backward_data_s")};
        if (g->layer_grads[l].nparts && !g->layer_grads[l].takes_parts) time->sum_s = number_of(object, "sum_s");
        if (!isfinite(time->forward_s + time->params_s + time->data_s + time->sum_s))
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: layer '%s' lacks a time", name, line, want);
    }
    return TUTTI_OK;
}

/* True if a line of the file fits: it has the graph's batch, precision and parts, and nbusy threads. */
static bool is_of(const cJSON *root, const tutti_graph *g, int nbusy)
{
    double samples = number_of(root, "samples_per_call"), busy = number_of(root, "busy");
    const cJSON *precision = cJSON_GetObjectItemCaseSensitive(root, "precision");
    const double given = number_of(root, "parts"), parts = isfinite(given) ? given : 1;
    return parts == tutti_graph_parts(g) && samples == (double)g->config.batch && busy == nbusy &&
           cJSON_IsString(precision) && !strcmp(precision->valuestring, tutti_precision_name(g->config.precision));
}

static tutti_status line_take(const char *name, int line, const cJSON *root, const tutti_graph *g, tutti_profile *out,
                              tutti_failure *err)
{
    *out = (tutti_profile){
        .samples_per_call = g->config.batch, .precision = g->config.precision, .nbusy = (int)number_of(root, "busy")};
    out->update_s_per_element = number_of(root, "update_s_per_element");
    out->load_s_per_sample = number_of(root, "load_s_per_sample");
    tutti_status st = TUTTI_OK;
    if (!isfinite(out->update_s_per_element + out->load_s_per_sample))
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: no update_s_per_element or load_s_per_sample", name, line);
    if (!st) st = layers_take(name, line, cJSON_GetObjectItemCaseSensitive(root, "layers"), g, out, err);
    if (st) tutti_profile_release(out);
    return st;
}

tutti_status tutti_profile_find(const char *name, const char *text, const tutti_graph *graph, int nbusy,
                                tutti_profile *out, tutti_failure *err)
{
    int line = 1;
    for (; *text; line++) {
        size_t length = strcspn(text, "\n");
        cJSON *root = tutti_json_parse(text, length);
        const bool found = root && is_of(root, graph, nbusy);
        tutti_status st = TUTTI_OK;
        if (!root && length)
            st = tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: no JSON object", name, line);
        else if (found)
            st = line_take(name, line, root, graph, out, err);
        cJSON_Delete(root);
        if (st || found) return st;
        text += length + (text[length] == '\n');
    }
    return tutti_fail(
        err, TUTTI_ERR_DATA,
        "%s: no times for %lld samples in a call in %s with %d busy, %d a split layer (%d lines); measure "
        "them with --save-profile",
        name, (long long)graph->config.batch, tutti_precision_name(graph->config.precision), nbusy,
        tutti_graph_parts(graph), line - 1);
}

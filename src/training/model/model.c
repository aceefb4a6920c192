/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: loads a network by file or name, and infers its shapes, size and cost.
 *
 * All models that tutti_model_parse accepts have consistent shapes at batch 1, so the sums below need not check
 * layers. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/file.h"
#include "../../base/text/options.h"

enum { MAX_FILE_BYTES = 4 << 20, MAX_SHIPPED = 64 };

static tutti_shape input_for(const tutti_model *m, int64_t batch)
{
    tutti_shape s = {.ndims = m->input.ndims + 1, .dim = {batch}};
    for (int d = 0; d < m->input.ndims; d++) s.dim[d + 1] = m->input.dim[d];
    return s;
}

/* Collects the shapes of a layer's inputs from the outputs of the layers before it. */
static void gather_inputs(const tutti_model *m, const tutti_layer *layer, int64_t batch, const tutti_shape *outputs,
                          tutti_shape in[TUTTI_MAX_OP_INPUTS])
{
    for (int i = 0; i < layer->nin; i++) in[i] = layer->in[i] < 0 ? input_for(m, batch) : outputs[layer->in[i]];
}

tutti_status tutti_model_infer(const tutti_model *m, int64_t batch, tutti_shape *out, tutti_failure *err)
{
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_layer *layer = &m->layers[l];
        tutti_shape in[TUTTI_MAX_OP_INPUTS];
        gather_inputs(m, layer, batch, out, in);
        if (tutti_op_infer(layer->op, layer->attrs, in, layer->nin, &out[l], err) != TUTTI_OK)
            return tutti_fail_at(err, "model %s: line %d: layer %s", m->name, layer->line, layer->name);
    }
    return TUTTI_OK;
}

int64_t tutti_model_nparams(const tutti_model *m)
{
    tutti_shape *outputs = tutti_alloc(sizeof *outputs * (size_t)m->nlayers);
    int64_t total = 0;
    tutti_status st = tutti_model_infer(m, 1, outputs, NULL);
    for (int l = 0; l < m->nlayers && st == TUTTI_OK; l++) {
        const tutti_layer *layer = &m->layers[l];
        tutti_shape in[TUTTI_MAX_OP_INPUTS];
        tutti_param_desc params[TUTTI_MAX_OP_PARAMS];
        gather_inputs(m, layer, 1, outputs, in);
        int n = layer->op->params ? layer->op->params(layer->attrs, in, params) : 0;
        for (int p = 0; p < n; p++)
            if (params[p].kind != TUTTI_PARAM_STATISTIC) total += tutti_shape_count(&params[p].shape);
    }
    free(outputs);
    return total;
}

double tutti_model_flops(const tutti_model *m, int64_t batch)
{
    tutti_shape *outputs = tutti_alloc(sizeof *outputs * (size_t)m->nlayers);
    double total = 0;
    tutti_status st = tutti_model_infer(m, batch, outputs, NULL);
    for (int l = 0; l < m->nlayers && st == TUTTI_OK; l++) {
        const tutti_layer *layer = &m->layers[l];
        tutti_shape in[TUTTI_MAX_OP_INPUTS];
        gather_inputs(m, layer, batch, outputs, in);
        total += layer->op->flops(layer->attrs, in, &outputs[l]);
    }
    free(outputs);
    return total;
}

bool tutti_layer_reads_once(const tutti_layer *layer)
{
    for (int i = 1; i < layer->nin; i++)
        if (layer->in[i] == layer->in[0]) return false;
    return true;
}

void tutti_model_destroy(tutti_model *m)
{
    if (!m) return;
    tutti_arena_release(&m->arena);
    free(m);
}

static bool is_path(const char *name)
{
    size_t n = strlen(name);
    return strchr(name, '/') || (n > 5 && strcmp(name + n - 5, ".yaml") == 0);
}

static tutti_status load_file(const char *path, tutti_model **out, tutti_failure *err)
{
    char *text = NULL;
    size_t nbytes = 0;
    tutti_status st = tutti_file_read(path, MAX_FILE_BYTES, TUTTI_ERR_USAGE, &text, &nbytes, err);
    if (st == TUTTI_OK) st = tutti_model_parse(path, text, nbytes, out, err);
    free(text);
    return st;
}

static tutti_status fail_unknown(const char *name, tutti_failure *err)
{
    const char *known[MAX_SHIPPED];
    int n = 0;
    tutti_strbuf list = {0};
    for (; n < MAX_SHIPPED && tutti_model_shipped_at(n); n++) {
        known[n] = tutti_model_shipped_at(n);
        tutti_strbuf_printf(&list, "%s%s", n ? ", " : "", known[n]);
    }
    const char *nearest = tutti_options_nearest(name, known, n);
    tutti_status st =
        tutti_fail(err, TUTTI_ERR_USAGE, "there is no model %s%s%s%s; there are %s, or a path that ends in .yaml", name,
                   nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "", list.text);
    tutti_strbuf_release(&list);
    return st;
}

tutti_status tutti_model_load(const char *name_or_path, const char *folder, tutti_model **out, tutti_failure *err)
{
    if (!is_path(name_or_path)) {
        const char *text = tutti_model_shipped_text(name_or_path);
        if (!text) return fail_unknown(name_or_path, err);
        return tutti_model_parse(name_or_path, text, strlen(text), out, err);
    }
    if (!folder || name_or_path[0] == '/') return load_file(name_or_path, out, err);
    tutti_strbuf path = {0};
    tutti_strbuf_printf(&path, "%s/%s", folder, name_or_path);
    tutti_status st = load_file(path.text, out, err);
    tutti_strbuf_release(&path);
    return st;
}

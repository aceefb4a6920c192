/* SPDX-License-Identifier: Apache-2.0 */
/* kineto.c: reads traces of PyTorch's profiler and combines their spans into layers: one sweep in the order of time,
 * with a stack of the open modules. */
#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "../base/file.h"
#include "../base/text/json.h"

enum { MAX_TRACE_BYTES = 1 << 29, MAX_LAYERS = 10000, MAX_DEPTH = 512 };
static const double MAX_US = 1e18, MAX_SIZE = 1e15;

typedef enum { SPAN_STEP, SPAN_MODULE, SPAN_OPERATOR, SPAN_BACKWARD } span_kind;

typedef struct {
    span_kind kind;
    const char *name; /* name of a module without "nn.Module: " */
    double begin_us, us;
    int64_t thread, sequence; /* thread of the span; sequence number of its autograd node, -1 = none */
    int64_t bytes;            /* for an operator: bytes of its parameters */
    int owner;                /* for an operator: its layer; -1: outside all modules */
} span;

typedef struct {
    const char *name; /* name of the trace file */
    tutti_failure *err;
    span *spans;
    int nspans, capacity, nsteps;
    bool has_shapes, has_modules;
    tutti_layer_trace *out;
    double *first_us; /* per layer: when its first operator began */
    bool *is_sized;
    int *nspans_of; /* per layer: number of operator spans */
} reader;

/* --- which inputs of an operator are parameters --- */

static const struct {
    const char *operator;
    int first, last; /* indices of the inputs that are parameters; first -1: shapes do not show which are */
} parameters[] = {
    {"aten::conv1d", 1, 2},
    {"aten::conv2d", 1, 2},
    {"aten::conv3d", 1, 2},
    {"aten::conv_transpose1d", 1, 2},
    {"aten::conv_transpose2d", 1, 2},
    {"aten::conv_transpose3d", 1, 2},
    {"aten::linear", 1, 2},
    {"aten::bilinear", 2, 3},
    {"aten::batch_norm", 1, 2},
    {"aten::instance_norm", 1, 2},
    {"aten::layer_norm", 2, 3},
    {"aten::group_norm", 2, 3},
    {"aten::rms_norm", 2, 2},
    {"aten::embedding", 0, 0},
    {"aten::embedding_bag", 0, 0},
    {"aten::prelu", 1, 1},
    {"aten::lstm", -1, 0},
    {"aten::gru", -1, 0},
    {"aten::rnn_tanh", -1, 0},
    {"aten::rnn_relu", -1, 0},
};

static int64_t bytes_of_type(const char *type)
{
    static const struct {
        const char *name;
        int bytes;
    } types[] = {{"float", 4}, {"double", 8}, {"c10::Half", 2}, {"c10::BFloat16", 2}};
    for (size_t i = 0; type && i < sizeof types / sizeof types[0]; i++)
        if (!strcmp(type, types[i].name)) return types[i].bytes;
    return 0;
}

/* Computes the bytes of an input: [64, 3, 7, 7] of "float". [] gives 0: the input was not given. Returns false if dims
 * is no shape. */
static bool read_shape(const cJSON *dims, const cJSON *type, double *bytes)
{
    double n = cJSON_GetArraySize(dims) > 0 ? (double)bytes_of_type(cJSON_GetStringValue(type)) : 0;
    const cJSON *d;
    if (!cJSON_IsArray(dims) || (cJSON_GetArraySize(dims) > 0 && n == 0)) return false;
    cJSON_ArrayForEach(d, dims)
    {
        if (!cJSON_IsNumber(d) || !(d->valuedouble >= 0) || d->valuedouble != floor(d->valuedouble)) return false;
        n *= d->valuedouble;
    }
    *bytes += n;
    return n <= MAX_SIZE;
}

static tutti_status read_parameters(const reader *r, const char *name, const cJSON *args, int64_t *out)
{
    const cJSON *dims = cJSON_GetObjectItemCaseSensitive(args, "Input Dims"),
                *types = cJSON_GetObjectItemCaseSensitive(args, "Input type");
    for (size_t i = 0; dims && i < sizeof parameters / sizeof parameters[0]; i++) {
        double bytes = 0;
        bool is_known = parameters[i].first >= 0 && cJSON_IsArray(dims) && cJSON_IsArray(types);
        if (strcmp(name, parameters[i].operator) != 0) continue;
        for (int k = parameters[i].first; is_known && k <= parameters[i].last && k < cJSON_GetArraySize(dims); k++)
            is_known = read_shape(cJSON_GetArrayItem(dims, k), cJSON_GetArrayItem(types, k), &bytes);
        if (!is_known)
            return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: %s: the shapes of its parameters are not in the trace",
                              r->name, name);
        *out = (int64_t)bytes;
    }
    return TUTTI_OK;
}

/* --- reading spans --- */

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static void take_sequence(const cJSON *args, span *s, bool *is_forward)
{
    const cJSON *sequence = cJSON_GetObjectItemCaseSensitive(args, "Sequence number"),
                *thread = cJSON_GetObjectItemCaseSensitive(args, "Fwd thread id");
    s->sequence = -1;
    if (cJSON_IsNumber(sequence) && sequence->valuedouble >= 0 && sequence->valuedouble < 9e15)
        s->sequence = (int64_t)sequence->valuedouble;
    *is_forward = !cJSON_IsNumber(thread) || thread->valuedouble == 0;
}

/* Finds out what kind of span an event is; false: it belongs to no layer. */
static bool take_kind(const cJSON *event, const char *category, const char *name, span *s)
{
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");
    bool is_forward = true;
    take_sequence(args, s, &is_forward);
    s->name = name;
    if (!strcmp(category, "user_annotation") && begins(name, "ProfilerStep#")) {
        s->kind = SPAN_STEP;
    } else if (!strcmp(category, "python_function") && begins(name, "nn.Module: ")) {
        s->kind = SPAN_MODULE;
        s->name = name + strlen("nn.Module: ");
    } else if (!strcmp(category, "cpu_op") && begins(name, "autograd::engine::evaluate_function")) {
        s->kind = SPAN_BACKWARD;
        return s->sequence >= 0;
    } else if (!strcmp(category, "cpu_op") && is_forward) {
        s->kind = SPAN_OPERATOR;
    } else {
        return false;
    }
    return true;
}

static tutti_status take_event(reader *r, const cJSON *event)
{
    const char *phase = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "ph")),
               *category = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "cat")),
               *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "name"));
    const cJSON *begin = cJSON_GetObjectItemCaseSensitive(event, "ts"),
                *us = cJSON_GetObjectItemCaseSensitive(event, "dur"),
                *args = cJSON_GetObjectItemCaseSensitive(event, "args"),
                *thread = cJSON_GetObjectItemCaseSensitive(event, "tid");
    span s = {.owner = -1};
    if (!phase || strcmp(phase, "X") != 0 || !category || !name) return TUTTI_OK;
    if (!strcmp(category, "kernel"))
        return tutti_fail(
            r->err, TUTTI_ERR_DATA,
            "%s: kernels of a GPU in it: only traces of the CPU (ProfilerActivity.CPU alone) become layers", r->name);
    if (!take_kind(event, category, name, &s)) return TUTTI_OK;
    if (!cJSON_IsNumber(begin) || !cJSON_IsNumber(us) || !(us->valuedouble >= 0 && us->valuedouble <= MAX_US) ||
        !(fabs(begin->valuedouble) <= MAX_US))
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: '%.80s' has no time: ts and dur are wanted", r->name, name);
    s.begin_us = begin->valuedouble, s.us = us->valuedouble;
    s.thread = cJSON_IsNumber(thread) && fabs(thread->valuedouble) < 9e15 ? (int64_t)thread->valuedouble : 0;
    r->has_shapes |= cJSON_HasObjectItem(args, "Input Dims");
    r->has_modules |= s.kind == SPAN_MODULE;
    tutti_status st = s.kind == SPAN_OPERATOR ? read_parameters(r, name, args, &s.bytes) : TUTTI_OK;
    if (st) return st;
    r->spans = tutti_grow(r->spans, r->nspans, &r->capacity, sizeof *r->spans);
    r->spans[r->nspans++] = s;
    return TUTTI_OK;
}

static tutti_status take_events(reader *r, const cJSON *root)
{
    const cJSON *events = cJSON_GetObjectItemCaseSensitive(root, "traceEvents"), *event;
    tutti_status st = TUTTI_OK;
    if (!cJSON_IsArray(events))
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: no traceEvents in it: no trace of PyTorch's profiler", r->name);
    cJSON_ArrayForEach(event, events)
    {
        st = take_event(r, event);
        if (st) return st;
    }
    if (!r->has_modules)
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: no span of a module in it: record with with_stack=True",
                          r->name);
    if (!r->has_shapes)
        return tutti_fail(
            r->err, TUTTI_ERR_DATA,
            "%s: no shapes in it, so that nobody knows the bytes of parameters: record with record_shapes=True",
            r->name);
    return TUTTI_OK;
}

/* Sorts by thread, then time, enclosing spans before enclosed ones. */
static int by_time(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->begin_us != y->begin_us) return x->begin_us < y->begin_us ? -1 : 1;
    if (x->us != y->us) return x->us > y->us ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

/* Drops spans that lie in no step, and the steps themselves; without steps the whole trace is one. */
static void keep_steps(reader *r)
{
    double *begin_us = tutti_alloc(sizeof *begin_us * (size_t)(r->nspans + 1)),
           *end_us = tutti_alloc(sizeof *end_us * (size_t)(r->nspans + 1));
    int nsteps = 0, kept = 0;
    for (int i = 0; i < r->nspans; i++)
        if (r->spans[i].kind == SPAN_STEP) {
            begin_us[nsteps] = r->spans[i].begin_us;
            end_us[nsteps++] = r->spans[i].begin_us + r->spans[i].us;
        }
    for (int i = 0; i < r->nspans; i++) {
        const span *s = &r->spans[i];
        bool inside = nsteps == 0;
        for (int k = 0; k < nsteps && !inside; k++) inside = s->begin_us >= begin_us[k] && s->begin_us < end_us[k];
        if (inside && s->kind != SPAN_STEP) r->spans[kept++] = *s;
    }
    r->nspans = kept;
    r->nsteps = nsteps > 0 ? nsteps : 1;
    free(begin_us);
    free(end_us);
}

/* --- combining spans into layers --- */

static tutti_status find_layer(reader *r, const char *name, int *out)
{
    tutti_layer_trace *t = r->out;
    for (*out = 0; *out < t->nlayers; ++*out)
        if (!strcmp(t->layers[*out].name, name)) return TUTTI_OK;
    if (t->nlayers == MAX_LAYERS || strlen(name) > 200 || strpbrk(name, " \t\r\n") || !*name)
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: more than %d modules, or one without a plain name: '%.60s'",
                          r->name, MAX_LAYERS, name);
    t->layers[t->nlayers] = (tutti_layer_cost){tutti_arena_strdup(&t->arena, name), 0, 0, 0, 0};
    r->first_us[t->nlayers] = INFINITY;
    r->is_sized[t->nlayers] = false;
    r->nspans_of[t->nlayers++] = 0;
    return TUTTI_OK;
}

typedef struct {
    int layer;
    double end_us;
    int64_t bytes; /* bytes of the operators of this call */
} open_module;

static void close_module(reader *r, const open_module *m)
{
    if (m->bytes > 0 && !r->is_sized[m->layer]) { /* when a module is called again, it has the same parameters */
        r->out->layers[m->layer].size_bytes = m->bytes;
        r->is_sized[m->layer] = true;
    }
}

/* Makes one pass in the order of time: assigns every operator to the innermost open module, and computes every module's
 * time without the modules inside it. */
static tutti_status sweep(reader *r)
{
    open_module *open = tutti_alloc(sizeof *open * MAX_DEPTH);
    int depth = 0;
    int64_t thread = 0;
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < r->nspans && !st; i++) {
        span *s = &r->spans[i];
        if (i == 0) thread = s->thread;
        while (depth > 0 && (s->thread != thread || s->begin_us >= open[depth - 1].end_us))
            close_module(r, &open[--depth]);
        thread = s->thread;
        if (s->kind == SPAN_MODULE) {
            int layer;
            if (depth == MAX_DEPTH) st = tutti_fail(r->err, TUTTI_ERR_DATA, "%s: modules nested too deep", r->name);
            if (!st) st = find_layer(r, s->name, &layer);
            if (st) break;
            r->out->layers[layer].forward_us += s->us;
            if (depth > 0) r->out->layers[open[depth - 1].layer].forward_us -= s->us;
            open[depth++] = (open_module){layer, s->begin_us + s->us, 0};
        } else if (s->kind == SPAN_OPERATOR && depth > 0) {
            s->owner = open[depth - 1].layer;
            open[depth - 1].bytes += s->bytes;
            r->nspans_of[s->owner]++;
            r->first_us[s->owner] = fmin(r->first_us[s->owner], s->begin_us);
        }
    }
    while (depth > 0) close_module(r, &open[--depth]);
    free(open);
    return st;
}

/* Sorts by sequence number, the latest first. */
static int by_sequence(const void *a, const void *b)
{
    const span *x = *(span *const *)a, *y = *(span *const *)b;
    if (x->sequence != y->sequence) return x->sequence < y->sequence ? -1 : 1;
    return (x->begin_us < y->begin_us) - (x->begin_us > y->begin_us);
}

/* Adds backward passes. An operator that makes no node of the autograd graph has the sequence number of the next
 * operator that makes one. So among all operators with a number, the last made the node. */
static tutti_status add_backward(reader *r)
{
    span **made = tutti_alloc(sizeof *made * (size_t)(r->nspans + 1));
    int n = 0, outside = -1, found = 0;
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < r->nspans; i++)
        if (r->spans[i].kind == SPAN_OPERATOR && r->spans[i].sequence >= 0) made[n++] = &r->spans[i];
    qsort(made, (size_t)n, sizeof *made, by_sequence);
    for (int i = 0; i < r->nspans && !st; i++) {
        const span *s = &r->spans[i];
        int lo = 0, hi = n;
        if (s->kind != SPAN_BACKWARD) continue;
        while (lo < hi) {
            const int middle = lo + (hi - lo) / 2;
            if (made[middle]->sequence < s->sequence)
                lo = middle + 1;
            else
                hi = middle;
        }
        if (lo == n || made[lo]->sequence != s->sequence) continue; /* the operator's forward pass was not recorded */
        int layer = made[lo]->owner;
        if (layer < 0) {
            if (outside < 0) st = find_layer(r, "outside", &outside);
            if (st) break;
            layer = outside;
            r->out->layers[layer].forward_us += made[lo]->us;
            r->nspans_of[layer]++;
            r->first_us[layer] = fmin(r->first_us[layer], made[lo]->begin_us);
        }
        r->out->layers[layer].backward_us += s->us;
        found++;
    }
    free(made);
    if (!st && !found)
        st = tutti_fail(r->err, TUTTI_ERR_DATA,
                        "%s: no backward pass in it that belongs to a forward pass in it: record whole training steps",
                        r->name);
    return st;
}

typedef struct {
    double first_us;
    int layer;
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->first_us != y->first_us) return x->first_us < y->first_us ? -1 : 1;
    return x->layer - y->layer;
}

/* Computes the mean times of each layer over the steps. Layers are sorted by the begin of their first operator;
 * containers have no operators and are left out. */
static tutti_status finish(reader *r)
{
    tutti_layer_trace *t = r->out;
    tutti_layer_cost *layers = TUTTI_ARENA_NEW(&t->arena, tutti_layer_cost, t->nlayers + 1);
    place *places = tutti_alloc(sizeof *places * (size_t)(t->nlayers + 1));
    int n = 0;
    for (int l = 0; l < t->nlayers; l++)
        if (r->nspans_of[l] > 0) places[n++] = (place){r->first_us[l], l};
    qsort(places, (size_t)n, sizeof *places, by_place);
    for (int i = 0; i < n; i++) {
        layers[i] = t->layers[places[i].layer];
        layers[i].forward_us = fmax(layers[i].forward_us / r->nsteps, 0);
        layers[i].backward_us /= r->nsteps;
    }
    free(places);
    t->layers = layers;
    t->nlayers = n;
    return n ? TUTTI_OK : tutti_fail(r->err, TUTTI_ERR_DATA, "%s: no module runs an operator", r->name);
}

tutti_status tutti_kineto_parse(const char *name, const char *text, size_t nbytes, tutti_layer_trace *out,
                                tutti_failure *err)
{
    tutti_layer_trace t = {.update_s_per_element = NAN, .load_s_per_sample = NAN};
    reader r = {.name = name, .err = err, .out = &t};
    cJSON *root = tutti_json_parse(text, nbytes);
    if (!root) return tutti_fail(err, TUTTI_ERR_DATA, "%s: no JSON, or something stands behind it", name);
    t.layers = TUTTI_ARENA_NEW(&t.arena, tutti_layer_cost, MAX_LAYERS);
    r.first_us = TUTTI_ARENA_NEW(&t.arena, double, MAX_LAYERS);
    r.is_sized = TUTTI_ARENA_NEW(&t.arena, bool, MAX_LAYERS);
    r.nspans_of = TUTTI_ARENA_NEW(&t.arena, int, MAX_LAYERS);
    tutti_status st = take_events(&r, root);
    if (!st) keep_steps(&r);
    if (!st) qsort(r.spans, (size_t)r.nspans, sizeof *r.spans, by_time);
    if (!st) st = sweep(&r);
    if (!st) st = add_backward(&r);
    if (!st) st = finish(&r);
    free(r.spans);
    cJSON_Delete(root);
    if (st)
        tutti_layer_trace_release(&t);
    else
        *out = t;
    return st;
}

tutti_status tutti_kineto_read(const char *path, tutti_layer_trace *out, tutti_failure *err)
{
    char *text;
    size_t nbytes;
    tutti_status st = tutti_file_read(path, MAX_TRACE_BYTES, TUTTI_ERR_DATA, &text, &nbytes, err);
    if (st) return st;
    st = tutti_kineto_parse(path, text, nbytes, out, err);
    free(text);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* profile_device.c: computes a profile by a processor model: what each pass of each kernel computes and moves, and how
 * long that takes (`--device`).
 *
 * Bytes are those of activations as the graph's kernels lay them out and of parameters in f32. Each pass moves what it
 * must read and write, once. The forward pass moves inputs, parameters and output. The gradients of parameters move the
 * inputs, the gradient of the output, and themselves. The gradient of the inputs moves the gradient of the output,
 * itself, and the parameters or what the kernel says that it reads again. A kernel that does both backward passes at
 * once (joint_backward) is charged for both products and for each byte once. */
#include <math.h>
#include <string.h>

#include "processor_model.h"

/* ---- classes ---- */

static tutti_processor_model_class conv_class(const tutti_kernel *k)
{
    const tutti_shape *weight = &k->params[0].shape, *in = &k->in[0].shape, *out = &k->out.shape;
    const int64_t size = weight->dim[2];
    if (weight->dim[1] < 8) return TUTTI_DEVICE_STEM;
    if (size == 1) return TUTTI_DEVICE_CONV1X1;
    /* stride 1: the window is computed at every position of the input */
    const bool is_dense = out->dim[2] >= in->dim[2] - size + 1;
    return size == 3 && is_dense ? TUTTI_DEVICE_CONV3X3 : TUTTI_DEVICE_CONV;
}

static tutti_processor_model_class class_of(const tutti_kernel *k)
{
    static const struct {
        const char *op;
        tutti_processor_model_class class;
    } known[] = {
        {"dense", TUTTI_DEVICE_DENSE},
        {"batch-norm", TUTTI_DEVICE_NORM},
        {"lrn", TUTTI_DEVICE_LRN},
        {"dropout", TUTTI_DEVICE_DROPOUT},
        {"max-pool", TUTTI_DEVICE_POOL},
        {"avg-pool", TUTTI_DEVICE_AVGPOOL},
        {"global-avg-pool", TUTTI_DEVICE_AVGPOOL},
    };
    if (strcmp(k->op->name, "conv") == 0) return conv_class(k);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].op, k->op->name) == 0) return known[i].class;
    return k->op->is_loss ? TUTTI_DEVICE_LOSS : TUTTI_DEVICE_PASS;
}

/* ---- bytes ---- */

static double bytes_of_inputs(const tutti_kernel *k)
{
    double sum = 0;
    for (int i = 0; i < k->ninputs; i++) sum += (double)k->in[i].bytes;
    return sum;
}

/* Returns the bytes of those inputs of a kernel whose gradients it computes. */
static double bytes_of_gradients(const tutti_graph *g, int layer)
{
    const tutti_kernel *k = &g->kernels[layer];
    double sum = 0;
    for (int i = 0; i < k->ninputs; i++)
        if (g->layer_grads[layer].in[i] >= 0 && !(k->passes_gradient >> i & 1)) sum += (double)k->in[i].bytes;
    return sum;
}

static double bytes_of_params(const tutti_kernel *k)
{
    double sum = 0;
    for (int i = 0; i < k->nparams; i++)
        if (k->params[i].kind != TUTTI_PARAM_STATISTIC) sum += (double)k->params[i].elements * sizeof(float);
    return sum;
}

/* Returns the bytes that a backward pass reads besides the output's gradient: inputs, output and saved state, as far as
 * the kernel reads them again. */
static double bytes_read_again(const tutti_kernel *k)
{
    double sum = k->backward_reads & TUTTI_READS_OUTPUT ? (double)k->out.bytes : 0;
    for (int i = 0; i < k->ninputs; i++)
        if (k->backward_reads & TUTTI_READS_INPUT && !(k->unread_inputs >> i & 1)) sum += (double)k->in[i].bytes;
    return sum + (k->backward_reads & TUTTI_READS_SAVED ? (double)k->saved_bytes : 0);
}

static double flops_of(const tutti_kernel *k)
{
    tutti_shape in[TUTTI_MAX_OP_INPUTS];
    for (int i = 0; i < k->ninputs; i++) in[i] = k->in[i].shape;
    return k->op->flops(k->attrs, in, &k->out.shape);
}

/* Returns the bytes of the output's gradient; 0 for a loss, which has no output: its gradient counts with its input. */
static double bytes_of_dout(const tutti_kernel *k)
{
    return (double)k->out.bytes;
}

bool tutti_processor_model_work_of(const tutti_graph *g, int layer, tutti_kernel_pass pass,
                                   tutti_processor_model_work *out)
{
    const tutti_kernel *k = &g->kernels[layer];
    const tutti_processor_model_class class = class_of(k);
    const bool is_product = class <= TUTTI_DEVICE_DENSE;
    const bool is_joint = k->joint_backward && g->runs_params[layer];
    /* false: a flatten moves nothing, it only changes the shape */
    if (strcmp(k->op->name, "flatten") == 0) return false;
    *out = (tutti_processor_model_work){
        .class = class, .is_product = is_product, .flops = flops_of(k), .by = k->chosen[pass].name};
    switch (pass) {
    case TUTTI_PASS_FORWARD:
        out->bytes = bytes_of_inputs(k) + (double)k->out.bytes + bytes_of_params(k) +
                     (k->backward_reads & TUTTI_READS_SAVED ? (double)k->saved_bytes : 0);
        return true;
    case TUTTI_PASS_PARAMS:
        if (!g->runs_params[layer]) return false;
        out->bytes = bytes_of_dout(k) + bytes_of_params(k) + bytes_read_again(k);
        if (is_joint) out->bytes += bytes_of_gradients(g, layer) + (is_product ? bytes_of_params(k) : 0);
        if (is_joint && is_product && bytes_of_gradients(g, layer) > 0) out->flops *= 2;
        return true;
    case TUTTI_PASS_DATA:
        if (!g->needs_input_grad[layer] || is_joint) return false;
        out->bytes = bytes_of_dout(k) + bytes_of_gradients(g, layer);
        out->bytes += is_product ? bytes_of_params(k) : bytes_read_again(k);
        return true;
    case TUTTI_NPASSES: break;
    }
    return false;
}

/* ---- seconds ---- */

double tutti_processor_model_seconds(const tutti_processor_model *d, tutti_precision precision, tutti_kernel_pass pass,
                                     const tutti_processor_model_work *w)
{
    const bool is_cached = w->bytes <= d->cache_bytes;
    const tutti_processor_model_term near = is_cached ? TUTTI_DEVICE_CACHE : TUTTI_DEVICE_MEMORY;
    const double product = precision == TUTTI_PRECISION_F32 && d->uses_tf32 ? d->peak_tf32 : d->peak[precision];
    const double peak = (w->is_product ? product : d->peak[TUTTI_PRECISION_F32]) *
                        tutti_processor_model_figure_of(d, TUTTI_DEVICE_COMPUTE, precision, pass, w);
    const double rate =
        (is_cached ? d->cache_rate : d->rate) * tutti_processor_model_figure_of(d, near, precision, pass, w);
    const double compute_s = w->flops / peak, memory_s = w->bytes / rate,
                 apart = 1 - tutti_processor_model_figure_of(d, TUTTI_DEVICE_OVERLAP, precision, pass, w);
    return tutti_processor_model_figure_of(d, TUTTI_DEVICE_LAUNCH, precision, pass, w) + fmax(compute_s, memory_s) +
           apart * fmin(compute_s, memory_s);
}

/* Returns the seconds of reading the parts of a gradient and writing their sum. */
static double sum_seconds(const tutti_processor_model *d, const tutti_graph *g, int layer)
{
    const int nparts = g->layer_grads[layer].nparts;
    if (!nparts || g->layer_grads[layer].takes_parts) return 0;
    const double bytes = (double)g->kernels[layer].out.bytes;
    const tutti_processor_model_work work = {
        .class = TUTTI_DEVICE_PASS, .flops = nparts * bytes / sizeof(float), .bytes = (nparts + 1) * bytes};
    return tutti_processor_model_seconds(d, g->config.precision, TUTTI_PASS_FORWARD, &work);
}

tutti_status tutti_profile_of_processor_model(const tutti_processor_model *d, const tutti_graph *g, tutti_profile *out,
                                              tutti_failure *err)
{
    const tutti_model *m = g->model;
    const double words =
        5 * sizeof(float); /* bytes that a rule with one state moves for an element: three read, two written */
    if (d->peak[g->config.precision] <= 0)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "%s has no figure peak.%s; a job of that precision cannot be timed on it", d->file.name,
                          tutti_precision_name(g->config.precision));
    *out = (tutti_profile){.samples_per_call = g->config.batch,
                           .precision = g->config.precision,
                           .nbusy = 1,
                           .parts = tutti_graph_parts(g),
                           .nlayers = m->nlayers};
    const tutti_processor_model_work update = {.class = TUTTI_DEVICE_PASS};
    out->update_s_per_element =
        words / (d->rate * tutti_processor_model_figure_of(d, TUTTI_DEVICE_MEMORY, TUTTI_PRECISION_F32,
                                                           TUTTI_PASS_FORWARD, &update));
    out->load_s_per_sample = d->load_s_per_byte * (double)tutti_shape_count(&m->input) * sizeof(float);
    out->layers = TUTTI_ARENA_NEW(&out->arena, tutti_layer_time, m->nlayers);
    for (int l = 0; l < m->nlayers; l++) {
        double seconds[TUTTI_NPASSES] = {0};
        tutti_processor_model_work work;
        for (int p = 0; p < TUTTI_NPASSES; p++)
            if (tutti_processor_model_work_of(g, l, (tutti_kernel_pass)p, &work))
                seconds[p] = tutti_processor_model_seconds(d, g->config.precision, (tutti_kernel_pass)p, &work);
        out->layers[l] = (tutti_layer_time){.name = tutti_arena_strdup(&out->arena, m->layers[l].name),
                                            .forward_s = seconds[TUTTI_PASS_FORWARD],
                                            .params_s = seconds[TUTTI_PASS_PARAMS],
                                            .data_s = seconds[TUTTI_PASS_DATA],
                                            .sum_s = sum_seconds(d, g, l)};
    }
    return TUTTI_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* op_table.c: the table of ops, and the shape rules that several of them share.
 *
 * A new op is one file op_<name>.c and its name in OPS. Sizes come from model files, which anybody may have written.
 * tutti_op_infer refuses sizes that would overflow, so later code can compute every product of dims (and a sum of
 * 10,000 such products) in int64_t. */
#include <string.h>

#include "../kernel_impl.h"

#define OPS(row)                                                                                                       \
    row(conv) row(dense) row(relu) row(sigmoid) row(tanh) row(max_pool) row(avg_pool) row(global_avg_pool) row(lrn)    \
        row(flatten) row(dropout) row(batch_norm) row(add) row(concat) row(softmax_cross_entropy)

#define DECLARE(name) extern const tutti_op_row tutti_op_##name;
OPS(DECLARE)

#define ROW(name) &tutti_op_##name,
static const tutti_op_row *const ops[] = {OPS(ROW)};
enum { NOPS = sizeof ops / sizeof *ops };

int tutti_op_count(void)
{
    return NOPS;
}

const tutti_op_row *tutti_op_at(int i)
{
    return i >= 0 && i < NOPS ? ops[i] : NULL;
}

const tutti_op_row *tutti_op_find(const char *name)
{
    for (int i = 0; i < NOPS; i++)
        if (strcmp(ops[i]->name, name) == 0) return ops[i];
    return NULL;
}

static tutti_status check_size(const tutti_shape *s, const char *what, tutti_failure *err)
{
    double count = 1;
    for (int d = 0; d < s->ndims; d++) {
        count *= (double)s->dim[d];
        if (s->dim[d] < 1 || s->dim[d] > INT32_MAX || count > 0x1p46) {
            char text[96];
            tutti_shape_text(s, text);
            return tutti_fail(err, TUTTI_ERR_DATA, "%s %s is too large or empty", what, text);
        }
    }
    return TUTTI_OK;
}

tutti_status tutti_op_infer(const tutti_op_row *op, const void *attrs, const tutti_shape *in, int nin, tutti_shape *out,
                            tutti_failure *err)
{
    for (int i = 0; i < nin; i++) {
        tutti_status st = check_size(&in[i], "input", err);
        if (st != TUTTI_OK) return st;
    }
    tutti_shape inferred = {0};
    tutti_status st = op->infer(attrs, in, nin, &inferred, err);
    if (st == TUTTI_OK) st = check_size(&inferred, "output", err);
    tutti_param_desc params[TUTTI_MAX_OP_PARAMS];
    int n = st == TUTTI_OK && op->params ? op->params(attrs, in, params) : 0;
    for (int i = 0; i < n && st == TUTTI_OK; i++) st = check_size(&params[i].shape, params[i].name, err);
    if (st == TUTTI_OK) *out = inferred;
    return st;
}

tutti_status tutti_op_infer_same(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out,
                                 tutti_failure *err)
{
    (void)attrs, (void)nin, (void)err;
    *out = in[0];
    return TUTTI_OK;
}

double tutti_op_flops_each(const void *attrs, const tutti_shape *in, const tutti_shape *out)
{
    (void)attrs, (void)in;
    return (double)tutti_shape_count(out);
}

static int64_t windows_of(const tutti_pool_attrs *window, int64_t n)
{
    int64_t room = n + 2 * window->pad - window->kernel;
    if (window->ceil) room += window->stride - 1;
    int64_t count = room < 0 ? 0 : room / window->stride + 1;
    return window->ceil && (count - 1) * window->stride >= n + window->pad ? count - 1 : count;
}

tutti_status tutti_op_infer_window(const tutti_pool_attrs *window, int64_t channels, const tutti_shape *in,
                                   tutti_shape *out, tutti_failure *err)
{
    char text[96];
    tutti_shape_text(in, text);
    if (in->ndims != 4)
        return tutti_fail(err, TUTTI_ERR_DATA, "wants an input (batch, channels, height, width), has %s", text);
    *out = (tutti_shape){.ndims = 4, .dim = {in->dim[0], channels}};
    for (int d = 2; d < 4; d++) out->dim[d] = windows_of(window, in->dim[d]);
    if (out->dim[2] > 0 && out->dim[3] > 0) return TUTTI_OK;
    char out_text[96];
    tutti_shape_text(out, out_text);
    return tutti_fail(err, TUTTI_ERR_DATA,
                      "kernel %lld with stride %lld and pad %lld turns %s into %s: the kernel is larger than the input",
                      (long long)window->kernel, (long long)window->stride, (long long)window->pad, text, out_text);
}

tutti_pool_attrs tutti_op_pool_window(const tutti_pool_attrs *attrs)
{
    tutti_pool_attrs window = *attrs;
    if (window.stride == 0) window.stride = window.kernel;
    return window;
}

const tutti_field tutti_op_pool_fields[TUTTI_OP_POOL_NFIELDS] = {
    {"kernel", TUTTI_FIELD_INT, offsetof(tutti_pool_attrs, kernel), NULL, NULL, 1, 32767,
     "height and width of the window, elements"},
    {"stride", TUTTI_FIELD_INT, offsetof(tutti_pool_attrs, stride), "0", NULL, 0, 32767,
     "distance between windows, elements; 0 = kernel"},
    {"pad", TUTTI_FIELD_INT, offsetof(tutti_pool_attrs, pad), "0", NULL, 0, 32767,
     "elements added on each side; at most half the kernel"},
    {"ceil", TUTTI_FIELD_BOOL, offsetof(tutti_pool_attrs, ceil), "false", NULL, 1, 0,
     "sizes round up: a last window may stick out"},
};

tutti_status tutti_op_pool_infer(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out,
                                 tutti_failure *err)
{
    (void)nin;
    tutti_pool_attrs window = tutti_op_pool_window(attrs);
    if (2 * window.pad > window.kernel) /* otherwise a window could lie in the padding alone */
        return tutti_fail(err, TUTTI_ERR_DATA, "pad %lld is more than half the kernel %lld", (long long)window.pad,
                          (long long)window.kernel);
    return tutti_op_infer_window(&window, in->ndims > 1 ? in->dim[1] : 0, in, out, err);
}

double tutti_op_pool_flops(const void *attrs, const tutti_shape *in, const tutti_shape *out)
{
    (void)in;
    const tutti_pool_attrs *at = attrs;
    return (double)at->kernel * (double)at->kernel * (double)tutti_shape_count(out);
}

tutti_window_span tutti_op_window_span(int64_t k, int64_t stride, int64_t pad, int64_t nin, int64_t nout)
{
    /* the outputs o with 0 <= o * stride + k - pad <= nin - 1 */
    tutti_window_span span = {0, nout};
    if (pad > k) span.first = (pad - k + stride - 1) / stride;
    int64_t room = nin - 1 + pad - k;
    int64_t end = room < 0 ? 0 : room / stride + 1;
    if (end < span.end) span.end = end;
    if (span.first > span.end) span.first = span.end;
    return span;
}

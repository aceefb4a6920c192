/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_cases.h: what the conformance suites of the kernel room run: for each op a few shapes, odd ones among them,
 * and a bench that holds one kernel with memory for all its arguments.
 *
 * Numbers come from tutti_random's test stream. `exact` cases use small integers, so that sums are exact in float in
 * any order and == is the test. */
#ifndef TUTTI_TESTS_KERNEL_CASES_H
#define TUTTI_TESTS_KERNEL_CASES_H

#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kernel/kernel.h"
#include "kernel/kernel_impl.h"

typedef struct {
    const char *op;
    const void *attrs;
    tutti_shape in;
    bool exact;  /* linear: small integers give exact sums */
    bool spread; /* elements of the input are different from each other and from 0: max-pool's winner is stable */
    double eps;  /* of central differences */
    const char *what;
    int nmore; /* inputs beside the first: as `in`, with so many channels; 0 = as many as `in` */
    int64_t channels[TUTTI_MAX_OP_INPUTS - 1];
} kernel_case;

static inline bool uses_winograd(const tutti_kernel_request *r)
{
    bool found = false;
    tutti_kernel k;
    if (tutti_kernel_create(r, &k, NULL)) return false;
    for (int pass = 0; pass < TUTTI_NPASSES; pass++)
        found |= k.chosen[pass].name && !strncmp(k.chosen[pass].name, "winograd", strlen("winograd"));
    tutti_kernel_destroy(&k);
    return found;
}

/* What is to compute a case: auto, but none of Winograd's products where sums are to be exact, whose factors are no
 * small integers (such rows have bounds and tests of their own). */
static inline const char *engine_for(const kernel_case *c, tutti_kernel_request r)
{
    static const char *const names[] = {"auto", "lanes", "onednn"};
    int i = 0;
    r.op = tutti_op_find(c->op), r.attrs = c->attrs, r.nin = 1 + c->nmore;
    for (r.engine = names[0]; c->exact && i + 1 < 3 && uses_winograd(&r); r.engine = names[i]) i++;
    return names[i];
}

static const tutti_conv_attrs
    conv5 = {.out_channels = 4, .kernel = 5, .stride = 1, .groups = 1, .bias = true},
    conv3 = {.out_channels = 8, .kernel = 3, .stride = 1, .pad = 1, .groups = 1, .bias = true},
    conv_odd = {.out_channels = 7, .kernel = 3, .stride = 2, .pad = 1, .groups = 1, .bias = true},
    conv1 = {.out_channels = 16, .kernel = 1, .stride = 1, .groups = 1},
    conv_wide = {.out_channels = 20, .kernel = 5, .stride = 1, .pad = 2, .groups = 1, .bias = true},
    conv_halves = {.out_channels = 6, .kernel = 3, .stride = 1, .pad = 1, .groups = 2, .bias = true},
    conv_blocks = {.out_channels = 32, .kernel = 3, .stride = 2, .pad = 1, .groups = 2, .bias = true},
    conv_each = {.out_channels = 6, .kernel = 3, .stride = 1, .pad = 1, .groups = 6};
static const tutti_dense_attrs dense10 = {.units = 10, .bias = true}, dense7 = {.units = 7};
static const tutti_pool_attrs pool2 = {.kernel = 2}, pool3 = {.kernel = 3, .stride = 2, .pad = 1},
                              pool_overlap = {.kernel = 3, .stride = 1},
                              pool_up = {.kernel = 3, .stride = 2, .ceil = true},
                              pool_out = {.kernel = 4, .stride = 3, .pad = 1, .ceil = true};
static const tutti_lrn_attrs lrn5 = {5, 1e-4, 0.75, 1}, lrn_strong = {5, 1, 0.75, 2}, lrn_even = {4, 0.5, 0.5, 1};
static const tutti_batch_norm_attrs norm = {.eps = 1e-5, .momentum = 0.1, .scale_init = 1};
static const tutti_dropout_attrs drop = {0.25};
static const tutti_loss_attrs loss = {.weight = 1}, loss_aux = {.weight = 0.3},
                              loss_smooth = {.weight = 1, .label_smoothing = 0.1};

static const kernel_case kernel_cases[] = {
    {"conv", &conv5, {4, {2, 1, 8, 8}}, true, false, 1, .what = "one channel"},
    {"conv", &conv3, {4, {2, 3, 6, 5}}, true, false, 1, .what = "padding, not square"},
    {"conv", &conv_odd, {4, {1, 7, 7, 6}}, true, false, 1, .what = "stride 2, 7 channels, one sample"},
    {"conv", &conv1, {4, {3, 16, 4, 4}}, true, false, 1, .what = "1x1 without bias"},
    {"conv", &conv_wide, {4, {2, 16, 6, 6}}, true, false, 1, .what = "20 channels of 16"},
    {"conv", &conv_halves, {4, {2, 4, 6, 5}}, true, false, 1, .what = "two groups"},
    {"conv", &conv_blocks, {4, {1, 32, 5, 5}}, true, false, 1, .what = "two groups of whole blocks"},
    {"conv", &conv_each, {4, {2, 6, 5, 5}}, true, false, 1, .what = "each channel alone, without bias"},
    {"dense", &dense10, {2, {5, 12}}, true, false, 1, .what = "two dims"},
    {"dense", &dense7, {4, {3, 7, 2, 3}}, true, false, 1, .what = "four dims without bias"},
    {"dense", &dense10, {4, {1, 20, 4, 4}}, true, false, 1, .what = "one sample, 20 channels"},
    {"relu", NULL, {4, {2, 7, 3, 3}}, false, true, 0x1p-8, .what = "7 channels"},
    {"relu", NULL, {2, {1, 13}}, false, true, 0x1p-8, .what = "one sample"},
    {"sigmoid", NULL, {4, {2, 7, 3, 3}}, false, true, 0x1p-6, .what = "7 channels"},
    {"sigmoid", NULL, {2, {3, 5}}, false, true, 0x1p-6, .what = "two dims"},
    {"tanh", NULL, {4, {2, 7, 3, 3}}, false, true, 0x1p-6, .what = "7 channels"},
    {"tanh", NULL, {2, {3, 5}}, false, true, 0x1p-6, .what = "two dims"},
    {"max-pool", &pool2, {4, {2, 3, 6, 5}}, false, true, 0x1p-9, .what = "a column left over"},
    {"max-pool", &pool3, {4, {1, 7, 5, 6}}, false, true, 0x1p-9, .what = "overlap and padding"},
    {"max-pool", &pool_overlap, {4, {2, 2, 5, 5}}, false, true, 0x1p-9, .what = "every position"},
    {"max-pool", &pool_up, {4, {2, 3, 6, 5}}, false, true, 0x1p-9, .what = "rounded up"},
    {"max-pool", &pool_out, {4, {1, 7, 7, 5}}, false, true, 0x1p-9, .what = "out of the padding"},
    {"avg-pool", &pool2, {4, {2, 3, 6, 5}}, true, false, 1, .what = "a column left over"},
    {"avg-pool", &pool3, {4, {1, 7, 5, 6}}, false, false, 0x1p-4, .what = "overlap and padding"},
    {"avg-pool", &pool_up, {4, {2, 3, 6, 5}}, false, false, 0x1p-4, .what = "rounded up"},
    {"avg-pool", &pool_out, {4, {1, 7, 7, 5}}, false, false, 0x1p-4, .what = "out of the padding"},
    {"global-avg-pool", NULL, {4, {2, 7, 2, 4}}, true, false, 1, .what = "7 channels"},
    {"global-avg-pool", NULL, {4, {3, 16, 7, 7}}, false, false, 0x1p-4, .what = "16 channels"},
    {"lrn", &lrn5, {4, {2, 7, 3, 2}}, false, true, 0x1p-4, .what = "7 channels"},
    {"lrn", &lrn_strong, {4, {2, 16, 3, 3}}, false, true, 0x1p-6, .what = "16 channels"},
    {"lrn", &lrn_strong, {2, {3, 6}}, false, true, 0x1p-6, .what = "two dims"},
    {"lrn", &lrn_even, {4, {2, 3, 2, 2}}, false, true, 0x1p-6, .what = "an even window"},
    {"batch-norm", &norm, {4, {3, 7, 3, 2}}, false, true, 0x1p-6, .what = "planes"},
    {"batch-norm", &norm, {2, {6, 5}}, false, true, 0x1p-6, .what = "two dims"},
    {"dropout", &drop, {4, {2, 7, 3, 3}}, false, true, 0x1p-4, .what = "planes"},
    {"dropout", &drop, {2, {3, 10}}, false, true, 0x1p-4, .what = "two dims"},
    {"flatten", NULL, {4, {2, 7, 3, 2}}, true, false, 1, .what = "planes"},
    {"add", NULL, {4, {2, 7, 3, 2}}, true, false, 1, .what = "two", .nmore = 1},
    {"add", NULL, {2, {3, 5}}, true, false, 1, .what = "three, two dims", .nmore = 2},
    {"add", NULL, {4, {1, 16, 3, 3}}, true, false, 1, .what = "eight", .nmore = 7},
    {"concat", NULL, {4, {2, 3, 2, 3}}, true, false, 1, .what = "two, odd channels", .nmore = 1, .channels = {5}},
    {"concat", NULL, {4, {2, 16, 3, 3}}, true, false, 1, .what = "whole blocks", .nmore = 2, .channels = {32, 16}},
    {"concat", NULL, {4, {2, 16, 3, 3}}, true, false, 1, .what = "a last block in part", .nmore = 1, .channels = {30}},
    {"concat", NULL, {4, {2, 30, 3, 3}}, true, false, 1, .what = "a first block in part", .nmore = 1, .channels = {16}},
    {"concat", NULL, {2, {3, 4}}, true, false, 1, .what = "two dims", .nmore = 1, .channels = {1}},
    {"softmax-cross-entropy", &loss, {2, {6, 10}}, false, true, 0x1p-6, .what = "ten classes"},
    {"softmax-cross-entropy", &loss, {2, {1, 3}}, false, true, 0x1p-6, .what = "one sample"},
    {"softmax-cross-entropy", &loss_aux, {2, {4, 5}}, false, true, 0x1p-6, .what = "an auxiliary head"},
    {"softmax-cross-entropy", &loss_smooth, {2, {4, 5}}, false, true, 0x1p-6, .what = "smoothed labels"},
};
enum { NCASES = sizeof kernel_cases / sizeof *kernel_cases, MAX_LABELS = 64 };

typedef struct {
    tutti_kernel k;
    tutti_kernel_args a;
    float *in[TUTTI_MAX_OP_INPUTS], *out, *dout, *din[TUTTI_MAX_OP_INPUTS], *param[TUTTI_MAX_OP_PARAMS],
        *dparam[TUTTI_MAX_OP_PARAMS];
    float loss;
    int32_t correct, labels[MAX_LABELS];
} bench;

static inline float *numbers(size_t nbytes)
{
    /* Whole multiples of 64 bytes, with a guard value behind that bench_close looks at. */
    size_t size = (nbytes + 63) / 64 * 64 + 64;
    float *p = aligned_alloc(64, size);
    memset(p, 0xff, size); /* NaN: whoever reads what nobody wrote is found */
    return p;
}

/* Value i of n of a tensor. Spread: a permutation of n different values in (-2, 2), none within 1/n of 0. */
static inline float draw(const kernel_case *c, uint64_t tensor, int64_t i, int64_t n)
{
    tutti_random4 r = tutti_random(7, TUTTI_STREAM_TEST, tensor, (uint64_t)i);
    if (c->exact) return (float)(int)tutti_random_below(r, 9) - 4;
    if (!c->spread || tensor > 0) return tutti_random_unit(r.word[0]) * 2 - 1;
    return ((float)(i * 7919 % n) + 0.25f) * 4 / (float)n - 2;
}

static inline int64_t count_of(const tutti_shape *s)
{
    return tutti_shape_count(s);
}

/* Tensors are counted: the first input 0, the output's gradient 1, parameters from 2, further inputs from 10. */
static inline void fill_value(const kernel_case *c, uint64_t tensor, const tutti_value *v, void *to)
{
    int64_t n = count_of(&v->shape);
    float *plain = numbers((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) plain[i] = draw(c, tensor, i, n);
    tutti_value_from_plain(v, plain, to);
    free(plain);
}

static inline void fill_param(const kernel_case *c, int p, const tutti_param_desc *desc, float *to)
{
    int64_t n = count_of(&desc->shape);
    float *plain = numbers((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) {
        float value = draw(c, 2 + (uint64_t)p, i, n);
        plain[i] = strcmp(desc->name, "running_var") == 0 ? value * value + 0.5f : value;
    }
    tutti_param_from_plain(desc, plain, to);
    free(plain);
}

static inline void bench_fill(bench *b, const kernel_case *c)
{
    for (int i = 0; i < b->k.ninputs; i++) fill_value(c, i ? 9 + (uint64_t)i : 0, &b->k.in[i], b->in[i]);
    if (!b->k.op->is_loss) fill_value(c, 1, &b->k.out, b->dout);
    for (int p = 0; p < b->k.nparams; p++) fill_param(c, p, &b->k.params[p], b->param[p]);
    for (int i = 0; i < MAX_LABELS; i++) b->labels[i] = i * 5 % (int32_t)(b->k.in[0].shape.dim[1]);
}

static inline tutti_shape case_shape(const kernel_case *c, int input)
{
    tutti_shape s = c->in;
    if (input > 0 && c->channels[input - 1]) s.dim[1] = c->channels[input - 1];
    return s;
}

/* in: descriptions of the inputs as predecessors give them; NULL = row-major. */
static inline void bench_open(bench *b, const char *engine, const kernel_case *c, const tutti_value *in, bool training,
                              int nthreads)
{
    tutti_failure err = {0};
    tutti_value plain[TUTTI_MAX_OP_INPUTS];
    for (int i = 0; i <= c->nmore; i++) plain[i] = tutti_value_plain(&(tutti_shape[]){case_shape(c, i)}[0]);
    memset(b, 0, sizeof *b);
    tutti_kernel_request request = {.engine = engine,
                                    .op = tutti_op_find(c->op),
                                    .attrs = c->attrs,
                                    .in = in ? in : plain,
                                    .nin = 1 + c->nmore,
                                    .training = training,
                                    .nthreads = nthreads};
    if (!strcmp(engine, "auto")) request.engine = engine_for(c, request);
    tutti_status st = tutti_kernel_create(&request, &b->k, &err);
    if (st != TUTTI_OK) fail_msg("%s, %s: %s", c->op, c->what, err.text);
    for (int i = 0; i < b->k.ninputs; i++) {
        b->a.in[i] = b->in[i] = numbers(b->k.in[i].bytes);
        b->a.din[i] = b->din[i] = numbers(b->k.in[i].bytes);
    }
    b->out = numbers(b->k.out.bytes);
    b->dout = numbers(b->k.out.bytes);
    for (int p = 0; p < b->k.nparams; p++) {
        size_t nbytes = (size_t)b->k.params[p].elements * sizeof(float);
        b->param[p] = numbers(nbytes);
        b->dparam[p] = numbers(nbytes);
        b->a.param[p] = b->param[p];
        b->a.dparam[p] = b->dparam[p];
    }
    b->a.out = b->out;
    b->a.dout = b->dout;
    b->a.saved = numbers(b->k.saved_bytes);
    b->a.scratch = numbers(b->k.scratch_bytes);
    b->a.training = training;
    b->a.seed = 3;
    b->a.step = 11;
    b->a.first_sample = 100;
    b->a.layer = 2;
    b->a.labels = b->labels;
    b->a.loss_scale = 0.25f;
    b->a.loss = &b->loss;
    b->a.correct = &b->correct;
    bench_fill(b, c);
}

static inline void assert_guarded(const void *p, size_t nbytes)
{
    const unsigned char *guard = (const unsigned char *)p + (nbytes + 63) / 64 * 64;
    for (int i = 0; i < 64; i++) assert_int_equal(guard[i], 0xff);
}

static inline void bench_close(bench *b)
{
    for (int i = 0; i < b->k.ninputs; i++) {
        assert_guarded(b->in[i], b->k.in[i].bytes);
        assert_guarded(b->din[i], b->k.in[i].bytes);
        free(b->in[i]);
        free(b->din[i]);
    }
    assert_guarded(b->out, b->k.out.bytes);
    assert_guarded(b->a.saved, b->k.saved_bytes);
    assert_guarded(b->a.scratch, b->k.scratch_bytes);
    for (int p = 0; p < b->k.nparams; p++) {
        free(b->param[p]);
        free(b->dparam[p]);
    }
    free(b->out);
    free(b->dout);
    free(b->a.saved);
    free(b->a.scratch);
    tutti_kernel_destroy(&b->k);
}

static inline void run_forward(bench *b)
{
    b->k.row->forward(&b->k, &b->a);
}

/* Gradients that are passed on are put where the others lie. */
static inline void run_backward(bench *b)
{
    if (b->k.nparams) b->k.row->backward_params(&b->k, &b->a);
    const unsigned all = (1u << b->k.ninputs) - 1;
    if (!b->k.joint_backward && (b->k.passes_gradient & all) != all) b->k.row->backward_data(&b->k, &b->a);
    for (int i = 0; i < b->k.ninputs; i++)
        if (b->k.passes_gradient >> i & 1) memcpy(b->din[i], b->dout, b->k.in[i].bytes);
}

#endif

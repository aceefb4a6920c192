/* SPDX-License-Identifier: Apache-2.0 */
/* test_candidates.c: every line of the table of candidates for products, asked for by name: outputs and gradients are
 * the reference's, in every order that it fits, by one thread and, in training, by two, in f32 and bf16, with a ReLU
 * merged. Numbers are small and whole, so most sums are exact; a candidate whose arithmetic is not gets the tolerance
 * of its precision. New lines are run without being named here. */
#include "kernel/kernel_rig.h"

#include <math.h>

#include "kernel/choose/candidate.h"
#include "kernel/choose/memory_order.h"

static const tutti_conv_attrs
    lenet1 = {.out_channels = 20, .kernel = 5, .stride = 1, .groups = 1, .bias = true},
    lenet2 = {.out_channels = 50, .kernel = 5, .stride = 1, .groups = 1, .bias = true},
    padded = {.out_channels = 50, .kernel = 5, .stride = 1, .pad = 2, .groups = 1, .bias = true},
    beyond = {.out_channels = 51, .kernel = 3, .stride = 1, .pad = 4, .groups = 1},
    odd = {.out_channels = 19, .kernel = 5, .stride = 1, .groups = 1, .bias = true},
    block3 = {.out_channels = 32, .kernel = 3, .stride = 1, .pad = 1, .groups = 1, .bias = true},
    block1 = {.out_channels = 48, .kernel = 1, .stride = 1, .groups = 1, .bias = true},
    apart1 = {.out_channels = 24, .kernel = 1, .stride = 2, .groups = 1, .bias = true},
    apart3 = {.out_channels = 80, .kernel = 3, .stride = 2, .pad = 1, .groups = 1};
static const tutti_dense_attrs dense500 = {.units = 50, .bias = true};

/* Beside those of kernel_cases.h. */
static const kernel_case more_cases[] = {
    {"conv", &lenet1, {4, {2, 1, 28, 28}}, true, false, 1, .what = "LeNet's first"},
    {"conv", &lenet2, {4, {3, 20, 12, 12}}, true, false, 1, .what = "LeNet's second"},
    {"conv", &padded, {4, {2, 20, 21, 9}}, true, false, 1, .what = "padding, an odd row, tiles left over"},
    {"conv", &beyond, {4, {2, 11, 3, 2}}, true, false, 1, .what = "windows in the padding, odd outputs, no bias"},
    {"conv", &odd, {4, {2, 7, 9, 14}}, true, false, 1, .what = "odd channels everywhere"},
    {"conv", &block3, {4, {2, 16, 9, 8}}, true, false, 1, .what = "whole blocks"},
    {"conv", &block1, {4, {2, 32, 7, 7}}, true, false, 1, .what = "1x1, whole blocks"},
    {"conv", &apart1, {4, {2, 32, 8, 7}}, true, false, 1, .what = "1x1 of stride 2, a row and a column more"},
    {"conv", &apart3, {4, {2, 16, 9, 8}}, true, false, 1, .what = "3x3 of stride 2, more than a group of channels"},
    {"dense", &dense500, {4, {8, 50, 4, 4}}, true, false, 1, .what = "LeNet's, behind planes"},
    {"dense", &dense500, {4, {5, 32, 3, 2}}, true, false, 1, .what = "behind whole blocks"},
    {"dense", &dense500, {2, {33, 130}}, true, false, 1, .what = "33 x 130 x 50"},
};
enum { NMORE = sizeof more_cases / sizeof *more_cases };

typedef struct {
    const char *name;
    tutti_order order;
    tutti_precision precision;
    bool training;
    int nthreads;
} setting;

static int taken[64]; /* how often a line of the table computed a pass */

static void note_taken(const setting *at, const rig *r)
{
    const tutti_candidate_table table = tutti_candidates();
    for (int pass = 0; pass < TUTTI_NPASSES; pass++) {
        const tutti_kernel_chosen *chosen = &r->k.chosen[pass];
        if (!chosen->name || chosen->why != TUTTI_CHOSEN_ASKED) continue;
        assert_string_equal(chosen->name, at->name);
        for (int i = 0; i < table.n; i++) {
            const tutti_kernel_candidate *c = &table.rows[i];
            if (!strcmp(c->name, at->name) && c->op && !strcmp(c->op, r->k.op->name) &&
                c->precisions >> at->precision & 1 && c->passes >> pass & 1)
                taken[i]++;
        }
    }
}

static bool was_asked(const rig *r)
{
    bool asked = false;
    for (int pass = 0; pass < TUTTI_NPASSES; pass++)
        asked = asked || (r->k.chosen[pass].name && r->k.chosen[pass].why == TUTTI_CHOSEN_ASKED);
    return asked;
}

static void assert_near(const kernel_case *c, const setting *at, const char *what, const float *want, const float *got,
                        int64_t n)
{
    const double most = at->precision == TUTTI_PRECISION_F32 ? 2e-5 : 0x1p-7;
    double largest = 1;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)want[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)want[i] - (double)got[i]) <= most * largest))
            fail_msg("%s, %s by %s in %s, %s%s, %d threads: %s[%d] is %.9g, the reference has %.9g", c->op, c->what,
                     at->name, tutti_order_name(at->order), tutti_precision_name(at->precision),
                     at->training ? ", training" : "", at->nthreads, what, (int)i, (double)got[i], (double)want[i]);
}

static void compare_values(const kernel_case *c, const setting *at, const char *what, const tutti_value *v,
                           const void *want, const tutti_value *w, const void *got)
{
    const int64_t n = count_of(&v->shape);
    float *x = numbers((size_t)n * sizeof(float)), *y = numbers((size_t)n * sizeof(float));
    tutti_value_to_plain(v, want, x), tutti_value_to_plain(w, got, y);
    assert_near(c, at, what, x, y, n);
    free(x), free(y);
}

static void compare_gradients(const kernel_case *c, const setting *at, const rig *want, rig *got)
{
    rig_backward(got);
    compare_values(c, at, "din", &want->k.in[0], want->a.din[0], &got->k.in[0], got->a.din[0]);
    for (int p = 0; p < want->k.nparams; p++) {
        const tutti_param_desc *d = &got->k.params[p];
        float *plain = numbers((size_t)count_of(&d->shape) * sizeof(float));
        tutti_param_to_plain(d, got->a.dparam[p], plain);
        assert_near(c, at, d->name, want->a.dparam[p], plain, count_of(&d->shape));
        free(plain);
    }
}

/* Sums of the cases are multiples of an eighth: with this in the bias none is zero, where a ReLU would cut what is
 * rounded otherwise. */
static void move_from_zero(rig *r)
{
    for (int p = 0; p < r->k.nparams; p++)
        for (int64_t i = 0; r->k.params[p].kind == TUTTI_PARAM_BIAS && i < r->k.params[p].elements; i++)
            ((float *)(uintptr_t)r->a.param[p])[i] += 0x1p-4f;
}

/* Results of the reference for one case, precision and mode: the outputs, and in training the gradients. Every
 * candidate is compared with the same ones, so they are computed once, for the first candidate that fits. */
typedef struct {
    bool is_made;
    rig rig;
} reference;

static const rig *reference_of(const kernel_case *c, const setting *at, reference *known)
{
    const tutti_kernel_request r = {
        .engine = "reference", .precision = at->precision, .training = at->training, .nthreads = 1};
    if (known->is_made) return &known->rig;
    rig_make(&known->rig, c, NULL, &r);
    move_from_zero(&known->rig);
    rig_forward(&known->rig);
    if (at->training) rig_backward(&known->rig);
    known->is_made = true;
    return &known->rig;
}

static void compare(const kernel_case *c, const setting *at, reference *known)
{
    tutti_value in = {.shape = c->in, .dtype = tutti_precision_dtype(at->precision)};
    tutti_layout layout;
    tutti_order_apply(at->order, &in, &layout);
    const tutti_kernel_request r = {.engine = at->name,
                                    .in = &in,
                                    .precision = at->precision,
                                    .training = at->training,
                                    .nthreads = at->nthreads,
                                    .order = at->order};
    rig got;
    rig_create(&got, c, NULL, &r);
    if (!was_asked(&got)) {
        tutti_kernel_destroy(&got.k);
        return;
    }
    const rig *want = reference_of(c, at, known);
    rig_memory(&got, c);
    note_taken(at, &got);
    move_from_zero(&got);
    rig_forward(&got);
    compare_values(c, at, "out", &want->k.out, want->a.out, &got.k.out, got.a.out);
    if (at->training) compare_gradients(c, at, want, &got);
    rig_close(&got);
}

static void run_case(const kernel_case *c)
{
    static const tutti_order orders[] = {TUTTI_ORDER_NCHW, TUTTI_ORDER_NCHW16C, TUTTI_ORDER_NHWC};
    static const tutti_precision precisions[] = {TUTTI_PRECISION_F32, TUTTI_PRECISION_BF16};
    const char *name;
    reference known[4] = {0}; /* by precision and mode */
    for (int i = 0; (name = tutti_candidate_name_at(i)); i++)
        for (int at = 0; at < (c->in.ndims == 4 ? 3 : 1) * 2 * 2; at++) {
            setting s = {name, orders[at / 4], precisions[at / 2 % 2], at % 2, 1};
            if (!strcmp(name, "reference")) continue;
            compare(c, &s, &known[at % 4]);
            s.nthreads = 2;
            if (s.training) compare(c, &s, &known[at % 4]);
        }
    for (int i = 0; i < 4; i++)
        if (known[i].is_made) rig_close(&known[i].rig);
}

static void with_and_without_relu(const kernel_case *c)
{
    char attrs[128];
    const kernel_case fused = with_relu(c, attrs, false);
    run_case(c), run_case(&fused);
}

static void every_candidate_that_is_asked_for_gives_what_the_reference_gives(void **state)
{
    (void)state;
    const tutti_candidate_table table = tutti_candidates();
    for (int i = 0; i < NCASES; i++)
        if (!strcmp(kernel_cases[i].op, "conv") || !strcmp(kernel_cases[i].op, "dense"))
            with_and_without_relu(&kernel_cases[i]);
    for (int i = 0; i < NMORE; i++) with_and_without_relu(&more_cases[i]);
    assert_true(table.n <= (int)(sizeof taken / sizeof *taken));
    for (int i = 0; i < table.n; i++) {
        const tutti_kernel_candidate *c = &table.rows[i];
        const bool product = c->op && (!strcmp(c->op, "conv") || !strcmp(c->op, "dense"));
        if (product && !taken[i]) print_message("%s %s fits nothing on this processor in this build\n", c->name, c->op);
    }
}

/* Where they must fit: f32 is multiplied everywhere that the library is. */
static void the_librarys_candidates_were_among_them(void **state)
{
    (void)state;
    char about[96];
    const tutti_candidate_table table = tutti_candidates();
    tutti_kernel_engine_describe("onednn", about);
    if (!about[0]) skip();
    for (int i = 0; i < table.n; i++)
        if (!strcmp(table.rows[i].name, "onednn") && table.rows[i].precisions == TUTTI_IN_F32)
            assert_true(taken[i] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_candidate_that_is_asked_for_gives_what_the_reference_gives),
        cmocka_unit_test(the_librarys_candidates_were_among_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_fused.c: batch norm with an addend and a ReLU: neither the addend's memory order nor the parts in which the
 * gradient comes change a number. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel_impl.h"

enum { B = 2, C = 3, H = 2, W = 2, N = B * C * H * W };
enum { WIDE_B = 9, WIDE_C = 16, WIDE = WIDE_B * WIDE_C };

static const tutti_batch_norm_attrs attrs = {.eps = 1e-5, .momentum = 0.1, .scale_init = 1, .relu = true};
static const tutti_shape shape = {4, {B, C, H, W}};
static const tutti_layout channels_last = {.stride = {H * W * C, 1, W *C, C}, .padded = {B, C, H, W}};

typedef struct {
    float out[N], dout[N], din[2][N], dparam[4][C];
} answer;

static void run(const tutti_layout *order, answer *a)
{
    tutti_value in[2] = {tutti_value_plain(&shape), tutti_value_plain(&shape)};
    in[1].layout = order;
    tutti_kernel k;
    tutti_failure err = {0};
    const tutti_kernel_request request = {.engine = "reference",
                                          .op = &tutti_op_batch_norm,
                                          .attrs = &attrs,
                                          .in = in,
                                          .nin = 2,
                                          .training = true,
                                          .nthreads = 1};
    if (tutti_kernel_create(&request, &k, &err)) fail_msg("%s", err.text);
    float x[N], addend[N], there[N], weight[C] = {1, 2, 0.5f}, bias[C] = {0, 0.25f, -0.25f}, stats[2][C] = {{0}};
    for (int i = 0; i < N; i++)
        x[i] = (float)(i * 7 % 11), addend[i] = (float)(i * 5 % 7) - 3, a->dout[i] = (float)(i % 5);
    tutti_value_from_plain(&in[1], addend, there);
    char *saved = malloc(k.saved_bytes), *scratch = aligned_alloc(64, (k.scratch_bytes + 127) / 64 * 64);
    tutti_kernel_args args = {.in = {x, there},
                              .out = a->out,
                              .param = {weight, bias, stats[0], stats[1]},
                              .dparam = {a->dparam[0], a->dparam[1], a->dparam[2], a->dparam[3]},
                              .dout = a->dout,
                              .din = {a->din[0], k.passes_gradient >> 1 & 1 ? NULL : a->din[1]},
                              .saved = saved,
                              .scratch = scratch,
                              .training = true};
    k.row->forward(&k, &args);
    k.row->backward_params(&k, &args);
    k.row->backward_data(&k, &args);
    assert_int_equal(k.passes_gradient, order ? 0 : 2);
    assert_true(k.writes_dout && k.backward_reads & TUTTI_READS_OUTPUT);
    memcpy(there, k.passes_gradient ? a->dout : a->din[1], sizeof there);
    tutti_value_to_plain(&in[1], there, a->din[1]);
    tutti_kernel_destroy(&k);
    free(saved);
    free(scratch);
}

static void addend_in_another_order_gives_the_same_numbers(void **state)
{
    (void)state;
    answer same, other;
    run(NULL, &same);
    run(&channels_last, &other);
    int nmasked = 0;
    for (int i = 0; i < N; i++) {
        assert_true(same.out[i] == other.out[i] && same.out[i] >= 0);
        assert_true(same.din[0][i] == other.din[0][i] && same.din[1][i] == other.din[1][i]);
        assert_true(same.din[1][i] == (same.out[i] > 0 ? (float)(i % 5) : 0));
        nmasked += same.out[i] == 0;
    }
    assert_true(nmasked > 2 && nmasked < N - 2);
    assert_memory_equal(same.dparam, other.dparam, sizeof same.dparam);
}

/* The gradient of the output in two parts and whole: all that is made of it, on an engine. */
static void run_parts(const char *engine, bool in_parts, float made[4][WIDE])
{
    static const tutti_shape wide = {2, {WIDE_B, WIDE_C}};
    const tutti_value in[2] = {tutti_value_plain(&wide), tutti_value_plain(&wide)};
    tutti_kernel k;
    tutti_failure err = {0};
    const tutti_kernel_request request = {.engine = engine,
                                          .op = &tutti_op_batch_norm,
                                          .attrs = &attrs,
                                          .in = in,
                                          .nin = 2,
                                          .training = true,
                                          .nthreads = 1};
    if (tutti_kernel_create(&request, &k, &err)) fail_msg("%s", err.text);
    assert_true(k.max_dout_parts >= 2 && k.unread_inputs == 2);
    float x[WIDE], addend[WIDE], a[WIDE], b[WIDE], channel[6][WIDE_C];
    for (int c = 0; c < WIDE_C; c++) channel[0][c] = 1, channel[1][c] = 0.25f;
    for (int i = 0; i < WIDE; i++) {
        x[i] = (float)(i * 7 % 11), addend[i] = (float)(i * 5 % 7) - 3;
        a[i] = (float)(i % 5), b[i] = (float)(i % 3) - 1;
        made[1][i] = a[i] + b[i];
    }
    char *saved = aligned_alloc(64, (k.saved_bytes + 127) / 64 * 64),
         *scratch = aligned_alloc(64, (k.scratch_bytes + 127) / 64 * 64);
    tutti_kernel_args args = {.in = {x, addend},
                              .out = made[0],
                              .param = {channel[0], channel[1], channel[2], channel[3]},
                              .dparam = {made[3], made[3] + WIDE_C, channel[4], channel[5]},
                              .dout = made[1],
                              .din = {made[2]},
                              .saved = saved,
                              .scratch = scratch,
                              .training = true};
    if (in_parts) {
        args.dout = a; /* over the first of them */
        args.dout_parts[0] = a;
        args.dout_parts[1] = b;
        args.ndout_parts = 2;
    }
    k.row->forward(&k, &args);
    k.row->backward_params(&k, &args);
    k.row->backward_data(&k, &args);
    if (in_parts) memcpy(made[1], a, sizeof a);
    tutti_kernel_destroy(&k);
    free(saved);
    free(scratch);
}

static void gradient_in_two_parts_is_as_good_as_their_sum(void **state)
{
    (void)state;
    static const char *const engines[] = {"reference", "auto"};
    for (int e = 0; e < 2; e++) {
        char about[96];
        static float whole[4][WIDE], parts[4][WIDE];
        tutti_kernel_engine_describe(engines[e], about);
        if (!about[0]) continue; /* not in this build */
        run_parts(engines[e], false, whole);
        run_parts(engines[e], true, parts);
        assert_memory_equal(whole, parts, sizeof whole);
    }
}

static void nan_goes_through_a_relu_merged_or_not(void **state)
{
    (void)state;
    static const tutti_dense_attrs merged = {.units = 1, .bias = true, .relu = true};
    static const tutti_shape two = {2, {2, 1}};
    const tutti_op_row *const ops[] = {&tutti_op_relu, &tutti_op_dense};
    for (int i = 0; i < 2; i++) {
        const tutti_value in = tutti_value_plain(&two);
        const tutti_kernel_request request = {.engine = "reference",
                                              .op = ops[i],
                                              .attrs = i ? &merged : NULL,
                                              .in = &in,
                                              .nin = 1,
                                              .training = true,
                                              .nthreads = 1};
        tutti_kernel k;
        assert_int_equal(tutti_kernel_create(&request, &k, NULL), TUTTI_OK);
        const float x[2] = {NAN, -1}, weight = 1, bias = 0;
        float out[2], dout[2] = {3, 5}, din[2], made[2];
        tutti_kernel_args args = {
            .in = {x}, .out = out, .param = {&weight, &bias}, .dout = dout, .din = {din}, .dparam = {made, made + 1}};
        k.row->forward(&k, &args);
        if (i) k.row->backward_params(&k, &args);
        k.row->backward_data(&k, &args);
        assert_true(isnan(out[0]) && out[1] == 0);
        assert_true(din[0] == 3 && din[1] == 0);
        tutti_kernel_destroy(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addend_in_another_order_gives_the_same_numbers),
        cmocka_unit_test(nan_goes_through_a_relu_merged_or_not),
        cmocka_unit_test(gradient_in_two_parts_is_as_good_as_their_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

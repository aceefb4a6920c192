/* SPDX-License-Identifier: Apache-2.0 */
/* test_frozen_kernels.c: where nobody wants the gradients of parameters, the gradient of the input has the bits that it
 * has beside them: of every op with parameters, every engine, precision and order, with a merged ReLU and a merged sum
 * too. What does not feed the input's gradient is not run at all. */
#include "kernel/kernel_rig.h"

static bool is_absent(const char *engine)
{
    char text[96];
    tutti_kernel_engine_describe(engine, text);
    return text[0] == '\0';
}

static void leave_out_params(rig *r)
{
    for (int p = 0; p < r->k.nparams; p++) {
        if (r->k.params[p].kind == TUTTI_PARAM_STATISTIC) continue;
        free(r->a.dparam[p]);
        r->a.dparam[p] = NULL;
    }
}

static void backward_frozen(rig *r)
{
    const unsigned all = (1u << r->k.ninputs) - 1;
    if (r->k.feeds_data) {
        memset(r->a.scratch, 0x7f, r->k.scratch_bytes);
        r->k.row->backward_params(&r->k, &r->a);
    }
    if (r->k.joint_backward) return; /* it has left the input's gradient */
    memset(r->a.scratch, 0x7f, r->k.scratch_bytes);
    if ((r->k.passes_gradient & all) != all) r->k.row->backward_data(&r->k, &r->a);
}

static void compare(const kernel_case *c, const tutti_kernel_request *request)
{
    rig whole, frozen;
    rig_make(&whole, c, NULL, request);
    rig_make(&frozen, c, NULL, request);
    assert_true(frozen.k.feeds_data || (!frozen.k.joint_backward && !frozen.k.writes_dout));
    leave_out_params(&frozen);
    rig_forward(&whole);
    rig_forward(&frozen);
    rig_backward(&whole);
    backward_frozen(&frozen);
    for (int i = 0; i < whole.k.ninputs; i++)
        if (whole.a.din[i] && memcmp(whole.a.din[i], frozen.a.din[i], whole.k.in[i].bytes))
            fail_msg("%s, %s, engine %s, %s: gradient of input %d", c->op, c->what, request->engine,
                     tutti_precision_name(request->precision), i);
    if (whole.k.writes_dout) assert_memory_equal(whole.a.dout, frozen.a.dout, whole.k.out.bytes);
    rig_close(&whole), rig_close(&frozen);
}

static void compare_everywhere(const kernel_case *c)
{
    static const char *const engines[] = {"reference", "auto"};
    static const tutti_precision precisions[] = {TUTTI_PRECISION_F32, TUTTI_PRECISION_BF16};
    static const tutti_order orders[] = {TUTTI_ORDER_NCHW, TUTTI_ORDER_NCHW16C, TUTTI_ORDER_NHWC};
    for (int e = 0; e < 2; e++)
        for (int p = 0; p < 2; p++)
            for (int o = 0; o < (e ? 3 : 1); o++)
                if (!is_absent(engines[e]))
                    compare(c, &(tutti_kernel_request){.engine = engines[e],
                                                       .precision = precisions[p],
                                                       .training = true,
                                                       .nthreads = 1,
                                                       .order = orders[o]});
}

static void input_gradients_have_the_same_bits_beside_frozen_parameters(void **state)
{
    (void)state;
    int ncompared = 0;
    for (int i = 0; i < NCASES; i++) {
        const kernel_case *c = &kernel_cases[i];
        const tutti_op_row *op = tutti_op_find(c->op);
        if (!op->params) continue;
        char attrs[128];
        compare_everywhere(c);
        ncompared++;
        if (!op->relu_at) continue;
        kernel_case merged = with_relu(c, attrs, false);
        compare_everywhere(&merged);
        if (!op->takes_addend) continue;
        merged = with_relu(c, attrs, true);
        compare_everywhere(&merged);
    }
    assert_true(ncompared > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_gradients_have_the_same_bits_beside_frozen_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

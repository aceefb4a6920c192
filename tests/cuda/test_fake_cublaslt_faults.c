/* SPDX-License-Identifier: Apache-2.0 */
/* test_fake_cublaslt_faults.c: what the fake cuBLASLt refuses with a status, and what it reports besides: each in a
 * process of its own. */
#include "fake_libs_faults.h"

enum { INVALID_VALUE = 7, FAILED = 13, UNSUPPORTED = 15 };

static const product_shape dense = {16, 9, 100, true, false, F32, F32, TUTTI_CUBLASLT_EPILOGUE_RELU_BIAS, 0};

typedef struct {
    product p;
    operand a, b, d, bias;
    tutti_cublaslt_found found;
    product_memory m;
} product_rig;

static product_rig product_rig_of(const product_shape *s)
{
    product_rig r = {.p = product_new(s),
                     .a = operand_new(s->type, 2 * s->m * s->k, 1),
                     .b = operand_new(s->type, 2 * s->k * s->n, 2),
                     .d = operand_new(s->type_d, 2 * s->m * s->n, 3),
                     .bias = operand_new(s->type_d, 2 * s->m, 4)};
    int n = 0;
    if (s->epilogue & TUTTI_CUBLASLT_EPILOGUE_BIAS) product_bias(&r.p, r.bias.at);
    assert_int_equal(product_advice(&r.p, 1, &r.found, &n), 0);
    assert_int_equal(n, 1);
    r.m = (product_memory){
        r.a.at, r.b.at, r.d.at, r.d.at, room_of(r.found.workspace_bytes + 16), r.found.workspace_bytes, 1, 0};
    return r;
}

static int run_product(const product_rig *r)
{
    const int status = product_run(&r->p, &r->found.algorithm, &r->m);
    assert_int_equal(card.cuStreamSynchronize(card.stream), 0);
    return status;
}

static void product_is_well(void)
{
    product_rig r = product_rig_of(&dense);
    assert_true(r.found.workspace_bytes > 0 && r.found.workspace_bytes % 16 != 0);
    assert_int_equal(run_product(&r), 0);
}
static void unlike_matrices(void)
{
    product_rig r = product_rig_of(&dense);
    tutti_cublaslt_found found;
    int n;
    const int32_t no = 0;
    lt.cublasLtMatmulDescSetAttribute(r.p.product, TUTTI_CUBLASLT_DESC_TRANSA, &no, sizeof no);
    assert_int_equal(product_advice(&r.p, 1, &found, &n), INVALID_VALUE);
    assert_int_equal(n, 0);
    assert_int_equal(run_product(&r), INVALID_VALUE);
    assert_int_equal(lt.cublasLtMatmulDescSetAttribute(r.p.product, TUTTI_CUBLASLT_DESC_TRANSA, &no, 8), INVALID_VALUE);
    assert_int_equal(lt.cublasLtMatmulDescSetAttribute(r.p.product, 999, &no, 4), INVALID_VALUE);
}
static void no_such_product(void)
{
    static const product_shape wrong[] = {
        {16, 9, 8, false, false, F32, BF16, 1, 0}, /* narrower than what is multiplied */
        {16, 9, 8, false, false, BF16, F16, 1, 0},
        {10, 9, 8, false, false, BF16, BF16, 6, 0}, /* columns of 20 bytes */
        {16, 9, 8, false, false, F32, F32, 32, 0}};
    tutti_cublaslt_found found;
    int n;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        product p = product_new(&wrong[i]);
        assert_int_equal(product_advice(&p, 1, &found, &n), UNSUPPORTED);
        assert_int_equal(n, 0);
    }
    product p = product_new(&dense);
    const int32_t type = TUTTI_CUDA_R_16F;
    lt.cublasLtMatmulDescSetAttribute(p.product, TUTTI_CUBLASLT_DESC_BIAS_DATA_TYPE, &type, sizeof type);
    assert_int_equal(product_advice(&p, 1, &found, &n), UNSUPPORTED);
    product tf32 = product_new(&dense);
    lt.cublasLtMatmulDescDestroy(tf32.product);
    lt.cublasLtMatmulDescCreate(&tf32.product, 77, TUTTI_CUDA_R_32F);
    const int32_t yes = 1;
    lt.cublasLtMatmulDescSetAttribute(tf32.product, TUTTI_CUBLASLT_DESC_TRANSA, &yes, sizeof yes);
    assert_int_equal(product_advice(&tf32, 1, &found, &n), UNSUPPORTED);
}
static void less_workspace_is_another_algorithm(void)
{
    product p = product_new(&dense);
    tutti_cublaslt_found found[2];
    int n;
    const uint64_t less = 100;
    assert_int_equal(product_advice(&p, 2, found, &n), 0);
    assert_true(n == 2 && found[0].workspace_bytes > 100 && found[1].workspace_bytes == 0);
    lt.cublasLtMatmulPreferenceSetAttribute(p.preference, TUTTI_CUBLASLT_PREF_WORKSPACE_BYTES, &less, sizeof less);
    assert_int_equal(product_advice(&p, 2, found, &n), 0);
    assert_true(n == 1 && found[0].workspace_bytes == 0);
}
static void no_bias(void)
{
    product_rig r = product_rig_of(&dense);
    product_bias(&r.p, NULL);
    assert_int_equal(run_product(&r), INVALID_VALUE);
}
static void algorithm_that_nobody_named(void)
{
    product_rig r = product_rig_of(&dense);
    memset(&r.found.algorithm, 0, sizeof r.found.algorithm);
    assert_int_equal(run_product(&r), UNSUPPORTED);
}
static void algorithm_of_another_product(void)
{
    product_rig r = product_rig_of(&dense);
    const uint32_t epilogue = TUTTI_CUBLASLT_EPILOGUE_BIAS;
    lt.cublasLtMatmulDescSetAttribute(r.p.product, TUTTI_CUBLASLT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    assert_int_equal(run_product(&r), UNSUPPORTED);
}
static void less_workspace_than_named(void)
{
    product_rig r = product_rig_of(&dense);
    r.m.workspace_bytes--;
    assert_int_equal(run_product(&r), INVALID_VALUE);
}
static void less_aligned_than_promised(void)
{
    product_rig r = product_rig_of(&dense);
    r.m.a = (char *)r.m.a + 64; /* the default is 256 */
    assert_int_equal(run_product(&r), INVALID_VALUE);
}
static void bias_less_aligned_than_promised(void)
{
    product_rig r = product_rig_of(&dense);
    product_bias(&r.p, (char *)r.bias.at + 16);
    assert_int_equal(run_product(&r), INVALID_VALUE);
}
static void product_in_its_operand(void)
{
    product_rig r = product_rig_of(&dense);
    r.m.d = r.m.b;
    assert_int_equal(run_product(&r), INVALID_VALUE);
}
static void destroyed_layout(void)
{
    product_rig r = product_rig_of(&dense);
    assert_int_equal(lt.cublasLtMatrixLayoutDestroy(r.p.b), 0);
    assert_int_equal(run_product(&r), INVALID_VALUE);
}

static void operand_that_nobody_wrote(void)
{
    product_rig r = product_rig_of(&dense);
    r.m.b = room_of(4096);
    assert_int_equal(run_product(&r), 0); /* the call cannot know */
}
static void memory_that_is_too_small(void)
{
    product_rig r = product_rig_of(&dense);
    r.m.d = room_of(64);
    assert_int_equal(run_product(&r), 0);
}

static void refusals_of_products(void **state)
{
    (void)state;
    must_say(product_is_well, NULL);
    must_say(unlike_matrices, NULL);
    must_say(no_such_product, NULL);
    must_say(less_workspace_is_another_algorithm, NULL);
    must_say(no_bias, NULL);
}

static void reports_of_products(void **state)
{
    (void)state;
    must_say(algorithm_that_nobody_named, "fake cublasLt: cublasLtMatmul: an algorithm that no heuristic has named");
    must_say(algorithm_of_another_product, "named for another product");
    must_say(less_workspace_than_named, "a workspace of ");
    must_say(less_aligned_than_promised, "a at 0x");
    must_say(bias_less_aligned_than_promised, "the bias at 0x");
    must_say(product_in_its_operand, "d and b overlap");
    must_say(operand_that_nobody_wrote, "fake cuda: a library's access");
    must_say(memory_that_is_too_small, "fake cuda: a library's access");
    must_say(destroyed_layout, "the matrix layout 0x");
}

/* ---- the end, and failures on demand ---- */

static void a_preference_is_left(void)
{
    product p = product_new(&dense);
    lt.cublasLtMatmulDescDestroy(p.product);
    lt.cublasLtMatrixLayoutDestroy(p.a);
    lt.cublasLtMatrixLayoutDestroy(p.b);
    lt.cublasLtMatrixLayoutDestroy(p.d);
    libraries_close();
}
static void a_handle_is_left(void)
{
    assert_int_equal(dnn.cudnnDestroy(dnn_handle), 0);
    card_close(&card);
}
static void no_context(void)
{
    void *handle;
    assert_int_equal(card.cuCtxSetCurrent(NULL), 0);
    assert_int_equal(lt.cublasLtCreate(&handle), 1);
}
static void failures_on_demand(void)
{
    product_rig r = product_rig_of(&dense);
    setenv("TUTTI_FAKE_CUDA_FAIL", "cublasLtMatmul:1:15,cublasLtMatmulPreferenceCreate:1", 1);
    assert_int_equal(run_product(&r), UNSUPPORTED);
    assert_int_equal(run_product(&r), 0);
    assert_int_equal(lt.cublasLtMatmulPreferenceCreate(&r.p.preference), FAILED);
}

static void what_is_left_is_reported_at_the_end(void **state)
{
    (void)state;
    must_say(a_preference_is_left, "fake cublasLt: leak: 1 matmul preferences");
    must_say(a_handle_is_left, "fake cublasLt: leak: 1 handles");
}

static void a_handle_needs_a_context(void **state)
{
    (void)state;
    must_say(no_context, NULL);
}

static void calls_fail_on_demand(void **state)
{
    (void)state;
    must_say(failures_on_demand, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_of_products),
        cmocka_unit_test(reports_of_products),
        cmocka_unit_test(what_is_left_is_reported_at_the_end),
        cmocka_unit_test(a_handle_needs_a_context),
        cmocka_unit_test(calls_fail_on_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

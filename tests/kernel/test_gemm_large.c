/* SPDX-License-Identifier: Apache-2.0 */
/* test_gemm_large.c: products whose C no cache holds, which rows of vectors write past the caches where its rows are
 * lines of memory. Small integers, so that sums are exact and == is the test. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/gemm/gemm.h"
#include "tensor/convert.h"

enum { M = 66000, N = 64, K = 2, LINE = 64 };

static float small(int64_t i, int64_t salt)
{
    return (float)((i * 37 + salt) % 7 - 3);
}

static void *aligned(size_t nbytes)
{
    void *p = aligned_alloc(LINE, (nbytes + 2 * LINE - 1) / LINE * LINE);
    assert_non_null(p);
    memset(p, 0xff, nbytes); /* NaN */
    return p;
}

static void *numbers(int64_t n, int64_t salt, tutti_dtype type)
{
    float *x = aligned((size_t)n * sizeof *x);
    void *stored = aligned((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = small(i, salt);
    tutti_convert_from_f32(type, x, stored, n);
    free(x);
    return stored;
}

/* off: floats from the beginning of a line to that of C. */
static void multiply_and_compare(const tutti_gemm_plan *plan, const void *a, const void *b, int off)
{
    float *c = aligned(((size_t)M * N + (size_t)off) * sizeof *c);
    void *workspace = aligned(plan->workspace_bytes);
    tutti_gemm_run(plan, &(tutti_gemm_operands){.a = a, .b = b, .c = c + off}, workspace);
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            const float wanted = small(i * K, 1) * small(j, 2) + small(i * K + 1, 1) * small(N + j, 2);
            if (c[off + i * N + j] != wanted)
                fail_msg("%s: (%d, %d) is %g instead of %g", tutti_gemm_plan_row(plan), (int)i, (int)j,
                         (double)c[off + i * N + j], (double)wanted);
        }
    free(c), free(workspace);
}

static void a_product_that_caches_do_not_hold_is_exact(void **state)
{
    (void)state;
    for (int i = 0; tutti_gemm_row_name(i); i++) {
        const char *row = tutti_gemm_row_name(i);
        const tutti_dtype type = tutti_gemm_row_type(row);
        const tutti_gemm g = {
            .m = M, .n = N, .k = K, .type_a = type, .type_b = type, .multiplied = type, .nthreads = 2, .row = row};
        tutti_gemm_plan plan;
        tutti_failure err = {0};
        if (!tutti_gemm_row_is_here(row)) continue;
        void *a = numbers(M * K, 1, type), *b = numbers(K * N, 2, type);
        assert_int_equal(tutti_gemm_plan_make(&g, &plan, &err), TUTTI_OK);
        assert_int_equal(plan.streams, strncmp(row, "avx512", 6) == 0); /* vectors of whole lines */
        multiply_and_compare(&plan, a, b, 0);
        multiply_and_compare(&plan, a, b, 1);
        free(a), free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_product_that_caches_do_not_hold_is_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

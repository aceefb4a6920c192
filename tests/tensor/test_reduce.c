/* SPDX-License-Identifier: Apache-2.0 */
/* test_reduce.c: every type and operation gives the bits of the plain expression, at any offset, length and number of
 * operands, on every ISA; and the rules for ties, zeros and NaN hold whatever the order. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "reference_reduce.h"
#include "tensor/convert_impl.h"
#include "tensor/elementwise_impl.h"
#include "tensor/reduce.h"
#include "tensor/reduce_impl.h"
#include "tensor/tensor.h"

enum { MOST_IN = 40, ROOM = 3000, MOST_BYTES = 16 };

typedef struct {
    _Alignas(64) char in[MOST_IN][ROOM * MOST_BYTES];
    _Alignas(64) char out[2][ROOM * MOST_BYTES];
} bench;

static void fill(bench *b, tutti_dtype type, tutti_operation op, int nin, int offset, bool odd)
{
    const size_t bytes = tutti_element_bytes(type, op);
    for (int k = 0; k < nin; k++)
        for (int i = 0; i < ROOM - 8; i++) {
            const tutti_random4 r = tutti_random(11, TUTTI_STREAM_TEST, (uint64_t)k, (uint64_t)i);
            reference_draw(type, op, (uint64_t)r.word[0] << 32 | r.word[1], odd,
                           b->in[k] + (size_t)(i + offset) * bytes);
        }
}

/* kind 0: left to right, 1: balanced as far as it goes, 2: right to left (deepest stack) */
static void make_folds(int kind, int nin, uint8_t *folds)
{
    int depth = 0;
    for (int k = 0; k < nin; k++) {
        depth++;
        folds[k] = kind == 0 && k > 0;
        for (int bit = k + 1; kind == 1 && bit % 2 == 0; bit /= 2) folds[k]++;
        depth -= folds[k];
        if (k == nin - 1) folds[k] = (uint8_t)(folds[k] + depth - 1);
    }
}

static reference_value expect(const bench *b, tutti_dtype type, tutti_operation op, int nin, const uint8_t *folds,
                              size_t at)
{
    reference_value stack[MOST_IN];
    int depth = 0;
    for (int k = 0; k < nin; k++) {
        stack[depth++] = reference_load(type, op, b->in[k] + at);
        for (int f = 0; f < folds[k]; f++, depth--)
            stack[depth - 2] = reference_combine(type, op, stack[depth - 2], stack[depth - 1]);
    }
    return stack[0];
}

static void compare(bench *b, tutti_dtype type, tutti_operation op, int nin, int kind, int offset, int64_t n, bool odd)
{
    const size_t bytes = tutti_element_bytes(type, op), skip = (size_t)offset * bytes;
    const char *in[MOST_IN];
    char *out[2] = {b->out[0] + skip, b->out[1] + 2 * skip};
    uint8_t folds[MOST_IN];
    unsigned char want[MOST_BYTES];
    fill(b, type, op, nin, offset, odd);
    make_folds(kind, nin, folds);
    for (int k = 0; k < nin; k++) in[k] = b->in[k] + skip;
    memset(b->out, 0x5a, sizeof b->out);
    tutti_reduce(type, op, &(tutti_operands){out, 2, in, nin}, folds, n, n % 2);
    for (int64_t i = 0; i < n; i++) {
        const reference_value v = expect(b, type, op, nin, folds, skip + (size_t)i * bytes);
        reference_store(type, op, &v, want);
        for (int o = 0; o < 2; o++)
            if (memcmp(out[o] + (size_t)i * bytes, want, bytes))
                fail_msg("%s %s of %d, folds %d, offset %d: element %lld of %lld", tutti_dtype_name(type),
                         tutti_operation_name(op), nin, kind, offset, (long long)i, (long long)n);
    }
    for (size_t i = 0; i < bytes; i++) assert_int_equal(out[0][(size_t)n * bytes + i], 0x5a); /* nothing behind */
}

static void every_operation_has_the_bits_of_its_plain_expression(void **state)
{
    (void)state;
    bench *b = malloc(sizeof *b);
    const int64_t lengths[] = {1, 3, 17, 255, 1031, 2500};
    int k = 0;
    for (int t = 0; t < TUTTI_NDTYPES; t++)
        for (int op = 0; op < TUTTI_NOPERATIONS; op++) {
            if (!tutti_can_reduce((tutti_dtype)t, (tutti_operation)op)) continue;
            for (int kind = 0; kind < 3; kind++, k++) {
                compare(b, (tutti_dtype)t, (tutti_operation)op, 2 + k % 7, kind, k % 4, lengths[k % 6], false);
                compare(b, (tutti_dtype)t, (tutti_operation)op, 2, kind, (k + 1) % 4, lengths[(k + 3) % 6], false);
            }
            compare(b, (tutti_dtype)t, (tutti_operation)op, MOST_IN, 2, 1, 700, false);
            /* which of two NaNs a sum gives is the processor's business, not ours */
            if (op != TUTTI_SUM && op != TUTTI_AVG && op != TUTTI_PROD)
                compare(b, (tutti_dtype)t, (tutti_operation)op, 5, 1, 1, 1031, true);
            else if (t == TUTTI_I32 || t == TUTTI_I64)
                compare(b, (tutti_dtype)t, (tutti_operation)op, 5, 1, 1, 1031, true);
        }
    free(b);
}

static void all_rows_give_equal_bits(void **state)
{
    (void)state;
    enum { N = 997 };
    static _Alignas(64) unsigned char a[N * 8], b[N * 8], want[N * 8], got[N * 8];
    const tutti_dtype types[TUTTI_NACCUMULATORS] = {TUTTI_F32, TUTTI_F64, TUTTI_I32, TUTTI_I64};
    for (int t = 0; t < TUTTI_NACCUMULATORS; t++)
        for (int op = 0; op < TUTTI_NFOLDS; op++) {
            if (op == TUTTI_AVG) continue;
            const size_t bytes = tutti_dtype_bytes(types[t]);
            for (size_t i = 0; i < N; i++) {
                const tutti_random4 r = tutti_random(5, TUTTI_STREAM_TEST, i, (uint64_t)op);
                const bool odd = op == TUTTI_MIN || op == TUTTI_MAX;
                reference_draw(types[t], TUTTI_SUM, (uint64_t)r.word[0] << 32 | r.word[1], odd, a + i * bytes);
                reference_draw(types[t], TUTTI_SUM, (uint64_t)r.word[2] << 32 | r.word[3], odd, b + i * bytes);
            }
            tutti_reduce_generic.combine[t][op](want, a, b, N);
            for (int k = 0; k < TUTTI_NISAS; k++) {
                if (!tutti_isa_runs(k)) continue;
                memset(got, 0, sizeof got);
                tutti_reduce_rows[k]->combine[t][op](got, a, b, N);
                assert_memory_equal(got, want, N * bytes);
                memcpy(got, a, sizeof got);
                tutti_reduce_rows[k]->combine[t][op](got, got, b, N); /* in place */
                assert_memory_equal(got, want, N * bytes);
            }
        }
}

static void averages_are_rounded_once_and_integers_cut_towards_zero(void **state)
{
    (void)state;
    float f[3] = {1, -2, 10};
    int32_t i[3] = {-7, 7, 6};
    uint16_t h[3] = {tutti_bf16_of_f32(1), tutti_bf16_of_f32(10), tutti_bf16_of_f32(-4)};
    tutti_reduce_average(TUTTI_F32, (char *)f, 3, 3);
    tutti_reduce_average(TUTTI_I32, (char *)i, 3, 3);
    tutti_reduce_average(TUTTI_BF16, (char *)h, 3, 3);
    assert_true(f[0] == 1.0f / 3 && f[1] == -2.0f / 3 && f[2] == 10.0f / 3);
    assert_true(i[0] == -2 && i[1] == 2 && i[2] == 2);
    assert_int_equal(h[0], tutti_bf16_of_f32(1.0f / 3));
    assert_int_equal(h[1], tutti_bf16_of_f32(10.0f / 3));
}

static void halves_are_summed_in_f32_and_rounded_once(void **state)
{
    (void)state;
    /* 256 + 1 has no bf16, so two roundings would lose both ones */
    const uint16_t in[3] = {tutti_bf16_of_f32(256), tutti_bf16_of_f32(1), tutti_bf16_of_f32(1)};
    const char *const inputs[3] = {(const char *)&in[0], (const char *)&in[1], (const char *)&in[2]};
    uint16_t got;
    char *out = (char *)&got;
    tutti_reduce(TUTTI_BF16, TUTTI_SUM, &(tutti_operands){&out, 1, inputs, 3}, NULL, 1, false);
    assert_int_equal(got, tutti_bf16_of_f32(258));
}

static void compare_wide(bench *b, tutti_dtype type, int nin, int kind, int offset, int64_t n)
{
    const size_t skip = (size_t)offset * 2;
    const char *in[MOST_IN];
    char *out[2] = {b->out[0] + 2 * skip, b->out[1] + 4 * skip};
    uint8_t folds[MOST_IN];
    fill(b, type, TUTTI_SUM, nin, offset, false);
    make_folds(kind, nin, folds);
    for (int k = 0; k < nin; k++) in[k] = b->in[k] + skip;
    memset(b->out, 0x5a, sizeof b->out);
    tutti_reduce_wide(type, &(tutti_operands){out, 2, in, nin}, kind ? folds : NULL, n, n % 2);
    for (int64_t i = 0; i < n; i++) {
        const reference_value v = expect(b, type, TUTTI_SUM, nin, folds, skip + (size_t)i * 2);
        for (int o = 0; o < 2; o++)
            if (memcmp(out[o] + 4 * i, &v.f, sizeof v.f))
                fail_msg("f32 sums of %d %s, folds %d, offset %d: element %lld of %lld", nin, tutti_dtype_name(type),
                         kind, offset, (long long)i, (long long)n);
    }
    for (int i = 0; i < 4; i++) assert_int_equal(out[0][4 * n + i], 0x5a); /* nothing behind */
}

static void sums_of_halves_in_f32_have_the_bits_of_the_plain_expression(void **state)
{
    (void)state;
    bench *b = malloc(sizeof *b);
    const int64_t lengths[] = {1, 3, 17, 255, 1031, 2500};
    int k = 0;
    for (int t = TUTTI_BF16; t <= TUTTI_F16; t++) {
        for (int kind = 0; kind < 3; kind++)
            for (int nin = 1; nin < 10; nin++, k++) compare_wide(b, (tutti_dtype)t, nin, kind, k % 4, lengths[k % 6]);
        compare_wide(b, (tutti_dtype)t, MOST_IN, 2, 1, 700);
    }
    free(b);
}

/* 256 + 1 has no bf16; what is summed in f32 keeps it. */
static void sums_of_halves_in_f32_are_not_rounded_to_halves(void **state)
{
    (void)state;
    enum { N = 200 };
    static uint16_t in[3][N];
    static float want[N], got[N];
    const char *const inputs[3] = {(char *)in[0], (char *)in[1], (char *)in[2]};
    char *out = (char *)got;
    for (int i = 0; i < N; i++) {
        in[0][i] = tutti_bf16_of_f32(256);
        in[1][i] = in[2][i] = tutti_bf16_of_f32(1.0f / 128 * (float)(i % 64));
        want[i] = 256 + 1.0f / 64 * (float)(i % 64);
    }
    for (int r = 0; r < TUTTI_NISAS; r++) {
        if (!tutti_isa_runs(r)) continue;
        const tutti_halves_call call = {
            .outputs = (float *const *)&out, .nout = 1, .inputs = (const uint16_t *const *)inputs, .nin = 3, .n = N};
        memset(got, 0, sizeof got);
        tutti_convert_rows[r]->sum[TUTTI_CONVERT_BF16](&call);
        assert_memory_equal(got, want, sizeof want);
    }
}

static void copies_take_any_address_and_length(void **state)
{
    (void)state;
    static char from[300], to[2][300];
    for (int i = 0; i < 300; i++) from[i] = (char)i;
    for (size_t offset = 0; offset < 5; offset++)
        for (size_t n = 0; n < 290; n += 7) {
            char *out[2] = {to[0] + offset, to[1] + 1};
            memset(to, 0, sizeof to);
            tutti_reduce_copy(out, 2, from + 3, n, n % 2);
            assert_memory_equal(out[0], from + 3, n);
            assert_memory_equal(out[1], from + 3, n);
            assert_int_equal(out[0][n], 0);
        }
}

static void elements_have_the_sizes_that_the_header_says(void **state)
{
    (void)state;
    assert_int_equal(tutti_element_bytes(TUTTI_F32, TUTTI_ARGMIN), sizeof(tutti_f32_at));
    assert_int_equal(tutti_element_bytes(TUTTI_F64, TUTTI_ARGMAX), sizeof(tutti_f64_at));
    assert_int_equal(tutti_element_bytes(TUTTI_BF16, TUTTI_ARGMIN), sizeof(tutti_half_at));
    assert_int_equal(tutti_element_bytes(TUTTI_I64, TUTTI_ARGMIN), sizeof(tutti_i64_at));
    assert_int_equal(tutti_element_bytes(TUTTI_F16, TUTTI_MAX), 2);
    assert_int_equal(tutti_element_alignment(TUTTI_F16, TUTTI_MAX), 2);
    assert_int_equal(tutti_element_alignment(TUTTI_F16, TUTTI_ARGMIN), 4);
    assert_string_equal(tutti_operation_name(TUTTI_ARGMAX), "argmax");
    assert_false(tutti_can_reduce(TUTTI_U8, TUTTI_SUM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_has_the_bits_of_its_plain_expression),
        cmocka_unit_test(all_rows_give_equal_bits),
        cmocka_unit_test(averages_are_rounded_once_and_integers_cut_towards_zero),
        cmocka_unit_test(halves_are_summed_in_f32_and_rounded_once),
        cmocka_unit_test(sums_of_halves_in_f32_have_the_bits_of_the_plain_expression),
        cmocka_unit_test(sums_of_halves_in_f32_are_not_rounded_to_halves),
        cmocka_unit_test(copies_take_any_address_and_length),
        cmocka_unit_test(elements_have_the_sizes_that_the_header_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

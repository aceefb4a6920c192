/* SPDX-License-Identifier: Apache-2.0 */
/* test_elementwise.c: every row gives the bits of the plain expression, at any offset, length and number of
 * operands. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tensor/elementwise.h"
#include "tensor/elementwise_impl.h"

enum { MOST_IN = 40, ROOM = 1400 };

typedef struct {
    float in[MOST_IN][ROOM];
    float out[3][ROOM];
} bench;

/* Any finite bit pattern of moderate size, so that rounding happens in most sums. */
static void fill(bench *b)
{
    for (int k = 0; k < MOST_IN; k++)
        for (int i = 0; i < ROOM; i++) {
            tutti_random4 r = tutti_random(7, TUTTI_STREAM_TEST, (uint64_t)k, (uint64_t)i);
            b->in[k][i] = (tutti_random_unit(r.word[0]) - 0.5f) * (float)(1 << (r.word[1] % 12));
        }
}

static float expect(const float *const *in, int nin, const uint8_t *folds, int64_t i)
{
    volatile float stack[MOST_IN];
    int depth = 0;
    for (int k = 0; k < nin; k++) {
        stack[depth++] = in[k][i];
        for (int f = 0; f < folds[k]; f++, depth--) stack[depth - 2] = stack[depth - 2] + stack[depth - 1];
    }
    assert_int_equal(depth, 1);
    return stack[0];
}

/* kind 0: left to right, 1: balanced as far as it goes, 2: right to left (deepest stack) */
static void make_folds(int kind, int nin, uint8_t *folds)
{
    int depth = 0;
    for (int k = 0; k < nin; k++) {
        depth++;
        folds[k] = 0;
        if (kind == 0 && k > 0) folds[k] = 1;
        for (int bit = k + 1; kind == 1 && bit % 2 == 0; bit /= 2) folds[k]++;
        depth -= folds[k];
        if (k == nin - 1) folds[k] = (uint8_t)(folds[k] + depth - 1);
    }
}

static void compare_row(const tutti_elementwise_row *row, bench *b, int nin, int kind, int offset, int64_t n)
{
    uint8_t folds[MOST_IN];
    static float stack[MOST_IN * TUTTI_ELEMENTWISE_BLOCK];
    make_folds(kind, nin, folds);
    const float *in[MOST_IN];
    for (int k = 0; k < nin; k++) in[k] = b->in[k] + (offset + 3 * k) % 19;
    for (int stream = 0; stream < 2; stream++) {
        memset(b->out, 0x55, sizeof b->out);
        float *out[3] = {b->out[0] + offset, b->out[1] + offset, b->out[2] + (offset + 5) % 16};
        tutti_elementwise_call call = {out, 3, in, nin, kind == 0 ? NULL : folds, stack, n, stream};
        row->reduce(&call);
        for (int64_t i = 0; i < n; i++) {
            float want = expect(in, nin, folds, i);
            for (int o = 0; o < 3; o++) assert_memory_equal(&out[o][i], &want, 4);
        }
        uint32_t guard = 0x55555555u;
        for (int o = 0; o < 3; o++) assert_memory_equal(&out[o][n], &guard, 4);
        if (offset > 0) assert_memory_equal(&out[0][-1], &guard, 4);
    }
}

static void every_row_gives_the_same_bits_at_any_offset(void **state)
{
    (void)state;
    bench *b = calloc(1, sizeof *b);
    fill(b);
    static const int counts[] = {1, 2, 3, 4, 5, 8, 13, 32, 40};
    static const int64_t lengths[] = {0, 1, 3, 7, 15, 16, 17, 63, 64, 65, 127, 130, 1003};
    for (int r = 0; r < TUTTI_NISAS; r++) {
        if (!tutti_isa_runs(r)) continue;
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            for (int kind = 0; kind < 3; kind++)
                for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
                    compare_row(tutti_elementwise_rows[r], b, counts[c], kind, (int)(c + l) % 17, lengths[l]);
    }
    free(b);
}

static void an_output_may_be_an_input(void **state)
{
    (void)state;
    enum { N = 777 };
    float x[N], y[N], want[N];
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = (float)(2 * i + 1), want[i] = x[i] + y[i];
    tutti_elementwise_add(y, x, N);
    assert_memory_equal(y, want, sizeof want);
    for (int i = 0; i < N; i++) y[i] = (float)(2 * i + 1);
    const float *in[2] = {x, y};
    float *out[2] = {y, x};
    tutti_elementwise_reduce(&(tutti_elementwise_call){
        .outputs = out, .nout = 2, .inputs = in, .nin = 2, .folds = (const uint8_t[]){0, 1}, .n = N, .stream = true});
    assert_memory_equal(y, want, sizeof want);
    assert_memory_equal(x, want, sizeof want);
}

static void deep_expressions_use_the_heap(void **state)
{
    (void)state;
    enum { NIN = 100 };
    float value[NIN], sum = 0;
    const float *in[NIN];
    uint8_t folds[NIN] = {0};
    for (int k = 0; k < NIN; k++) value[k] = (float)k, in[k] = &value[k];
    folds[NIN - 1] = NIN - 1;
    float *out[1] = {&sum};
    tutti_elementwise_reduce(
        &(tutti_elementwise_call){.outputs = out, .nout = 1, .inputs = in, .nin = NIN, .folds = folds, .n = 1});
    assert_true(sum == NIN * (NIN - 1) / 2);
}

static void copies_reach_every_output(void **state)
{
    (void)state;
    enum { N = 300 };
    float x[N], a[N], c[N];
    for (int i = 0; i < N; i++) x[i] = (float)(i * i);
    float *out[2] = {a, c};
    for (int stream = 0; stream < 2; stream++) {
        memset(a, 0, sizeof a), memset(c, 0, sizeof c);
        tutti_elementwise_copy(out, 2, x, N, stream);
        assert_memory_equal(a, x, sizeof x);
        assert_memory_equal(c, x, sizeof x);
    }
}

static void what_is_not_finite_is_found_wherever_it_lies(void **state)
{
    (void)state;
    enum { N = 100 };
    static const float strange[] = {INFINITY, -INFINITY, NAN, -NAN};
    float x[N];
    for (int i = 0; i < N; i++) x[i] = i % 3 ? 3.4e38f : -1e-45f;
    for (int n = 0; n <= N; n++) assert_true(tutti_elementwise_is_finite(x, n));
    for (int at = 0; at < N; at++)
        for (int k = 0; k < 4; k++) {
            const float right = x[at];
            x[at] = strange[k];
            assert_false(tutti_elementwise_is_finite(x, N));
            assert_true(tutti_elementwise_is_finite(x, at));
            assert_false(tutti_elementwise_is_finite(x + at, 1));
            x[at] = right;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_gives_the_same_bits_at_any_offset),
        cmocka_unit_test(an_output_may_be_an_input),
        cmocka_unit_test(deep_expressions_use_the_heap),
        cmocka_unit_test(copies_reach_every_output),
        cmocka_unit_test(what_is_not_finite_is_found_wherever_it_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

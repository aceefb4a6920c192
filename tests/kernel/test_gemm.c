/* SPDX-License-Identifier: Apache-2.0 */
/* test_gemm.c: matrix products of every row that runs here. Against plain loops with small integers, so that sums are
 * exact and == is the test: sides that blocks do not fill, every transposition, strides, types, batches, maps and
 * biases, packed before or not, 1 to 4 threads. With random numbers against one chain of fused multiply-adds, bit for
 * bit, and against double within the bound. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/gemm/gemm.h"
#include "tensor/convert.h"

/* ---- operands ---- */

typedef struct {
    tutti_gemm gemm;
    float *a, *b, *c, *bias; /* as numbers: (batch, m, k), (batch, k, n), (batch, m, n) */
    void *stored_a, *stored_b, *stored_c;
    size_t c_elements;
} problem;

static void *exactly(size_t nbytes)
{
    void *p = malloc(nbytes ? nbytes : 1); /* sanitizers see who reads on */
    assert_non_null(p);
    return p;
}

static void *aligned(size_t nbytes)
{
    void *p = aligned_alloc(64, (nbytes + 127) / 64 * 64);
    assert_non_null(p);
    memset(p, 0xff, nbytes); /* NaN */
    return p;
}

static float small(uint64_t i, uint64_t salt)
{
    return (float)((int)((i * 2654435761u + salt * 40503u) >> 7) % 7 - 3);
}

static float rough(uint64_t i, uint64_t salt)
{
    const uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u ^ salt * 0xbf58476d1ce4e5b9u,
                   y = (x ^ x >> 31) * 0x94d049bb133111ebu;
    return (float)((double)(int64_t)(y ^ y >> 29) * 0x1p-63);
}

/* Numbers become what the type holds of them. */
static void round_to(tutti_dtype type, float *x, int64_t n)
{
    if (type == TUTTI_F32 || !n) return;
    uint16_t *halves = exactly((size_t)n * sizeof *halves);
    tutti_convert_from_f32(type, x, halves, n);
    tutti_convert_to_f32(type, halves, x, n);
    free(halves);
}

static float *numbers(int64_t n, uint64_t salt, tutti_dtype type, float (*make)(uint64_t, uint64_t))
{
    float *x = exactly((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = make((uint64_t)i, salt);
    round_to(type, x, n);
    return x;
}

/* Matrices of rows x columns as they lie in memory, turned or not, with a stride of rows and of matrices. */
static void *lay_out(const float *x, int64_t batch, int64_t rows, int64_t columns, bool turned, int64_t stride,
                     int64_t apart, tutti_dtype type)
{
    const int64_t most = turned ? columns : rows, lines = most ? most : 1,
                  n = (batch - 1) * apart + (lines - 1) * stride + (turned ? rows : columns);
    float *wide = exactly((size_t)n * sizeof *wide);
    void *stored = exactly((size_t)n * tutti_dtype_bytes(type));
    for (int64_t i = 0; i < n; i++) wide[i] = NAN; /* between rows: whoever reads it shows */
    for (int64_t l = 0; l < batch; l++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                wide[l * apart + (turned ? j * stride + i : i * stride + j)] = x[(l * rows + i) * columns + j];
    tutti_convert_from_f32(type, wide, stored, n);
    free(wide);
    return stored;
}

static problem make(tutti_gemm g, float (*number)(uint64_t, uint64_t))
{
    problem p;
    if (!g.batch) g.batch = 1;
    if (!g.stride_a) g.stride_a = g.transpose_a ? g.m : g.k;
    if (!g.stride_b) g.stride_b = g.transpose_b ? g.k : g.n;
    if (!g.stride_c) g.stride_c = g.n;
    if (g.batch > 1) {
        g.apart_a = (g.transpose_a ? g.k : g.m) * g.stride_a + 3;
        g.apart_b = (g.transpose_b ? g.n : g.k) * g.stride_b + 1;
        g.apart_c = g.m * g.stride_c + 2;
    }
    p.gemm = g;
    const tutti_dtype least = g.multiplied == TUTTI_BF16 ? TUTTI_BF16 : TUTTI_F32;
    p.a = numbers(g.batch * g.m * g.k, 1, g.type_a == TUTTI_F32 ? least : g.type_a, number);
    p.b = numbers(g.batch * g.k * g.n, 2, g.type_b == TUTTI_F32 ? least : g.type_b, number);
    p.c = numbers(g.batch * g.m * g.n, 3, TUTTI_F32, number);
    p.bias = numbers(g.m + g.n, 4, TUTTI_F32, number);
    p.stored_a = lay_out(p.a, g.batch, g.m, g.k, g.transpose_a, g.stride_a, g.apart_a, g.type_a);
    p.stored_b = lay_out(p.b, g.batch, g.k, g.n, g.transpose_b, g.stride_b, g.apart_b, g.type_b);
    p.stored_c = lay_out(p.c, g.batch, g.m, g.n, false, g.stride_c, g.apart_c, g.type_c);
    p.c_elements = (size_t)((g.batch - 1) * g.apart_c + (g.m - 1) * g.stride_c + g.n);
    return p;
}

static void release(problem *p)
{
    free(p->a), free(p->b), free(p->c), free(p->bias), free(p->stored_a), free(p->stored_b), free(p->stored_c);
}

/* ---- what is expected, what comes ---- */

static void *pack_all(const tutti_gemm_plan *plan, tutti_gemm_operand which, const void *matrix)
{
    const bool is_a = which == TUTTI_GEMM_A;
    const size_t each = is_a ? plan->packed_a_bytes : plan->packed_b_bytes;
    const int64_t apart = is_a ? plan->gemm.apart_a : plan->gemm.apart_b;
    const size_t step = (size_t)apart * tutti_dtype_bytes(is_a ? plan->gemm.type_a : plan->gemm.type_b);
    char *packed = aligned(each * (size_t)plan->gemm.batch);
    for (int64_t l = 0; l < plan->gemm.batch; l++)
        tutti_gemm_pack(plan, which, (const char *)matrix + (size_t)l * step, packed + (size_t)l * each);
    return packed;
}

/* C as floats, stride by stride. */
static float *multiply(const problem *p)
{
    tutti_gemm_plan plan;
    tutti_failure err = {0};
    if (tutti_gemm_plan_make(&p->gemm, &plan, &err)) fail_msg("%s", err.text);
    void *workspace = aligned(plan.workspace_bytes), *packed_a = NULL, *packed_b = NULL;
    const size_t nbytes = p->c_elements * tutti_dtype_bytes(p->gemm.type_c);
    void *c = exactly(nbytes);
    memcpy(c, p->stored_c, nbytes);
    if (p->gemm.packed_a) packed_a = pack_all(&plan, TUTTI_GEMM_A, p->stored_a);
    if (p->gemm.packed_b) packed_b = pack_all(&plan, TUTTI_GEMM_B, p->stored_b);
    const tutti_gemm_operands operands = {packed_a ? packed_a : p->stored_a, packed_b ? packed_b : p->stored_b,
                                          p->gemm.bias ? p->bias : NULL, c};
    tutti_gemm_run(&plan, &operands, workspace);
    float *wide = exactly(p->c_elements * sizeof *wide);
    tutti_convert_to_f32(p->gemm.type_c, c, wide, (int64_t)p->c_elements);
    free(workspace), free(packed_a), free(packed_b), free(c);
    return wide;
}

static double gelu(double x)
{
    return x * erfc(-x / sqrt(2)) / 2;
}

/* A row of C, column beside column: sums of one at a time would each wait for itself. */
static void expect_row(const problem *p, int64_t l, int64_t i, double *row)
{
    const tutti_gemm *g = &p->gemm;
    for (int64_t j = 0; j < g->n; j++) row[j] = g->accumulate ? (double)p->c[(l * g->m + i) * g->n + j] : 0;
    for (int64_t q = 0; q < g->k; q++) {
        const double x = (double)p->a[(l * g->m + i) * g->k + q];
        const float *y = p->b + (l * g->k + q) * g->n;
        for (int64_t j = 0; j < g->n; j++) row[j] += x * (double)y[j];
    }
    for (int64_t j = 0; j < g->n; j++) {
        if (g->bias) row[j] += (double)p->bias[g->bias == TUTTI_GEMM_BIAS_OF_ROWS ? i : j];
        if (g->map == TUTTI_GEMM_RELU && !(row[j] > 0)) row[j] = 0;
        if (g->map == TUTTI_GEMM_GELU) row[j] = gelu(row[j]);
    }
}

static void describe(const tutti_gemm *g, char out[200])
{
    snprintf(out, 200, "%s %dx%dx%d %c%c, batch %d, types %d %d %d, bias %d, map %d, sum %d, packed %d%d, %d threads",
             g->row, (int)g->m, (int)g->n, (int)g->k, g->transpose_a ? 'T' : 'N', g->transpose_b ? 'T' : 'N',
             (int)g->batch, g->type_a, g->type_b, g->type_c, g->bias, g->map, g->accumulate, g->packed_a, g->packed_b,
             g->nthreads);
}

/* Where no rows are there is NaN, as before. */
static void compare_exactly(const tutti_gemm *g)
{
    problem p = make(*g, small);
    float *c = multiply(&p);
    char what[200];
    double *row = exactly((size_t)p.gemm.n * sizeof *row);
    float *rounded = exactly((size_t)p.gemm.n * sizeof *rounded);
    describe(&p.gemm, what);
    for (int64_t l = 0; l < p.gemm.batch; l++)
        for (int64_t i = 0; i < p.gemm.m; i++) {
            expect_row(&p, l, i, row);
            for (int64_t j = 0; j < p.gemm.n; j++) rounded[j] = (float)row[j];
            round_to(p.gemm.type_c, rounded, p.gemm.n);
            for (int64_t j = 0; j < p.gemm.n; j++) {
                float *at = &c[l * p.gemm.apart_c + i * p.gemm.stride_c + j];
                const double wanted = (double)rounded[j], off = fabs((double)*at - wanted);
                if (p.gemm.map == TUTTI_GEMM_GELU ? off > fabs(wanted) * 0x1p-18 + 0x1p-80 : (double)*at != wanted)
                    fail_msg("%s: (%d, %d, %d) is %.9g instead of %.9g", what, (int)l, (int)i, (int)j, (double)*at,
                             wanted);
                *at = NAN;
            }
        }
    for (size_t i = 0; i < p.c_elements; i++)
        if (!isnan(c[i])) fail_msg("%s: memory between the rows of C is written", what);
    free(c), free(row), free(rounded), release(&p);
}

/* ---- tests ---- */

/* The emulated library has the same objects of portable and avx2, which the run without emulation tests. */
static void each_row(void (*test)(const char *row, tutti_dtype multiplied))
{
    const char *row;
    for (int i = 0; (row = tutti_gemm_row_name(i)); i++) {
        if (getenv("TUTTI_EMULATE") && (!strcmp(row, "portable") || !strcmp(row, "avx2"))) continue;
        if (tutti_gemm_row_is_here(row))
            test(row, tutti_gemm_row_type(row));
        else
            print_message("%s: not on this processor, or TUTTI_ISA rules it out\n", row);
    }
}

static tutti_gemm plain(const char *row, tutti_dtype multiplied, int64_t m, int64_t n, int64_t k)
{
    return (tutti_gemm){.row = row,
                        .multiplied = multiplied,
                        .m = m,
                        .n = n,
                        .k = k,
                        .nthreads = 1,
                        .type_a = multiplied,
                        .type_b = multiplied};
}

static void sizes_of(const char *row, tutti_dtype multiplied)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 6, 7, 8, 13, 14, 15, 16, 17, 19, 28, 29, 31, 32, 33, 40};
    enum { N = sizeof sizes / sizeof *sizes };
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int q = 0; q < N; q += 3) {
                tutti_gemm g = plain(row, multiplied, sizes[i], sizes[j], sizes[(q + i + j) % N]);
                g.transpose_a = (i + j + q) & 1;
                g.transpose_b = (i + j + q) & 2;
                g.accumulate = (j + q) & 1;
                compare_exactly(&g);
            }
}

static void products_of_all_sizes_are_exact(void **state)
{
    (void)state;
    each_row(sizes_of);
}

/* Sides over several blocks and panels, k over several blocks. */
static void ways_of(const char *row, tutti_dtype multiplied)
{
    static const tutti_dtype types[] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};
    for (int way = 0; way < 3 * 3 * 3 * 3 * 16; way++) {
        int rest = way;
        tutti_gemm g = plain(row, multiplied, way % 5 ? 61 : 19, way % 7 ? 45 : 70, way % 11 ? 23 + way % 2 : 0);
        g.type_a = types[rest % 3], rest /= 3;
        g.type_b = types[rest % 3], rest /= 3;
        g.bias = (tutti_gemm_bias)(rest % 3), rest /= 3;
        g.map = (tutti_gemm_map)(rest % 3), rest /= 3;
        g.transpose_a = rest & 1, g.transpose_b = rest & 2, g.packed_a = rest & 4, g.packed_b = rest & 8;
        g.type_c = g.map == TUTTI_GEMM_GELU ? TUTTI_F32 : types[way % 2];
        g.batch = way % 13 == 0 ? 3 : 1;
        g.nthreads = 1 + way % 4;
        if (way % 2) g.stride_a = 80, g.stride_b = 81, g.stride_c = 82;
        compare_exactly(&g);
    }
}

static void every_way_is_exact(void **state)
{
    (void)state;
    each_row(ways_of);
}

static void deep_ones_of(const char *row, tutti_dtype multiplied)
{
    static const int64_t depths[] = {255, 256, 257, 511, 513, 1025, 1300, 2080};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        for (int way = 0; way < 16; way++) {
            tutti_gemm g = plain(row, multiplied, 33, 50, depths[i]);
            g.transpose_a = way & 1, g.transpose_b = way & 2, g.packed_b = way & 4;
            g.bias = way & 8 ? TUTTI_GEMM_BIAS_OF_COLUMNS : TUTTI_GEMM_NO_BIAS;
            g.accumulate = !g.bias, g.nthreads = 1 + way % 3;
            compare_exactly(&g);
        }
}

static void sums_over_many_blocks_are_exact(void **state)
{
    (void)state;
    each_row(deep_ones_of);
}

/* Few rows of C and k's neighbours of B side by side: some rows multiply C^T. Panels that are not full are read where A
 * lies, and beside it. */
static void few_rows_of(const char *row, tutti_dtype multiplied)
{
    static const tutti_dtype types[] = {TUTTI_F32, TUTTI_BF16};
    static const int64_t rows[] = {1, 5, 16, 30, 37}, depths[] = {32, 96, 2080};
    const bool tiles = !strcmp(row, "tiles") || !strcmp(row, "amx"), avx2 = !strcmp(row, "avx2");
    for (int way = 0; way < 5 * 3 * 3 * 3 * 16; way += 7) {
        int rest = way;
        tutti_gemm g = plain(row, multiplied, rows[rest % 5], 0, 0);
        rest /= 5;
        g.k = depths[rest % 3], rest /= 3;
        g.bias = (tutti_gemm_bias)(rest % 3), rest /= 3;
        g.map = (tutti_gemm_map)(rest % 3), rest /= 3;
        g.n = rest & 1 ? 152 : 176, g.transpose_a = rest & 2;
        if (rest & 4) g.stride_a = g.transpose_a ? g.m + 3 : g.k + 6, g.stride_b = g.k + 2, g.stride_c = g.n + 5;
        g.transpose_b = true;
        g.type_c = g.map == TUTTI_GEMM_GELU ? TUTTI_F32 : types[rest / 8 % 2];
        g.accumulate = g.type_c == TUTTI_F32 && !g.bias && !g.map && way % 8 < 4;
        g.batch = way % 7 ? 1 : 2;
        g.nthreads = 1 + way % 3;
        tutti_gemm_plan plan;
        assert_int_equal(tutti_gemm_plan_make(&g, &plan, NULL), TUTTI_OK);
        assert_true(plan.is_turned == (tiles || (avx2 && (g.m == 16 || g.m == 30) && g.k == 2080)));
        compare_exactly(&g);
    }
}

static void few_rows_are_exact(void **state)
{
    (void)state;
    each_row(few_rows_of);
}

/* Of f32: what one chain of fused multiply-adds gives, or of products and sums where there are none. */
static float chain(const problem *p, int64_t i, int64_t j, bool fused)
{
    float sum = p->gemm.accumulate ? p->c[i * p->gemm.n + j] : 0;
    for (int64_t q = 0; q < p->gemm.k; q++) {
        const float x = p->a[i * p->gemm.k + q], y = p->b[q * p->gemm.n + j], product = x * y;
        sum = fused ? fmaf(x, y, sum) : sum + product;
    }
    return sum;
}

static void chains_of(const char *row, tutti_dtype multiplied)
{
    if (multiplied != TUTTI_F32) return;
    for (int way = 0; way < 32; way++) {
        tutti_gemm g = plain(row, multiplied, 47, 83, 700);
        g.transpose_a = way & 1, g.transpose_b = way & 2, g.packed_a = way & 4, g.packed_b = way & 8;
        g.accumulate = way & 16, g.nthreads = 1 + way % 4;
        problem p = make(g, rough);
        float *c = multiply(&p);
        for (int64_t i = 0; i < g.m; i++)
            for (int64_t j = 0; j < g.n; j++) {
                const float wanted = chain(&p, i, j, strcmp(row, "portable") != 0);
                if (c[i * g.n + j] != wanted)
                    fail_msg("%s, way %d: (%d, %d) is %.9g, the chain %.9g", row, way, (int)i, (int)j,
                             (double)c[i * g.n + j], (double)wanted);
            }
        free(c), release(&p);
    }
}

static void a_sum_is_one_chain_whatever_the_way(void **state)
{
    (void)state;
    each_row(chains_of);
}

static void bits_by(const tutti_gemm *given)
{
    const tutti_gemm g = *given;
    problem p = make(g, rough);
    float *one = multiply(&p);
    for (int way = 1; way < 16; way++) {
        p.gemm.nthreads = 1 + way / 4;
        p.gemm.packed_a = way & 1, p.gemm.packed_b = way & 2;
        float *c = multiply(&p);
        if (memcmp(one, c, p.c_elements * sizeof *c))
            fail_msg("%s, %d rows: other bits by %d threads, way %d", g.row, (int)g.m, p.gemm.nthreads, way);
        free(c);
    }
    free(one), release(&p);
}

static void bits_of(const char *row, tutti_dtype multiplied)
{
    tutti_gemm g = plain(row, multiplied, 131, 150, 1100);
    bits_by(&g);
    g = plain(row, multiplied, 35, 150, 2144); /* of tiles: C^T unless something is packed before */
    g.transpose_b = true;
    bits_by(&g);
}

static void threads_and_packing_do_not_change_a_bit(void **state)
{
    (void)state;
    each_row(bits_of);
}

static void bounds_of(const char *row, tutti_dtype multiplied)
{
    static const int64_t depths[] = {1, 7, 64, 300, 2000};
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
        tutti_gemm g = plain(row, multiplied, 23, 37, depths[d]);
        g.bias = TUTTI_GEMM_BIAS_OF_ROWS;
        problem p = make(g, rough);
        float *c = multiply(&p);
        double row_of_c[37];
        for (int64_t i = 0; i < g.m; i++) {
            expect_row(&p, 0, i, row_of_c);
            for (int64_t j = 0; j < g.n; j++) {
                double size = fabs((double)p.bias[i]);
                for (int64_t q = 0; q < g.k; q++) size += fabs((double)p.a[i * g.k + q] * (double)p.b[q * g.n + j]);
                const double off = fabs((double)c[i * g.n + j] - row_of_c[j]);
                if (off > 2 * (double)(g.k + 4) * 0x1p-24 * size)
                    fail_msg("%s, k %d: (%d, %d) is off by %g of %g", row, (int)g.k, (int)i, (int)j, off, size);
            }
        }
        free(c), release(&p);
    }
}

static void sums_are_within_their_bound(void **state)
{
    (void)state;
    each_row(bounds_of);
}

static void gelu_of(const char *row, tutti_dtype multiplied)
{
    enum { N = 40000 };
    tutti_gemm g = plain(row, multiplied, 1, N, 0);
    g.bias = TUTTI_GEMM_BIAS_OF_COLUMNS;
    g.map = TUTTI_GEMM_GELU;
    problem p = make(g, rough);
    free(p.bias);
    p.bias = exactly(N * sizeof *p.bias);
    for (int i = 0; i < N; i++) p.bias[i] = (float)(i - N / 2) * (14.0f / (N / 2));
    p.bias[0] = -INFINITY, p.bias[1] = INFINITY, p.bias[2] = NAN, p.bias[3] = -3e38f;
    float *c = multiply(&p);
    assert_true(c[0] == 0 && c[1] == INFINITY && isnan(c[2]) && c[3] == 0);
    for (int i = 4; i < N; i++) {
        const double x = (double)p.bias[i], wanted = gelu(x);
        if (fabs((double)c[i] - wanted) > fabs(wanted) * 0x1p-18 + 0x1p-80)
            fail_msg("%s: gelu of %.9g is %.9g instead of %.9g", row, x, (double)c[i], wanted);
    }
    free(c), release(&p);
}

static void gelu_is_that_of_libm(void **state)
{
    (void)state;
    each_row(gelu_of);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const tutti_gemm wrong[] = {
        {.m = 0, .n = 1, .k = 1, .nthreads = 1},
        {.m = 1, .n = 1, .k = -1, .nthreads = 1},
        {.m = 1, .n = 1, .k = 1, .nthreads = 0},
        {.m = 2, .n = 8, .k = 8, .stride_b = 7, .nthreads = 1},
        {.m = 1, .n = 1, .k = 1, .type_a = TUTTI_F64, .nthreads = 1},
        {.m = 1, .n = 1, .k = 1, .accumulate = true, .type_c = TUTTI_BF16, .nthreads = 1},
        {.m = 1, .n = 1, .k = 1, .accumulate = true, .map = TUTTI_GEMM_RELU, .nthreads = 1},
        {.m = 1, .n = 1, .k = 1, .multiplied = TUTTI_F16, .nthreads = 1},
        {.m = 1, .n = 1, .k = 1, .row = "vliw", .nthreads = 1},
        {.m = 1, .n = 1, .k = 1, .row = "portable", .multiplied = TUTTI_BF16, .nthreads = 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tutti_gemm_plan plan;
        tutti_failure err = {0};
        if (tutti_gemm_plan_make(&wrong[i], &plan, &err) != TUTTI_ERR_USAGE) fail_msg("number %d is taken", (int)i);
        assert_true(err.text[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_all_sizes_are_exact),
        cmocka_unit_test(every_way_is_exact),
        cmocka_unit_test(sums_over_many_blocks_are_exact),
        cmocka_unit_test(few_rows_are_exact),
        cmocka_unit_test(a_sum_is_one_chain_whatever_the_way),
        cmocka_unit_test(threads_and_packing_do_not_change_a_bit),
        cmocka_unit_test(sums_are_within_their_bound),
        cmocka_unit_test(gelu_is_that_of_libm),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

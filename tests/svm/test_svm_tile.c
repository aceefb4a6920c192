/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_tile.c: kernel values of every row against long doubles, and that their bits depend on the two rows
 * alone. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "svm/solve/svm_tile_impl.h"
#include "tensor/isa.h"

enum { NROWS = 150, MOST = 40 };

typedef struct {
    tutti_svm_data data;
    tutti_svm_rows rows; /* for the tile that was opened last */
    double *square;
    float *value32;
    tutti_arena arena;
} scene;

static int is_f64(const tutti_svm_tile_row *row)
{
    return row->precision == TUTTI_SVM_F64;
}

/* The r-th of both types' rows; NULL where it does not run here. */
enum { NTILE_ROWS = 2 * TUTTI_NISAS };
static const tutti_svm_tile_row *row_at(int r)
{
    return tutti_isa_runs(r / 2) ? tutti_svm_tile_row_of(r % 2 ? TUTTI_SVM_F64 : TUTTI_SVM_F32, r / 2) : NULL;
}

/* As tutti_svm_rows_measure has it for the row of this processor. */
static void measure(scene *s, const tutti_svm_tile_row *row)
{
    for (int64_t i = 0; i < s->data.nrows; i++)
        s->square[i] = row->square(s->data.value + s->data.start[i], s->data.start[i + 1] - s->data.start[i]);
    for (int64_t e = 0; e < s->data.start[s->data.nrows]; e++) s->value32[e] = (float)s->data.value[e];
    s->rows = (tutti_svm_rows){s->data.start, s->data.index, s->data.value, is_f64(row) ? NULL : s->value32, s->square};
}

static void open_scene(scene *s, int64_t nrows, int64_t most)
{
    memset(s, 0, sizeof *s);
    s->data.nrows = s->data.total = nrows;
    s->data.start = TUTTI_ARENA_NEW(&s->arena, int64_t, nrows + 1);
    const int64_t room = nrows * most;
    s->data.index = TUTTI_ARENA_NEW(&s->arena, int32_t, room);
    s->data.value = TUTTI_ARENA_NEW(&s->arena, double, room);
    s->square = TUTTI_ARENA_NEW(&s->arena, double, nrows);
    s->value32 = TUTTI_ARENA_NEW(&s->arena, float, room);
}

/* Rows of 0 to MOST - 1 entries in [-1, 1), features spread over the width. */
static void open_random(scene *s, int32_t width)
{
    open_scene(s, NROWS, MOST);
    int64_t e = 0;
    for (int i = 0; i < NROWS; i++) {
        const int n = (int)(tutti_random(1, TUTTI_STREAM_TEST, (uint64_t)i, 0).word[0] % MOST);
        for (int k = 0; k < n; k++) {
            const tutti_random4 r = tutti_random(2, TUTTI_STREAM_TEST, (uint64_t)i, (uint64_t)k);
            const int64_t share = width / MOST, from = k * share; /* the first few of each share: rows meet often */
            s->data.index[e] = (int32_t)(from + 1 + r.word[0] % 3);
            s->data.value[e++] = (double)tutti_random_unit(r.word[1]) * 2 - 1 + (double)r.word[2] * 0x1p-54;
        }
        s->data.start[i + 1] = e;
    }
    s->data.width = width;
}

static void close_scene(scene *s)
{
    tutti_arena_release(&s->arena);
}

static tutti_svm_tile *open_tile(scene *s, const tutti_svm_tile_row *row, const tutti_svm_kernel *kernel, int32_t width)
{
    tutti_svm_tile *tile;
    tutti_failure err = {0};
    assert_int_equal(tutti_svm_tile_create(kernel, row->precision, width, &tile, &err), TUTTI_OK);
    assert_int_equal(row->lanes, tutti_svm_tile_lanes(tile));
    measure(s, row);
    tile->row = row; /* in place of this processor's */
    return tile;
}

static long double dot_of(const scene *s, int64_t u, int64_t v)
{
    const tutti_svm_data *d = &s->data;
    long double sum = 0;
    for (int64_t a = d->start[u], b = d->start[v]; a < d->start[u + 1] && b < d->start[v + 1];) {
        if (d->index[a] == d->index[b])
            sum += (long double)d->value[a++] * (long double)d->value[b++];
        else if (d->index[a] < d->index[b])
            a++;
        else
            b++;
    }
    return sum;
}

static long double value_of(const scene *s, const tutti_svm_kernel *k, int64_t u, int64_t v)
{
    const long double dot = dot_of(s, u, v), gamma = (long double)k->gamma, coef0 = (long double)k->coef0;
    switch (k->type) {
    case TUTTI_SVM_POLY: return powl(gamma * dot + coef0, k->degree);
    case TUTTI_SVM_RBF: return expl(-gamma * (dot_of(s, u, u) + dot_of(s, v, v) - 2 * dot));
    case TUTTI_SVM_SIGMOID: return tanhl(gamma * dot + coef0);
    default: return dot;
    }
}

static const tutti_svm_kernel kernels[] = {
    {TUTTI_SVM_LINEAR, 0, 0, 0},       {TUTTI_SVM_POLY, 3, 0.25, 0.5},   {TUTTI_SVM_POLY, 0, 0.25, 0.5},
    {TUTTI_SVM_POLY, 1, 0.25, 0},      {TUTTI_SVM_RBF, 0, 0.125, 0},     {TUTTI_SVM_RBF, 0, 3.1, 0},
    {TUTTI_SVM_SIGMOID, 0, 0.3, -0.2}, {TUTTI_SVM_PRECOMPUTED, 0, 0, 0},
};
enum { NKERNELS = sizeof kernels / sizeof kernels[0] };

/* How wrong a value may be: |row|^2 < 40 and each of at most 40 products is rounded once, so a dot product is wrong by
 * less than 40 * 40 units, mostly much less; the steepest of the kernels above has a slope of 6 at the values that
 * occur. */
static double bound_of(const tutti_svm_tile_row *row)
{
    return 40 * 40 * 6 * (is_f64(row) ? 0x1p-53 : 0x1p-24);
}

static double number_at(const tutti_svm_tile_row *row, const void *from, int64_t i)
{
    return is_f64(row) ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

/* all[u][v], rows of NROWS numbers, tile by tile of at most `most` sources. */
static void fill_matrix(const scene *s, tutti_svm_tile *tile, int most, void *all)
{
    const tutti_svm_tile_row *row = tile->row;
    const tutti_svm_rows *rows = &s->rows;
    const size_t bytes = is_f64(row) ? sizeof(double) : sizeof(float);
    for (int64_t u = 0; u < NROWS; u += most) {
        const int n = (int)(NROWS - u < most ? NROWS - u : most);
        tutti_svm_tile_fill(tile, rows, NULL, u, n);
        tutti_svm_tile_values(tile, &(tutti_svm_targets){rows, NULL, 0, 61}, (char *)all + (size_t)u * NROWS * bytes,
                              NROWS);
        tutti_svm_tile_values(tile, &(tutti_svm_targets){rows, NULL, 61, NROWS},
                              (char *)all + (size_t)u * NROWS * bytes, NROWS);
    }
}

static void compare_values(const scene *s, const tutti_svm_tile_row *row, const tutti_svm_kernel *kernel,
                           const void *all)
{
    for (int64_t u = 0; u < NROWS; u++)
        for (int64_t v = 0; v < NROWS; v++) {
            const double here = number_at(row, all, u * NROWS + v);
            assert_true(fabsl((long double)here - value_of(s, kernel, u, v)) < (long double)bound_of(row));
            assert_true(here == number_at(row, all, v * NROWS + u));
        }
}

static void compare_diagonal(const scene *s, const tutti_svm_tile *tile, const void *all)
{
    if (tile->kernel.type == TUTTI_SVM_PRECOMPUTED) return;
    for (int64_t u = 0; u < NROWS; u++) {
        const double on = tutti_svm_tile_diagonal(tile, &s->rows, u);
        assert_true(on == number_at(tile->row, all, u * (NROWS + 1)));
        if (tile->kernel.type == TUTTI_SVM_RBF) assert_true(on == 1);
    }
}

static void values_are_right_and_depend_on_their_two_rows_alone(void **state)
{
    (void)state;
    static const int32_t widths[] = {200, TUTTI_SVM_NARROW - 1, TUTTI_SVM_NARROW, INT32_MAX};
    double *all = tutti_alloc(NROWS * NROWS * sizeof *all), *again = tutti_alloc(NROWS * NROWS * sizeof *again);
    for (int w = 0; w < 4; w++)
        for (int r = 0; r < NTILE_ROWS; r++) {
            const tutti_svm_tile_row *row = row_at(r);
            if (!row) continue;
            scene s;
            open_random(&s, widths[w]);
            for (int k = 0; k < NKERNELS; k++) {
                tutti_svm_tile *tile = open_tile(&s, row, &kernels[k], widths[w]);
                fill_matrix(&s, tile, row->lanes, all);
                compare_values(&s, row, &kernels[k], all);
                compare_diagonal(&s, tile, all);
                fill_matrix(&s, tile, 7, again);
                assert_memory_equal(all, again, NROWS * NROWS * (is_f64(row) ? sizeof(double) : sizeof(float)));
                tutti_svm_tile_destroy(tile);
            }
            close_scene(&s);
        }
    free(all);
    free(again);
}

static void fused_rows_give_equal_bits(void **state)
{
    (void)state;
    scene s;
    open_random(&s, 200);
    double *all[2] = {tutti_alloc(NROWS * NROWS * sizeof **all), tutti_alloc(NROWS * NROWS * sizeof **all)};
    for (int f64 = 0; f64 < 2; f64++)
        for (int k = 0; k < NKERNELS; k++) {
            int n = 0;
            for (int r = 0; r < NTILE_ROWS; r++) {
                const tutti_svm_tile_row *row = row_at(r);
                if (!row || is_f64(row) != f64 || r / 2 == TUTTI_ISA_GENERIC) continue;
                tutti_svm_tile *tile = open_tile(&s, row, &kernels[k], 200);
                fill_matrix(&s, tile, row->lanes, all[n++]);
                tutti_svm_tile_destroy(tile);
            }
            if (n == 2) assert_memory_equal(all[0], all[1], NROWS * NROWS * (f64 ? sizeof(double) : sizeof(float)));
        }
    free(all[0]);
    free(all[1]);
    close_scene(&s);
}

static double weight_at(int c)
{
    return c % 9 == 4 ? 0 : (c % 2 ? -1.25 : 0.75) * (1 + c * 0x1p-20);
}

/* In the order that svm_tile.h gives. */
static void compare_sums(const scene *s, tutti_svm_tile *tile, int n, double *sums)
{
    const tutti_svm_tile_row *row = tile->row;
    const tutti_svm_rows *rows = &s->rows;
    double weight[TUTTI_SVM_F32_LANES], sum[NROWS], kept[NROWS];
    const void *line[TUTTI_SVM_F32_LANES];
    char *values = tutti_alloc(TUTTI_SVM_F32_LANES * NROWS * sizeof(double));
    for (int c = 0; c < n; c++) {
        weight[c] = weight_at(c);
        line[c] = values + (size_t)c * NROWS * (is_f64(row) ? sizeof(double) : sizeof(float));
    }
    for (int64_t t = 0; t < NROWS; t++) sum[t] = kept[t] = (double)t;
    tutti_svm_tile_fill(tile, rows, NULL, 3, n);
    tutti_svm_tile_values(tile, &(tutti_svm_targets){rows, NULL, 0, NROWS}, values, NROWS);
    tutti_svm_tile_sum(tile, &(tutti_svm_targets){rows, NULL, 0, 100}, weight, sum);
    tutti_svm_tile_sum(tile, &(tutti_svm_targets){rows, NULL, 100, NROWS}, weight, sum);
    row->kept_sum(&(tutti_svm_kept){line, n, 0, 33}, weight, kept);
    row->kept_sum(&(tutti_svm_kept){line, n, 33, NROWS}, weight, kept);
    assert_memory_equal(sum, kept, sizeof sum);
    for (int64_t t = 0; t < NROWS; t++) {
        long double want = (long double)t;
        for (int c = 0; c < n; c++) want += (long double)weight[c] * (long double)number_at(row, line[c], t);
        assert_true(fabsl(want - (long double)sum[t]) < 1e-11L);
    }
    memcpy(sums, sum, sizeof sum);
    free(values);
}

static void sums_are_those_of_kept_values(void **state)
{
    (void)state;
    static const int32_t widths[] = {200, INT32_MAX};
    double first[NROWS], sums[NROWS];
    for (int w = 0; w < 2; w++)
        for (int k = 0; k < NKERNELS; k++)
            for (int n = 0; n <= 32; n += n < 3 ? 1 : 29) {
                scene s;
                open_random(&s, widths[w]);
                for (int f64 = 0; f64 < 2; f64++)
                    for (int r = NTILE_ROWS - 1, seen = 0; r >= 0; r--) { /* plain bits are their own, and last */
                        const tutti_svm_tile_row *row = row_at(r);
                        if (!row || is_f64(row) != f64) continue;
                        tutti_svm_tile *tile = open_tile(&s, row, &kernels[k], widths[w]);
                        compare_sums(&s, tile, n, seen ? sums : first);
                        if (seen++ && r / 2 != TUTTI_ISA_GENERIC) assert_memory_equal(first, sums, sizeof sums);
                        tutti_svm_tile_destroy(tile);
                    }
                close_scene(&s);
            }
}

static void chosen_rows_are_taken(void **state)
{
    (void)state;
    scene s;
    open_random(&s, INT32_MAX);
    static const int32_t sources[] = {9, 2, 140}, targets[] = {77, 9, 0, 140, 2};
    for (int r = 0; r < NTILE_ROWS; r++) {
        const tutti_svm_tile_row *row = row_at(r);
        if (!row) continue;
        tutti_svm_tile *tile = open_tile(&s, row, &kernels[4], INT32_MAX);
        double values[15], all[NROWS], weight[1] = {1}, sum[5] = {0};
        for (int c = 0; c < 3; c++) {
            tutti_svm_tile_fill(tile, &s.rows, NULL, sources[c], 1);
            tutti_svm_tile_values(tile, &(tutti_svm_targets){&s.rows, NULL, 0, NROWS}, all, NROWS);
            tutti_svm_tile_fill(tile, &s.rows, sources, 0, 3);
            tutti_svm_tile_values(tile, &(tutti_svm_targets){&s.rows, targets, 0, 5}, values, 5);
            for (int t = 0; t < 5; t++)
                assert_true(number_at(row, values, c * 5 + t) == number_at(row, all, targets[t]));
        }
        tutti_svm_tile_fill(tile, &s.rows, sources, 2, 1); /* which wins over first */
        tutti_svm_tile_sum(tile, &(tutti_svm_targets){&s.rows, targets, 1, 2}, weight, sum);
        assert_true(sum[0] == 0 && sum[1] == 1 && sum[2] == 0);
        tutti_svm_tile_destroy(tile);
    }
    close_scene(&s);
}

/* One feature; row 0 is empty, the others are multiples of `step`, whose squares are exact: so is the distance to row
 * 0. */
static void open_line(scene *s, int64_t n, double step)
{
    open_scene(s, n, 1);
    for (int64_t i = 0; i < n; i++) {
        if (i > 0) {
            s->data.index[i - 1] = 1;
            s->data.value[i - 1] = (double)i * step;
        }
        s->data.start[i + 1] = i;
    }
    s->data.width = 1;
}

static void compare_exponentials(const tutti_svm_tile_row *row, scene *s, double gamma, double *worst)
{
    const tutti_svm_kernel kernel = {TUTTI_SVM_RBF, 0, gamma, 0};
    const double least = is_f64(row) ? 0x1p-1022 : 0x1p-126;
    const int bits = is_f64(row) ? 53 : 24;
    tutti_svm_tile *tile = open_tile(s, row, &kernel, 1);
    double *values = tutti_alloc((size_t)s->data.nrows * sizeof *values);
    tutti_svm_tile_fill(tile, &s->rows, NULL, 0, 1);
    tutti_svm_tile_values(tile, &(tutti_svm_targets){&s->rows, NULL, 0, s->data.nrows}, values, s->data.nrows);
    for (int64_t i = 0; i < s->data.nrows; i++) {
        const double distance = i ? s->data.value[i - 1] * s->data.value[i - 1] : 0, e = number_at(row, values, i);
        const long double want = expl((long double)-gamma * (long double)distance);
        if (want < (long double)least) {
            assert_true(e == 0 || e == least);
            continue;
        }
        int exponent;
        frexpl(want, &exponent);
        const double off = (double)(fabsl((long double)e - want) / ldexpl(1, exponent - bits));
        if (off > *worst) *worst = off;
    }
    assert_true(number_at(row, values, 0) == 1);
    free(values);
    tutti_svm_tile_destroy(tile);
}

static void exponentials_are_right_down_to_zero(void **state)
{
    (void)state;
    scene s[2];
    open_line(&s[0], 4096, 0x1p-8);        /* distances up to 256 */
    open_line(&s[1], 60000, 0x1.000cp-11); /* up to 858, 33 significant bits and more */
    for (int r = 0; r < NTILE_ROWS; r++) {
        const tutti_svm_tile_row *row = row_at(r);
        if (!row) continue;
        double worst = 0;
        for (double gamma = 1; gamma > 1e-6; gamma /= 2) compare_exponentials(row, &s[is_f64(row)], gamma, &worst);
        print_message("svm_tile %s %s: e^x within %.3f ulp\n", is_f64(row) ? "f64" : "f32", tutti_isa_name(r / 2),
                      worst);
        assert_true(worst < (r / 2 == TUTTI_ISA_GENERIC ? 1.25 : 1.0));
    }
    close_scene(&s[0]);
    close_scene(&s[1]);
}

static void what_is_no_number_stays_none(void **state)
{
    (void)state;
    scene s;
    open_line(&s, 3, 1);
    s.data.value[1] = (double)NAN;
    for (int r = 0; r < NTILE_ROWS; r++)
        for (int k = 0; k < NKERNELS && row_at(r); k++) {
            const tutti_svm_tile_row *row = row_at(r);
            if (kernels[k].type == TUTTI_SVM_POLY && kernels[k].degree == 0) continue;
            tutti_svm_tile *tile = open_tile(&s, row, &kernels[k], 1);
            double values[2], weight[1] = {1}, sum[3] = {0};
            tutti_svm_tile_fill(tile, &s.rows, NULL, 1, 1);
            tutti_svm_tile_values(tile, &(tutti_svm_targets){&s.rows, NULL, 2, 3},
                                  (char *)values - (is_f64(row) ? 16 : 8), 1);
            assert_true(isnan(number_at(row, values, 0)));
            tutti_svm_tile_sum(tile, &(tutti_svm_targets){&s.rows, NULL, 1, 3}, weight, sum);
            assert_true(!isnan(sum[1]) && isnan(sum[2]));
            tutti_svm_tile_destroy(tile);
        }
    close_scene(&s);
}

static void a_precomputed_matrix_is_looked_up(void **state)
{
    (void)state;
    scene s;
    open_scene(&s, 4, 4);
    for (int i = 0; i < 2; i++) { /* 0:number 1:.. 2:.. */
        for (int e = 0; e < 3; e++) {
            s.data.index[3 * i + e] = e;
            s.data.value[3 * i + e] = e ? 10 * (i + 1) + e : i + 1;
        }
        s.data.start[i + 1] = 3 * (i + 1);
    }
    for (int i = 0; i < 2; i++) { /* {number: 1} */
        s.data.index[6 + i] = i + 1;
        s.data.value[6 + i] = 1;
        s.data.start[3 + i] = 7 + i;
    }
    for (int r = 0; r < NTILE_ROWS; r++) {
        const tutti_svm_tile_row *row = row_at(r);
        if (!row) continue;
        tutti_svm_tile *tile = open_tile(&s, row, &kernels[7], 2);
        double values[8];
        tutti_svm_tile_fill(tile, &s.rows, NULL, 0, 2);
        tutti_svm_tile_values(tile, &(tutti_svm_targets){&s.rows, NULL, 2, 4}, (char *)values - (is_f64(row) ? 16 : 8),
                              2);
        for (int i = 0; i < 4; i++) assert_true(number_at(row, values, i) == 10 * (i / 2 + 1) + i % 2 + 1);
        for (int i = 0; i < 2; i++) assert_true(tutti_svm_tile_diagonal(tile, &s.rows, i) == 11 * (i + 1));
        tutti_svm_tile_destroy(tile);
    }
    close_scene(&s);
}

static void squares_are_those_of_the_rows(void **state)
{
    (void)state;
    scene s;
    open_random(&s, 200);
    const tutti_svm_kernel *rbf = &kernels[4];
    double *square = TUTTI_ARENA_NEW(&s.arena, double, NROWS);
    float *value32 = TUTTI_ARENA_NEW(&s.arena, float, NROWS *MOST);
    for (int f64 = 0; f64 < 2; f64++) {
        tutti_svm_tile *tile;
        assert_int_equal(tutti_svm_tile_create(rbf, f64 ? TUTTI_SVM_F64 : TUTTI_SVM_F32, 200, &tile, NULL), TUTTI_OK);
        assert_ptr_equal(tile->row, row_at(2 * (int)tutti_isa_here() + f64));
        measure(&s, tile->row);
        tutti_svm_rows_measure(&s.data, square, f64 ? NULL : value32);
        assert_memory_equal(square, s.square, NROWS * sizeof *square);
        tutti_svm_tile_destroy(tile);
    }
    assert_memory_equal(value32, s.value32, (size_t)s.data.start[NROWS] * sizeof *value32);
    close_scene(&s);
}

static void f64_is_chosen_where_f32_would_cost_accuracy(void **state)
{
    (void)state;
    const tutti_svm_kernel rbf = {TUTTI_SVM_RBF, 0, 0.1, 0}, linear = {TUTTI_SVM_LINEAR, 0, 0, 0},
                           poly = {TUTTI_SVM_POLY, 3, 1, 0}, sigmoid = {TUTTI_SVM_SIGMOID, 0, 0.1, 0};
    assert_int_equal(tutti_svm_precision_for(&rbf, 1e-3, 14), TUTTI_SVM_F32);
    assert_int_equal(tutti_svm_precision_for(&rbf, 1e-6, 14), TUTTI_SVM_F64);
    assert_int_equal(tutti_svm_precision_for(&rbf, 1e-3, 1e4), TUTTI_SVM_F64);
    assert_int_equal(tutti_svm_precision_for(&rbf, 1e-3, (double)NAN), TUTTI_SVM_F64);
    assert_int_equal(tutti_svm_precision_for(&linear, 1e-3, 1), TUTTI_SVM_F32);
    assert_int_equal(tutti_svm_precision_for(&linear, 1e-3, 100), TUTTI_SVM_F64);
    assert_int_equal(tutti_svm_precision_for(&poly, 1e-3, 0.5), TUTTI_SVM_F32);
    assert_int_equal(tutti_svm_precision_for(&poly, 1e-3, 10), TUTTI_SVM_F64);
    assert_int_equal(tutti_svm_precision_for(&sigmoid, 1e-3, 10), TUTTI_SVM_F32);
}

static void impossible_kernels_are_refused(void **state)
{
    (void)state;
    const tutti_svm_kernel bad[] = {{TUTTI_SVM_POLY, -1, 1, 0},
                                    {TUTTI_SVM_RBF, 3, -1, 0},
                                    {TUTTI_SVM_RBF, 3, (double)NAN, 0},
                                    {TUTTI_SVM_SIGMOID, 3, 1, (double)INFINITY}};
    for (int i = 0; i < 4; i++) {
        tutti_svm_tile *tile = NULL;
        tutti_failure err = {0};
        assert_int_equal(tutti_svm_tile_create(&bad[i], TUTTI_SVM_F32, 3, &tile, &err), TUTTI_ERR_USAGE);
        assert_non_null(strstr(err.text, "gamma"));
    }
    tutti_svm_tile_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_right_and_depend_on_their_two_rows_alone),
        cmocka_unit_test(fused_rows_give_equal_bits),
        cmocka_unit_test(sums_are_those_of_kept_values),
        cmocka_unit_test(chosen_rows_are_taken),
        cmocka_unit_test(exponentials_are_right_down_to_zero),
        cmocka_unit_test(what_is_no_number_stays_none),
        cmocka_unit_test(a_precomputed_matrix_is_looked_up),
        cmocka_unit_test(squares_are_those_of_the_rows),
        cmocka_unit_test(f64_is_chosen_where_f32_would_cost_accuracy),
        cmocka_unit_test(impossible_kernels_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

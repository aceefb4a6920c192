/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_tile_strips.c: what is walked in strips has the bits of what is not. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "svm/solve/svm_tile_impl.h"
#include "tensor/isa.h"

enum { NROWS = 150, WIDTH = 300 };

typedef struct {
    tutti_svm_data data;
    tutti_svm_rows rows;
    tutti_arena arena;
} scene;

/* Every fourth row is whole, every fourth lacks some features, every fourth its second half, and every fourth is empty
 * if `gaps`. */
static void open_scene(scene *s, bool gaps)
{
    memset(s, 0, sizeof *s);
    s->data.nrows = NROWS;
    s->data.width = WIDTH;
    s->data.start = TUTTI_ARENA_NEW(&s->arena, int64_t, NROWS + 1);
    s->data.index = TUTTI_ARENA_NEW(&s->arena, int32_t, NROWS * WIDTH);
    s->data.value = TUTTI_ARENA_NEW(&s->arena, double, NROWS *WIDTH);
    int64_t e = 0;
    for (int i = 0; i < NROWS; i++) {
        for (int f = 1; f <= WIDTH; f++) {
            const tutti_random4 r = tutti_random(3, TUTTI_STREAM_TEST, (uint64_t)i, (uint64_t)f);
            if ((i % 4 == 1 && r.word[1] % 5 == 0) || (i % 4 == 2 && f > WIDTH / 2) || (gaps && i % 4 == 3)) continue;
            s->data.index[e] = f;
            s->data.value[e++] = (double)tutti_random_unit(r.word[0]) - 0.5;
        }
        s->data.start[i + 1] = e;
    }
    double *square = TUTTI_ARENA_NEW(&s->arena, double, NROWS);
    float *value32 = TUTTI_ARENA_NEW(&s->arena, float, NROWS *WIDTH);
    tutti_svm_rows_measure(&s->data, square, value32);
    s->rows = (tutti_svm_rows){s->data.start, s->data.index, s->data.value, value32, square};
}

static void compare(const scene *s, const tutti_svm_tile_row *row, const tutti_svm_kernel *kernel)
{
    double *values[2], sum[2][NROWS] = {{0}}, weight[TUTTI_SVM_F32_LANES];
    tutti_svm_tile *tile;
    assert_int_equal(tutti_svm_tile_create(kernel, row->precision, WIDTH, &tile, NULL), TUTTI_OK);
    tile->row = row;
    for (int c = 0; c < row->lanes; c++) weight[c] = c % 3 - 0.75;
    tutti_svm_tile_fill(tile, &s->rows, NULL, 5, row->lanes);
    assert_true(tile->strips);
    for (int k = 0; k < 2; k++) {
        values[k] = tutti_alloc(TUTTI_SVM_F32_LANES * NROWS * sizeof(double));
        tile->strips = k == 0;
        tutti_svm_tile_values(tile, &(tutti_svm_targets){&s->rows, NULL, 1, NROWS}, values[k], NROWS);
        tutti_svm_tile_sum(tile, &(tutti_svm_targets){&s->rows, NULL, 0, NROWS - 3}, weight, sum[k]);
    }
    assert_memory_equal(values[0], values[1], TUTTI_SVM_F32_LANES * NROWS * sizeof(double));
    assert_memory_equal(sum[0], sum[1], sizeof sum[0]);
    assert_true(sum[0][0] != 0 && sum[0][NROWS - 4] != 0 && sum[0][NROWS - 3] == 0);
    free(values[0]);
    free(values[1]);
    tutti_svm_tile_destroy(tile);
}

static void strips_do_not_change_a_bit(void **state)
{
    (void)state;
    static const tutti_svm_kernel kernels[] = {{TUTTI_SVM_LINEAR, 0, 0, 0},
                                               {TUTTI_SVM_POLY, 2, 0.1, 1},
                                               {TUTTI_SVM_RBF, 0, 0.01, 0},
                                               {TUTTI_SVM_SIGMOID, 0, 0.1, 0}};
    for (int gaps = 0; gaps < 2; gaps++) {
        scene s;
        open_scene(&s, gaps);
        for (int isa = 0; isa < TUTTI_NISAS; isa++)
            for (int k = 0; k < 4 && tutti_isa_runs(isa); k++) {
                compare(&s, tutti_svm_tile_f32_rows[isa], &kernels[k]);
                compare(&s, tutti_svm_tile_f64_rows[isa], &kernels[k]);
            }
        tutti_arena_release(&s.arena);
    }
}

static void sparse_sources_are_not_walked_in_strips(void **state)
{
    (void)state;
    scene s;
    open_scene(&s, true);
    const tutti_svm_kernel linear = {TUTTI_SVM_LINEAR, 0, 0, 0};
    const int32_t sources[] = {2, 3, 7, 11}; /* half a row and three empty ones */
    tutti_svm_tile *tile;
    assert_int_equal(tutti_svm_tile_create(&linear, TUTTI_SVM_F32, WIDTH, &tile, NULL), TUTTI_OK);
    tutti_svm_tile_fill(tile, &s.rows, sources, 0, 4);
    assert_false(tile->strips);
    tutti_svm_tile_destroy(tile);
    tutti_arena_release(&s.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strips_do_not_change_a_bit),
        cmocka_unit_test(sparse_sources_are_not_walked_in_strips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_transpose.c: matrices of every type turned over: each number where it belongs, whatever the sides, nothing
 * beyond the end, the same on any number of threads. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/gemm/transpose.h"
#include "tensor/convert.h"

enum { BEYOND = 64 };

/* Whole numbers below 256, which all types hold. */
static float number_at(int64_t i)
{
    return (float)(i * 37 % 251 - 125);
}

static void *filled(tutti_dtype type, int64_t n)
{
    float *wide = malloc((size_t)n * sizeof *wide);
    void *memory = malloc((size_t)(n + BEYOND) * sizeof *wide);
    for (int64_t i = 0; i < n; i++) wide[i] = number_at(i);
    tutti_convert_from_f32(type, wide, memory, n);
    free(wide);
    return memory;
}

static void turn(tutti_dtype from_type, tutti_dtype to_type, int64_t rows, int64_t columns, int nthreads)
{
    const int64_t n = rows * columns;
    const size_t each = tutti_dtype_bytes(to_type);
    void *from = filled(from_type, n);
    char *to = malloc((size_t)n * each + BEYOND);
    float *wide = malloc((size_t)n * sizeof *wide);
    memset(to + (size_t)n * each, 0x5a, BEYOND);
    tutti_transpose(&(tutti_transposition){from_type, to_type, from, to, rows, columns}, nthreads);
    tutti_convert_to_f32(to_type, to, wide, n);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) assert_true(wide[c * rows + r] == number_at(r * columns + c));
    for (int i = 0; i < BEYOND; i++) assert_int_equal(to[(size_t)n * each + (size_t)i], 0x5a);
    free(from), free(to), free(wide);
}

static void every_number_comes_to_its_place(void **state)
{
    (void)state;
    static const int64_t sides[][2] = {{1, 1},   {1, 300},   {300, 1},   {16, 16},  {17, 15},
                                       {5, 129}, {128, 256}, {129, 257}, {300, 520}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        turn(TUTTI_F32, TUTTI_F32, sides[i][0], sides[i][1], 1);
        turn(TUTTI_F32, TUTTI_F32, sides[i][0], sides[i][1], 3);
        turn(TUTTI_BF16, TUTTI_BF16, sides[i][0], sides[i][1], 1);
        turn(TUTTI_F32, TUTTI_BF16, sides[i][0], sides[i][1], 2);
        turn(TUTTI_F16, TUTTI_F32, sides[i][0], sides[i][1], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_comes_to_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

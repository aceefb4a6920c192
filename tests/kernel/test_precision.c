/* SPDX-License-Identifier: Apache-2.0 */
/* test_precision.c: values of 16 bits: their copies into row-major f32 and back, their sums. */
#include "kernel/kernel_cases.h"

static const tutti_dtype dtypes[] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};
enum { NDTYPES = 3 };

/* (2, 5, 3) with dim 1 in blocks of 4: 2 * 2 blocks * 3 * 4 elements, of which 6 * 3 are padding. */
static const tutti_layout blocks = {
    .stride = {24, 12, 4}, .padded = {2, 8, 3}, .ninner = 1, .inner_block = {4}, .inner_dim = {1}};
enum { COUNT = 30, ROOM = 48 };

static tutti_value blocked(tutti_dtype type)
{
    return (tutti_value){
        .shape = {3, {2, 5, 3}}, .layout = &blocks, .bytes = ROOM * tutti_dtype_bytes(type), .dtype = type};
}

static void values_of_any_dtype_go_to_row_major_and_back(void **state)
{
    (void)state;
    for (int t = 0; t < NDTYPES; t++)
        for (int in_blocks = 0; in_blocks < 2; in_blocks++) {
            tutti_value v = blocked(dtypes[t]);
            if (!in_blocks) v.layout = NULL, v.bytes = COUNT * tutti_dtype_bytes(dtypes[t]);
            float plain[COUNT], back[COUNT];
            unsigned char memory[ROOM * sizeof(float) + 1];
            memset(memory, 0x5a, sizeof memory);
            for (int i = 0; i < COUNT; i++) plain[i] = (float)(i - 7) / 4; /* exact in 8 bits of mantissa */
            tutti_value_from_plain(&v, plain, memory);
            assert_int_equal(memory[v.bytes], 0x5a);
            tutti_value_to_plain(&v, memory, back);
            assert_memory_equal(back, plain, sizeof plain);
        }
}

static void values_of_any_dtype_are_added_padding_included(void **state)
{
    (void)state;
    for (int t = 0; t < NDTYPES; t++) {
        const tutti_value v = blocked(dtypes[t]);
        float a[COUNT], b[COUNT], sum[COUNT];
        float x[ROOM + 1], y[ROOM + 1]; /* memory for the widest dtype */
        for (int i = 0; i < COUNT; i++) a[i] = (float)i, b[i] = (float)(3 * i % 11);
        tutti_value_from_plain(&v, a, x);
        tutti_value_from_plain(&v, b, y);
        y[ROOM] = -1;
        tutti_value_sum(&v, (const void *const[]){y, x}, 2, y);
        tutti_value_to_plain(&v, y, sum);
        for (int i = 0; i < COUNT; i++) assert_true(sum[i] == a[i] + b[i]);
        assert_true(y[ROOM] == -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_any_dtype_go_to_row_major_and_back),
        cmocka_unit_test(values_of_any_dtype_are_added_padding_included),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_library_product.c: a handler of the program never runs while the library's product has moved the stack. */
#include "stack_watch.h"

#include <stdlib.h>

#include "base/clock.h"
#include "kernel/library/library_product.h"

enum { SIDE = 256 };

static void a_signal_never_meets_a_stack_that_the_product_has_moved(void **state)
{
    (void)state;
    if (!tutti_library_multiplies()) skip();
    float *a = calloc(3 * SIDE * SIDE, sizeof *a);
    const tutti_library_product product = {.m = SIDE,
                                           .n = SIDE,
                                           .k = SIDE,
                                           .a = a,
                                           .b = a + SIDE * SIDE,
                                           .c = a + 2 * SIDE * SIDE,
                                           .b_turned = true,
                                           .nthreads = 1};
    assert_non_null(a);
    tutti_library_multiply(&product); /* what the first call generates is not looked at */
    stack_watch_begin();
    for (const double begin = tutti_clock_s(); tutti_clock_s() < begin + 0.3;) tutti_library_multiply(&product);
    stack_watch_end();
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_never_meets_a_stack_that_the_product_has_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_pages.c: large memory is zeroed, lies at a boundary of huge pages and is all there; what cannot be had is
 * refused. */
#include "testing.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/host/pages.h"

static void pages_of_any_size_are_zeroed_and_aligned(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4096, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 5 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *p = tutti_pages_take(sizes[i]);
        assert_non_null(p);
        assert_true((uintptr_t)p % (sizes[i] < 2 << 20 ? 4096 : 2 << 20) == 0);
        for (size_t b = 0; b < sizes[i]; b += 509) assert_int_equal(p[b], 0);
        memset(p, 1, sizes[i]);
        tutti_pages_give_back(p, sizes[i]);
    }
    tutti_pages_give_back(NULL, 7);
}

/* Pages that this process holds in memory. */
static long resident_pages(void)
{
    long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &size, &resident), 2);
    fclose(f);
    return resident;
}

static void small_pieces_do_not_cost_a_huge_page_each(void **state)
{
    (void)state;
    enum { PIECES = 200 };
    void *pieces[PIECES];
    const long before = resident_pages();
    for (int i = 0; i < PIECES; i++) pieces[i] = tutti_pages_take(1000);
    assert_in_range(resident_pages() - before, 0, 4 * PIECES);
    for (int i = 0; i < PIECES; i++) tutti_pages_give_back(pieces[i], 1000);
}

static void more_than_there_can_be_is_refused(void **state)
{
    (void)state;
    assert_null(tutti_pages_take((size_t)1 << 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_any_size_are_zeroed_and_aligned),
        cmocka_unit_test(small_pieces_do_not_cost_a_huge_page_each),
        cmocka_unit_test(more_than_there_can_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

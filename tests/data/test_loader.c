/* SPDX-License-Identifier: Apache-2.0 */
/* The loader: ranks' shares add up to the batch, a resumed run sees the same batches, and it can end at any time. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"

enum { SAMPLES = 203, BATCH = 20, FLOATS = 28 * 28 };

static int open_digits(void **state)
{
    const tutti_dataset_config config = {.set = "digits", .seed = 4, .train_samples = SAMPLES};
    tutti_dataset *d = NULL;
    int rc = (int)tutti_dataset_open(&config, TUTTI_SPLIT_TRAIN, &d, NULL);
    *state = d;
    return rc;
}

static int close_digits(void **state)
{
    tutti_dataset_destroy(*state);
    return 0;
}

static tutti_loader *loader_of(const tutti_dataset *d, int64_t first, int64_t n, int64_t first_step, int64_t end_step)
{
    const tutti_loader_config config = {
        .data = d, .seed = 9, .batch = BATCH, .first = first, .n = n, .first_step = first_step, .end_step = end_step};
    tutti_loader *l = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_loader_create(&config, &l, &err), TUTTI_OK);
    return l;
}

static const tutti_batch *next(tutti_loader *l)
{
    const tutti_batch *b = NULL;
    tutti_failure err = {0};
    if (tutti_loader_next(l, &b, &err)) fail_msg("%s", err.text);
    return b;
}

static void steps_come_in_order_with_the_samples_of_the_permutation(void **state)
{
    const tutti_dataset *d = *state;
    const int64_t per_epoch = SAMPLES / BATCH;
    tutti_loader *l = loader_of(d, 0, BATCH, 0, 25);
    tutti_reader *r = tutti_reader_create(d);
    float want[FLOATS];
    int32_t label;
    for (int64_t step = 0; step < 25; step++) {
        const tutti_batch *b = next(l);
        assert_int_equal(b->step, step);
        for (int64_t i = 0; i < BATCH; i++) {
            int64_t position = step % per_epoch * BATCH + i;
            const int64_t epoch = step / per_epoch, index = tutti_sample_order_at(9, epoch, SAMPLES, true, position);
            assert_int_equal(tutti_reader_read(r, (tutti_pass){9, epoch}, index, want, &label, NULL), TUTTI_OK);
            assert_int_equal(b->labels[i], label);
            assert_memory_equal(b->samples + i * FLOATS, want, sizeof want);
        }
    }
    assert_null(next(l));
    tutti_reader_destroy(r);
    tutti_loader_destroy(l);
}

static void shares_of_the_ranks_make_up_the_batch(void **state)
{
    tutti_loader *whole = loader_of(*state, 0, BATCH, 0, 12), *share[3];
    const int64_t first[] = {0, 6, 13, BATCH};
    for (int r = 0; r < 3; r++) share[r] = loader_of(*state, first[r], first[r + 1] - first[r], 0, 12);
    for (int step = 0; step < 12; step++) {
        const tutti_batch *all = next(whole);
        for (int r = 0; r < 3; r++) {
            const tutti_batch *part = next(share[r]);
            size_t n = (size_t)(first[r + 1] - first[r]);
            assert_memory_equal(part->samples, all->samples + first[r] * FLOATS, n * FLOATS * sizeof(float));
            assert_memory_equal(part->labels, all->labels + first[r], n * sizeof(int32_t));
        }
    }
    tutti_loader_destroy(whole);
    for (int r = 0; r < 3; r++) tutti_loader_destroy(share[r]);
}

static void a_run_resumed_at_a_step_sees_that_steps_batch(void **state)
{
    tutti_loader *from_start = loader_of(*state, 5, 7, 0, 30), *resumed = loader_of(*state, 5, 7, 17, 30);
    for (int step = 0; step < 17; step++) next(from_start);
    for (int step = 17; step < 30; step++) {
        const tutti_batch *a = next(from_start), *b = next(resumed);
        assert_int_equal(a->step, b->step);
        assert_memory_equal(a->samples, b->samples, 7 * FLOATS * sizeof(float));
    }
    tutti_loader_destroy(from_start);
    tutti_loader_destroy(resumed);
}

static void contents_do_not_depend_on_the_number_of_threads(void **state)
{
    tutti_loader *one = loader_of(*state, 3, 11, 4, 40);
    const int threads[] = {2, 3, 7, 16};
    for (int k = 0; k < 4; k++) {
        const tutti_loader_config config = {.data = *state,
                                            .seed = 9,
                                            .batch = BATCH,
                                            .first = 3,
                                            .n = 11,
                                            .first_step = 4 + 9 * k,
                                            .end_step = 13 + 9 * k,
                                            .nthreads = threads[k]};
        tutti_loader *many = NULL;
        assert_int_equal(tutti_loader_create(&config, &many, NULL), TUTTI_OK);
        for (int i = 0; i < 9; i++) {
            const tutti_batch *a = next(one), *b = next(many);
            assert_int_equal(a->step, b->step);
            assert_memory_equal(a->samples, b->samples, 11 * FLOATS * sizeof(float));
            assert_memory_equal(a->labels, b->labels, 11 * sizeof(int32_t));
        }
        assert_null(next(many));
        tutti_loader_destroy(many);
    }
    tutti_loader_destroy(one);
}

static void a_loader_ends_at_any_time(void **state)
{
    for (int taken = 0; taken < 12; taken++) {
        tutti_loader *l = loader_of(*state, 0, BATCH, 0, 1000000);
        for (int i = 0; i < taken; i++) assert_int_equal(next(l)->step, i);
        tutti_loader_destroy(l);
    }
    tutti_loader_destroy(loader_of(*state, 0, BATCH, 8, 8)); /* nothing to load */
    tutti_loader_destroy(NULL);
}

static void a_batch_larger_than_the_set_is_refused_with_both_numbers(void **state)
{
    tutti_loader *l = NULL;
    tutti_failure err = {0};
    const tutti_loader_config large = {.data = *state, .batch = 500, .n = 500, .end_step = 1};
    const tutti_loader_config outside = {.data = *state, .batch = BATCH, .first = 15, .n = 6, .end_step = 1};
    assert_int_equal(tutti_loader_create(&large, &l, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "500"));
    assert_non_null(strstr(err.text, "203"));
    assert_int_equal(tutti_loader_create(&outside, &l, &err), TUTTI_ERR_USAGE);
    assert_null(l);
}

/* Somebody deals shares of batches: in any order, each is what a rank of so many would get; and at their end there are
 * no more. */
static int64_t deal(void *arg)
{
    static const int64_t shares[] = {3, 0, 41, 7, 6, -1};
    return shares[(*(int *)arg)++];
}

static void shares_that_are_dealt_are_those_of_ranks(void **state)
{
    static const int64_t want[] = {3, 0, 41, 7, 6};
    const tutti_dataset *d = *state;
    for (int nthreads = 1; nthreads <= 3; nthreads++) {
        int at = 0;
        const tutti_loader_config config = {
            .data = d, .seed = 9, .batch = BATCH, .n = BATCH / 4, .nthreads = nthreads, .deal = deal, .deal_arg = &at};
        tutti_loader *l = NULL;
        assert_int_equal(tutti_loader_create(&config, &l, NULL), TUTTI_OK);
        for (int i = 0; i < 5; i++) {
            const int64_t step = want[i] / 4, first = want[i] % 4 * (BATCH / 4);
            tutti_loader *one = loader_of(d, first, BATCH / 4, step, step + 1);
            const tutti_batch *have = next(l), *same = next(one);
            assert_int_equal(have->step, step);
            assert_int_equal(have->first, first);
            assert_memory_equal(have->labels, same->labels, BATCH / 4 * sizeof *same->labels);
            assert_memory_equal(have->samples, same->samples, BATCH / 4 * FLOATS * sizeof *same->samples);
            tutti_loader_destroy(one);
        }
        assert_null(next(l));
        assert_null(next(l));
        tutti_loader_destroy(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_come_in_order_with_the_samples_of_the_permutation),
        cmocka_unit_test(shares_of_the_ranks_make_up_the_batch),
        cmocka_unit_test(a_run_resumed_at_a_step_sees_that_steps_batch),
        cmocka_unit_test(contents_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(a_loader_ends_at_any_time),
        cmocka_unit_test(a_batch_larger_than_the_set_is_refused_with_both_numbers),
        cmocka_unit_test(shares_that_are_dealt_are_those_of_ranks),
    };
    return cmocka_run_group_tests(tests, open_digits, close_digits);
}

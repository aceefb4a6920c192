/* SPDX-License-Identifier: Apache-2.0 */
/* test_fake_cuda_faults.c: the fake card says what kernels do wrong: each fault in a process of its own, which ends
 * with 97 and one line; beside it what is right and looks alike. */
#include "testing.h"

#include "fake_faults.h"

static void no_barrier(void)
{
    uint64_t a = floats(64), out = card_new(&card, 256);
    run("no_barrier", 1, 64, 0, (void *[]){&a, &out});
}
static void a_missing_barrier_is_reported(void **state)
{
    (void)state;
    must_report(no_barrier, "no_barrier: block (0,0,0) thread (", "race on shared memory");
}

static void in_a_warp(int syncs)
{
    uint64_t a = floats(32), out = card_new(&card, 128);
    run("in_a_warp", 1, 32, 0, (void *[]){&a, &out, &syncs});
}
static void without_sync(void)
{
    in_a_warp(0);
}
static void with_sync(void)
{
    in_a_warp(1);
}
static void a_missing_barrier_of_a_warp_is_reported(void **state)
{
    (void)state;
    must_report(without_sync, "in_a_warp", "race on shared memory");
    must_be_silent(with_sync);
}

static void wrong_bound(void)
{
    uint64_t a = floats(40), out = card_new(&card, 160);
    int n = 40;
    run("wrong_bound", 1, 64, 0, (void *[]){&a, &out, &n});
}
static void a_wrong_bound_is_reported(void **state)
{
    (void)state;
    must_report(wrong_bound, "thread (40,0,0)", "out of bounds: writes");
}

static void unwritten_shared(void)
{
    uint64_t out = card_new(&card, 128);
    run("unwritten_shared", 1, 32, 0, (void *[]){&out});
}
static void a_read_of_unwritten_shared_memory_is_reported(void **state)
{
    (void)state;
    must_report(unwritten_shared, "thread (5,0,0)", "that no thread of the block has written");
}

static void swapped_index(void)
{
    uint64_t a = floats(6 * 40), out = card_new(&card, 6 * 40 * 4);
    int rows = 6, columns = 40;
    run("swapped_index", 1, 64, 0, (void *[]){&a, &out, &rows, &columns});
}
static void a_swapped_index_is_reported(void **state)
{
    (void)state;
    must_report(swapped_index, "swapped_index", "out of bounds: reads");
}

static void beyond_shared(void)
{
    uint64_t out = card_new(&card, 128);
    int at = 1;
    run("beyond_shared", 1, 32, 128, (void *[]){&out, &at});
}
static void an_address_beyond_shared_memory_is_reported(void **state)
{
    (void)state;
    must_report(beyond_shared, "thread (31,0,0)", "of 128 bytes of shared memory");
}

static void some_wait(void)
{
    uint64_t out = card_new(&card, 256);
    int n = 40;
    run("some_wait", 1, 64, 0, (void *[]){&out, &n});
}
static void all_wait(void)
{
    uint64_t out = card_new(&card, 256);
    int n = 64;
    run("some_wait", 1, 64, 0, (void *[]){&out, &n});
}
static void a_divergent_barrier_is_reported(void **state)
{
    (void)state;
    must_report(some_wait, "some_wait", "a divergent barrier: 40 threads");
    must_be_silent(all_wait);
}

static void misaligned(void)
{
    uint64_t a = floats(64), out = card_new(&card, 64);
    run("misaligned", 1, 16, 0, (void *[]){&a, &out});
}
static void a_misaligned_access_is_reported(void **state)
{
    (void)state;
    must_report(misaligned, "misaligned", "reads 16 bytes");
}

static void missing_lane(void)
{
    uint64_t out = card_new(&card, 128);
    run("missing_lane", 1, 32, 0, (void *[]){&out});
}
static void a_shuffle_from_a_lane_that_takes_no_part_is_reported(void **state)
{
    (void)state;
    must_report(missing_lane, "a shuffle reads lane 20", "takes no part");
}

static void trapped(void)
{
    int n = 3;
    run("ended_by_a_trap", 1, 32, 0, (void *[]){&n});
}
static void a_trap_is_reported(void **state)
{
    (void)state;
    must_report(trapped, "thread (3,0,0)", "a trap");
}

static void unwritten_global(void)
{
    uint64_t a = card_new(&card, 128), out = card_new(&card, 128);
    run("slow_copy", 1, 32, 0, (void *[]){&a, &out});
}
static void a_read_of_unwritten_device_memory_is_reported(void **state)
{
    (void)state;
    must_report(unwritten_global, "slow_copy", "reads global memory that nobody has written");
}

/* ---- races between blocks ---- */

static void between_blocks(void)
{
    setenv("TUTTI_FAKE_CUDA_RACES", "1", 1);
    uint64_t v = floats(8);
    run("between_blocks", 8, 32, 0, (void *[]){&v});
}
static void one_place(int same)
{
    setenv("TUTTI_FAKE_CUDA_RACES", "1", 1);
    uint64_t v = floats(1);
    run("one_place", 1, 64, 0, (void *[]){&v, &same});
}
static void different_values(void)
{
    one_place(0);
}
static void same_values(void)
{
    one_place(1);
}
static void last_block(void)
{
    setenv("TUTTI_FAKE_CUDA_RACES", "1", 1);
    uint64_t parts = card_new(&card, 32), tickets = card_new(&card, 4), out = card_new(&card, 4);
    card.cuMemsetD32Async(tickets, 0, 1, card.stream);
    run("last_block_sums", 8, 32, 0, (void *[]){&parts, &tickets, &out});
    float sum;
    card_get(&card, &sum, out, 4);
    assert_true(sum == 28);
}
static void races_on_device_memory_are_reported(void **state)
{
    (void)state;
    must_report(between_blocks, "race on global memory", "another block");
    must_report(different_values, "race on global memory", "another thread");
    must_be_silent(same_values);
    must_be_silent(last_block);
}

int main(void)
{
    ptx = compiled();
    if (!ptx) print_message("skipped: no NVRTC here (say where it is by TUTTI_CUDA_PATH)\n");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_barrier_is_reported),
        cmocka_unit_test(a_missing_barrier_of_a_warp_is_reported),
        cmocka_unit_test(a_wrong_bound_is_reported),
        cmocka_unit_test(a_read_of_unwritten_shared_memory_is_reported),
        cmocka_unit_test(a_swapped_index_is_reported),
        cmocka_unit_test(an_address_beyond_shared_memory_is_reported),
        cmocka_unit_test(a_divergent_barrier_is_reported),
        cmocka_unit_test(a_misaligned_access_is_reported),
        cmocka_unit_test(a_shuffle_from_a_lane_that_takes_no_part_is_reported),
        cmocka_unit_test(a_trap_is_reported),
        cmocka_unit_test(a_read_of_unwritten_device_memory_is_reported),
        cmocka_unit_test(races_on_device_memory_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

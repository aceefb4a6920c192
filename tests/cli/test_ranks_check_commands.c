/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_check_commands.c: `tutti coll check` as a user types it: output, exit codes, words. */
#include "testing.h"

#include "command_line.h"

static void what_is_right_is_measured(void **state)
{
    (void)state;
    expect("coll check direct --ranks 5 --wire mapped", 0,
           "direct allreduce of 5 ranks (mapped): right for every vector length");
    expect("coll check direct --ranks 5 --wire mapped", 0, "synchronises  2 one after the other");
    expect("coll check ring --ranks 4 --interpret 20", 0, "20 random interleavings, all right");
    expect("coll check halving-doubling --ranks 8 --slots 8", 0, "sums          canonical");
}

static void hosts_hold_all_ranks_and_each_at_least_one(void **state)
{
    (void)state;
    expect("coll check ring --ranks 4 --hosts 3,1", 0, "ring allreduce of 4 ranks (mixed): right");
    expect("coll check ring --ranks 4 --hosts 2,2,0", 2, "0 is outside 1 .. 4");
    expect("coll check ring --ranks 4 --hosts 2,2,1", 2, "--hosts '2,2,1': ranks of each host, 4 together");
    expect("coll check ring --ranks 4 --hosts 2,1", 2, "are wanted, such as 2,2");
    expect("coll check ring --ranks 4 --hosts 2,x", 2, "'x' is not a whole number");
    expect("coll check ring --ranks 4 --hosts 2,2,", 2, "--hosts");
    expect("coll check ring --ranks 4 --hosts 1,1,1,1,1", 2, "--hosts: more than 4 numbers");
    expect("coll check ring --ranks 4 --hosts 4 --wire mapped", 2, "give one");
}

static void what_is_wrong_ends_with_a_counter_example(void **state)
{
    (void)state;
    expect("coll check tests/must_fail/sched_deadlock.sched", 1, "(a cycle of 2)");
    expect("coll check tests/must_fail/sched_one_bank.sched", 1,
           "race on rank 1's s0: invocation 1, rank 1 step 0 (copy in -> s0)");
}

static void what_cannot_be_checked_is_refused(void **state)
{
    (void)state;
    expect("coll check", 2, "one file or algorithm is wanted");
    expect("coll check direct", 2, "--ranks");
    expect("coll check rink --ranks 4", 2, "ring");
    expect("coll check tests/must_fail/job_alias.yaml", 3, "job_alias.yaml");
    expect("coll check tests/must_fail/sched_deadlock.sched --ranks 8", 2, "--ranks is for algorithms");
    expect("coll check tests/must_fail/sched_deadlock.sched --root 1", 2, "--root is for algorithms");
    expect("coll check tests/must_fail/msccl_twice.xml --in-place", 2, "msccl_twice.xml says that itself");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_is_measured),
        cmocka_unit_test(hosts_hold_all_ranks_and_each_at_least_one),
        cmocka_unit_test(what_is_wrong_ends_with_a_counter_example),
        cmocka_unit_test(what_cannot_be_checked_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_early_threads.c: updates beside the backward pass, over the wire tcp: ranks are threads of this program, and
 * each has the wire's thread beside it, which updates. Weights must be those of late updates over shared memory, to the
 * bit. */
#include "testing.h"

#include "base/file.h"
#include "played_job.h"
#include "training/run/keep/checkpoint_impl.h"

enum { NSTEPS = 20 };

#define JOB(exchange)                                                                                                  \
    "model: mlp\ndata: {set: digits, train_samples: 240, test_samples: 40}\nbatch: 12\nsteps: 20\n"                    \
    "parallel: {layers: []}\noptimiser: {rule: adamw, lr: 0.05}\ncheckpoint: {every_steps: 9, keep: 9}\n"              \
    "exchange: {bucket_bytes: 0, " exchange "}\n"

static uint64_t bits_of(const char *text, int nranks, bool wired, const char *dir)
{
    played_job j = {.text = text, .nranks = nranks, .wired = wired, .dir = dir};
    play_job(&j);
    for (int r = 0; r < nranks; r++) {
        if (j.err[r].status) fail_msg("rank %d: %s", r, j.err[r].text);
        assert_int_equal(j.result[r].step, NSTEPS);
        assert_true(j.result[r].weights_hash == j.result[0].weights_hash);
    }
    return j.result[0].weights_hash;
}

static void early_updates_over_a_wire_give_the_bits_of_late_ones(void **state)
{
    (void)state;
    for (int nranks = 2; nranks <= 3; nranks++) {
        const uint64_t want = bits_of(JOB("update_when: late"), nranks, false, NULL);
        assert_true(bits_of(JOB("update_when: late"), nranks, true, NULL) == want);
        assert_true(bits_of(JOB("update_when: early"), nranks, true, NULL) == want);
    }
}

static void drop_checkpoint(const char *dir, int step)
{
    char *path = tutti_checkpoint_path("%s/checkpoints/step_%09d", dir, step);
    assert_int_equal(tutti_file_remove_tree(path, NULL), TUTTI_OK);
    free(path);
}

/* A checkpoint waits for all that is updated beside; what goes on from it has the rule's states too. */
static void early_updates_go_on_from_a_checkpoint_to_the_bit(void **state)
{
    (void)state;
    char dir[] = "/tmp/tutti-early-XXXXXX";
    assert_non_null(mkdtemp(dir));
    const uint64_t want = bits_of(JOB("update_when: early"), 2, true, dir);
    drop_checkpoint(dir, 20);
    drop_checkpoint(dir, 18);
    assert_true(bits_of(JOB("update_when: early"), 2, true, dir) == want); /* from step 9 */
    assert_true(bits_of(JOB("update_when: late"), 2, true, NULL) == want);
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(early_updates_over_a_wire_give_the_bits_of_late_ones),
        cmocka_unit_test(early_updates_go_on_from_a_checkpoint_to_the_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

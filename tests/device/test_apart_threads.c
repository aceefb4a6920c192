/* SPDX-License-Identifier: Apache-2.0 */
/* test_apart_threads.c: jobs on a device whose memory this host cannot follow and whose work runs when it is waited for
 * (apart_device.h) end with the bits that they have on the cpu: no loop of the host goes around the room, and nobody
 * sees what is not done yet. A rank alone is held to every access; while one of several ranks, which are threads, is
 * inside a call of its device, the others' pages are open too. */
#include "testing.h"

#include "apart_device.h"
#include "training/run/played_weights.h"

typedef struct {
    apart_memory memory;
    apart_queue queue[PLAYED_MAX_RANKS];
    apart_device device[PLAYED_MAX_RANKS];
} apart_ranks;

static void apart_begin(apart_ranks *a, played_job *j)
{
    *a = (apart_ranks){.memory.n = 0};
    pthread_mutex_init(&a->memory.lock, NULL);
    for (int r = 0; r < j->nranks; r++) {
        apart_make(&a->memory, &a->queue[r], &a->device[r]);
        j->device[r] = &a->device[r].row;
    }
}

/* Nothing is left, in no queue either, and there was something in them to wait for. */
static void apart_end(const apart_ranks *a, const played_job *j)
{
    for (int r = 0; r < j->nranks; r++) {
        if (j->err[r].status) fail_msg("rank %d: %s", r, j->err[r].text);
        assert_true(a->queue[r].ndone == a->queue[r].nlaunched);
        assert_true(a->queue[r].most_waiting > 1);
    }
    assert_int_equal(a->memory.n, 0);
    assert_int_equal(a->memory.nopen, 0);
}

static tutti_train_result play_apart(played_job j)
{
    apart_ranks *a = malloc(sizeof *a);
    apart_begin(a, &j);
    play_job(&j);
    apart_end(a, &j);
    for (int r = 1; r < j.nranks; r++) assert_true(j.result[r].weights_hash == j.result[0].weights_hash);
    free(a);
    return j.result[0];
}

static void expect_same_of(played_job j)
{
    const tutti_train_result got = play_apart(j);
    play_job(&j);
    if (j.err[0].status) fail_msg("%s", j.err[0].text);
    if (got.weights_hash != j.result[0].weights_hash) fail_msg("%d ranks: other weights: %s", j.nranks, j.text);
    assert_true(got.loss == j.result[0].loss && got.accuracy == j.result[0].accuracy);
}

static void expect_same(const char *text, int nranks, bool wired)
{
    expect_same_of((played_job){.text = text, .nranks = nranks, .wired = wired});
}

#define JOB_OF(model, rule, more)                                                                                      \
    "model: " model "\ndata: {set: digits, train_samples: 100, test_samples: 120}\nbatch: 12\nsteps: 4\n"              \
    "optimiser: {lr: 0.05, " rule "}\n" more
#define JOB(rule, more) JOB_OF("mlp", rule, more)

static void lenet_trains_on_one_rank(void **state)
{
    (void)state;
    expect_same(JOB_OF("lenet", "rule: momentum", ""), 1, false);
    expect_same_of((played_job){.text = JOB_OF("lenet", "rule: momentum", ""), .nranks = 1, .fast = true});
    expect_same_of((played_job){
        .text = JOB_OF("lenet", "rule: momentum", "precision: bf16\nthreads: 2\n"), .nranks = 1, .fast = true});
}

static void lenet_trains_on_two_ranks(void **state)
{
    (void)state;
    expect_same(JOB_OF("lenet", "rule: momentum", ""), 2, false);
}

/* Norms, verdicts, folds, conversions, running statistics, gradients of many readers. */
static void what_a_step_may_have_beside_is_on_the_device_too(void **state)
{
    (void)state;
    static const char *const jobs[] = {
        JOB("rule: adamw, clip_norm: 0.5", "accumulate: 2\n"),
        JOB("rule: lars, trust: 0.5, weight_decay: 0.01", "reduction: canonical\nslots: 4\n"),
        JOB("rule: lamb", "exchange: {update: replicated, bucket_bytes: 0}\n"),
        JOB("rule: momentum", "exchange: {precision: bf16}\n"),
        JOB("rule: momentum", "exchange: {update_when: early, bucket_bytes: 0, order: priority}\n"),
        JOB("rule: momentum", "precision: f16\nloss_scale: dynamic\n"),
        JOB_OF("convnet-bn", "rule: nesterov", "accumulate: 2\n"),
        JOB("rule: momentum, groups: {freeze: {fc1: true}}", ""),
    };
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        for (int nranks = 1; nranks <= 2; nranks++) expect_same(jobs[i], nranks, false);
}

static void centres_move_on_the_device(void **state)
{
    (void)state;
    static const char *const methods[] = {"method: {name: local-sgd, period: 2}\n", "method: {name: sync-easgd1}\n",
                                          "method: {name: diloco, period: 2}\n"};
    char text[600];
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        snprintf(text, sizeof text, JOB("rule: momentum", "%s"), methods[i]);
        expect_same(text, 2, false);
    }
}

/* One rank where workers come as they like, so that there is one order. */
static void visits_change_the_centre_on_the_device(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *method;
        int nranks;
    } jobs[] = {{"sgd", "{name: easgd, period: 2}", 2},
                {"sgd", "async-easgd", 1},
                {"momentum", "async-msgd", 1},
                {"sgd", "hogwild-sgd", 1}};
    char text[600];
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        snprintf(text, sizeof text, JOB("rule: %s", "method: %s\n"), jobs[i].rule, jobs[i].method);
        expect_same(text, jobs[i].nranks, false);
    }
}

static void ranks_share_layers_on_the_device(void **state)
{
    (void)state;
    expect_same(JOB("rule: momentum", "parallel: {layers: [fc1]}\n"), 2, false);
}

static void other_hosts_are_served(void **state)
{
    (void)state;
    expect_same(JOB("rule: momentum", ""), 2, true);
    expect_same(JOB("rule: momentum", "exchange: {update_when: early, bucket_bytes: 0}\n"), 2, true);
}

static void checkpoints_of_one_row_are_gone_on_from_by_the_other(void **state)
{
    (void)state;
    static const char text[] = JOB("rule: adamw", "checkpoint: {every_steps: 2, keep: 9}\n");
    const uint64_t want = bits_of(text, 1);
    for (int apart_first = 0; apart_first < 2; apart_first++) {
        char dir[] = "/tmp/tutti-apart-XXXXXX", *last;
        assert_non_null(mkdtemp(dir));
        if (apart_first)
            assert_true(play_apart((played_job){.text = text, .nranks = 1, .dir = dir}).weights_hash == want);
        else
            assert_true(play(text, 1, dir, NULL).weights_hash == want);
        last = tutti_checkpoint_path("%s/checkpoints/step_%09d", dir, 4);
        assert_int_equal(tutti_file_remove_tree(last, NULL), TUTTI_OK);
        if (apart_first)
            assert_true(play(text, 1, dir, NULL).weights_hash == want);
        else
            assert_true(play_apart((played_job){.text = text, .nranks = 1, .dir = dir}).weights_hash == want);
        assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
        free(last);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lenet_trains_on_one_rank),
        cmocka_unit_test(lenet_trains_on_two_ranks),
        cmocka_unit_test(what_a_step_may_have_beside_is_on_the_device_too),
        cmocka_unit_test(centres_move_on_the_device),
        cmocka_unit_test(visits_change_the_centre_on_the_device),
        cmocka_unit_test(ranks_share_layers_on_the_device),
        cmocka_unit_test(other_hosts_are_served),
        cmocka_unit_test(checkpoints_of_one_row_are_gone_on_from_by_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

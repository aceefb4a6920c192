/* SPDX-License-Identifier: Apache-2.0 */
/* test_proof_threads.c: the trainer plays no plan that is not proved: wrong methods are refused before the first step,
 * with a counter-example. A proof is kept in the run's folder, and believed for its plan alone. Ranks are threads of
 * this program. */
#include "testing.h"

#include <unistd.h>

#include "../planned.h"
#include "base/file.h"
#include "base/hash.h"
#include "played_job.h"

#define JOB                                                                                                            \
    "model: mlp\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 60\nsteps: 4\n"                     \
    "optimiser: {rule: momentum, lr: 0.05}\nexchange: {algorithm: rule, buckets: size, bucket_bytes: 0, order: "       \
    "ready, update: sharded, update_when: late}\n"
#define LONGER JOB "checkpoint: {every_steps: 2}\n"

/* ---- methods with a mistake: what the right one lists, and then something else ---- */

static tutti_status declare_right(tutti_plan_builder *b, tutti_failure *err)
{
    return tutti_method_find("sync-sgd")->emitter->declare(b, err);
}

static tutti_loop *list_right(tutti_plan_builder *b)
{
    tutti_method_find("sync-sgd")->emitter->list(b);
    return &b->loops[TUTTI_EACH_STEP];
}

static void leave_out(tutti_loop *l, tutti_action_kind kind, int exchange)
{
    for (int i = l->nactions - 1; i >= 0; i--)
        if (l->actions[i].exchange == exchange && l->actions[i].kind == kind) remove_action(l, i);
}

/* Every rank updates bucket 1 from its own gradients. */
static void list_without_a_sum(tutti_plan_builder *b)
{
    tutti_loop *l = list_right(b);
    const int sum = exchange_of(b->plan, "gradients", 1);
    leave_out(l, TUTTI_DO_START, sum);
    leave_out(l, TUTTI_DO_TELL, sum);
    leave_out(l, TUTTI_DO_WAIT, sum);
}

/* The next step reads weights that others still write. */
static void list_without_a_wait(tutti_plan_builder *b)
{
    leave_out(list_right(b), TUTTI_DO_WAIT, exchange_of(b->plan, "weights", 2));
}

/* Rank 1 updates what rank 0 owns. */
static void list_a_slice_of_another(tutti_plan_builder *b)
{
    tutti_loop *l = list_right(b);
    tutti_action *a = &l->actions[find_on_bucket(l, TUTTI_DO_APPLY, 0)];
    if (b->rank == 1) tutti_plan_own_slice(b->plan, 0, 0, &a->first, &a->count);
}

/* Rank 0's gradients are summed before its kernels have written them. */
static void list_ready_too_early(tutti_plan_builder *b)
{
    tutti_loop *l = list_right(b);
    if (b->rank == 0) move_action(l, find_action(l, TUTTI_DO_START, exchange_of(b->plan, "gradients", 3), NULL), 0);
}

/* The first kernel that reads bucket 3 does so before it has come. */
static void list_a_wait_too_late(tutti_plan_builder *b)
{
    tutti_loop *l = list_right(b);
    const int wait = find_action(l, TUTTI_DO_WAIT, exchange_of(b->plan, "weights", 3), NULL);
    int reader = wait;
    while (l->actions[reader].kind != TUTTI_DO_KERNEL) reader++;
    move_action(l, wait, reader);
}

static const struct {
    tutti_emitter method;
    const char *words[3]; /* of the counter-example */
} wrong[] = {
    {{declare_right, list_without_a_sum},
     {"'s result, elements 1280 to", "(fc2.bias)", "lacks the contribution of rank"}},
    {{declare_right, list_without_a_wait}, {"rank 0", "weights of bucket 2", "before it was waited for"}},
    {{declare_right, list_a_slice_of_another}, {"race on rank", "weights, elements", "(fc2.weight)"}},
    {{declare_right, list_ready_too_early}, {"race on rank 0's gradients", "elements", "(fc1.bias)"}},
    {{declare_right, list_a_wait_too_late}, {"race on rank", "weights, elements", "fc1"}},
};
enum { NWRONG = sizeof wrong / sizeof *wrong };

static void wrong_methods_are_refused_before_the_first_step(void **state)
{
    (void)state;
    for (int i = 0; i < NWRONG; i++)
        for (int nranks = 2; nranks <= 3; nranks++) {
            played_job j = {.text = JOB, .nranks = nranks, .method = &wrong[i].method, .wired = nranks == 3};
            play_job(&j);
            for (int r = 0; r < nranks; r++) {
                assert_int_equal(j.err[r].status, TUTTI_ERR_USAGE);
                assert_true(!r == !!j.err[r].text[0]); /* it is said once */
                assert_int_equal(j.result[r].step, 0);
            }
            for (int w = 0; w < 3; w++) assert_non_null(strstr(j.err[0].text, wrong[i].words[w]));
        }
}

/* ---- ranks with other plans ---- */

static void forget_on_rank_1(void *arg, const tutti_session *s)
{
    tutti_loop *l = &s->parts.plan->loops[TUTTI_EACH_STEP];
    const tutti_action_kind *kind = arg;
    if (s->parts.plan->config.rank == 1) leave_out(l, *kind, exchange_of(s->parts.plan, "weights", 1));
}

static void move_on_rank_1(void *arg, const tutti_session *s)
{
    (void)arg;
    if (s->parts.plan->config.rank == 1) s->parts.plan->buckets[0].turn++;
}

static void a_rank_that_plays_another_plan_than_was_proved_is_refused(void **state)
{
    (void)state;
    tutti_action_kind kinds[] = {TUTTI_DO_WAIT, TUTTI_DO_TELL, TUTTI_DO_START};
    for (int i = 0; i < 4; i++) {
        played_job j = {.text = JOB,
                        .nranks = 2,
                        .on_open = i < 3 ? forget_on_rank_1 : move_on_rank_1,
                        .on_open_arg = i < 3 ? &kinds[i] : NULL};
        play_job(&j);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(j.err[r].status, TUTTI_ERR_RENDEZVOUS);
            assert_non_null(strstr(j.err[r].text, "the ranks play different plans"));
            assert_non_null(strstr(j.err[r].text, i < 3 ? "the loops of rank 1" : "the plan of rank 1"));
        }
    }
}

/* ---- what is kept ---- */

typedef struct {
    char words[80], note[300];
} heard;

static void hear(void *arg, const tutti_train_event *e)
{
    heard *h = arg;
    if (e->kind == TUTTI_TRAIN_PROVED) snprintf(h->words, sizeof h->words, "%s", e->text);
    if (e->kind == TUTTI_TRAIN_NOTE) snprintf(h->note, sizeof h->note, "%s", e->text);
}

static heard play_in(const char *dir, int nranks, const char *text, bool fresh)
{
    heard h = {.words = ""};
    played_job j = {.text = text, .nranks = nranks, .dir = dir, .fresh = fresh, .on_event = hear, .on_event_arg = &h};
    play_job(&j);
    for (int r = 0; r < nranks; r++)
        if (j.err[r].status) fail_msg("rank %d: %s", r, j.err[r].text);
    return h;
}

static void expect(const heard h, const char *begin)
{
    if (strncmp(h.words, begin, strlen(begin)) != 0) fail_msg("expected '%s': %s", begin, h.words);
}

static char *read_proof(const char *dir)
{
    char path[96], *text;
    size_t nbytes;
    tutti_failure err = {0};
    snprintf(path, sizeof path, "%s/plan.proof", dir);
    if (tutti_file_read(path, 4096, TUTTI_ERR_DATA, &text, &nbytes, &err)) fail_msg("%s", err.text);
    return text;
}

static void write_proof(const char *dir, const char *text)
{
    char path[96];
    snprintf(path, sizeof path, "%s/plan.proof", dir);
    assert_int_equal(tutti_file_write_atomic(path, text, strlen(text), NULL), TUTTI_OK);
}

/* With a seal that fits: by somebody who knows how it is made. */
static void forge(char *text, const char *key)
{
    char *digit = strstr(text, key) + strlen(key), *seal = strstr(text, "sealed: "), hash[17];
    *digit = *digit == '7' ? '8' : '7';
    tutti_hash_text(tutti_hash(text, (size_t)(seal - text)), hash);
    memcpy(seal + strlen("sealed: "), hash, 16);
}

static void a_proof_is_kept_and_believed_by_a_resumed_run(void **state)
{
    (void)state;
    char dir[] = "/tmp/tutti-proof-XXXXXX";
    assert_non_null(mkdtemp(dir));
    expect(play_in(dir, 2, LONGER, false), "plan: proved in ");
    char *first = read_proof(dir);
    expect(play_in(dir, 2, LONGER "log_every: 2\n", false), "plan: proved before, ");
    expect(play_in(dir, 2, LONGER, true), "plan: proved in "); /* --fresh believes nothing */
    expect(play_in(dir, 3, LONGER, false), "plan: proved in ");
    char *other = read_proof(dir);
    assert_string_not_equal(first, other);
    write_proof(dir, first); /* of two ranks */
    expect(play_in(dir, 3, LONGER, false), "plan: proved in ");
    expect(play_in(dir, 3, LONGER, false), "plan: proved before, ");
    free(first);
    free(other);
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
}

static void a_proof_that_was_changed_is_not_believed(void **state)
{
    (void)state;
    static const char *const keys[] = {"plan: ", "proved: ", "build: ", "ranks: "};
    char dir[] = "/tmp/tutti-proof-XXXXXX";
    assert_non_null(mkdtemp(dir));
    play_in(dir, 2, LONGER, false);
    char *right = read_proof(dir);
    const size_t length = strlen(right);
    for (size_t i = 0; i < 8; i++) {
        char *text = strdup(right);
        if (i < 4)
            forge(text, keys[i]);
        else if (i == 4)
            text[length / 2] ^= 1;
        else
            text[i == 5 ? 0 : i == 6 ? length - 1 : length / 3] = '\0'; /* empty, cut */
        write_proof(dir, text);
        free(text);
        expect(play_in(dir, 2, LONGER, false), "plan: proved in ");
        text = read_proof(dir);
        assert_string_equal(text, right);
        free(text);
    }
    expect(play_in(dir, 2, LONGER, false), "plan: proved before, ");
    free(right);
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
}

/* A link, a folder and a pipe stay as they are, and so does what they lead to; the run goes on. */
static void what_is_no_file_is_neither_believed_nor_written_through(void **state)
{
    (void)state;
    static const char *const things[] = {"ln -s precious plan.proof", "mkdir plan.proof", "mkfifo plan.proof"};
    for (int i = 0; i < 3; i++) {
        char dir[] = "/tmp/tutti-proof-XXXXXX", script[160];
        assert_non_null(mkdtemp(dir));
        snprintf(script, sizeof script, "cd %s && echo precious > precious && %s", dir, things[i]);
        assert_int_equal(system(script), 0);
        const heard h = play_in(dir, 2, LONGER, false);
        expect(h, "plan: proved in ");
        assert_non_null(strstr(h.note, "plan.proof: is not a regular file"));
        snprintf(script, sizeof script,
                 "cd %s && test ! -f plan.proof -o -L plan.proof && grep -q '^precious$' precious", dir);
        assert_int_equal(system(script), 0);
        assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
    }
}

/* What lies there is no reason to play it: a proof of the right method does not cover a wrong one. */
static void a_kept_proof_does_not_cover_another_method(void **state)
{
    (void)state;
    char dir[] = "/tmp/tutti-proof-XXXXXX", path[96];
    assert_non_null(mkdtemp(dir));
    play_in(dir, 2, LONGER, false);
    for (int i = 0; i < NWRONG; i++) {
        played_job j = {.text = LONGER, .nranks = 2, .method = &wrong[i].method, .dir = dir, .fresh = i % 2};
        play_job(&j);
        assert_int_equal(j.err[0].status, TUTTI_ERR_USAGE);
    }
    expect(play_in(dir, 2, LONGER, false), "plan: proved before, "); /* what lay there still does, --fresh or not */
    snprintf(path, sizeof path, "%s/checkpoints/step_000000004", dir);
    assert_true(tutti_file_is_folder(path));
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_methods_are_refused_before_the_first_step),
        cmocka_unit_test(a_rank_that_plays_another_plan_than_was_proved_is_refused),
        cmocka_unit_test(a_proof_is_kept_and_believed_by_a_resumed_run),
        cmocka_unit_test(a_proof_that_was_changed_is_not_believed),
        cmocka_unit_test(what_is_no_file_is_neither_believed_nor_written_through),
        cmocka_unit_test(a_kept_proof_does_not_cover_another_method),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_init_threads.c: runs that begin at weights from elsewhere: what they begin at, whatever the method, and that
 * with the rule's states they go on as if nothing had been between. Ranks are threads of this program. */
#include "testing.h"

#include "base/file.h"
#include "played_job.h"
#include "training/run/keep/checkpoint_impl.h"

/* Two samples on two ranks: their order, which a run that begins anew draws anew, cannot matter, as a + b is b + a. */
#define TWO "model: mlp\ndata: {set: digits, train_samples: 2, test_samples: 20}\nbatch: 2\neval_every_epochs: 0\n"
#define BY(rule, steps)                                                                                                \
    TWO "steps: " steps "\noptimiser: {rule: " rule ", lr: 0.01}\ncheckpoint: {every_steps: 5, keep: 9}\n"

typedef struct {
    char root[64], said[400], notes[400];
} places;

static int make_places(void **state)
{
    places *p = calloc(1, sizeof *p);
    strcpy(p->root, "/tmp/tutti_init_XXXXXX");
    assert_non_null(mkdtemp(p->root));
    *state = p;
    return 0;
}

static int drop_places(void **state)
{
    places *p = *state;
    assert_int_equal(tutti_file_remove_tree(p->root, NULL), TUTTI_OK);
    free(p);
    return 0;
}

static void listen_to(void *arg, const tutti_train_event *e)
{
    places *p = arg;
    if (e->kind == TUTTI_TRAIN_INIT) snprintf(p->said, sizeof p->said, "%s", e->text);
    if (e->kind == TUTTI_TRAIN_NOTE) snprintf(p->notes, sizeof p->notes, "%s", e->text);
}

/* out: below the root. keys: more lines of the job, in which $ is the root. */
static tutti_status try_job(places *p, const char *job, const char *keys, int nranks, const char *out,
                            tutti_train_result *result, tutti_failure *err)
{
    tutti_strbuf text = {0};
    char dir[128];
    snprintf(dir, sizeof dir, "%s/%s", p->root, out);
    tutti_strbuf_puts(&text, job);
    for (const char *at = keys; *at; at++) {
        if (*at == '$')
            tutti_strbuf_puts(&text, p->root);
        else
            tutti_strbuf_add(&text, at, 1);
    }
    p->said[0] = p->notes[0] = '\0';
    played_job j = {.text = text.text, .nranks = nranks, .dir = dir, .on_event = listen_to, .on_event_arg = p};
    play_job(&j);
    tutti_strbuf_release(&text);
    for (int r = 1; r < nranks && !j.err[0].status; r++)
        assert_true(j.result[r].weights_hash == j.result[0].weights_hash);
    *result = j.result[0];
    *err = j.err[0];
    return j.err[0].status;
}

static uint64_t bits_of(places *p, const char *job, const char *keys, int nranks, const char *out)
{
    tutti_train_result result;
    tutti_failure err;
    if (try_job(p, job, keys, nranks, out, &result, &err)) fail_msg("%s", err.text);
    return result.weights_hash;
}

static void refused(places *p, const char *job, const char *keys, const char *words)
{
    tutti_train_result result;
    tutti_failure err;
    assert_int_equal(try_job(p, job, keys, 2, "refused", &result, &err), TUTTI_ERR_USAGE);
    if (!strstr(err.text, words)) fail_msg("says '%s', not '%s'", err.text, words);
}

static void with_states_a_run_goes_on_to_the_bits_of_the_one_that_never_ended(void **state)
{
    places *p = *state;
    static const char *const ten[] = {BY("sgd", "10"), BY("momentum", "10"), BY("nesterov", "10"), BY("adamw", "10")},
                             *const five[] = {BY("sgd", "5"), BY("momentum", "5"), BY("nesterov", "5"),
                                              BY("adamw", "5")};
    for (int i = 0; i < 4; i++) {
        char whole[24], on[24], without[24], init[80], stateless[80];
        snprintf(whole, sizeof whole, "whole%d", i);
        snprintf(on, sizeof on, "on%d", i);
        snprintf(without, sizeof without, "without%d", i);
        snprintf(stateless, sizeof stateless, "init: $/whole%d/checkpoints/step_000000005\n", i);
        snprintf(init, sizeof init, "init: {from: $/whole%d/checkpoints/step_000000005, state: true}\n", i);
        const uint64_t want = bits_of(p, ten[i], "", 2, whole);
        const uint64_t stateless_bits = bits_of(p, five[i], stateless, 2, without);
        if (i == 0) { /* no states to lose */
            assert_true(stateless_bits == want);
            continue;
        }
        assert_true(stateless_bits != want);
        assert_true(bits_of(p, five[i], init, 2, on) == want);
        assert_non_null(strstr(p->said, "4 of 4 tensors loaded with their states, 0 fresh, 0 skipped"));
    }
}

/* Whoever resumes a run that began with states must know how many updates they had seen. */
static void a_run_that_began_with_states_resumes_to_its_bits(void **state)
{
    places *p = *state;
    const char *init = "init: {from: $/first, state: true}\n";
    char last[128];
    bits_of(p, BY("adamw", "7"), "", 2, "first");
    const uint64_t want = bits_of(p, BY("adamw", "8"), init, 2, "second");
    snprintf(last, sizeof last, "%s/second/checkpoints/step_000000008", p->root);
    assert_int_equal(tutti_file_remove_tree(last, NULL), TUTTI_OK);
    assert_true(bits_of(p, BY("adamw", "8"), init, 2, "second") == want);
    assert_non_null(strstr(p->notes, "goes on from its own checkpoint; "));
    assert_string_equal(p->said, "");
    /* and once more: 7 + 8 updates */
    const uint64_t whole = bits_of(p, BY("adamw", "20"), "", 2, "whole");
    assert_true(bits_of(p, BY("adamw", "5"), "init: {from: $/second, state: true}\n", 2, "third") == whole);
}

static void workers_of_a_local_method_all_begin_at_it(void **state)
{
    places *p = *state;
    const char *local = BY("momentum", "5") "method: {name: local-sgd, period: 5}\n";
    bits_of(p, BY("momentum", "5"), "", 2, "first");
    const uint64_t drawn = bits_of(p, local, "", 2, "drawn");
    const uint64_t begun = bits_of(p, local, "init: $/first\n", 2, "begun");
    assert_true(begun != drawn);
    assert_true(bits_of(p, local, "init: {from: $/first, state: true}\n", 2, "states") != begun);
    assert_non_null(strstr(p->said, "with their states"));
    bits_of(p, BY("momentum", "5"), "init: $/begun\n", 2, "back"); /* its mean */
    refused(p, BY("momentum", "5"), "init: {from: $/begun, state: true}\n", "holds each rank's own states");
}

static void what_has_no_states_or_others_is_refused(void **state)
{
    places *p = *state;
    bits_of(p, BY("sgd", "5"), "", 2, "sgd");
    bits_of(p, BY("adamw", "5"), "", 2, "adamw");
    refused(p, BY("sgd", "5"), "init: {from: $/adamw, state: true}\n", "this job's rule keeps no states");
    refused(p, BY("momentum", "5"), "init: {from: $/sgd, state: true}\n",
            "sgd/checkpoints/step_000000005 holds no states");
    refused(p, BY("momentum", "5"), "init: {from: $/adamw, state: true}\n", "holds exp_avg, exp_avg_sq");
    refused(p, BY("sgd", "5"), "init: {from: $/sgd/checkpoints/step_000000005/weights.safetensors, state: true}\n",
            "holds weights alone");
}

/* What is drawn all the same is what would have been drawn; what is loaded is what lay there. */
static void a_new_head_is_drawn_and_the_body_is_loaded(void **state)
{
    places *p = *state;
    char *path[2];
    float *values[2] = {0};
    const char *outs[] = {"body", "headed"};
    bits_of(p, BY("momentum", "5"), "", 1, "body");
    bits_of(p, TWO "steps: 1\noptimiser: {rule: sgd, lr: 1e-30}\n", "init: {from: $/body, skip: fc2}\n", 1, "headed");
    assert_non_null(
        strstr(p->said, "2 of 4 tensors loaded, 2 fresh (fc2.weight, fc2.bias), 2 skipped (fc2.bias, fc2.weight)"));
    for (int i = 0; i < 2; i++) {
        char dir[128], *bytes;
        size_t nbytes;
        tutti_safetensors *st;
        tutti_failure err = {0};
        snprintf(dir, sizeof dir, "%s/%s", p->root, outs[i]);
        assert_int_equal(tutti_checkpoint_newest(dir, &path[i], NULL, &err), TUTTI_OK);
        assert_int_equal(tutti_checkpoint_read_file(path[i], "weights.safetensors", NULL, &bytes, &nbytes, &err),
                         TUTTI_OK);
        assert_int_equal(tutti_safetensors_parse("w", bytes, nbytes, &st, &err), TUTTI_OK);
        const tutti_tensor_ref *body = tutti_safetensors_find(st, "fc1.weight"),
                               *head = tutti_safetensors_find(st, "fc2.weight");
        values[i] = malloc((128 * 784 + 1280) * sizeof(float));
        memcpy(values[i], body->data, 128 * 784 * sizeof(float));
        memcpy(values[i] + 128 * 784, head->data, 1280 * sizeof(float));
        tutti_safetensors_destroy(st);
        free(bytes);
        free(path[i]);
    }
    assert_memory_equal(values[0], values[1], 128 * 784 * sizeof(float));
    assert_memory_not_equal(values[0] + 128 * 784, values[1] + 128 * 784, 1280 * sizeof(float));
    free(values[0]);
    free(values[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(with_states_a_run_goes_on_to_the_bits_of_the_one_that_never_ended, make_places,
                                        drop_places),
        cmocka_unit_test_setup_teardown(a_run_that_began_with_states_resumes_to_its_bits, make_places, drop_places),
        cmocka_unit_test_setup_teardown(workers_of_a_local_method_all_begin_at_it, make_places, drop_places),
        cmocka_unit_test_setup_teardown(what_has_no_states_or_others_is_refused, make_places, drop_places),
        cmocka_unit_test_setup_teardown(a_new_head_is_drawn_and_the_body_is_loaded, make_places, drop_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

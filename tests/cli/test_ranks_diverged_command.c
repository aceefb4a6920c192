/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_diverged_command.c: a run whose loss, weights or scale are no good any more ends with words and a good
 * checkpoint, by whatever method it trains, and is called so by `tutti compare`; checkpoints by the clock. */
#include "testing.h"

#include <dirent.h>
#include <math.h>

#include "base/hash.h"
#include "cli/command_folder.h"
#include "training/run/train.h"

#define DATA "model: mlp\ndata: {set: digits, train_samples: 640, test_samples: 32}\nbatch: 32\nlog_every: 1000000\n"
static const char job[] = DATA "steps: 60\noptimiser: {rule: sgd, lr: 100000}\ncheckpoint: {every_steps: 1, keep: 2}\n";
static const char good[] = DATA "steps: 24\neval_every_epochs: 0\noptimiser: {rule: sgd, lr: 0.02}\n"
                                "checkpoint: {every_steps: 1000, keep: 1000}\n";
/* The rate grows until it is too large. */
static const char rising[] = DATA "epochs: 3\neval_every_epochs: 0\ncheckpoint: {every_steps: 1}\n"
                                  "optimiser: {rule: momentum, lr: 20000, warmup_epochs: 2.9, warmup_lr: 0}\n";
#define TRAIN "train $/job.yaml --quiet --fresh --out $/out "

static int make(void **state)
{
    const int problem = folder_make(state);
    if (problem) return problem;
    put("job.yaml", job), put("good.yaml", good), put("rising.yaml", rising);
    return 0;
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) n++;
    return n;
}

static int ncheckpoints(const char *out)
{
    char path[128];
    int n = 0;
    snprintf(path, sizeof path, "%s/%s/checkpoints", dir, out);
    DIR *d = opendir(path);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

static void test_f31_each_method_ends_with_1_and_says_why_once(void **state)
{
    static const char *const methods[] = {"sync-sgd", "local-sgd", "async-sgd", "easgd", "hogwild-sgd"};
    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char line[160];
        snprintf(line, sizeof line, TRAIN "--ranks %d --set method.name=%s", 2 + (int)i % 2, methods[i]);
        if (i % 2) strcat(line, " --set batch=30");
        char *text = says(line, 1, "the run has diverged");
        if (count(text, "the run has diverged") != 1) fail_msg("%s: %s", methods[i], text);
        assert_non_null(strstr(text, "optimiser.lr (100000 now"));
        free(text);
        if (ncheckpoints("out")) check("ckpt verify $/out", 0, "whole");
        char *lines = get("out/metrics.jsonl");
        assert_int_equal(count(lines, "\"ev\":\"diverged\""), 1);
        free(lines);
    }
}

/* The one right before the loss that is none is passed over where there is another. */
static void the_checkpoint_that_is_named_is_there_and_finite(void **state)
{
    static const char name[] = "the last good checkpoint is ";
    (void)state;
    for (int keep = 1; keep <= 3; keep++) {
        char line[160], verify[200];
        snprintf(line, sizeof line,
                 "train $/rising.yaml --quiet --fresh --out $/out --ranks %d --set checkpoint.keep=%d",
                 keep == 2 ? 2 : 1, keep);
        char *text = says(line, 1, name), *at = strstr(text, name) + strlen(name);
        const long step = strtol(strstr(text, "step ") + 5, NULL, 10),
                   named = strtol(strstr(at, "step_") + 5, NULL, 10);
        assert_int_equal(named, step - (keep == 1 ? 1 : 2));
        snprintf(verify, sizeof verify, "ckpt verify %.*s", (int)strcspn(at, ":"), at);
        check(verify, 0, "whole");
        check("ckpt verify $/out", 0, "whole");
        assert_int_equal(ncheckpoints("out"), keep);
        free(text);
    }
}

static void a_run_that_is_told_to_goes_on_and_keeps_what_is_good(void **state)
{
    static const char *const keys[] = {"", "--ranks 2", "--ranks 2 --set method.name=async-sgd",
                                       "--set optimiser.rule=momentum"};
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char line[200];
        snprintf(line, sizeof line, TRAIN "--set on_nan=continue %s", keys[i]);
        char *text = says(line, 0, "goes on (on_nan: continue)");
        assert_int_equal(count(text, "the run has diverged"), 1);
        assert_non_null(strstr(text, "step 60"));
        free(text);
        if (ncheckpoints("out")) check("ckpt verify $/out", 0, "whole");
    }
}

/* As an earlier version may have written it: the momentum of a checkpoint of a good run, of which one number becomes
 * another, under seals that fit. */
static void spoil(int step, float value)
{
    char folder[160], path[200], *bytes, *text;
    tutti_manifest m;
    size_t n;
    snprintf(folder, sizeof folder, "%s/out/checkpoints/step_%09d", dir, step);
    snprintf(path, sizeof path, "%s/momentum.safetensors", folder);
    assert_int_equal(tutti_file_read(path, 1 << 26, TUTTI_ERR_DATA, &bytes, &n, NULL), TUTTI_OK);
    memcpy(bytes + n - sizeof value, &value, sizeof value);
    assert_int_equal(tutti_file_write_atomic(path, bytes, n, NULL), TUTTI_OK);
    assert_int_equal(tutti_manifest_read(folder, &m, NULL), TUTTI_OK);
    for (int i = 0; i < m.nfiles; i++)
        if (!strcmp(m.files[i].name, "momentum.safetensors")) m.files[i].hash = tutti_hash(bytes, n);
    text = tutti_manifest_print(&m);
    snprintf(path, sizeof path, "%s/MANIFEST.json", folder);
    assert_int_equal(tutti_file_write_atomic(path, text, strlen(text), NULL), TUTTI_OK);
    free(text), free(bytes);
}

static void a_checkpoint_that_is_not_finite_is_shown_and_not_gone_on_with(void **state)
{
    static const float values[] = {NAN, INFINITY, -INFINITY};
    (void)state;
    check("train $/good.yaml --quiet --fresh --out $/out --set optimiser.rule=momentum --set checkpoint.every_steps=8",
          0, "weights ");
    for (int i = 0; i < 3; i++) {
        spoil(24, values[i]);
        check("ckpt verify $/out/checkpoints/step_000000024", 3, "momentum.safetensors: not finite: tensor 'fc");
        check(
            "train $/good.yaml --quiet --out $/out --set optimiser.rule=momentum --set checkpoint.every_steps=8 --set "
            "steps=32",
            3, "step_000000016 is the newest whose numbers are all finite");
    }
    check("ckpt verify $/out", 3, "1 of its checkpoints are not whole, or not finite");
    check("ckpt ls $/out", 0, "not finite");
    check("train $/good.yaml --quiet --out $/new --set optimiser.rule=momentum --init $/out --set init.state=true", 3,
          " of momentum holds NaN or infinite numbers");
    spoil(24, 0.5F);
    check("ckpt verify $/out", 0, "whole\n");
}

static void a_scale_that_cannot_be_lowered_ends_the_run(void **state)
{
    (void)state;
    check(TRAIN "--set precision=f16", 1, "gradients are not finite at loss scale 1, the smallest");
    check("train $/good.yaml --quiet --fresh --out $/out --ranks 2 --set exchange.precision=f16 --set data.std=1e-7 "
          "--set optimiser.lr=1e-12",
          1, "gradients are not finite at loss scale 1, the smallest");
    check(TRAIN "--ranks 2 --set exchange.precision=f16 --set loss_scale=1e12 --set optimiser.lr=0.01", 1,
          "at loss scale 1e+12, which is fixed, and the last 32 steps were skipped");
    check("train $/good.yaml --quiet --fresh --out $/out --set precision=f16", 0,
          "weights "); /* a scale that falls is none */
}

static void compare_says_at_which_step(void **state)
{
    (void)state;
    char *text = says("compare $/good.yaml --ranks 2 --out $/c --methods "
                      "sync-sgd,local-sgd:optimiser.lr=100000,async-sgd:optimiser.lr=100000",
                      0, "local-sgd:optimiser.lr=100000 seed 1: diverged at step ");
    assert_int_equal(count(text, "diverged at step "), 4);
    free(text);
    char *page = get("c/compare.html"), *table = get("c/compare.csv");
    assert_int_equal(count(table, ",diverged at step "), 2);
    assert_true(count(page, "diverged at step ") >= 4);
    free(page), free(table);
    text = says("compare $/good.yaml --ranks 2 --out $/c --methods sync-sgd,local-sgd:optimiser.lr=100000", 0,
                "done before");
    assert_int_equal(count(text, "done before"), 2);
    free(text);
}

/* The weights of its last line. */
static char *weights_of(const char *line, int *n)
{
    char *text = says(line, 0, "weights "), *hash = strndup(strstr(text, "weights ") + 8, 16);
    *n = ncheckpoints("out");
    free(text);
    return hash;
}

static void the_clock_saves_besides_and_changes_no_bit(void **state)
{
    static const char *const methods[] = {"diloco --set method.period=3", "easgd",
                                          "sync-sgd --set reduction=canonical --set slots=8"};
    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char line[256];
        int none, many;
        snprintf(line, sizeof line,
                 "train $/good.yaml --quiet --fresh --out $/out --ranks 2 --set method.name=%s --set "
                 "checkpoint.every_minutes=",
                 methods[i]);
        const size_t length = strlen(line);
        strcpy(line + length, "0");
        char *a = weights_of(line, &none);
        strcpy(line + length, "1e-9");
        char *b = weights_of(line, &many);
        assert_int_equal(none, 1); /* at the end */
        if (many < 20) fail_msg("%s: %d checkpoints", methods[i], many);
        assert_string_equal(a, b);
        free(a), free(b);
    }
    int nsaved = 0;
    for (int i = 0; i < 10 && nsaved < 2;
         i++) { /* rank 0 asks after a share of its own, of which it may have had none */
        check("train $/good.yaml --quiet --fresh --out $/out --ranks 2 --set method.name=async-sgd --set "
              "checkpoint.every_minutes=1e-9",
              0, "weights ");
        nsaved = ncheckpoints("out");
    }
    assert_true(nsaved > 1);
    check("train $/good.yaml --quiet --fresh --out $/out --ranks 2 --set method.name=async-sgd --set "
          "checkpoint.every_minutes=1e-9 --record $/order.json",
          0, "weights ");
    assert_int_equal(ncheckpoints("out"), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make, folder_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_f31_each_method_ends_with_1_and_says_why_once),
        CASE(the_checkpoint_that_is_named_is_there_and_finite),
        CASE(a_run_that_is_told_to_goes_on_and_keeps_what_is_good),
        CASE(a_checkpoint_that_is_not_finite_is_shown_and_not_gone_on_with),
        CASE(a_scale_that_cannot_be_lowered_ends_the_run),
        CASE(compare_says_at_which_step),
        CASE(the_clock_saves_besides_and_changes_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

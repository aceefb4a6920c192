/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_images.c: training on a folder of pictures: random crops, mirror images and replaced files are the same on
 * any number of ranks and threads; an unreadable file ends all ranks and is named. */
#include "testing.h"

#include "data/data_files.h"
#include "spawned_run.h"

static const char model[] = "name: tiny\ninput: [3, 16, 16]\nclasses: 2\nlayers:\n  - flatten\n  - dense: {units: 2}\n"
                            "  - softmax-cross-entropy\n";
static const char job[] = "model: ./tiny.yaml\ndata: {set: images, path: set, size: 16, on_bad_sample: skip}\n"
                          "batch: 8\nsteps: 12\nreduction: canonical\nslots: 4\nkernels: reference\n"
                          "optimiser: {rule: momentum, lr: 0.02}\n";

/* 24 training pictures, of which two cannot be read, and 12 to test on, one of them unreadable. */
static void set_put(const run_folder *f, char job_path[160])
{
    char path[160], top[160];
    snprintf(top, sizeof top, "%s/set", f->dir);
    assert_int_equal(mkdir(top, 0700), 0);
    data_images_put(top, 12);
    data_put(top, "train/a/11.png", "broken", 6);
    data_put(top, "train/b/3.png", "", 0);
    data_put(top, "test/a/0.png", "broken", 6);
    run_file(f, "tiny.yaml", model, path);
    run_file(f, "job.yaml", job, job_path);
}

static void crops_and_replacements_are_the_same_on_any_ranks_and_threads(void **state)
{
    const run_folder *f = *state;
    char path[160], words[512], want[17], have[17];
    set_put(f, path);
    for (int ranks = 1; ranks <= 4; ranks *= 2) {
        snprintf(words, sizeof words, "train %s --fresh --out %s/out --ranks %d --set data.threads=%d", path, f->dir,
                 ranks, ranks == 2 ? 3 : 1);
        run_to_end(f, "train", words, ranks == 1 ? want : have);
        if (ranks > 1) assert_string_equal(want, have);
        char *metrics = NULL, metrics_path[160];
        size_t n = 0;
        snprintf(metrics_path, sizeof metrics_path, "%s/out/metrics.jsonl", f->dir);
        assert_int_equal(tutti_file_read(metrics_path, 1 << 20, TUTTI_ERR_FAILED, &metrics, &n, NULL), TUTTI_OK);
        assert_non_null(strstr(metrics, "\"replaced\":1,"));                    /* of the test set, each time */
        assert_non_null(strstr(strstr(metrics, "\"end\""), "\"replaced\":8,")); /* four epochs, two each */
        free(metrics);
    }
}

static void test_f39_an_unreadable_file_ends_all_ranks_and_is_named(void **state)
{
    const run_folder *f = *state;
    /* where workers go on without each other it ends them all, too: they would meet it one after the other */
    static const char *const methods[] = {"sync-sgd", "async-sgd --set reduction=fast --set slots=0",
                                          "easgd --set reduction=fast --set slots=0"};
    char path[160], words[512];
    set_put(f, path);
    for (int i = 0; i < 3; i++) {
        snprintf(words, sizeof words,
                 "train %s --fresh --out %s/out --ranks 2 --set data.on_bad_sample=fail --set method.name=%s", path,
                 f->dir, methods[i]);
        const spawned_run r = run_start(f, "bad", words);
        const int rc = run_wait(&r);
        char *log = run_log(&r);
        if (rc != TUTTI_ERR_DATA) fail_msg("exit %d: %s", rc, log);
        if (!strstr(log, "set/train/a/11.png: byte 0: neither") && !strstr(log, "set/train/b/3.png: byte 0: neither"))
            fail_msg("no file is named: %s", log);
        free(log);
    }
}

/* One picture is cut short and one is taken away while others are read; files are read again in each epoch. */
static void test_f39_files_that_shrink_while_they_are_read_are_named(void **state)
{
    const run_folder *f = *state;
    char path[160], words[512], out[160], top[160], picture[200];
    snprintf(top, sizeof top, "%s/set", f->dir);
    assert_int_equal(mkdir(top, 0700), 0);
    data_images_put(top, 12);
    run_file(f, "tiny.yaml", model, path);
    run_file(f, "job.yaml", job, path);
    for (int i = 0; i < 2; i++) {
        snprintf(out, sizeof out, "%s/out%d", f->dir, i);
        snprintf(words, sizeof words, "train %s --out %s --ranks 2 --set data.on_bad_sample=fail --set steps=1000000",
                 path, out);
        const spawned_run r = run_start(f, "shrinks", words);
        assert_true(run_until_step(&r, out, 10));
        snprintf(picture, sizeof picture, "%s/train/b/%d.png", top, 4 + i);
        assert_int_equal(i ? unlink(picture) : truncate(picture, 40), 0);
        const int rc = run_wait(&r);
        char *log = run_log(&r);
        if (rc != TUTTI_ERR_DATA || !strstr(log, strstr(picture, "train/b/"))) fail_msg("exit %d: %s", rc, log);
        free(log);
        if (!i) assert_int_equal(unlink(picture), 0); /* the next run finds good pictures alone */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(crops_and_replacements_are_the_same_on_any_ranks_and_threads, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(test_f39_an_unreadable_file_ends_all_ranks_and_is_named, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(test_f39_files_that_shrink_while_they_are_read_are_named, run_folder_make,
                                        run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

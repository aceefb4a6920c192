/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint.c: a checkpoint that was torn, truncated at any byte or changed in any byte is never taken: the one
 * before is. */
#include "testing.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "training/run/keep/checkpoint.h"

static const tutti_param params[] = {
    {.name = "a.weight", .desc = {.shape = {2, {2, 2}}, .kind = TUTTI_PARAM_WEIGHT, .elements = 4}, .count = 4},
    {.name = "a.running_mean", .desc = {.shape = {1, {1}}, .kind = TUTTI_PARAM_STATISTIC, .elements = 1}, .count = 1},
    {.name = "@loss", .desc = {.shape = {1, {1}}, .kind = TUTTI_PARAM_STATISTIC, .elements = 1}, .count = 1},
};
#define MODEL "name: two\ninput: [2]\nclasses: 2\nlayers:\n  - dense: {units: 2}\n  - softmax-cross-entropy\n"
static const int64_t offsets[] = {16, 0, 32};

typedef struct {
    char dir[64];
    float weights[48], momentum[48], squares[48];
    tutti_checkpoint c;
} fixture;

static void save(fixture *f, int64_t step, int keep)
{
    tutti_failure err = {0};
    for (int i = 0; i < 48; i++) {
        f->weights[i] = (float)(step * 100 + i);
        f->momentum[i] = (float)-i;
        f->squares[i] = (float)(i * i);
    }
    f->c.step = step;
    f->c.cursor = step * 32;
    if (tutti_checkpoint_write(f->dir, &f->c, NULL, 0, keep, &err)) fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    strcpy(f->dir, "/tmp/tutti_checkpoint_XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->c = (tutti_checkpoint){.job_text = "model: mlp\n",
                              .model_text = MODEL,
                              .plan_hash = 77,
                              .scale = {.scale = 1024, .clean_steps = 9, .skipped = 3},
                              .nranks = 2,
                              .params = params,
                              .nparams = 3,
                              .offset = offsets,
                              .weights = f->weights,
                              .nstates = 2,
                              .state_name = {"momentum", "exp_avg_sq"},
                              .state = {f->momentum, f->squares}};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    assert_int_equal(tutti_file_remove_tree(f->dir, NULL), TUTTI_OK);
    free(f);
    return 0;
}

/* The step of the newest one, -1 if there is none; *told: whether another was passed over. */
static int64_t newest_step(const fixture *f, bool *told)
{
    char *path, *notes;
    tutti_failure err = {0};
    assert_int_equal(tutti_checkpoint_newest(f->dir, &path, &notes, &err), TUTTI_OK);
    const int64_t step = path ? strtoll(strrchr(path, '_') + 1, NULL, 10) : -1;
    *told = notes != NULL;
    free(path);
    free(notes);
    return step;
}

static void what_was_saved_is_read_back(void **state)
{
    fixture *f = *state;
    save(f, 7, 2);
    float weights[48] = {0}, momentum[48] = {0}, squares[48] = {0};
    char *path, *text;
    tutti_failure err = {0};
    tutti_checkpoint c = f->c;
    c.step = c.cursor = 0;
    c.scale = (tutti_loss_scale_state){0};
    c.weights = weights;
    c.state[0] = momentum, c.state[1] = squares;
    assert_int_equal(tutti_checkpoint_newest(f->dir, &path, NULL, &err), TUTTI_OK);
    if (tutti_checkpoint_read(path, &c, &err)) fail_msg("%s", err.text);
    assert_int_equal(c.step, 7);
    assert_int_equal(c.cursor, 224);
    assert_int_equal(c.plan_hash, 77);
    assert_true(c.scale.scale == 1024 && c.scale.clean_steps == 9 && c.scale.skipped == 3);
    assert_memory_equal(weights + 16, f->weights + 16, 16);
    assert_true(weights[0] == f->weights[0] && weights[32] == 0); /* the statistic, but no control number */
    assert_memory_equal(momentum + 16, f->momentum + 16, 16);
    assert_memory_equal(squares + 16, f->squares + 16, 16);
    assert_true(momentum[0] == 0 && squares[0] == 0); /* statistics have no states */
    assert_true(tutti_weights_hash(&c) == tutti_weights_hash(&f->c));
    assert_int_equal(tutti_checkpoint_read_text(path, "job.yaml", &text, &err), TUTTI_OK);
    assert_string_equal(text, "model: mlp\n");
    free(text);
    free(path);
}

static void only_the_newest_are_kept_and_stale_parts_go(void **state)
{
    fixture *f = *state;
    char stale[128];
    snprintf(stale, sizeof stale, "%s/checkpoints/step_000000009.tmp", f->dir);
    assert_int_equal(tutti_file_make_dir(stale, NULL), TUTTI_OK);
    for (int64_t step = 1; step <= 5; step++) save(f, step, 2);
    tutti_checkpoint_entry *entries;
    int n;
    assert_int_equal(tutti_checkpoint_list(f->dir, &entries, &n, NULL), TUTTI_OK);
    assert_int_equal(n, 2);
    assert_int_equal(entries[0].step, 5);
    assert_int_equal(entries[1].step, 4);
    tutti_checkpoint_list_release(entries, n);
    assert_int_not_equal(access(stale, F_OK), 0);
}

static void saving_a_step_again_leaves_one_whole_checkpoint(void **state)
{
    fixture *f = *state;
    bool told;
    save(f, 3, 2);
    save(f, 3, 2);
    assert_int_equal(newest_step(f, &told), 3);
    assert_false(told);
}

/* Calls `hurt` on each file of the newest checkpoint, checks that the older one is taken, and mends it. */
static void each_file(fixture *f, void (*hurt)(fixture *f, const char *path, const char *bytes, size_t n))
{
    char folder[128], path[512];
    int nfiles = 0;
    snprintf(folder, sizeof folder, "%s/checkpoints/step_000000002", f->dir);
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.') continue;
        char *bytes;
        size_t n;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &bytes, &n, NULL), TUTTI_OK);
        hurt(f, path, bytes, n);
        FILE *file = fopen(path, "w");
        assert_int_equal(fwrite(bytes, 1, n, file), n);
        fclose(file);
        free(bytes);
        nfiles++;
    }
    closedir(d);
    assert_int_equal(nfiles, 6);
}

static void expect_older(const fixture *f, const char *path, size_t at)
{
    bool told;
    const int64_t step = newest_step(f, &told);
    if (step != 1 || !told) fail_msg("%s, byte %zu: step %lld was taken", path, at, (long long)step);
}

static void truncate_everywhere(fixture *f, const char *path, const char *bytes, size_t n)
{
    (void)bytes;
    for (size_t length = n; length-- > 0;) {
        assert_int_equal(truncate(path, (off_t)length), 0);
        expect_older(f, path, length);
    }
    unlink(path);
    expect_older(f, path, 0);
}

static void flip_everywhere(fixture *f, const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "r+");
    setvbuf(file, NULL, _IONBF, 0);
    for (size_t i = 0; i < n; i++) {
        fseek(file, (long)i, SEEK_SET);
        fputc((unsigned char)bytes[i] ^ (1 << i % 8), file);
        expect_older(f, path, i);
        fseek(file, (long)i, SEEK_SET);
        fputc(bytes[i], file);
    }
    fclose(file);
}

static void test_f15_truncation_at_any_byte_falls_back_to_the_one_before(void **state)
{
    bool told;
    save(*state, 1, 3);
    save(*state, 2, 3);
    each_file(*state, truncate_everywhere);
    assert_int_equal(newest_step(*state, &told), 2); /* mended: it was the damage that told */
    assert_false(told);
}

static void test_f15_a_flipped_bit_in_any_byte_falls_back_to_the_one_before(void **state)
{
    save(*state, 1, 3);
    save(*state, 2, 3);
    each_file(*state, flip_everywhere);
}

/* ---- whoever seals what is wrong ---- */

typedef struct {
    const char *file, *bytes; /* replaced, and the manifest says so too */
    void (*change)(tutti_manifest *m);
    const char *words;
} forgery;

static void of_another_step(tutti_manifest *m)
{
    m->step = 9;
}

static void without_a_job(tutti_manifest *m)
{
    for (int i = 0; i < m->nfiles; i++)
        if (!strcmp(m->files[i].name, "job.yaml")) m->files[i] = m->files[--m->nfiles];
}

static void with_a_stranger(tutti_manifest *m)
{
    strcpy(m->files[0].name, "passwd");
}

static void with_a_path(tutti_manifest *m)
{
    strcpy(m->files[0].name, "../job.yaml");
}

static void with_a_twin(tutti_manifest *m)
{
    m->files[m->nfiles++] = m->files[0];
}

static void with_too_many_ranks(tutti_manifest *m)
{
    m->nranks = -1;
}

static void forge(const fixture *f, const forgery *g, char path[160])
{
    char file[240];
    tutti_manifest m;
    snprintf(path, 160, "%s/checkpoints/step_000000002", f->dir);
    assert_int_equal(tutti_manifest_read(path, &m, NULL), TUTTI_OK);
    for (int i = 0; i < m.nfiles && g->file; i++) {
        if (strcmp(m.files[i].name, g->file) != 0) continue;
        snprintf(file, sizeof file, "%s/%s", path, g->file);
        assert_int_equal(tutti_file_write_atomic(file, g->bytes, strlen(g->bytes), NULL), TUTTI_OK);
        m.files[i].nbytes = (int64_t)strlen(g->bytes);
        m.files[i].hash = tutti_hash(g->bytes, strlen(g->bytes));
    }
    if (g->change) g->change(&m);
    char *text = tutti_manifest_print(&m);
    snprintf(file, sizeof file, "%s/MANIFEST.json", path);
    assert_int_equal(tutti_file_write_atomic(file, text, strlen(text), NULL), TUTTI_OK);
    free(text);
}

static void test_f16_what_is_sealed_is_judged_by_what_is_in_it(void **state)
{
    static const forgery forgeries[] = {
        {"job.yaml", "a: [", NULL, "step_000000002: job.yaml: line 2: not YAML"},
        {"model.yaml", "name: no layers\n", NULL, "step_000000002: model.yaml: "},
        {"weights.safetensors", "weights", NULL, "7 bytes are no safetensors file"},
        {"momentum.safetensors", "\x10", NULL, "1 bytes are no safetensors file"},
        {NULL, NULL, of_another_step, "step_000000002: holds step 9"},
        {NULL, NULL, without_a_job, "the manifest names no job.yaml"},
        {NULL, NULL, with_a_stranger, "no manifest of ours"},
        {NULL, NULL, with_a_path, "no manifest of ours"},
        {NULL, NULL, with_a_twin, "no manifest of ours"},
        {NULL, NULL, with_too_many_ranks, "no manifest of ours"},
    };
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        fixture *f = *state;
        char path[160];
        bool told;
        tutti_failure err = {0};
        save(f, 1, 2);
        save(f, 2, 2);
        forge(f, &forgeries[i], path);
        assert_int_equal(tutti_checkpoint_verify(path, &err), TUTTI_ERR_DATA);
        if (err.status != TUTTI_ERR_DATA || !strstr(err.text, forgeries[i].words))
            fail_msg("forgery %zu: %d, %s", i, err.status, err.text);
        assert_int_equal(newest_step(f, &told), 1);
        assert_true(told);
        assert_int_equal(tutti_checkpoint_remove_all(f->dir, &err), TUTTI_OK);
    }
}

static void without_a_state(tutti_manifest *m)
{
    for (int i = 0; i < m->nfiles; i++)
        if (!strcmp(m->files[i].name, "exp_avg_sq.safetensors")) m->files[i] = m->files[--m->nfiles];
}

/* Which states there must be is known to who reads them. */
static void a_state_that_is_missing_is_named(void **state)
{
    fixture *f = *state;
    const forgery missing = {NULL, NULL, without_a_state, NULL};
    char path[160];
    tutti_failure err = {0};
    tutti_checkpoint c = f->c;
    save(f, 2, 2);
    forge(f, &missing, path);
    assert_int_equal(tutti_checkpoint_read(path, &c, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "the manifest names no exp_avg_sq.safetensors"));
    c.nstates = 1;
    assert_int_equal(tutti_checkpoint_read(path, &c, &err), TUTTI_OK);
}

static void test_f17_a_newer_format_is_named(void **state)
{
    fixture *f = *state;
    char path[160], seal[64], hash[17], *text;
    size_t n;
    tutti_failure err = {0};
    save(f, 1, 2);
    snprintf(path, sizeof path, "%s/checkpoints/step_000000001/MANIFEST.json", f->dir);
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &text, &n, &err), TUTTI_OK);
    strstr(text, "\"format\":1")[9] = '2';
    tutti_hash_text(tutti_hash(text, n - 30), hash);
    snprintf(seal, sizeof seal, ",\"sealed\":\"%s\"}\n", hash);
    memcpy(text + n - 30, seal, 30);
    assert_int_equal(tutti_file_write_atomic(path, text, n, &err), TUTTI_OK);
    *strrchr(path, '/') = '\0';
    assert_int_equal(tutti_checkpoint_verify(path, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "of format 2; this version of tutti reads format 1"));
    free(text);
}

static void test_f16_files_that_are_none_are_bad_data(void **state)
{
    static const char *const names[] = {"weights.safetensors", "job.yaml", "MANIFEST.json"};
    fixture *f = *state;
    for (int i = 0; i < 6; i++) {
        char dir[160], path[240];
        tutti_failure err = {0};
        save(f, 1, 2);
        snprintf(dir, sizeof dir, "%s/checkpoints/step_000000001", f->dir);
        snprintf(path, sizeof path, "%s/%s", dir, names[i / 2]);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(i % 2 ? mkdir(path, 0700) : mkfifo(path, 0600), 0);
        assert_int_equal(tutti_checkpoint_verify(dir, &err), TUTTI_ERR_DATA);
        assert_non_null(strstr(err.text, i % 2 ? "is a folder" : "is a named pipe"));
        assert_true(tutti_checkpoint_is(dir));
        assert_int_equal(tutti_checkpoint_remove_all(f->dir, &err), TUTTI_OK);
    }
}

/* A link to the very bytes that the manifest names is refused, too. */
static void test_f16_a_file_that_is_a_link_or_missing_is_refused(void **state)
{
    fixture *f = *state;
    char path[240], away[240];
    bool told;
    tutti_failure err = {0};
    for (int i = 0; i < 3; i++) {
        save(f, 1, 2);
        save(f, 2, 2);
        snprintf(path, sizeof path, "%s/checkpoints/step_000000002/weights.safetensors", f->dir);
        snprintf(away, sizeof away, "%s/away%d", f->dir, i);
        assert_int_equal(rename(path, away), 0);
        if (i < 2) assert_int_equal(symlink(i ? "/nowhere" : away, path), 0);
        *strrchr(path, '/') = '\0';
        assert_int_equal(tutti_checkpoint_verify(path, &err), TUTTI_ERR_DATA);
        if (!strstr(err.text, i < 2 ? "weights.safetensors: is a link" : "weights.safetensors"))
            fail_msg("%s", err.text);
        assert_true(newest_step(f, &told) == 1 && told);
    }
}

static void test_f17_tensors_of_another_model_are_named(void **state)
{
    fixture *f = *state;
    save(f, 1, 1);
    tutti_param other[3];
    memcpy(other, params, sizeof other);
    other[0].desc.shape = (tutti_shape){2, {4, 1}};
    char *path;
    tutti_failure err = {0};
    tutti_checkpoint c = f->c;
    c.params = other;
    assert_int_equal(tutti_checkpoint_newest(f->dir, &path, NULL, &err), TUTTI_OK);
    assert_int_equal(tutti_checkpoint_read(path, &c, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "'a.weight' is (2, 2), the model's is (4, 1)"));
    free(path);
}

/* One number of one tensor, in step 3 of four; *which: is taken from what f has for it. */
static void expect_bad(fixture *f, float *at, float value, const char *words)
{
    tutti_failure err = {0};
    char path[128];
    for (int64_t step = 1; step <= 4; step++) {
        const float before = *at;
        save(f, step, 9);
        if (step < 3) continue;
        *at = value;
        f->c.step = step, f->c.cursor = step * 32;
        snprintf(path, sizeof path, "%s/checkpoints/step_%09d", f->dir, (int)step);
        assert_int_equal(tutti_file_remove_tree(path, NULL), TUTTI_OK);
        if (tutti_checkpoint_write(f->dir, &f->c, NULL, 0, 9, &err)) fail_msg("%s", err.text);
        *at = before;
    }
    assert_int_equal(tutti_checkpoint_verify(path, &err), TUTTI_OK);
    assert_int_equal(tutti_checkpoint_check_finite(path, &err), TUTTI_ERR_DATA);
    if (!strstr(err.text, words) || !strstr(err.text, "not finite")) fail_msg("no '%s': %s", words, err.text);
    assert_int_equal(tutti_checkpoint_refuse_bad(f->dir, path, &err), TUTTI_ERR_DATA);
    if (!strstr(err.text, "step_000000002 is the newest whose numbers are all finite")) fail_msg("%s", err.text);
    snprintf(path, sizeof path, "%s/checkpoints/step_000000002", f->dir);
    assert_int_equal(tutti_checkpoint_refuse_bad(f->dir, path, &err), TUTTI_OK);
    assert_int_equal(tutti_checkpoint_remove_all(f->dir, &err), TUTTI_OK);
}

static void numbers_that_are_not_finite_are_named_with_the_last_good_checkpoint(void **state)
{
    fixture *f = *state;
    char what[120];
    expect_bad(f, &f->weights[16 + 3], NAN, "weights.safetensors: not finite: tensor 'a.weight'");
    expect_bad(f, &f->weights[0], -INFINITY, "weights.safetensors: not finite: tensor 'a.running_mean'");
    expect_bad(f, &f->momentum[16], INFINITY, "momentum.safetensors: not finite: tensor 'a.weight'");
    expect_bad(f, &f->squares[17], NAN, "exp_avg_sq.safetensors: not finite: tensor 'a.weight'");
    save(f, 1, 9);
    assert_false(tutti_checkpoint_find_bad(&f->c, false, what));
    f->weights[32] = NAN; /* a control number is none of it */
    f->momentum[0] = NAN; /* a statistic has no state */
    f->weights[16] = 3e38F, f->weights[17] = 1e-45F;
    assert_false(tutti_checkpoint_find_bad(&f->c, false, what));
    f->squares[19] = NAN;
    assert_true(tutti_checkpoint_find_bad(&f->c, false, what));
    assert_string_equal(what, "exp_avg_sq of 'a.weight'");
}

static void data_that_it_was_trained_on_are_read_back(void **state)
{
    fixture *f = *state;
    tutti_data_identity d = {0};
    tutti_failure err = {0};
    char path[128];
    bool found;
    save(f, 1, 9);
    snprintf(path, sizeof path, "%s/checkpoints/step_000000001", f->dir);
    assert_int_equal(tutti_checkpoint_read_data(path, &d, &found, &err), TUTTI_OK);
    assert_false(found); /* as of an earlier version */
    f->c.data_text = "format: 1\nclasses: 2\nnames:\n  - \"a%20b\"\n  - \"c\"\nmean: [0.5]\nstd: [2]\n";
    save(f, 2, 9);
    snprintf(path, sizeof path, "%s/checkpoints/step_000000002", f->dir);
    assert_int_equal(tutti_checkpoint_verify(path, &err), TUTTI_OK);
    assert_int_equal(tutti_checkpoint_read_data(path, &d, &found, &err), TUTTI_OK);
    assert_true(found && d.names.n == 2);
    assert_string_equal(d.names.name[0], "a b");
    tutti_data_identity_release(&d);
    f->c.data_text = "format: 9\n";
    save(f, 3, 9);
    snprintf(path, sizeof path, "%s/checkpoints/step_000000003", f->dir);
    assert_int_equal(tutti_checkpoint_read_data(path, &d, &found, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "of format 9; this version of tutti reads format 1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_saved_is_read_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_the_newest_are_kept_and_stale_parts_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(saving_a_step_again_leaves_one_whole_checkpoint, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_f15_truncation_at_any_byte_falls_back_to_the_one_before, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_f15_a_flipped_bit_in_any_byte_falls_back_to_the_one_before, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_f16_what_is_sealed_is_judged_by_what_is_in_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_state_that_is_missing_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_f16_a_file_that_is_a_link_or_missing_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_f17_a_newer_format_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_f16_files_that_are_none_are_bad_data, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_f17_tensors_of_another_model_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_that_are_not_finite_are_named_with_the_last_good_checkpoint, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(data_that_it_was_trained_on_are_read_back, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

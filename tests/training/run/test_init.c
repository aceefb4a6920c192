/* SPDX-License-Identifier: Apache-2.0 */
/* test_init.c: which tensors of other people's files become which of a model, in which numbers; what does not fit is
 * refused with the key to blame, what is damaged with the file. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "foreign_file.h"
#include "training/run/keep/init.h"

static const tutti_param params[] = {
    {.name = "body.weight", .desc = {.shape = {2, {2, 2}}, .kind = TUTTI_PARAM_WEIGHT, .elements = 4}, .count = 4},
    {.name = "body.mean", .desc = {.shape = {1, {1}}, .kind = TUTTI_PARAM_STATISTIC, .elements = 1}, .count = 1},
    {.name = "fc.weight", .desc = {.shape = {1, {2}}, .kind = TUTTI_PARAM_WEIGHT, .elements = 2}, .count = 2},
    {.name = "@loss", .desc = {.shape = {1, {1}}, .kind = TUTTI_PARAM_STATISTIC, .elements = 1}, .count = 1},
};
static const int64_t offsets[] = {0, 4, 6, 8};
static const tutti_init_wanted wanted = {params, 4, NULL, 0};
static const float four[] = {1, -2, 3, 0.5F}, two[] = {7, 8}, one[] = {9};
static const uint16_t halves[] = {0x3c00, 0xc000, 0x4200, 0x3800}, brains[] = {0x40e0, 0x4100};
static const int64_t number = 3;
static char dir[64], path[128];

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/tutti_init_XXXXXX");
    if (!mkdtemp(dir)) return -1;
    snprintf(path, sizeof path, "%s/it.safetensors", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return (int)tutti_file_remove_tree(dir, NULL);
}

static const char *in_dir(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put_text(const char *name, const char *text)
{
    assert_int_equal(tutti_file_write_atomic(in_dir(name), text, strlen(text), NULL), TUTTI_OK);
}

/* skip: one pattern; theirs, ours: one entry; each may be NULL. */
static tutti_init_config config_of(const char *from, const char **skip, const char **map)
{
    return (tutti_init_config){.from = from,
                               .skip = {skip, skip && skip[0] ? 1 : 0},
                               .map = {map, map && map[0] ? 2 : 0},
                               .said = {"job: init", "job: init.skip", "job: init.map", "job: init.state"}};
}

/* Loads it over values of -1, and says what it says. */
static char *load(const char *from, const char *skip, const char *theirs, const char *ours, float values[9])
{
    const char *patterns[] = {skip}, *map[] = {theirs, ours};
    const tutti_init_config config = config_of(from, patterns, map);
    tutti_init *init;
    tutti_failure err = {0};
    if (tutti_init_open(&config, &wanted, &init, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < 9; i++) values[i] = -1;
    tutti_init_fill(init, NULL, offsets, values);
    char *summary = tutti_init_summary(init), *words = strdup(strstr(summary, ": ") + 2);
    free(summary);
    tutti_init_destroy(init);
    return words;
}

static void expect(const char *from, const char *skip, const char *theirs, const char *ours, const char *words,
                   const float want[9])
{
    float values[9];
    char *said = load(from, skip, theirs, ours, values);
    assert_string_equal(said, words);
    assert_memory_equal(values, want, sizeof values);
    free(said);
}

static void refuse(const char *from, const char *skip, const char *theirs, const char *ours, const char *words)
{
    const char *patterns[] = {skip}, *map[] = {theirs, ours};
    const tutti_init_config config = config_of(from, patterns, map);
    const tutti_status want = words[0] == '!' ? TUTTI_ERR_DATA : TUTTI_ERR_USAGE;
    tutti_init *init;
    tutti_failure err = {0};
    const tutti_status st = tutti_init_open(&config, &wanted, &init, &err);
    if (st != want || !strstr(err.text, words + (words[0] == '!')) || strncmp(err.text, "job: init", 9) != 0)
        fail_msg("%d: '%s', not '%s'", (int)st, err.text, words);
}

#define BODY                                                                                                           \
    {                                                                                                                  \
        "body.weight", "F32", "[2,2]", four, 16                                                                        \
    }
#define MEAN                                                                                                           \
    {                                                                                                                  \
        "body.mean", "F32", "[1]", one, 4                                                                              \
    }
#define HEAD                                                                                                           \
    {                                                                                                                  \
        "fc.weight", "F32", "[2]", two, 8                                                                              \
    }
#define END                                                                                                            \
    {                                                                                                                  \
        NULL, NULL, NULL, NULL, 0                                                                                      \
    }

static void tensors_are_taken_by_name_and_others_are_named(void **state)
{
    (void)state;
    const foreign_tensor whole[] = {BODY,
                                    {"body.num_batches_tracked", "I64", "[]", &number, 8},
                                    MEAN,
                                    HEAD,
                                    {"deep", "F32", "[1,1,1,1,1]", one, 4},
                                    {"odd", "F5_E9", "[7]", one, 3},
                                    END};
    foreign_file_write(path, whole);
    expect(path, NULL, NULL, NULL, "3 of 3 tensors loaded, 0 fresh, 3 skipped (body.num_batches_tracked, deep, odd)",
           (const float[9]){1, -2, 3, 0.5F, 9, -1, 7, 8, -1});
    expect(
        path, "fc", NULL, NULL,
        "2 of 3 tensors loaded, 1 fresh (fc.weight), 4 skipped (body.num_batches_tracked, fc.weight, deep, and 1 more)",
        (const float[9]){1, -2, 3, 0.5F, 9, -1, -1, -1, -1});
    expect(path, "*.weight", NULL, NULL,
           "1 of 3 tensors loaded, 2 fresh (body.weight, fc.weight), 5 skipped (body.weight, body.num_batches_tracked, "
           "fc.weight, and 2 more)",
           (const float[9]){-1, -1, -1, -1, 9, -1, -1, -1, -1});
    const foreign_tensor part[] = {HEAD, END};
    foreign_file_write(path, part);
    expect(path, NULL, NULL, NULL, "1 of 3 tensors loaded, 2 fresh (body.weight, body.mean), 0 skipped",
           (const float[9]){-1, -1, -1, -1, -1, -1, 7, 8, -1});
}

/* A byte before them, so that they lie at odd addresses. */
static void sixteen_bits_are_widened_exactly(void **state)
{
    (void)state;
    const foreign_tensor mixed[] = {{"flag", "BOOL", "[1]", "\1", 1},
                                    {"body.weight", "F16", "[2,2]", halves, 8},
                                    {"fc.weight", "BF16", "[2]", brains, 4},
                                    MEAN,
                                    END};
    foreign_file_write(path, mixed);
    expect(path, NULL, NULL, NULL, "3 of 3 tensors loaded (2 from 16 bits), 0 fresh, 1 skipped (flag)",
           (const float[9]){1, -2, 3, 0.5F, 9, -1, 7, 8, -1});
}

static void names_are_mapped_whole_or_up_to_a_dot(void **state)
{
    (void)state;
    const float all[9] = {1, -2, 3, 0.5F, 9, -1, 7, 8, -1};
    const char *loaded = "3 of 3 tensors loaded, 0 fresh, 0 skipped";
    const foreign_tensor ddp[] = {{"module.body.weight", "F32", "[2,2]", four, 16},
                                  {"module.body.mean", "F32", "[1]", one, 4},
                                  {"module.fc.weight", "F32", "[2]", two, 8},
                                  END};
    foreign_file_write(path, ddp);
    expect(path, NULL, "module", "", loaded, all);
    expect(path, NULL, "module.", "", loaded, all);
    refuse(path, NULL, "modul", "", "no tensor there is called 'modul'");
    refuse(path, NULL, "module", "m", "job: init.map: by 'module: m' no tensor gets a name of the model");
    refuse(path, NULL, NULL, NULL, "job: init: no tensor there has a name of the model: it has module.body.weight, ");
    const foreign_tensor bare[] = {{"weight", "F32", "[2,2]", four, 16}, {"mean", "F32", "[1]", one, 4}, END};
    foreign_file_write(path, bare);
    expect(path, NULL, "", "body", "2 of 3 tensors loaded, 1 fresh (fc.weight), 0 skipped",
           (const float[9]){1, -2, 3, 0.5F, 9, -1, -1, -1, -1});
    const foreign_tensor twins[] = {
        BODY, MEAN, {"fc.weight", "F32", "[1]", one, 4}, {"head", "F32", "[2]", two, 8}, END};
    foreign_file_write(path, twins);
    expect(path, NULL, "head", "fc.weight", "3 of 3 tensors loaded, 0 fresh, 1 skipped (fc.weight)", all);
}

static void two_tensors_do_not_become_one(void **state)
{
    (void)state;
    const foreign_tensor heads[] = {BODY, {"a.weight", "F32", "[2]", two, 8}, {"b.weight", "F32", "[2]", two, 8}, END};
    const char *map[] = {"a", "fc", "b", "fc"};
    tutti_init_config config = config_of(path, NULL, NULL);
    tutti_init *init;
    tutti_failure err = {0};
    foreign_file_write(path, heads);
    config.map = (tutti_texts){map, 4};
    assert_int_equal(tutti_init_open(&config, &wanted, &init, &err), TUTTI_ERR_USAGE);
    assert_string_equal(err.text, "job: init.map: 'a.weight' and 'b.weight' would both be 'fc.weight'");
}

static void what_does_not_fit_is_named_with_its_remedy(void **state)
{
    (void)state;
    const foreign_tensor other[] = {
        BODY, {"fc.weight", "F32", "[1,2]", two, 8}, {"body.mean", "I64", "[1]", &number, 8}, END};
    foreign_file_write(path, other);
    refuse(path, NULL, NULL, NULL,
           "job: init: 'body.mean' is I64, the model's is read from F32, F64, F16, BF16, "
           "'fc.weight' is (1, 2), the model's "
           "(2); 'init.skip: [body, fc]' lets");
    refuse(path, "body.mean", NULL, NULL, "'init.skip: [fc]'");
    refuse(path, "fc2", NULL, NULL,
           "job: init.skip: 'fc2' fits no tensor of the model (body.weight, body.mean, fc.weight)");
    refuse(path, "*", NULL, NULL, "job: init.skip: leaves nothing to be loaded");
    refuse(path, "@loss", NULL, NULL, "fits no tensor"); /* a control number is none */
}

static void doubles_are_narrowed(void **state)
{
    static const double doubles[] = {1.0 / 3, -1e-300};
    (void)state;
    const foreign_tensor part[] = {{"fc.weight", "F64", "[2]", doubles, 16}, BODY, END};
    foreign_file_write(path, part);
    expect(path, NULL, NULL, NULL, "2 of 3 tensors loaded (1 from 64 bits), 1 fresh (body.mean), 0 skipped",
           (const float[9]){1, -2, 3, 0.5F, -1, -1, 1.0F / 3, -0.0F, -1});
}

static void numbers_that_are_not_finite_are_refused_by_name(void **state)
{
    static const float nan1[] = {1, NAN, 3, 4}, inf1[] = {7, -INFINITY};
    static const double nan8[] = {NAN, 1}, large8[] = {1, 1e39};
    static const uint16_t half_inf[] = {0x3c00, 0x7c00}, half_nan[] = {0x7e00, 0}, brain_nan[] = {0x40e0, 0x7fc0},
                          brain_inf[] = {0xff80, 0};
    const struct {
        foreign_tensor tensor;
        const char *words;
    } cases[] = {{{"body.weight", "F32", "[2,2]", nan1, 16}, "!it.safetensors: tensor 'body.weight' holds NaN"},
                 {{"fc.weight", "F32", "[2]", inf1, 8}, "!tensor 'fc.weight' holds NaN or infinite numbers"},
                 {{"fc.weight", "F16", "[2]", half_inf, 4}, "!tensor 'fc.weight' holds"},
                 {{"fc.weight", "F16", "[2]", half_nan, 4}, "!tensor 'fc.weight' holds"},
                 {{"fc.weight", "BF16", "[2]", brain_nan, 4}, "!tensor 'fc.weight' holds"},
                 {{"fc.weight", "BF16", "[2]", brain_inf, 4}, "!tensor 'fc.weight' holds"},
                 {{"fc.weight", "F64", "[2]", nan8, 16}, "!tensor 'fc.weight' holds"},
                 {{"fc.weight", "F64", "[2]", large8, 16}, "!doubles too large for f32"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const foreign_tensor file[] = {cases[i].tensor, MEAN, END};
        foreign_file_write(path, file);
        refuse(path, NULL, NULL, NULL, cases[i].words);
    }
    const foreign_tensor skipped[] = {{"fc.weight", "F32", "[2]", inf1, 8}, BODY, END};
    foreign_file_write(path, skipped); /* what is not taken may be anything */
    expect(path, "fc", NULL, NULL, "1 of 3 tensors loaded, 2 fresh (body.mean, fc.weight), 1 skipped (fc.weight)",
           (const float[9]){1, -2, 3, 0.5F, -1, -1, -1, -1, -1});
}

static void what_is_missing_or_damaged_is_refused_with_its_place(void **state)
{
    (void)state;
    const foreign_tensor whole[] = {BODY, MEAN, HEAD, END};
    foreign_file_write(path, whole);
    char *bytes;
    size_t n;
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &bytes, &n, NULL), TUTTI_OK);
    for (size_t length = 0; length < n; length++) {
        assert_int_equal(tutti_file_write_atomic(path, bytes, length, NULL), TUTTI_OK);
        refuse(path, NULL, NULL, NULL, "!it.safetensors: ");
    }
    free(bytes);
    refuse("nowhere/it", NULL, NULL, NULL, "job: init: nowhere/it: cannot open");
    refuse(dir, NULL, NULL, NULL, "is a folder, but neither a checkpoint nor a run's with one");
    refuse("/dev/zero", NULL, NULL, NULL, "is a device");
}

/* ---- several files ---- */

#define MAP(more)      "{\"metadata\": {}, \"weight_map\": {" more "}}\n"
#define IN(name, file) "\"" name "\": \"" file ".safetensors\""

static void put_shards(void)
{
    const foreign_tensor first[] = {BODY, {"extra", "F32", "[1]", one, 4}, END}, second[] = {MEAN, HEAD, END};
    foreign_file_write(in_dir("a.safetensors"), first);
    foreign_file_write(in_dir("b.safetensors"), second);
}

static void an_index_gathers_several_files(void **state)
{
    (void)state;
    put_shards();
    put_text("m.safetensors.index.json",
             MAP(IN("fc.weight", "b") ", " IN("body.weight", "a") ", " IN("body.mean", "b")));
    expect(path, NULL, NULL, NULL, "3 of 3 tensors loaded, 0 fresh, 1 skipped",
           (const float[9]){1, -2, 3, 0.5F, 9, -1, 7, 8, -1});
    char list[320]; /* a link beside it is a file beside it: caches of downloads are made of them */
    snprintf(list, sizeof list, "mv %s/b.safetensors %s/blob && ln -s blob %s/b.safetensors", dir, dir, dir);
    assert_int_equal(system(list), 0);
    expect(path, NULL, NULL, NULL, "3 of 3 tensors loaded, 0 fresh, 1 skipped",
           (const float[9]){1, -2, 3, 0.5F, 9, -1, 7, 8, -1});
}

static void an_index_that_leads_elsewhere_or_lies_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {MAP(IN("fc.weight", "../b")), "!'fc.weight' is in '../b.safetensors', which is not the name of"},
        {MAP(IN("fc.weight", "/tmp/b")), "!is not the name of a .safetensors file in the same folder"},
        {MAP("\"fc.weight\": \"m.safetensors.index.json\""), "!is not the name of a .safetensors file"},
        {MAP(IN("fc.weight", "")), "!is not the name of a .safetensors file"},
        {MAP(IN("fc.weight", "a")), "!says that 'fc.weight' is in a.safetensors, which has no such tensor"},
        {MAP(IN("body.weight", "a") "," IN("body.mean", "c")), "!c.safetensors: cannot open"},
        {MAP(IN("body.weight", "a") "," IN("body.mean", "folder")), "!is a folder"},
        {MAP(IN("body.weight", "a") "," IN("body.mean", "pipe")), "!is a named pipe"},
        {MAP(IN("body.weight", "a") "," IN("body.weight", "b")), "!'body.weight' is there twice"},
        {MAP("\"body.weight\": 3"), "!must have the name of a file"},
        {MAP(""), "!no weight_map"},
        {"{}", "!no weight_map"},
        {"[]", "!is not a JSON object"},
        {MAP(IN("body.weight", "a")) "x", "!is not a JSON object"},
        {"", "!is not a JSON object"},
        {MAP(IN("fc.weight", "a.safetensors\\u0000/../b")), "!a NUL stands in it"},
        {MAP(IN("fc.weight\\u0000", "a")), "!a NUL stands in it"},
        {MAP(IN("fc.weight", "\\u0000a")), "!a NUL stands in it"},
    };
    char line[320];
    put_shards();
    snprintf(line, sizeof line, "mkdir %s/folder.safetensors && mkfifo %s/pipe.safetensors", dir, dir);
    assert_int_equal(system(line), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_text("m.safetensors.index.json", cases[i].text);
        refuse(path, NULL, NULL, NULL, cases[i].words);
    }
}

/* What is hashed is what is taken: another value, or a name, is another hash; what is skipped is none of it. */
static void the_hash_is_of_what_is_taken(void **state)
{
    (void)state;
    const foreign_tensor files[][4] = {
        {BODY, HEAD, END},
        {{"body.weight", "F32", "[2,2]", four, 16}, {"fc.weight", "F32", "[2]", four, 8}, END},
        {BODY, HEAD, {"else", "F32", "[1]", one, 4}, END}};
    uint64_t hash[3];
    for (int i = 0; i < 3; i++) {
        const tutti_init_config config = config_of(path, NULL, NULL);
        tutti_init *init;
        tutti_failure err = {0};
        foreign_file_write(path, files[i]);
        if (tutti_init_open(&config, &wanted, &init, &err)) fail_msg("%s", err.text);
        hash[i] = tutti_init_hash(init);
        tutti_init_destroy(init);
    }
    assert_true(hash[0] != hash[1]);
    assert_true(hash[0] == hash[2]);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(tensors_are_taken_by_name_and_others_are_named),
        CASE(sixteen_bits_are_widened_exactly),
        CASE(names_are_mapped_whole_or_up_to_a_dot),
        CASE(two_tensors_do_not_become_one),
        CASE(what_does_not_fit_is_named_with_its_remedy),
        CASE(doubles_are_narrowed),
        CASE(numbers_that_are_not_finite_are_refused_by_name),
        CASE(what_is_missing_or_damaged_is_refused_with_its_place),
        CASE(an_index_gathers_several_files),
        CASE(an_index_that_leads_elsewhere_or_lies_is_refused),
        CASE(the_hash_is_of_what_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_tune_file.c: what is written is read again, byte for byte; what is empty, damaged, foreign or newer is refused
 * with words. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "kernel/tune/tune_file.h"

static const tutti_choice_tree small_tree = {
    .nfeatures = 2, .nways = 2, .nnodes = 3, .node = {{1, 10.25, 1, 2, 0}, {0, 0, -1, -1, 1}, {0, 0, -1, -1, 0}}};

static tutti_tune_file make(void)
{
    tutti_tune_file f = {.place = {.processor = {"Maker 1.2.3 Name", {32768, 1048576, 0}},
                                   .isa = "avx2",
                                   .library = "oneDNN 3.2.0 (avx2)",
                                   .nthreads = 2}};
    static const char *const candidates[] = {"tnn", "nt", "packed", "nt"};
    for (int i = 0; i < 4; i++) /* the last one in the place of the second */
        tutti_tune_file_add(
            &f, &(tutti_tuned_entry){"dense", "64x800:units=500", "f32", "forward", candidates[i], 0.1 / (i + 1)});
    tutti_tune_file_add(&f, &(tutti_tuned_entry){"conv", "1x3x8x8:kernel=3", "bf16", "params", "onednn", 1e-300});
    tutti_tune_file_add_tree(&f, &(tutti_tune_tree){"turn", "f32", {"nt", "tnn"}, {"log2_m", "log2_n"}, small_tree});
    return f;
}

static tutti_strbuf text_of(tutti_tune_file *f)
{
    tutti_strbuf text = {0};
    tutti_tune_file_print(f, &text);
    return text;
}

static void what_is_printed_is_read_again(void **state)
{
    (void)state;
    tutti_tune_file f = make(), g;
    tutti_strbuf first = text_of(&f);
    assert_int_equal(tutti_tune_file_parse("f", first.text, first.length, &g, NULL), TUTTI_OK);
    tutti_strbuf second = text_of(&g);
    assert_string_equal(first.text, second.text);
    assert_true(f.checksum == g.checksum);
    assert_int_equal(g.nentries, 4);
    assert_true(tutti_tune_file_seconds(&g, "dense", "64x800:units=500", "f32", "forward", "nt") == 0.1 / 4);
    assert_true(tutti_tune_file_seconds(&g, "dense", "64x800:units=500", "f32", "forward", "packed") == 0.1 / 3);
    assert_true(tutti_tune_file_seconds(&g, "conv", "1x3x8x8:kernel=3", "bf16", "params", "onednn") == 1e-300);
    assert_true(tutti_tune_file_seconds(&g, "dense", "64x800:units=500", "f32", "params", "nt") == 0);
    const tutti_tune_tree *t = tutti_tune_file_tree(&g, "turn", "f32");
    assert_non_null(t);
    assert_null(tutti_tune_file_tree(&g, "turn", "bf16"));
    assert_string_equal(t->way[tutti_choice_tree_ask(&t->tree, (double[]){0, 10})], "tnn");
    assert_string_equal(t->way[tutti_choice_tree_ask(&t->tree, (double[]){0, 10.25})], "nt");
    tutti_strbuf_release(&first);
    tutti_strbuf_release(&second);
    tutti_tune_file_release(&f);
    tutti_tune_file_release(&g);
}

/* Many, in no order, stand sorted and are all found. */
static void every_entry_of_many_is_found(void **state)
{
    (void)state;
    enum { MANY = 500, STEP = 211 };
    tutti_tune_file f = {.place.nthreads = 1};
    char shape[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(shape, sizeof shape, "%d", i * STEP % MANY);
        tutti_tune_file_add(&f, &(tutti_tuned_entry){"dense", shape, "f32", "data", "nt", 1 + i * STEP % MANY});
    }
    assert_int_equal(f.nentries, MANY);
    for (int i = 0; i < MANY; i++) {
        snprintf(shape, sizeof shape, "%d", i);
        assert_true(tutti_tune_file_seconds(&f, "dense", shape, "f32", "data", "nt") == 1 + i);
    }
    tutti_tune_file_release(&f);
}

static void refuse(const char *text, size_t nbytes, const char *words)
{
    tutti_tune_file f;
    tutti_failure err = {0};
    assert_int_equal(tutti_tune_file_parse("a.tune", text, nbytes, &f, &err), TUTTI_ERR_DATA);
    if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
    assert_ptr_equal(strstr(err.text, "a.tune: "), err.text);
}

static void what_is_not_whole_is_refused(void **state)
{
    (void)state;
    tutti_tune_file f = make();
    tutti_strbuf text = text_of(&f);
    refuse("", 0, "empty");
    refuse("name: lenet\n", 12, "no tune file");
    for (size_t n = 1; n < text.length; n++) refuse(text.text, n, ""); /* cut anywhere */
    refuse(text.text, text.length - 20, "cut off");
    for (size_t i = 0; i < text.length; i++) { /* any byte changed: the version's, the text's, the checksum's */
        text.text[i] ^= 1;
        refuse(text.text, text.length, "");
        text.text[i] ^= 1;
    }
    char *digit = strstr(text.text, "10.25");
    *digit = '2';
    refuse(text.text, text.length, "damaged");
    *digit = '1';
    *(strstr(text.text, "kernels 1") + strlen("kernels ")) = '2';
    refuse(text.text, text.length, "version 2");
    tutti_strbuf_release(&text);
    tutti_tune_file_release(&f);
}

#define HEAD "tutti tuned kernels 1\nprocessor: P\ncaches: 1 2 3\nisa: avx2\nlibrary: none\nthreads: 1\n"
#define TREE HEAD "tree turn f32 ways a,b features x,y\n"

/* With checksums that are right. */
static void lines_that_say_nothing_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"tutti tuned kernels 1\n", "lacks one of"},
        {HEAD "threads: 2\n", "line 7: said a second time"},
        {"tutti tuned kernels 1\nthreads: none\n", "line 2: threads: 1 to 4096"},
        {"tutti tuned kernels 1\ncaches: 1 2\n", "line 2: caches"},
        {"tutti tuned kernels 1\nisa: \n", "line 2: no text"},
        {HEAD "speed: 3\n", "line 7: neither"},
        {HEAD "entry dense 1 f32 forward nt 0\n", "seconds above 0"},
        {HEAD "entry dense 1 f32 forward nt nan\n", "seconds above 0"},
        {HEAD "entry dense 1 f32 forward nt\n", "seconds above 0"},
        {HEAD "entry dense  1 f32 forward nt 1\n", "one blank"},
        {HEAD "entry b 1 f32 forward nt 1\nentry a 1 f32 forward nt 1\n", "line 8: an entry"},
        {HEAD "entry b 1 f32 forward nt 1\nentry b 1 f32 forward nt 2\n", "line 8: an entry"},
        {HEAD "node 0 x 1 1 2\n", "no tree before it"},
        {HEAD "tree turn f32 ways a,a features x\n", "no name twice"},
        {HEAD "tree turn f32 ways a features x\n", "tree turn f32: a tree of 0 nodes"},
        {TREE "leaf 0 c\n", "a way that the tree does not name"},
        {TREE "node 0 z 1 1 2\n", "a feature that the tree names"},
        {TREE "leaf 1 a\n", "its number"},
        {TREE "node 0 x 1 1 1\nleaf 1 a\n", "each its own"},
        {TREE "node 0 x inf 1 2\nleaf 1 a\nleaf 2 b\n", "a threshold"},
        {HEAD "tree nt f32 ways a features warps\nleaf 0 a\n", "'warps', which this tutti does not know"},
        {TREE "leaf 0 a\ntree turn f32 ways a features x\nleaf 0 a\n", "there already"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_strbuf text = {0};
        tutti_strbuf_puts(&text, cases[i].text);
        tutti_tune_file_seal(&text);
        refuse(text.text, text.length, cases[i].words);
        tutti_strbuf_release(&text);
    }
}

static void what_was_measured_elsewhere_is_refused(void **state)
{
    (void)state;
    tutti_tune_file f = make();
    tutti_tune_place other[5];
    static const char *const words[] = {"on another processor", "with other caches", "with other instructions",
                                        "with another library", "with other threads"};
    for (int i = 0; i < 5; i++) other[i] = f.place;
    snprintf(other[0].processor.name, sizeof other[0].processor.name, "Maker 1.2.4 Name");
    other[1].processor.cache[2] = 1 << 25;
    snprintf(other[2].isa, sizeof other[2].isa, "avx512");
    snprintf(other[3].library, sizeof other[3].library, "none");
    other[4].nthreads = 1;
    assert_int_equal(tutti_tune_file_check("f", &f, &f.place, NULL), TUTTI_OK);
    for (int i = 0; i < 5; i++) {
        tutti_failure err = {0};
        assert_int_equal(tutti_tune_file_check("f", &f, &other[i], &err), TUTTI_ERR_DATA);
        assert_non_null(strstr(err.text, words[i]));
        assert_non_null(strstr(err.text, "tutti tune kernels"));
    }
    tutti_tune_file_release(&f);
}

static void a_file_is_opened_where_it_was_measured(void **state)
{
    (void)state;
    char path[] = "/tmp/tutti-tune-XXXXXX";
    const tutti_tune_place here = tutti_tune_here(3), there = tutti_tune_here(4);
    tutti_tune_file f = {.place = here}, g;
    close(mkstemp(path));
    tutti_tune_file_add(&f, &(tutti_tuned_entry){"dense", "1x1", "f32", "forward", "nt", 1});
    assert_int_equal(tutti_tune_file_write(&f, path, NULL), TUTTI_OK);
    assert_int_equal(tutti_tune_file_open(path, &here, &g, NULL), TUTTI_OK);
    assert_true(f.checksum == g.checksum && g.nentries == 1);
    tutti_tune_file_release(&g);
    assert_int_equal(tutti_tune_file_open(path, &there, &g, NULL), TUTTI_ERR_DATA);
    unlink(path);
    assert_int_equal(tutti_tune_file_open(path, &here, &g, NULL), TUTTI_ERR_USAGE);
    tutti_tune_file_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_is_read_again),
        cmocka_unit_test(every_entry_of_many_is_found),
        cmocka_unit_test(what_is_not_whole_is_refused),
        cmocka_unit_test(lines_that_say_nothing_are_refused),
        cmocka_unit_test(what_was_measured_elsewhere_is_refused),
        cmocka_unit_test(a_file_is_opened_where_it_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_layer_trace.c: six columns are read back as they were written; what is not six columns is named by line and
 * column. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/trace.h"

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    const tutti_layer_cost layers[] = {{"conv1", 412.5, 803.125, 95.75, 139776}, {"relu1", 0, 0.001, 0, 0}};
    tutti_strbuf text = {0};
    tutti_layer_trace back;
    tutti_layer_trace_print(layers, 2, &text);
    assert_string_equal(text.text, "Id\tName\tForward\tBackward\tComm\tSize\n"
                                   "0\tconv1\t412.5\t803.125\t95.75\t139776\n"
                                   "1\trelu1\t0\t0.001\t0\t0\n");
    assert_int_equal(tutti_layer_trace_parse("t", text.text, text.length, &back, NULL), TUTTI_OK);
    assert_int_equal(back.nlayers, 2);
    for (int l = 0; l < 2; l++) {
        assert_string_equal(back.layers[l].name, layers[l].name);
        assert_true(back.layers[l].forward_us == layers[l].forward_us);
        assert_true(back.layers[l].backward_us == layers[l].backward_us);
        assert_true(back.layers[l].comm_us == layers[l].comm_us);
        assert_true(back.layers[l].size_bytes == layers[l].size_bytes);
    }
    tutti_layer_trace_release(&back);
    tutti_strbuf_release(&text);
}

static void blanks_of_any_kind_part_columns_and_the_last_newline_may_be_missing(void **state)
{
    (void)state;
    const char text[] = "Id  Name   Forward Backward\tComm Size\r\n  0 data 1e3 2 0.5 12";
    tutti_layer_trace t;
    assert_int_equal(tutti_layer_trace_parse("t", text, strlen(text), &t, NULL), TUTTI_OK);
    assert_int_equal(t.nlayers, 1);
    assert_true(t.layers[0].forward_us == 1000);
    assert_true(t.layers[0].size_bytes == 12);
    tutti_layer_trace_release(&t);
}

static void rates_stand_behind_the_rows_and_may_be_missing(void **state)
{
    (void)state;
    const tutti_layer_cost layers[] = {{"conv1", 412.5, 803.125, 95.75, 139776}};
    tutti_strbuf text = {0};
    tutti_layer_trace back;
    tutti_layer_trace_print(layers, 1, &text);
    assert_int_equal(tutti_layer_trace_parse("t", text.text, text.length, &back, NULL), TUTTI_OK);
    assert_true(isnan(back.update_s_per_element) && isnan(back.load_s_per_sample));
    tutti_layer_trace_release(&back);
    tutti_layer_trace_print_rates((double)NAN, (double)NAN, &text);
    assert_null(strchr(text.text, '#'));
    tutti_layer_trace_print_rates(1.0 / 3e9, 2.5e-5, &text);
    tutti_strbuf_puts(&text, "# of a quiet machine\n#\n");
    assert_int_equal(tutti_layer_trace_parse("t", text.text, text.length, &back, NULL), TUTTI_OK);
    assert_true(back.nlayers == 1 && back.update_s_per_element == 1.0 / 3e9 && back.load_s_per_sample == 2.5e-5);
    tutti_layer_trace_release(&back);
    tutti_strbuf_release(&text);
}

static void how_steps_differ_stands_behind_the_rows_and_may_be_missing(void **state)
{
    (void)state;
    const tutti_layer_cost layers[] = {{"conv1", 412.5, 803.125, 95.75, 139776}};
    const tutti_step_spread none = {0}, spread = {4, {0.5, 0.987654321, 0.987654321, 1.25}};
    tutti_strbuf text = {0};
    tutti_layer_trace back;
    tutti_layer_trace_print(layers, 1, &text);
    tutti_layer_trace_print_spread(&none, &text);
    assert_null(strchr(text.text, '#'));
    assert_int_equal(tutti_layer_trace_parse("t", text.text, text.length, &back, NULL), TUTTI_OK);
    assert_int_equal(back.spread.n, 0);
    tutti_layer_trace_release(&back);
    tutti_layer_trace_print_spread(&spread, &text);
    assert_non_null(strstr(text.text, "\n# step_spread 0.5 0.98765 0.98765 1.25\n"));
    assert_int_equal(tutti_layer_trace_parse("t", text.text, text.length, &back, NULL), TUTTI_OK);
    assert_int_equal(back.spread.n, 4);
    assert_true(back.spread.ratio[0] == 0.5 && back.spread.ratio[1] == 0.98765 && back.spread.ratio[3] == 1.25);
    tutti_layer_trace_release(&back);
    tutti_strbuf_release(&text);
}

/* The most there may be, of more characters than a word or another such line may have; at both bounds. */
static void a_spread_has_up_to_33_ratios(void **state)
{
    (void)state;
    const char *const row = "Id Name Forward Backward Comm Size\n0 a 1 2 3 4\n";
    tutti_step_spread most = {TUTTI_SPREAD_MOST, {0}};
    tutti_strbuf text = {0};
    tutti_layer_trace back;
    tutti_failure err = {0};
    for (int i = 0; i < TUTTI_SPREAD_MOST; i++) most.ratio[i] = 1.00001 + i;
    most.ratio[0] = TUTTI_SPREAD_LEAST_RATIO, most.ratio[TUTTI_SPREAD_MOST - 1] = TUTTI_SPREAD_MOST_RATIO;
    tutti_strbuf_puts(&text, row);
    tutti_layer_trace_print_spread(&most, &text);
    assert_true(text.length > 256 + strlen(row));
    assert_int_equal(tutti_layer_trace_parse("t", text.text, text.length, &back, NULL), TUTTI_OK);
    assert_int_equal(back.spread.n, TUTTI_SPREAD_MOST);
    for (int i = 0; i < TUTTI_SPREAD_MOST; i++) assert_true(back.spread.ratio[i] == most.ratio[i]);
    tutti_layer_trace_release(&back);
    text.text[text.length - 1] = ' ';
    tutti_strbuf_puts(&text, "1e5");
    assert_int_equal(tutti_layer_trace_parse("t", text.text, text.length, &back, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "t: line 3: step_spread: value 34: '1e5' is one more than the 33 there may be"));
    tutti_strbuf_release(&text);
}

#define HEAD "Id Name Forward Backward Comm Size\n"
static const struct {
    const char *text, *words;
} refused[] = {
    {"", "t: no layer in it"},
    {HEAD, "t: no layer in it"},
    {"Id Name Forward Backward Size Comm\n", "t: line 1: Comm: 'Size' stands in its place in the header"},
    {"Id Name Forward\n", "t: line 1: Backward is missing"},
    {HEAD "0 a 1 2 3\n", "t: line 2: Size is missing"},
    {HEAD "0 a 1 2 3 4 5\n", "t: line 2: more than 6 columns"},
    {HEAD "0 a 1 2 3 4\n2 b 1 2 3 4\n", "t: line 3: Id: '2' is not the number of lines"},
    {HEAD "0 a 1 2 3 4\n1 a 1 2 3 4\n", "t: line 3: Name: 'a' is the name of a layer above too"},
    {HEAD "0 a 1 2 3 4\n# update_s_per_element\n", "t: line 3: update_s_per_element: '' is no time"},
    {HEAD "0 a 1 2 3 4\n# update_s_per_element nan\n", "t: line 3: update_s_per_element: 'nan' is no time"},
    {HEAD "# load_s_per_sample -1\n0 a 1 2 3 4\n", "t: line 2: load_s_per_sample: '-1' is no time"},
    {HEAD "0 a 1 2 3 4\n# load_s_per_sample 1\n# load_s_per_sample 1\n", "t: line 4: load_s_per_sample is said above"},
    {HEAD "0 a 1 2 3 4\n# load_s_per_sample 1e-3 s\n", "t: line 3: load_s_per_sample: '1e-3' is no time"},
    {HEAD "0 a 1 2 3 4\n# step_spread\n", "t: line 3: step_spread: value 1: '' is missing: there are at least two"},
    {HEAD "0 a 1 2 3 4\n# step_spread 1\n", "t: line 3: step_spread: value 2: '' is missing"},
    {HEAD "0 a 1 2 3 4\n# step_spread 1 0.9\n",
     "t: line 3: step_spread: value 2: '0.9' is less than the one before it"},
    {HEAD "0 a 1 2 3 4\n# step_spread 0 1\n", "t: line 3: step_spread: value 1: '0' is not a ratio"},
    {HEAD "0 a 1 2 3 4\n# step_spread -1 1\n", "t: line 3: step_spread: value 1: '-1' is not a ratio"},
    {HEAD "0 a 1 2 3 4\n# step_spread 1 nan\n", "t: line 3: step_spread: value 2: 'nan' is not a ratio"},
    {HEAD "0 a 1 2 3 4\n# step_spread 1 1e6\n", "t: line 3: step_spread: value 2: '1e6' is not a ratio"},
    {HEAD "0 a 1 2 3 4\n# step_spread 1 2 times\n", "t: line 3: step_spread: value 3: 'times' is not a ratio"},
    {HEAD "0 a 1 2 3 4\n#step_spread 1 2\n# step_spread 1 2\n", "t: line 4: step_spread is said above, too"},
    {"# head\n" HEAD "0 a 1 2 3 4\n", "t: line 1: "},
    {HEAD "0 a x 2 3 4\n", "t: line 2: Forward: 'x' is no time"},
    {HEAD "0 a 1 -2 3 4\n", "t: line 2: Backward: '-2' is no time"},
    {HEAD "0 a 1 2 nan 4\n", "t: line 2: Comm: 'nan' is no time"},
    {HEAD "0 a inf 2 3 4\n", "t: line 2: Forward: 'inf' is no time"},
    {HEAD "0 a 0x10 2 3 4\n", "t: line 2: Forward: '0x10' is no time"},
    {HEAD "0 a 1e400 2 3 4\n", "t: line 2: Forward: '1e400' is no time"},
    {HEAD "0 a 1 2 3 4.5\n", "t: line 2: Size: '4.5' is not a number of bytes"},
    {HEAD "0 a 1 2 3 99999999999999999999\n", "t: line 2: Size:"},
    {HEAD "\n0 a 1 2 3 4\n", "t: line 2: Id is missing"},
    {"Id Name Forward Backward Comm Size Copy Read\n", "t: line 1: Copy: 'Read' stands in its place in the header"},
    {"Id Name Forward Backward Comm Size Read Read\n", "t: line 1: Copy: 'Read' stands in its place in the header"},
    {"Id Name Forward Backward Comm Size Update\n", "t: line 1: Copy: 'Update' stands in its place in the header"},
    {"Id Name Forward Backward Comm Size Read Copy Copy\n", "t: line 1: more than 8 columns"},
    {"Id Name Forward Backward Comm Size Copy\n0 a 1 2 3 4\n", "t: line 2: Copy is missing"},
    {"Id Name Forward Backward Comm Size Copy\n0 a 1 2 3 4 5 6\n", "t: line 2: more than 7 columns"},
    {"Id Name Forward Backward Comm Size Read Copy\n0 a 1 2 3 4 5 x\n", "t: line 2: Copy: 'x' is no time"},
};

static void what_is_no_trace_is_refused_with_line_and_column(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tutti_layer_trace t;
        tutti_failure err = {0};
        assert_int_equal(tutti_layer_trace_parse("t", refused[i].text, strlen(refused[i].text), &t, &err),
                         TUTTI_ERR_DATA);
        if (!strstr(err.text, refused[i].words)) fail_msg("'%s' instead of '%s'", err.text, refused[i].words);
    }
}

static void reading_and_copying_may_stand_behind_and_are_summed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double read_us, copy_us;
    } cases[] = {
        {HEAD "0 a 1 2 3 4\n", 0, 0},
        {"Id Name Forward Backward Comm Size Read\n0 a 1 2 3 4 5\n1 b 1 2 3 4 0.5\n", 5.5, 0},
        {"Id Name Forward Backward Comm Size Copy\n0 a 1 2 3 4 5\n1 b 1 2 3 4 0.5\n", 0, 5.5},
        {"Id Name Forward Backward Comm Size Read Copy\n0 a 1 2 3 4 5 7\n1 b 1 2 3 4 0 1\n", 5, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_layer_trace t;
        assert_int_equal(tutti_layer_trace_parse("t", cases[i].text, strlen(cases[i].text), &t, NULL), TUTTI_OK);
        assert_true(t.read_us == cases[i].read_us && t.copy_us == cases[i].copy_us);
        assert_true(t.layers[0].forward_us == 1 && t.layers[0].size_bytes == 4);
        tutti_layer_trace_release(&t);
    }
}

static void binary_bytes_and_endless_words_are_refused(void **state)
{
    (void)state;
    char text[1024] = HEAD;
    const size_t head = strlen(HEAD);
    tutti_layer_trace t;
    tutti_failure err = {0};
    memset(text + head, '9', sizeof text - head);
    assert_int_equal(tutti_layer_trace_parse("t", text, sizeof text, &t, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "t: line 2: Id: longer than 255 bytes"));
    memset(text + head, '\0', sizeof text - head);
    assert_int_equal(tutti_layer_trace_parse("t", text, sizeof text, &t, &err), TUTTI_ERR_DATA);
    const char nul[] = HEAD "0 a 1 2 3 4\n# step_spread 1\0 2\n";
    assert_int_equal(tutti_layer_trace_parse("t", nul, sizeof nul - 1, &t, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "t: line 3: step_spread: value 1: '1' is not a ratio"));
    assert_int_equal(tutti_layer_trace_read("/nowhere/layers.txt", &t, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "/nowhere/layers.txt"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(rates_stand_behind_the_rows_and_may_be_missing),
        cmocka_unit_test(how_steps_differ_stands_behind_the_rows_and_may_be_missing),
        cmocka_unit_test(a_spread_has_up_to_33_ratios),
        cmocka_unit_test(blanks_of_any_kind_part_columns_and_the_last_newline_may_be_missing),
        cmocka_unit_test(what_is_no_trace_is_refused_with_line_and_column),
        cmocka_unit_test(reading_and_copying_may_stand_behind_and_are_summed),
        cmocka_unit_test(binary_bytes_and_endless_words_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

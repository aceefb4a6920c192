/* SPDX-License-Identifier: Apache-2.0 */
/* test_confusion.c: which class was taken for which, in words and as a picture. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <expat.h>

#include "metrics/chart/chart.h"

static tutti_confusion make(int nclasses)
{
    const size_t n = (size_t)nclasses;
    return (tutti_confusion){.nclasses = nclasses,
                             .seen = calloc(n, sizeof(int64_t)),
                             .right = calloc(n, sizeof(int64_t)),
                             .count = calloc(n * n, sizeof(int64_t))};
}

static void drop(tutti_confusion *c)
{
    free(c->seen);
    free(c->right);
    free(c->count);
}

static void add(tutti_confusion *c, int label, int predicted, int n)
{
    for (int i = 0; i < n; i++) tutti_confusion_add(c, label, predicted);
}

/* 0: 3 of 4 right; 1: 5 of 5; 2: none of 2; 3: no samples. */
static tutti_confusion four(void)
{
    static const char *const names[] = {"cat", "dog\x1b[31m"};
    tutti_confusion c = make(4);
    c.name = names, c.nnames = 2;
    add(&c, 0, 0, 3), add(&c, 0, 2, 1), add(&c, 1, 1, 5), add(&c, 2, 1, 2);
    return c;
}

static void classes_stand_by_accuracy_and_unseen_ones_are_said(void **state)
{
    (void)state;
    tutti_confusion c = four();
    tutti_strbuf out = {0};
    tutti_confusion_accuracy(&c, &out);
    assert_string_equal(out.text, "accuracy by class, the worst first\n"
                                  "  class       samples  right  accuracy\n"
                                  "  2                 2      0    0.0000\n"
                                  "  0 cat             4      3    0.7500\n"
                                  "  1 dog?[31m        5      5    1.0000\n"
                                  "  1 of 4 classes have no test samples\n");
    tutti_strbuf_release(&out);
    drop(&c);
}

static void the_matrix_has_labels_down_and_predictions_across(void **state)
{
    (void)state;
    tutti_confusion c = four();
    tutti_strbuf out = {0};
    tutti_confusion_text(&c, &out);
    assert_string_equal(out.text, "confusion: rows are labels, columns predictions\n"
                                  "              0  1  2  3\n"
                                  "  0 cat       3  0  1  0\n"
                                  "  1 dog?[31m  0  5  0  0\n"
                                  "  2           0  2  0  0\n"
                                  "  3           0  0  0  0\n");
    tutti_strbuf_release(&out);
    drop(&c);
}

/* Class k of n has 10 samples, k * 10 / n of them right; the others are taken for class (k + 1) % n. */
static tutti_confusion many(int n)
{
    tutti_confusion c = make(n);
    /* So the most frequent mistakes are those of the first classes. */
    for (int k = 0; k < n; k++) add(&c, k, k, k * 10 / n), add(&c, k, (k + 1) % n, 10 - k * 10 / n);
    return c;
}

static int lines_of(const char *text)
{
    int n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

static void of_many_classes_the_worst_are_shown_and_the_rest_is_summed_up(void **state)
{
    (void)state;
    for (int n = 50; n <= 51; n++) {
        tutti_confusion c = many(n);
        tutti_strbuf rows = {0}, matrix = {0};
        tutti_confusion_accuracy(&c, &rows);
        tutti_confusion_text(&c, &matrix);
        assert_int_equal(lines_of(rows.text), n == 50 ? 52 : 22);
        assert_int_equal(lines_of(matrix.text), n == 50 ? 52 : 22);
        assert_int_equal(strstr(rows.text, "the worst 20 of 51") != NULL, n == 51);
        assert_int_equal(strstr(matrix.text, "the 20 of 51 classes with the most frequent mistakes") != NULL, n == 51);
        /* Class 19, the last that is shown of 51, is right 3 times of 10, and else taken for 20, which is not shown. */
        if (n == 51) assert_non_null(strstr(matrix.text, "      3      7\n"));
        tutti_strbuf_release(&rows);
        tutti_strbuf_release(&matrix);
        drop(&c);
    }
}

static void XMLCALL count_rects(void *arg, const XML_Char *name, const XML_Char **attributes)
{
    (void)attributes;
    *(int *)arg += !strcmp(name, "rect");
}

/* How many cells the picture has; it must be well-formed. */
static int cells_of(const tutti_confusion *c)
{
    tutti_strbuf out = {0};
    int n = 0;
    tutti_confusion_svg(c, &out);
    XML_Parser parser = XML_ParserCreate(NULL);
    XML_SetUserData(parser, &n);
    XML_SetElementHandler(parser, count_rects, NULL);
    assert_int_equal(XML_Parse(parser, out.text, (int)out.length, 1), XML_STATUS_OK);
    XML_ParserFree(parser);
    assert_null(strstr(out.text, "http://www.w3.org/1999")); /* nor anything else from elsewhere */
    assert_null(strstr(out.text, "nan"));
    tutti_strbuf_release(&out);
    return n - 1; /* the page */
}

static void shares_below_ten_per_cent_have_a_digit_behind_the_point(void **state)
{
    (void)state;
    static const struct {
        int wrong, of;
        const char *words[2]; /* of the wrong ones, of the right ones */
    } cases[] = {{5, 1000, {">0.5<", ">99.5<"}}, {1, 1000, {">0.1<", ">99.9<"}}, {1, 5000, {">&lt;.1<", ">99.9<"}},
                 {94, 1000, {">9.4<", ">91<"}},  {100, 1000, {">10<", ">90<"}},  {1, 2, {">50<", ">50<"}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_confusion c = make(2);
        tutti_strbuf out = {0};
        add(&c, 0, 1, cases[i].wrong), add(&c, 0, 0, cases[i].of - cases[i].wrong);
        tutti_confusion_svg(&c, &out);
        for (int k = 0; k < 2; k++)
            if (!strstr(out.text, cases[i].words[k]))
                fail_msg("%d of %d: no %s", cases[i].wrong, cases[i].of, cases[i].words[k]);
        tutti_strbuf_release(&out);
        drop(&c);
    }
}

static void the_picture_has_a_square_for_each_cell_that_is_not_empty(void **state)
{
    (void)state;
    static const char *const hostile[] = {"<a>", "\"&\x01", "ein sehr langer Name mit \xc3\xa4\xc3\xa4\xc3\xa4 darin",
                                          ""};
    tutti_confusion c = four();
    c.name = hostile, c.nnames = 4;
    assert_int_equal(cells_of(&c), 4);
    drop(&c);
    c = many(51); /* of each row one right cell, but of the 6 classes without one, and one wrong one, the last among the
              * others */
    assert_int_equal(cells_of(&c), 2 * 20 - 6);
    drop(&c);
    c = make(1);
    assert_int_equal(cells_of(&c), 0);
    drop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_stand_by_accuracy_and_unseen_ones_are_said),
        cmocka_unit_test(the_matrix_has_labels_down_and_predictions_across),
        cmocka_unit_test(of_many_classes_the_worst_are_shown_and_the_rest_is_summed_up),
        cmocka_unit_test(shares_below_ten_per_cent_have_a_digit_behind_the_point),
        cmocka_unit_test(the_picture_has_a_square_for_each_cell_that_is_not_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of published figures: every page of papers/ loads, ours is what it should be, and a recalled figure never
 * passes. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "papers/papers.h"

static void verdicts_follow_the_distance_and_the_provenance(void **state)
{
    (void)state;
    assert_string_equal(tutti_paper_verdict("read", 100, 109, 109), "pass");
    assert_string_equal(tutti_paper_verdict("abstract", 100, 91, 91), "pass");
    assert_string_equal(tutti_paper_verdict("read", 100, 120, 120), "near");
    assert_string_equal(tutti_paper_verdict("read", 100, 130, 130), "off");
    assert_string_equal(tutti_paper_verdict("recalled", 100, 100, 100), "as recalled");
    assert_string_equal(tutti_paper_verdict("recalled", 100, 91, 91), "as recalled");
    assert_string_equal(tutti_paper_verdict("recalled", 100, 120, 120), "near (recalled)");
    assert_string_equal(tutti_paper_verdict("recalled", 100, 60, 60), "off (recalled)");
    assert_string_equal(tutti_paper_verdict("read", 0, 5, 5), "-");
    assert_string_equal(tutti_paper_verdict("read", 11, 2, 12), "in range");
    assert_string_equal(tutti_paper_verdict("read", 11, 2, 9), "out of range");
}

static void jia_2018_has_2046_steps_of_the_ring_and_186_of_the_hierarchy(void **state)
{
    (void)state;
    tutti_paper paper = {0};
    tutti_failure err = {0};
    if (tutti_paper_load(TUTTI_SOURCE_DIR "/papers/jia2018-hierarchical.yaml", &paper, &err)) fail_msg("%s", err.text);
    assert_string_equal(paper.name, "jia2018-hierarchical");
    assert_true(paper.figures[0].lo == 2046 && paper.figures[1].lo == 186);
    for (int i = 0; i < paper.nfigures; i++) assert_string_not_equal(paper.figures[i].verdict, "pass");
    tutti_strbuf text = {0};
    tutti_paper_print(&paper, false, &text);
    assert_non_null(strstr(text.text, "as recalled"));
    tutti_paper_print(&paper, true, &text);
    assert_non_null(strstr(text.text, "\"published\":2046"));
    tutti_strbuf_release(&text);
    tutti_paper_release(&paper);
}

static void a_wrong_page_is_refused_with_its_line(void **state)
{
    (void)state;
    static const char head[] = "title: t\nsource: s\nprovenance: read\nclaim: c\nagainst: a\nconditions: c\n"
                               "reconstruction: r\n";
    static const char *const wrong[][2] = {
        {"", "figures"},
        {"figures: []\n", "figures"},
        {"figures:\n  - {what: w, method: closed-form-step, algorithm: ring, ranks: 4}\n", "line 9"},
        {"figures:\n  - {what: w, method: closed-form-step, algorithm: ring, ranks: 4}\n", "closed-form-steps"},
        {"figures:\n  - {what: w, method: closed-form-steps, algorithm: tree, ranks: 4}\n", "'tree'"},
        {"figures:\n  - {what: w, method: closed-form-steps, algorithm: ring}\n", "ranks"},
        {"figures:\n  - {what: w, method: seconds-ratio, algorithm: ring, baseline: ring, ranks: 4}\n", "bytes"},
        {"figure: 1\n", "unknown key 'figure'"},
    };
    char path[] = "/tmp/tutti-paper-XXXXXX";
    close(mkstemp(path));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        FILE *f = fopen(path, "w");
        fprintf(f, "%s%s", head, wrong[i][0]);
        fclose(f);
        tutti_paper paper = {0};
        tutti_failure err = {0};
        assert_int_equal(tutti_paper_load(path, &paper, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, wrong[i][1]) || !strstr(err.text, path)) fail_msg("case %zu: %s", i, err.text);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_follow_the_distance_and_the_provenance),
        cmocka_unit_test(jia_2018_has_2046_steps_of_the_ring_and_186_of_the_hierarchy),
        cmocka_unit_test(a_wrong_page_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_compare_figures.c: what `tutti compare` makes of tests. */
#include "testing.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "compare/compare.h"

enum { SEEDS = 5 };

/* Two methods; method 0 is the elastic one. Accuracy rises by a tenth a test; a test comes every pace seconds. */
typedef struct {
    tutti_compare c;
    tutti_compare_run runs[2 * SEEDS];
    tutti_run_test tests[2 * SEEDS][4];
} made;

static void make(made *w, const double pace[2 * SEEDS])
{
    memset(w, 0, sizeof *w);
    w->c.nmethods = 2;
    w->c.nseeds = SEEDS;
    w->c.runs = w->runs;
    w->c.methods[0] = (tutti_compare_method){.label = "async-easgd", .row = tutti_method_find("async-easgd")};
    w->c.methods[1] = (tutti_compare_method){.label = "async-sgd", .row = tutti_method_find("async-sgd")};
    for (int r = 0; r < 2 * SEEDS; r++) {
        w->runs[r] = (tutti_compare_run){.method = &w->c.methods[r / SEEDS], .seed = r % SEEDS + 1, .batch = 10};
        w->runs[r].lines = (tutti_run_lines){.tests = w->tests[r], .ntests = 4, .seconds = 4 * pace[r], .last_step = 8};
        for (int t = 0; t < 4; t++)
            w->tests[r][t] =
                (tutti_run_test){2 * (t + 1), pace[r] * (t + 1), 0.5 + 0.125 * t, 1.0 / (t + 1), 4e6 * (t + 1)};
    }
}

static void the_goal_says_which_test_counts(void **state)
{
    (void)state;
    made w;
    make(&w, (double[]){1, 1, 1, 1, 1, 2, 2, 2, 2, 2});
    w.c.goal = TUTTI_UNTIL_ACCURACY;
    w.c.goal_value = 0.7;
    tutti_compare_figures f = tutti_compare_figures_of(&w.c, &w.runs[0]);
    assert_true(f.is_there && f.seconds == 3 && f.samples == 60 && f.accuracy == 0.75 && f.last == 0.875);
    assert_true(f.speed == 20 && f.bytes == 12e6);
    w.c.goal_value = 0.9;
    assert_false(tutti_compare_figures_of(&w.c, &w.runs[0]).is_there);
    w.c.goal = TUTTI_UNTIL_SECONDS;
    w.c.goal_value = 2;
    f = tutti_compare_figures_of(&w.c, &w.runs[0]);
    assert_true(f.is_there && f.seconds == 2 && f.accuracy == 0.625);
    w.c.goal_value = 0.5;
    assert_false(tutti_compare_figures_of(&w.c, &w.runs[0]).is_there);
    w.c.goal = TUTTI_UNTIL_END;
    f = tutti_compare_figures_of(&w.c, &w.runs[SEEDS]);
    assert_true(f.is_there && f.seconds == 8 && f.accuracy == 0.875);
}

static void a_run_that_ended_before_the_seconds_has_not_reached_them(void **state)
{
    static const double ended[] = {0.06, 1.99, 7.5}, goals[] = {2, 2, 60};
    (void)state;
    made w;
    make(&w, (double[]){0.01, 0.01, 0.01, 0.01, 0.01, 2, 2, 2, 2, 2});
    w.c.goal = TUTTI_UNTIL_SECONDS;
    for (int i = 0; i < 3; i++) {
        w.c.goal_value = goals[i];
        w.runs[0].lines.seconds = ended[i];
        const tutti_compare_figures f = tutti_compare_figures_of(&w.c, &w.runs[0]);
        assert_false(f.is_there);
        assert_string_equal(f.lacks, "ended before");
        w.runs[0].lines.seconds = goals[i];
        assert_true(tutti_compare_figures_of(&w.c, &w.runs[0]).is_there);
    }
    w.runs[2].lines.seconds = 1;
    assert_string_equal(tutti_compare_lacks(&w.c, 0), "ended before");
    w.c.goal = TUTTI_UNTIL_END;
    assert_null(tutti_compare_lacks(&w.c, 0));
}

static void a_spread_is_of_runs_that_reached_the_goal(void **state)
{
    (void)state;
    made w;
    make(&w, (double[]){1, 2, 3, 4, 5, 1, 1, 1, 1, 1});
    w.c.goal = TUTTI_UNTIL_SECONDS;
    w.c.goal_value = 3; /* seeds 4 and 5 have no test by then */
    const tutti_compare_spread s = tutti_compare_spread_of(&w.c, 0, offsetof(tutti_compare_figures, seconds), true);
    assert_true(s.n == 3 && s.least == 2 && s.most == 3);
}

static tutti_compare_pair pair_at(made *w, double goal)
{
    tutti_compare_pair pairs[4];
    w->c.goal = TUTTI_UNTIL_ACCURACY;
    w->c.goal_value = goal;
    assert_int_equal(tutti_compare_pairs(&w->c, pairs, 4), 1); /* the twin's twin is none */
    assert_true(pairs[0].a == 0 && pairs[0].b == 1);
    return pairs[0];
}

static void twins_are_shown_to_differ_by_all_of_five_seeds_only(void **state)
{
    (void)state;
    made w;
    make(&w, (double[]){1, 1, 1, 1, 1, 2, 2, 2, 2, 2});
    tutti_compare_pair p = pair_at(&w, 0.7);
    assert_true(p.wins == 5 && p.ties == 0 && p.p == 0.0625 && p.shown);
    w.c.nseeds = 1;
    p = pair_at(&w, 0.7);
    assert_true(p.p == 1 && !p.shown);

    make(&w, (double[]){1, 1, 1, 1, 3, 2, 2, 2, 2, 2});
    p = pair_at(&w, 0.7);
    assert_true(p.wins == 4 && p.p == 0.375 && !p.shown);
    make(&w, (double[]){1, 1, 1, 1, 2, 2, 2, 2, 2, 2}); /* an equal pair is left out */
    p = pair_at(&w, 0.7);
    assert_true(p.wins == 4 && p.ties == 1 && p.p == 0.125 && !p.shown);
    make(&w, (double[]){1, 1, 1, 1, 1, 2, 2, 2, 2, 2}); /* nobody gets there */
    p = pair_at(&w, 0.9);
    assert_true(p.wins == 0 && p.ties == 5 && p.p == 1 && !p.shown);
    w.tests[0][3].accuracy = 0.95; /* who gets there is better than who does not */
    p = pair_at(&w, 0.9);
    assert_true(p.wins == 1 && p.ties == 4);
}

static void a_label_with_quotes_is_one_field(void **state)
{
    (void)state;
    made w;
    tutti_strbuf text = {0};
    make(&w, (double[]){1, 1, 1, 1, 1, 2, 2, 2, 2, 2});
    w.c.methods[0].label = "a:init.from=\"x,y\"";
    w.tests[0][0].loss = (double)NAN;
    w.tests[0][1].bytes = (double)NAN; /* of an earlier version */
    tutti_compare_csv(&w.c, &text);
    assert_non_null(strstr(text.text, "\n\"a:init.from=\"\"x,y\"\"\",1,2,20,1,0.5,,4000000,\n"));
    assert_non_null(strstr(text.text, "\",1,4,40,2,0.625,0.5,,\n"));
    assert_non_null(strstr(text.text, "\nasync-sgd,5,8,80,8,0.875,0.25,16000000,\n"));
    tutti_strbuf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_goal_says_which_test_counts),
        cmocka_unit_test(a_run_that_ended_before_the_seconds_has_not_reached_them),
        cmocka_unit_test(a_spread_is_of_runs_that_reached_the_goal),
        cmocka_unit_test(twins_are_shown_to_differ_by_all_of_five_seeds_only),
        cmocka_unit_test(a_label_with_quotes_is_one_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

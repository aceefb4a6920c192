/* SPDX-License-Identifier: Apache-2.0 */
/* test_group.c: control calls, regions, aborts and deadlines of a group of threads. Processes: test_ranks_group.c. */
#include "testing.h"

#include <string.h>

#include "base/clock.h"
#include "collective/thread_ranks.h"

static const char *calls_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    int p = tutti_group_nranks(g), me = tutti_group_rank(g), all[MOST_RANKS];
    for (int round = 0; round < 20; round++) {
        EXPECT(tutti_group_barrier(g, "start", &err) == TUTTI_OK);
        int mine = 100 * round + me;
        EXPECT(tutti_group_all_gather(g, "numbers", &mine, all, sizeof mine, &err) == TUTTI_OK);
        for (int r = 0; r < p; r++) EXPECT(all[r] == 100 * round + r);
        int word = me == round % p ? 7 + round : 0;
        EXPECT(tutti_group_broadcast(g, "word", round % p, &word, sizeof word, &err) == TUTTI_OK);
        EXPECT(word == 7 + round);
        EXPECT(tutti_group_agree(g, "text", "same", &err) == TUTTI_OK);
    }
    return NULL;
}

static void control_calls_reach_every_rank(void **state)
{
    (void)state;
    for (int p = 1; p <= 9; p++) run_ranks(p, 20, calls_body, NULL);
}

static const char *disagree_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    const char *value = tutti_group_rank(g) == 1 ? "apples" : "pears";
    EXPECT(tutti_group_agree(g, "fruit", value, &err) == TUTTI_ERR_RENDEZVOUS);
    EXPECT(strstr(err.text, "apples") && strstr(err.text, "pears") && strstr(err.text, "rank 1 "));
    EXPECT(tutti_group_barrier(g, "after", &err) == TUTTI_OK); /* a refusal is not the end */
    return NULL;
}

static void test_f29_disagreement_shows_both_values(void **state)
{
    (void)state;
    run_ranks(3, 20, disagree_body, NULL);
}

static const char *mixed_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    int word = 0;
    tutti_status s = tutti_group_rank(g) == 1 ? tutti_group_broadcast(g, "word", 0, &word, sizeof word, &err)
                                              : tutti_group_barrier(g, "step", &err);
    EXPECT(s == TUTTI_ERR_RENDEZVOUS);
    EXPECT(strstr(err.text, "broadcast 'word'") && strstr(err.text, "barrier 'step'"));
    return NULL;
}

static void different_calls_are_refused_by_name(void **state)
{
    (void)state;
    run_ranks(3, 20, mixed_body, NULL);
}

static const char *late_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    if (tutti_group_rank(g) == 2) {
        tutti_clock_sleep_s(0.4); /* never comes */
        return NULL;
    }
    EXPECT(tutti_group_barrier(g, "epoch end", &err) == TUTTI_ERR_PEER);
    EXPECT(strstr(err.text, "epoch end") && strstr(err.text, "not arrived: rank 2 "));
    EXPECT(!strstr(err.text, "not arrived: rank 1"));
    return NULL;
}

static void a_deadline_names_who_is_missing(void **state)
{
    (void)state;
    run_ranks(4, 0.15, late_body, NULL);
}

/* Reports for so long, and then is silent until the run is over, where it is to be. */
static void be_long(tutti_group *g, const char *what, double reports_s, bool then_silent)
{
    const double began = tutti_clock_s();
    tutti_group_long_phase_begin(g, what, "files");
    bool wanted = true;
    for (int64_t i = 0; wanted && tutti_clock_s() - began < reports_s; i++) {
        wanted = tutti_group_progress(g, 1234567 + i, 2345678);
        tutti_clock_sleep_s(0.02);
    }
    while (then_silent && tutti_group_poll(g, NULL) == TUTTI_OK) tutti_clock_sleep_s(0.02);
    tutti_group_long_phase_end(g);
}

static const char *long_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    if (tutti_group_rank(g) == 1) be_long(g, "writes", 2, false); /* two deadlines and a half */
    EXPECT(tutti_group_barrier(g, "after checkpoint", &err) == TUTTI_OK);
    return NULL;
}

static void a_long_phase_that_gets_on_is_waited_for(void **state)
{
    (void)state;
    run_ranks(3, 0.8, long_body, NULL);
}

/* *arg: seconds of reports before the silence. */
static const char *silent_body(tutti_group *g, void *arg)
{
    const double reports_s = *(const double *)arg, began = tutti_clock_s();
    tutti_failure err = {0};
    if (tutti_group_rank(g) == 1) {
        be_long(g, "tests", reports_s, true);
        EXPECT(!tutti_group_progress(g, 1, 1));
        return NULL;
    }
    EXPECT(tutti_group_barrier(g, "after the test", &err) == TUTTI_ERR_PEER);
    EXPECT(tutti_clock_s() - began > reports_s + 0.4 && tutti_clock_s() - began < reports_s + 5);
    EXPECT(strstr(err.text, "deadline of 0.8 s") && strstr(err.text, "rank 1 ") && strstr(err.text, "[tests"));
    EXPECT(reports_s == 0 || strstr(err.text, "1,234,5") || strstr(err.text, "1,234,6"));
    EXPECT(reports_s == 0 || strstr(err.text, " of 2,345,678 files"));
    return NULL;
}

static void a_long_phase_that_stands_still_ends_at_the_deadline(void **state)
{
    (void)state;
    double reports_s[] = {0, 0.3, 1.1};
    for (int i = 0; i < 3; i++) run_ranks(3, 0.8, silent_body, &reports_s[i]);
}

/* Rank 1 gets on; rank 2 does nothing; rank 3 waits, for which nobody is blamed. */
static const char *hidden_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    const double began = tutti_clock_s();
    if (tutti_group_rank(g) == 1) be_long(g, "proves", 6, false);
    if (tutti_group_rank(g) == 2)
        while (tutti_clock_s() - began < 6 && !tutti_group_is_over(g)) tutti_clock_sleep_s(0.02);
    if (tutti_group_rank(g) == 1 || tutti_group_rank(g) == 2) return NULL;
    EXPECT(tutti_group_barrier(g, "step", &err) == TUTTI_ERR_PEER && tutti_clock_s() - began < 5);
    EXPECT(strstr(err.text, "rank 2 "));
    return NULL;
}

static void a_phase_that_gets_on_hides_nobody_who_stands_still(void **state)
{
    (void)state;
    run_ranks(4, 0.8, hidden_body, NULL);
}

static const char *abort_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    if (tutti_group_rank(g) == 1) tutti_group_abort(g, "the disk is full");
    EXPECT(tutti_group_barrier(g, "never", &err) == TUTTI_ERR_PEER);
    EXPECT(strstr(err.text, "the disk is full") && strstr(err.text, "rank 1 "));
    EXPECT(tutti_group_poll(g, &err) == TUTTI_ERR_PEER);
    return NULL;
}

static void an_abort_ends_every_wait_with_its_words(void **state)
{
    (void)state;
    run_ranks(4, 20, abort_body, NULL);
}

static const char *hasty_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    EXPECT(tutti_group_barrier(g, "before", &err) == TUTTI_OK);
    if (tutti_group_rank(g) == 0) {
        tutti_clock_sleep_s(0.05); /* leaves with the other's messages unread */
        return NULL;
    }
    tutti_group_long_phase_begin(g, "reports", "");
    tutti_group_long_phase_end(g);
    tutti_clock_sleep_s(0.1);
    EXPECT(tutti_group_poll(g, &err) == TUTTI_OK);
    return NULL;
}

/* The kernel reports a reset in front of the goodbye then; it was taken for a death. */
static void leaving_with_messages_unread_is_no_death(void **state)
{
    (void)state;
    run_ranks(2, 20, hasty_body, NULL);
}

static const char *region_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    int p = tutti_group_nranks(g), me = tutti_group_rank(g);
    tutti_region *region;
    EXPECT(tutti_region_create(g, "numbers", (size_t)(me + 1) * 4096, &region, &err) == TUTTI_OK);
    for (int r = 0; r < p; r++) {
        EXPECT(tutti_region_bytes(region, r) == (size_t)(r + 1) * 4096);
        EXPECT((uintptr_t)tutti_region_base(region, r) % 4096 == 0);
        const char *bytes = tutti_region_base(region, r);
        for (size_t i = 0; i < (size_t)(r + 1) * 4096; i++) EXPECT(bytes[i] == 0);
    }
    EXPECT(tutti_group_barrier(g, "looked", &err) == TUTTI_OK);
    *(int *)tutti_region_base(region, me) = 5 + me;
    EXPECT(tutti_group_barrier(g, "written", &err) == TUTTI_OK);
    for (int r = 0; r < p; r++) EXPECT(*(int *)tutti_region_base(region, r) == 5 + r);
    tutti_region_destroy(region);
    return NULL;
}

static void regions_are_zeroed_and_seen_by_all(void **state)
{
    (void)state;
    for (int p = 1; p <= 5; p++) run_ranks(p, 20, region_body, NULL);
}

static const char *huge_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    tutti_region *region;
    size_t bytes = tutti_group_rank(g) == 1 ? (size_t)1 << 50 : 4096;
    EXPECT(tutti_region_create(g, "weights", bytes, &region, &err) == TUTTI_ERR_FAILED);
    EXPECT(strstr(err.text, "rank 1 ") && strstr(err.text, "'weights' needs") && strstr(err.text, "left"));
    return NULL;
}

static void test_f19_too_large_a_region_fails_everywhere_with_need_and_have(void **state)
{
    (void)state;
    run_ranks(3, 20, huge_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_calls_reach_every_rank),
        cmocka_unit_test(test_f29_disagreement_shows_both_values),
        cmocka_unit_test(different_calls_are_refused_by_name),
        cmocka_unit_test(a_deadline_names_who_is_missing),
        cmocka_unit_test(a_long_phase_that_gets_on_is_waited_for),
        cmocka_unit_test(a_long_phase_that_stands_still_ends_at_the_deadline),
        cmocka_unit_test(a_phase_that_gets_on_hides_nobody_who_stands_still),
        cmocka_unit_test(an_abort_ends_every_wait_with_its_words),
        cmocka_unit_test(leaving_with_messages_unread_is_no_death),
        cmocka_unit_test(regions_are_zeroed_and_seen_by_all),
        cmocka_unit_test(test_f19_too_large_a_region_fails_everywhere_with_need_and_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

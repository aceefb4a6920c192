/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_text.c: every schedule prints and parses to itself; bad text is refused with its line; no byte breaks
 * it. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_schedule.h"
#include "tutti/check.h"
#include "tutti/lower.h"

static void must_round_trip(const tutti_schedule *s)
{
    tutti_schedule *again = NULL;
    tutti_failure err = {0};
    char *text = tutti_schedule_print(s);
    if (tutti_schedule_parse("text", text, strlen(text), &again, &err) != TUTTI_OK) fail_msg("%s\n%s", err.text, text);
    char *text_again = tutti_schedule_print(again);
    assert_string_equal(text, text_again);
    assert_true(tutti_schedule_hash(s) == tutti_schedule_hash(again));
    if (tutti_schedule_head(s)->wire == TUTTI_WIRE_TWO_SIDED) {
        tutti_schedule *a = NULL, *b = NULL;
        assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_MAPPED, &a, NULL), TUTTI_OK);
        assert_int_equal(tutti_schedule_lower(again, TUTTI_WIRE_MAPPED, &b, NULL), TUTTI_OK);
        assert_true(tutti_schedule_hash(a) == tutti_schedule_hash(b)); /* far slices were found again */
        tutti_schedule_destroy(b);
        tutti_schedule_destroy(a);
    }
    free(text_again);
    free(text);
    tutti_schedule_destroy(again);
}

static void all_forms_must_round_trip(tutti_schedule *s)
{
    int32_t p = tutti_schedule_head(s)->nranks;
    if (p > 9 && p != 16) return;
    must_round_trip(s);
    for (int wire = TUTTI_WIRE_MAPPED; wire <= TUTTI_WIRE_ONE_SIDED; wire++) {
        tutti_schedule *lowered = NULL;
        assert_int_equal(tutti_schedule_lower(s, (tutti_wire_class)wire, &lowered, NULL), TUTTI_OK);
        must_round_trip(lowered);
        tutti_schedule_destroy(lowered);
    }
    int32_t host_of[16] = {0};
    tutti_schedule *lowered = NULL;
    for (int32_t r = 0; r < p; r++) host_of[r] = r % 3 % p;
    assert_int_equal(tutti_schedule_lower_hosts(s, host_of, &lowered, NULL), TUTTI_OK);
    must_round_trip(lowered);
    tutti_schedule_destroy(lowered);
}

static void every_schedule_parses_back_to_its_text(void **state)
{
    (void)state;
    each_schedule(all_forms_must_round_trip);
}

static const char head[] = "tutti-schedule 1\nalgorithm mine\ncollective allreduce\nranks 2\nroot 0\nslots 0\n"
                           "in-place no\nwire two-sided\ndeterminism fixed\n";
static const char rank0[] = "rank 0\n  buffer in in leaves 0\n  buffer out out\n  buffer s0 scratch\n"
                            "0 seq 0 stage 0 send in to 1 channel 0 needs ready # said\n"
                            "1 seq 1 stage 0 recv s0 from 1 channel 0\n"
                            "2 seq 1 stage 1 reduce out <- (in s0) needs ready free\n";
static const char rank1[] = "rank 1\n  buffer in in leaves 1\n  buffer out out\n  buffer s0 scratch\n"
                            "0 seq 0 stage 0 send in to 0 channel 0 needs ready\n"
                            "1 seq 1 stage 0 recv s0 from 0 channel 0\n"
                            "2 seq 1 stage 1 reduce out <- (s0 in) needs ready free\n";

static void a_schedule_written_by_hand_is_proved(void **state)
{
    (void)state;
    char text[2000];
    tutti_schedule *s = NULL, *lowered = NULL;
    tutti_failure err = {0};
    snprintf(text, sizeof text, "%s%s\r\n\n%s", head, rank1, rank0); /* ranks in any order */
    if (tutti_schedule_parse("mine", text, strlen(text), &s, &err) != TUTTI_OK) fail_msg("%s", err.text);
    if (tutti_schedule_check(s, NULL, &err) != TUTTI_OK) fail_msg("%s", err.text);
    assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_MAPPED, &lowered, &err), TUTTI_OK);
    if (tutti_schedule_check(lowered, NULL, &err) != TUTTI_OK) fail_msg("%s", err.text);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(s);
}

/* Both ranks send two messages before they receive: right where a channel holds as many. */
static void a_text_is_proved_with_the_room_that_it_states(void **state)
{
    (void)state;
    static const struct {
        const char *room;
        tutti_status st;
    } cases[] = {
        {"", TUTTI_ERR_FAILED}, {"room 1\n", TUTTI_ERR_FAILED}, {"room 2\n", TUTTI_OK}, {"room 9 # more\n", TUTTI_OK}};
    static const char steps[] = "  buffer in in leaves %d\n  buffer out out\n  buffer s scratch\n"
                                "0 seq 0 stage 0 send in[0/2] to %d channel 0 needs ready\n"
                                "1 seq 0 stage 0 send in[1/2] to %d channel 0 needs ready\n"
                                "2 seq 0 stage 1 recv s[0/2] from %d channel 0\n"
                                "3 seq 0 stage 1 recv s[1/2] from %d channel 0\n"
                                "4 seq 0 stage 2 reduce out <- (in s) needs ready free\n";
    uint64_t hash[4];
    for (int i = 0; i < 4; i++) {
        char text[3000], *again;
        int n = snprintf(text, sizeof text, "%s%srank 0\n", head, cases[i].room);
        n += snprintf(text + n, sizeof text - (size_t)n, steps, 0, 1, 1, 1, 1);
        n += snprintf(text + n, sizeof text - (size_t)n, "rank 1\n");
        snprintf(text + n, sizeof text - (size_t)n, steps, 1, 0, 0, 0, 0);
        tutti_schedule *s = NULL, *parsed = NULL, *lowered = NULL;
        tutti_failure err = {0};
        if (tutti_schedule_parse("ahead", text, strlen(text), &s, &err) != TUTTI_OK) fail_msg("%s", err.text);
        assert_int_equal(tutti_schedule_check(s, NULL, &err), cases[i].st);
        again = tutti_schedule_print(s);
        assert_int_equal(tutti_schedule_parse("again", again, strlen(again), &parsed, &err), TUTTI_OK);
        hash[i] = tutti_schedule_hash(s);
        assert_int_equal(tutti_schedule_head(parsed)->room, tutti_schedule_head(s)->room);
        assert_true(tutti_schedule_hash(parsed) == hash[i]);
        for (int k = 0; k < i; k++) assert_true(hash[k] != hash[i]);
        assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_MAPPED, &lowered, &err), TUTTI_OK);
        assert_int_equal(tutti_schedule_head(lowered)->room, 0);
        tutti_schedule_destroy(lowered);
        tutti_schedule_destroy(parsed);
        tutti_schedule_destroy(s);
        free(again);
    }
}

static void must_refuse(const char *text, const char *words)
{
    tutti_schedule *s = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_schedule_parse("f", text, strlen(text), &s, &err), TUTTI_ERR_DATA);
    if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
    assert_null(s);
}

/* The good text with `from` replaced by `to` must be refused with these words. */
static void must_refuse_with(const char *from, const char *to, const char *words)
{
    char good[2000], bad[4000];
    snprintf(good, sizeof good, "%s%s%s", head, rank0, rank1);
    char *at = strstr(good, from);
    assert_non_null(at);
    snprintf(bad, sizeof bad, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    must_refuse(bad, words);
}

static void bad_text_is_refused_with_its_line(void **state)
{
    (void)state;
    must_refuse("", "line 1: the file ends before 'tutti-schedule 1'");
    must_refuse("tutti-schedule 2\n", "line 1: '1' is wanted, not '2'");
    must_refuse("tutti-schedule 1\nalgorithm x\n", "the file ends before 'collective'");
    must_refuse_with("ranks 2", "ranks 5000", "line 4: a number of ranks from 1 to 4096");
    must_refuse_with("ranks 2", "ranks 99999999999999999999", "line 4");
    must_refuse_with("ranks 2", "ranks -1", "line 4");
    must_refuse_with("ranks 2", "ranks 3", "rank 2 of 3 is missing");
    must_refuse_with("rank 1", "rank 0", "line 17: rank 0 is given twice");
    must_refuse_with("slots 0", "slots 6", "power of two");
    must_refuse_with("s0 scratch", "out scratch", "two buffers named out");
    must_refuse_with("s0 scratch", "s0 scratch banks 65", "line 13");
    must_refuse_with("s0 scratch", "s0 scratch window 3+6/8", "line 13");
    must_refuse_with("s0 scratch", "averyveryverylongname scratch", "line 13: a name");
    must_refuse_with("1 seq 1", "2 seq 1", "line 15");
    must_refuse_with("send in to 1", "send in to 2", "a rank from 0 to 1");
    must_refuse_with("send in to 1", "send in[2/2] to 1", "a part of the vector");
    must_refuse_with("send in to 1", "send rank1:in to 1", "two-sided");
    must_refuse_with("(in s0)", "(in s1)", "a buffer of that rank is wanted, not 's1'");
    must_refuse_with("(in s0)", "in s0", "a sum of two values");
    must_refuse_with("(in s0)", "((in s0)", "a sum of two values");
    must_refuse_with("(in s0)", "(in s0))", "a sum of two values");
    must_refuse_with("(in s0)", "(in s0 in)", "a sum of two values");
    must_refuse_with("(in s0)", "()", "a sum of two values");
    must_refuse_with("needs ready free", "needs free soon", "(ready, free) is wanted, not 'soon'");
    must_refuse_with("needs ready free", "after 3", "rank 0: a step is after step 3, but there are 3");
    must_refuse_with("needs ready free", "now", "not 'now'");
    must_refuse_with("fixed\n", "fixed\nroom 0\n", "line 10: a number of messages from 1");
    must_refuse_with("fixed\n", "fixed\nroom many\n", "line 10: a number of messages");
    must_refuse_with("fixed\n", "fixed\nroom 2 3\n", "the end of the line is wanted, not '3'");
    must_refuse_with("fixed\n", "fixed\nroom 2\nroom 2\n", "line 11: 'rank' is wanted");
    must_refuse_with("two-sided\ndeterminism fixed\n", "mapped\ndeterminism fixed\nroom 2\n",
                     "line 10: a wire that is mapped has no messages");
}

/* A small generator of its own: each run breaks the same bytes. */
static uint32_t next_random(uint32_t *x)
{
    *x = *x * 1664525u + 1013904223u;
    return *x >> 8;
}

static void broken_bytes_are_refused_or_round_trip(void **state)
{
    (void)state;
    uint32_t x = 1;
    int nparsed = 0;
    for (int i = 0; i < 20000; i++) {
        char text[2000];
        int n = snprintf(text, sizeof text, "%s%s%s", head, rank0, rank1);
        for (int k = 0; k < 1 + i % 3; k++) text[next_random(&x) % (uint32_t)n] = (char)next_random(&x);
        if (i % 7 == 0) n = (int)(next_random(&x) % (uint32_t)n);
        tutti_schedule *s = NULL;
        if (tutti_schedule_parse("broken", text, (size_t)n, &s, NULL) != TUTTI_OK) continue;
        must_round_trip(s);
        tutti_schedule_destroy(s);
        nparsed++;
    }
    assert_in_range(nparsed, 100, 19000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_parses_back_to_its_text),
        cmocka_unit_test(a_schedule_written_by_hand_is_proved),
        cmocka_unit_test(a_text_is_proved_with_the_room_that_it_states),
        cmocka_unit_test(bad_text_is_refused_with_its_line),
        cmocka_unit_test(broken_bytes_are_refused_or_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

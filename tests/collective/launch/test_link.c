/* SPDX-License-Identifier: Apache-2.0 */
/* test_link.c: the messages between a launcher that replaces lost ranks and its ranks. Whole runs that lose ranks:
 * tests/elastic. */
#include "testing.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "collective/launch/link.h"

/* Both ends of a link. */
typedef struct {
    int launcher, rank;
} pair;

static pair open_pair(void)
{
    int ends[2];
    tutti_failure err = {0};
    if (tutti_link_open(ends, &err)) fail_msg("%s", err.text);
    return (pair){ends[0], ends[1]};
}

static void close_pair(pair p)
{
    if (p.launcher >= 0) close(p.launcher);
    if (p.rank >= 0) close(p.rank);
}

static tutti_link_message next_of(uint32_t epoch)
{
    return (tutti_link_message){.kind = TUTTI_LINK_NEXT,
                                .epoch = epoch,
                                .lost = 3,
                                .port = 4000 + (int32_t)epoch,
                                .lost_ns = (int64_t)1 << 40 | epoch};
}

static void messages_arrive_in_order_and_as_they_were_sent(void **state)
{
    (void)state;
    const pair p = open_pair();
    tutti_link_message got;
    int passed;
    assert_int_equal(tutti_link_receive(p.rank, &got, &passed), 0);
    for (uint32_t epoch = 2; epoch < 22; epoch++) {
        const tutti_link_message sent = next_of(epoch);
        assert_true(tutti_link_send(p.launcher, &sent, -1));
    }
    for (uint32_t epoch = 2; epoch < 22; epoch++) {
        const tutti_link_message want = next_of(epoch);
        assert_int_equal(tutti_link_receive(p.rank, &got, &passed), 1);
        assert_memory_equal(&got, &want, sizeof got);
        assert_int_equal(passed, -1);
    }
    assert_int_equal(tutti_link_receive(p.rank, &got, &passed), 0);
    const tutti_link_message over = {.kind = TUTTI_LINK_OVER, .epoch = 2, .lost = 1};
    assert_true(tutti_link_send(p.rank, &over, -1));
    assert_int_equal(tutti_link_receive(p.launcher, &got, &passed), 1);
    assert_memory_equal(&got, &over, sizeof got);
    close_pair(p);
}

static void a_message_of_another_size_is_not_taken_as_one(void **state)
{
    (void)state;
    const pair p = open_pair();
    tutti_link_message got;
    int passed;
    const char more[sizeof got + 8] = {0};
    assert_int_equal(send(p.launcher, more, sizeof got - 1, 0), sizeof got - 1);
    assert_int_equal(send(p.launcher, more, sizeof more, 0), sizeof more);
    assert_int_equal(tutti_link_receive(p.rank, &got, &passed), -1);
    assert_int_equal(tutti_link_receive(p.rank, &got, &passed), -1);
    assert_int_equal(tutti_link_receive(p.rank, &got, &passed), 0);
    close_pair(p);
}

/* The receiver gets a descriptor of the same file, which children do not inherit. */
static void a_descriptor_is_passed_with_its_message(void **state)
{
    (void)state;
    const pair p = open_pair();
    const tutti_link_message sent = next_of(2);
    int ends[2], passed;
    tutti_link_message got;
    char word[3] = "";
    assert_int_equal(pipe(ends), 0);
    assert_true(tutti_link_send(p.launcher, &sent, ends[1]));
    close(ends[1]);
    assert_int_equal(tutti_link_receive(p.rank, &got, &passed), 1);
    assert_memory_equal(&got, &sent, sizeof got);
    assert_true(passed >= 0);
    assert_true(fcntl(passed, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(passed, "ok", 2), 2);
    assert_int_equal(read(ends[0], word, 2), 2);
    assert_string_equal(word, "ok");
    close(passed);
    assert_int_equal(read(ends[0], word, 2), 0); /* no other copy of the descriptor is left */
    close(ends[0]);
    close_pair(p);
}

static void the_end_of_the_other_side_is_seen(void **state)
{
    (void)state;
    pair p = open_pair();
    const tutti_link_message sent = next_of(2);
    tutti_link_message got;
    int passed;
    assert_true(tutti_link_send(p.launcher, &sent, -1));
    assert_true(tutti_link_has_news(p.rank));
    close(p.launcher);
    p.launcher = -1;
    assert_int_equal(tutti_link_receive(p.rank, &got, &passed), 1); /* what was sent before the end still arrives */
    assert_int_equal(tutti_link_receive(p.rank, &got, &passed), -1);
    assert_true(tutti_link_has_news(p.rank));
    assert_false(tutti_link_send(p.rank, &sent, -1));
    close_pair(p);
}

static void only_messages_are_news(void **state)
{
    (void)state;
    const pair p = open_pair();
    const tutti_link_message sent = {.kind = TUTTI_LINK_BROKEN, .epoch = 1};
    tutti_link_message got;
    int passed;
    assert_false(tutti_link_has_news(p.rank));
    assert_true(tutti_link_send(p.launcher, &sent, -1));
    assert_true(tutti_link_has_news(p.rank));
    assert_int_equal(tutti_link_receive(p.rank, &got, &passed), 1);
    assert_false(tutti_link_has_news(p.rank));
    close_pair(p);
}

static volatile sig_atomic_t nsignals;

static void count(int signal)
{
    (void)signal;
    nsignals++;
}

static void a_rank_that_speaks_wakes_its_launcher(void **state)
{
    (void)state;
    const tutti_link_message sent = {.kind = TUTTI_LINK_PLAYS, .epoch = 1};
    struct sigaction action = {.sa_handler = count}, before;
    assert_int_equal(sigaction(SIGIO, &action, &before), 0);
    const pair p = open_pair();
    const sig_atomic_t earlier = nsignals;
    assert_true(tutti_link_send(p.rank, &sent, -1));
    assert_true(nsignals > earlier);
    close_pair(p);
    assert_int_equal(sigaction(SIGIO, &before, NULL), 0);
}

/* A descriptor that came with a message which is skipped is closed. */
static void a_rank_waits_for_an_epoch_later_than_its_own(void **state)
{
    (void)state;
    const pair p = open_pair();
    const tutti_link_message broken = {.kind = TUTTI_LINK_BROKEN, .epoch = 6}, before = next_of(4), same = next_of(5),
                             want = next_of(7);
    tutti_link_message got;
    tutti_failure err = {0};
    int ends[2], listener;
    char word;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_true(tutti_link_send(p.launcher, &before, ends[1]));
    assert_true(tutti_link_send(p.launcher, &same, ends[1]));
    assert_true(tutti_link_send(p.launcher, &broken, -1));
    assert_true(tutti_link_send(p.launcher, &want, p.launcher));
    close(ends[1]);
    if (tutti_link_wait(p.rank, 5, 10, &got, &listener, &err)) fail_msg("%s", err.text);
    assert_memory_equal(&got, &want, sizeof got);
    assert_true(listener >= 0);
    assert_int_equal(read(ends[0], &word, 1), 0);
    close(ends[0]);
    close(listener);
    close_pair(p);
}

static void refused(pair p, uint32_t epoch, double limit_s, const char *words)
{
    tutti_link_message got;
    tutti_failure err = {0};
    int listener;
    assert_int_equal(tutti_link_wait(p.rank, epoch, limit_s, &got, &listener, &err), TUTTI_ERR_PEER);
    if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
}

static void a_rank_does_not_wait_for_ever(void **state)
{
    (void)state;
    pair p = open_pair();
    const tutti_link_message same = next_of(5);
    const double began = tutti_clock_s();
    assert_true(tutti_link_send(p.launcher, &same, -1));
    refused(p, 5, 0.2, "has not formed an epoch after 5 within 0.2 s");
    assert_true(tutti_clock_s() - began >= 0.2);
    assert_int_equal(shutdown(p.launcher, SHUT_RDWR), 0); /* as the launcher does when no epoch follows */
    refused(p, 5, 60, "the launcher gives the run up");
    close(p.launcher);
    p.launcher = -1;
    refused(p, 5, 60, "the launcher gives the run up");
    close_pair(p);
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void the_epoch_of_a_rank_is_read_whole_or_is_the_first(void **state)
{
    (void)state;
    static const char *const odd[] = {NULL, "", "7", "7,1", "7,1,", "x,1,2", "7;1;2", ",,"};
    uint32_t epoch;
    int lost;
    int64_t lost_ns;
    set("TUTTI_EPOCH", "7,1,123456789012345");
    tutti_link_epoch(&epoch, &lost, &lost_ns);
    assert_true(epoch == 7 && lost == 1 && lost_ns == 123456789012345);
    set("TUTTI_EPOCH", "1,-1,0");
    tutti_link_epoch(&epoch, &lost, &lost_ns);
    assert_true(epoch == 1 && lost == -1 && lost_ns == 0);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        set("TUTTI_EPOCH", odd[i]);
        tutti_link_epoch(&epoch, &lost, &lost_ns);
        if (epoch != 1 || lost != -1 || lost_ns != 0) fail_msg("'%s' is read as epoch %u", odd[i], epoch);
    }
    set("TUTTI_EPOCH", NULL);
}

static void kept_files_are_two_or_none(void **state)
{
    (void)state;
    static const char *const odd[] = {NULL, "", "5", "5,", ",6", "a,b", "5;6"};
    int samples, copies;
    set("TUTTI_KEEP_FDS", "5,6");
    tutti_link_kept_files(&samples, &copies);
    assert_true(samples == 5 && copies == 6);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        set("TUTTI_KEEP_FDS", odd[i]);
        tutti_link_kept_files(&samples, &copies);
        if (samples != -1 || copies != -1) fail_msg("'%s' is read as %d and %d", odd[i], samples, copies);
    }
    set("TUTTI_KEEP_FDS", NULL);
}

static void a_rank_without_a_launcher_has_no_link(void **state)
{
    (void)state;
    static const char *const odd[] = {NULL, "", "-3", "five", "5 6", "99999999999"};
    set("TUTTI_LINK_FD", "5");
    assert_int_equal(tutti_link_of_environment(), 5);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        set("TUTTI_LINK_FD", odd[i]);
        if (tutti_link_of_environment() != -1) fail_msg("'%s' is taken as a link", odd[i]);
    }
    set("TUTTI_LINK_FD", NULL);
}

int main(void)
{
    (void)signal(SIGIO, SIG_IGN); /* messages to a launcher raise it */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_in_order_and_as_they_were_sent),
        cmocka_unit_test(a_message_of_another_size_is_not_taken_as_one),
        cmocka_unit_test(a_descriptor_is_passed_with_its_message),
        cmocka_unit_test(the_end_of_the_other_side_is_seen),
        cmocka_unit_test(only_messages_are_news),
        cmocka_unit_test(a_rank_that_speaks_wakes_its_launcher),
        cmocka_unit_test(a_rank_waits_for_an_epoch_later_than_its_own),
        cmocka_unit_test(a_rank_does_not_wait_for_ever),
        cmocka_unit_test(the_epoch_of_a_rank_is_read_whole_or_is_the_first),
        cmocka_unit_test(kept_files_are_two_or_none),
        cmocka_unit_test(a_rank_without_a_launcher_has_no_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

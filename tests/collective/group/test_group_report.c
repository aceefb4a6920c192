/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_report.c: what a hang says of itself: the flight recorder, and reports of ranks that are threads.
 * Processes that are stopped or asked by a signal: tests/training/run/test_ranks_hangs.c. */
#include "testing.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "collective/exchange/executor.h"
#include "collective/group/flight.h"
#include "collective/thread_ranks.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

/* --- the recorder --- */

static void the_last_fifty_operations_are_kept_the_latest_first(void **state)
{
    (void)state;
    tutti_flight *f = tutti_flight_create();
    tutti_strbuf text = {0};
    char name[TUTTI_FLIGHT_NAME] = "sum";
    for (int e = 0; e < 1000; e++) tutti_flight_note(f, TUTTI_FLIGHT_START, name, (tutti_flight_what){e, -1, -1, 4096});
    tutti_flight_note(f, TUTTI_FLIGHT_WAIT, name, (tutti_flight_what){999, 7, 3, 512});
    tutti_flight_print(f, &text);
    int lines = 0;
    for (const char *at = text.text; *at; at++) lines += *at == '\n';
    assert_int_equal(lines, TUTTI_FLIGHT_SHOWN);
    const char *wait = strstr(text.text, "step 7 for rank 3  512 bytes missing");
    assert_non_null(wait);
    assert_true(wait < strchr(text.text, '\n'));
    assert_non_null(strstr(text.text, " 951  4096 bytes to write"));
    assert_null(strstr(text.text, " 950  4096 bytes to write"));
    tutti_strbuf_release(&text);
    free(f);
}

static void times_are_seconds_whatever_the_clock_of_the_recorder_counts(void **state)
{
    (void)state;
    tutti_flight *f = tutti_flight_create();
    tutti_strbuf text = {0};
    char name[TUTTI_FLIGHT_NAME] = "sum";
    tutti_flight_note(f, TUTTI_FLIGHT_START, name, (tutti_flight_what){0, -1, -1, 0});
    const double began = tutti_clock_s();
    tutti_clock_sleep_s(0.1);
    tutti_flight_print(f, &text);
    const double said = strtod(text.text, NULL), was = tutti_clock_s() - began;
    assert_true(said > 0.095 && said < was + 0.05);
    tutti_strbuf_release(&text);
    free(f);
}

/* --- reports --- */

enum { N = 3000, NASKED = 4 };

typedef struct {
    char text[20000];
    int reports;
} told;

static void keep(void *arg, const char *words)
{
    told *t = arg;
    if (strncmp(words, "report of ", 10) != 0) return;
    snprintf(t->text, sizeof t->text, "%s", words);
    t->reports++;
}

/* Sums once; then rank 2 is late for the second time, in an exchange or in a barrier. */
static const char *late_body(tutti_group *g, void *arg)
{
    const bool in_call = *(const bool *)arg;
    const int me = tutti_group_rank(g);
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = tutti_group_nranks(g)};
    tutti_failure err = {0};
    tutti_schedule *compiled, *lowered;
    tutti_region *in, *out;
    tutti_exchange *x;
    told *t = calloc(1, sizeof *t);
    tutti_group_on_silence(g, keep, t);
    EXPECT(tutti_schedule_compile("direct", &q, &compiled, &err) == TUTTI_OK);
    EXPECT(tutti_schedule_lower(compiled, TUTTI_WIRE_MAPPED, &lowered, &err) == TUTTI_OK);
    EXPECT(tutti_region_create(g, "in", N * sizeof(float), &in, &err) == TUTTI_OK);
    EXPECT(tutti_region_create(g, "out", N * sizeof(float), &out, &err) == TUTTI_OK);
    const tutti_place place = {in, 0};
    const tutti_exchange_binding b = {.name = "gradients", .n = N, .in = &place, .nin = 1, .out = {out, 0}};
    EXPECT(tutti_exchange_create(g, lowered, &b, &x, &err) == TUTTI_OK);
    tutti_exchange_start(x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    EXPECT(tutti_exchange_wait(x, &err) == TUTTI_OK);
    if (me == 2) {
        tutti_clock_sleep_s(1);
        tutti_group_poll(g, &err);
    } else if (in_call) {
        EXPECT(tutti_group_barrier(g, "end of epoch", &err) == TUTTI_ERR_PEER);
    } else {
        tutti_exchange_start(x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        EXPECT(tutti_exchange_wait(x, &err) == TUTTI_ERR_PEER);
    }
    EXPECT(t->reports == 1);
    EXPECT(strstr(t->text, "deadline of 0.4 s"));
    EXPECT(strstr(t->text, me == 2 ? "it computes" : "not arrived: rank 2 "));
    EXPECT(strstr(t->text, "slowest: rank 2 "));
    EXPECT(strstr(t->text, " bytes to write, done"));
    if (me != 2 && in_call) EXPECT(strstr(t->text, "barrier 'end of epoch'"));
    if (me != 2 && !in_call) {
        EXPECT(strstr(t->text, "exchange 'gradients' (direct, invocation 1): step "));
        EXPECT(strstr(t->text, "(wait, stage 0) for rank "));
        EXPECT(strstr(t->text, "bytes still to write here"));
        EXPECT(strstr(t->text, "  wait    gradients "));
    }
    tutti_exchange_destroy(x);
    tutti_region_destroy(in), tutti_region_destroy(out);
    tutti_schedule_destroy(lowered), tutti_schedule_destroy(compiled);
    free(t);
    return NULL;
}

static void a_deadline_makes_every_rank_report_once(void **state)
{
    (void)state;
    bool in_call = false;
    run_ranks(3, 0.4, late_body, &in_call);
    in_call = true;
    run_ranks(3, 0.4, late_body, &in_call);
}

static const char *asked_body(tutti_group *g, void *arg)
{
    atomic_int *nreported = arg;
    tutti_failure err = {0};
    told *t = calloc(1, sizeof *t);
    tutti_group_on_silence(g, keep, t);
    EXPECT(tutti_group_report_on(g, SIGUSR2, &err) == TUTTI_OK);
    EXPECT(tutti_group_barrier(g, "listening", &err) == TUTTI_OK);
    if (tutti_group_rank(g) == 1) {
        tutti_clock_sleep_s(0.05);
        raise(SIGUSR2);
    }
    for (int i = 0; i < 500 && t->reports == 0; i++) {
        EXPECT(tutti_group_poll(g, &err) == TUTTI_OK);
        tutti_clock_sleep_s(0.01);
    }
    EXPECT(t->reports == 1);
    EXPECT(strstr(t->text, "SIGUSR2 to rank "));
    EXPECT(strstr(t->text, "nobody is behind"));
    /* who goes on before the others have looked is ahead of them */
    atomic_fetch_add(nreported, 1);
    for (int i = 0; i < 500 && atomic_load(nreported) < NASKED; i++) tutti_clock_sleep_s(0.01);
    EXPECT(tutti_group_barrier(g, "reported", &err) == TUTTI_OK); /* and life goes on */
    free(t);
    return NULL;
}

static void one_signal_makes_all_ranks_report_and_go_on(void **state)
{
    (void)state;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    atomic_int nreported = 0;
    run_ranks(NASKED, 20, asked_body, &nreported);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_fifty_operations_are_kept_the_latest_first),
        cmocka_unit_test(times_are_seconds_whatever_the_clock_of_the_recorder_counts),
        cmocka_unit_test(a_deadline_makes_every_rank_report_once),
        cmocka_unit_test(one_signal_makes_all_ranks_report_and_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

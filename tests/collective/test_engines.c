/* SPDX-License-Identifier: Apache-2.0 */
/* The engines judge each other. Where routes do not collide, formula, round evaluator, event player and SimGrid give
 * one time; on random schedules and networks nobody who plays is below the round evaluator's lower bound. Refusals have
 * words, and a helper's deadline ends it. TUTTI_LONG=1: 500 random cases. What wants tutti-simgrid is left out, saying
 * so, where it is not built. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "collective/random_schedules.h"
#include "collective/simulate/engines/engines.h"
#include "collective/simulate/engines/simgrid.h"
#include "collective/simulate/events/events.h"
#include "topology/parsed_topology.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

static bool has_simgrid(void)
{
    char why[200];
    if (tutti_simgrid_found(why)) return true;
    print_message("skipped: no tutti-simgrid (./dev setup --test, then a new build)\n");
    return false;
}

static tutti_schedule *compiled(const char *algorithm, int32_t p, const tutti_topology *t)
{
    const tutti_compile_request request = {.collective = TUTTI_ALLREDUCE, .nranks = p, .in_place = true, .topology = t};
    tutti_schedule *s = NULL;
    tutti_failure err = {0};
    if (tutti_schedule_compile(algorithm, &request, &s, &err)) fail_msg("%s: %s", algorithm, err.text);
    return s;
}

static double asked(const char *engine, const tutti_engine_question *q)
{
    double seconds = -1;
    tutti_failure err = {0};
    const tutti_engine *e = tutti_engine_find(engine);
    assert_non_null(e);
    if (tutti_engine_ask(e, q, &seconds, &err)) fail_msg("%s, %s: %s", engine, q->algorithm, err.text);
    return seconds;
}

typedef struct {
    const char *topology, *star;
    int32_t p;
    const char *algorithms[4];
} quiet;

/* Nothing collides, every way has one latency, every rank has the same to do. */
static const quiet quiets[] = {
    {"star", "star", 16, {"ring", "halving-doubling", "binomial"}},
    {"star,bw=100Gb,lat=0s,soft=0s", "star,bw=100Gb,lat=0s,soft=0s", 8, {"ring", "halving-doubling", "binomial"}},
    {"dgx2", "star,bw=120GB,lat=1us,soft=3.4us,add=300GB", 16, {"ring", "halving-doubling", "binomial"}},
    {"fat-tree,leaves=8,hosts=8,spines=8,hop=0ns",
     "star,bw=12.5GB,lat=2us",
     64,
     {"ring", "halving-doubling", "binomial"}},
    {"bigraph,switches=8,hosts=4,place=parity", "star,bw=12.5GB,lat=2.3us", 32, {"halving-doubling"}},
    {"torus,x=8,y=1", "star,bw=12.5GB,lat=1us", 8, {"ring"}},
};

static void quiet_case(const quiet *c, const char *algorithm, int64_t n, bool simgrid)
{
    tutti_topology t = parsed(c->topology), star = parsed(c->star);
    tutti_schedule *s = compiled(algorithm, c->p, &t);
    const tutti_engine_question q = {.schedule = s, .algorithm = algorithm, .topology = &t, .n = n, .limit_s = 60};
    tutti_engine_question formula = q;
    formula.topology = &star;
    const double form = asked("closed-form", &formula);
    static const char *const others[] = {"rounds", "events", "simgrid"};
    for (int i = 0; i < 2 + simgrid; i++) {
        const double seconds = asked(others[i], &q), most = i == 1 ? 5e-3 : 1e-6; /* the event player's grain */
        if (fabs(seconds - form) > most * form)
            fail_msg("%s on %s, %lld elements: %s says %.12g, the formula %.12g", algorithm, c->topology, (long long)n,
                     others[i], seconds, form);
    }
    tutti_schedule_destroy(s);
}

static void engines_are_equal_where_nothing_collides(void **state)
{
    (void)state;
    const bool simgrid = has_simgrid();
    for (size_t k = 0; k < sizeof quiets / sizeof quiets[0]; k++)
        for (int a = 0; quiets[k].algorithms[a]; a++)
            for (int64_t n = 64; n < 100000000; n *= 512) quiet_case(&quiets[k], quiets[k].algorithms[a], n, simgrid);
}

/* A network at random, with room for 24 ranks. */
static tutti_topology random_network(draws *d)
{
    static const char *const kinds[] = {
        "star,bw=%dGb,lat=%dus,soft=%dus,add=%dGB",
        "cluster,hosts=24,ranks=1,nics=1,nic=%dGb,lat=%dus,soft=%dus,add=%dGB",
        "fat-tree,leaves=6,hosts=4,spines=2,bw=%dGb,lat=%dus,soft=%dus,add=%dGB",
        "fat-tree,leaves=3,hosts=8,spines=4,bw=%dGb,lat=%dus,soft=%dus,add=%dGB,routing=ecmp",
        "fat-tree,leaves=6,hosts=4,spines=3,bw=%dGb,lat=%dus,soft=%dus,add=%dGB,routing=ecmp,paths=3",
        "bigraph,switches=4,hosts=6,bw=%dGb,lat=%dus,soft=%dus,add=%dGB",
        "torus,x=6,y=4,bw=%dGb,lat=%dus,soft=%dus,add=%dGB",
        "dgx1v,hosts=3,nic=%dGb,near=%dus,soft=%dus,add=%dGB",
    };
    char text[200];
    const char *kind = kinds[draw(d, sizeof kinds / sizeof kinds[0])];
    const int bw = 1 + draw(d, 100), latency = draw(d, 20), soft = draw(d, 3), add = 1 + draw(d, 100);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, kind, bw, latency, soft, add);
#pragma GCC diagnostic pop
    return parsed(text);
}

typedef struct {
    int ncases, nabove;
    double events_apart; /* most, of simgrid's time */
} seen;

static void random_case(uint64_t seed, bool simgrid, seen *all)
{
    draws d = {.seed = seed};
    tutti_failure err = {0};
    const tutti_topology t = random_network(&d);
    const int32_t nranks = 2 + draw(&d, RANDOM_RANKS - 1);
    const int64_t n = (int64_t[]){0, 17, 4096, 100000, 10000019}[draw(&d, 5)];
    const int32_t nmessages = 1 + draw(&d, 120);
    tutti_schedule *s = random_schedule(&d, nranks, nmessages);
    const tutti_simgrid_options max_min = {.limit_s = 60}, tcp = {.tcp = true, .limit_s = 60};
    tutti_simulation sim;
    double events = 0, played[2] = {INFINITY, INFINITY};
    if (tutti_simulate_schedule(s, &t, n, &sim, &err) ||
        tutti_events_run(&(tutti_playing){s, &t, n}, NULL, &events, NULL, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 2 && simgrid; i++)
        if (tutti_simgrid_run(&(tutti_playing){s, &t, n}, i ? &tcp : &max_min, &played[i], NULL, &err))
            fail_msg("case %d: %s", (int)seed, err.text);
    const double lower = sim.lower_s * (1 - 1e-9);
    if (lower > events || lower > played[0] || lower > played[1]) {
        char *text = tutti_schedule_print(s);
        fail_msg("case %d: lower bound %.12g, events %.12g, simgrid %.12g, simgrid-tcp %.12g\n%s", (int)seed,
                 sim.lower_s, events, played[0], played[1], text);
    }
    all->ncases++;
    all->nabove += simgrid && played[0] > sim.seconds * (1 + 1e-9);
    if (simgrid && played[0] > 0) all->events_apart = fmax(all->events_apart, fabs(events / played[0] - 1));
    tutti_schedule_destroy(s);
}

static void nobody_is_below_the_lower_bound(void **state)
{
    (void)state;
    const bool simgrid = has_simgrid();
    const int ncases = getenv("TUTTI_LONG") ? 500 : 60;
    seen all = {0};
    for (int i = 0; i < ncases; i++) random_case((uint64_t)i, simgrid, &all);
    print_message("%d cases; simgrid above the rounds in %d; event player and simgrid at most %.2f %% apart\n",
                  all.ncases, all.nabove, 100 * all.events_apart);
}

/* A rank that begins late: everyone waits for it, and who begins in rounds cannot say that. */
static void a_late_rank_is_waited_for(void **state)
{
    (void)state;
    tutti_topology t = parsed("star");
    tutti_schedule *s = compiled("halving-doubling", 8, &t);
    const double late_s[8] = {[3] = 0.25};
    tutti_engine_question q = {
        .schedule = s, .algorithm = "halving-doubling", .topology = &t, .n = 1 << 20, .limit_s = 60};
    char why[200];
    const double together = asked("events", &q);
    q.late_s = late_s;
    const double events = asked("events", &q);
    assert_true(fabs(events - (0.25 + together)) < 1e-9); /* its first message is the first of a chain through all */
    if (has_simgrid()) assert_true(fabs(asked("simgrid", &q) - events) < 1e-9);
    assert_false(tutti_engine_find("rounds")->can(&q, why));
    assert_non_null(strstr(why, "at once"));
    assert_false(tutti_engine_find("closed-form")->can(&q, why));
    tutti_schedule_destroy(s);
}

/* Both ends are there, in another order on each: no engine says a time for that. */
static void schedules_that_hang_are_named(void **state)
{
    (void)state;
    static const char text[] =
        "tutti-schedule 1\nalgorithm hangs\ncollective allreduce\nranks 2\nroot 0\nslots 0\nin-place no\n"
        "wire two-sided\ndeterminism per-slice\n\n"
        "rank 0\n  buffer in in leaves 0\n  buffer out out\n"
        "    0 seq 0 stage 0 recv out from 1 channel 0\n    1 seq 0 stage 1 send in to 1 channel 0\n\n"
        "rank 1\n  buffer in in leaves 1\n  buffer out out\n"
        "    0 seq 0 stage 0 recv out from 0 channel 0\n    1 seq 0 stage 1 send in to 0 channel 0\n";
    tutti_schedule *s = NULL;
    tutti_failure err = {0};
    double seconds;
    tutti_topology t = parsed("star");
    const tutti_simgrid_options o = {.limit_s = 60};
    if (tutti_schedule_parse("hangs", text, strlen(text), &s, &err)) fail_msg("%s", err.text);
    assert_int_equal(tutti_events_run(&(tutti_playing){s, &t, 100}, NULL, &seconds, NULL, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "hangs: rank 0"));
    if (has_simgrid()) {
        assert_int_equal(tutti_simgrid_run(&(tutti_playing){s, &t, 100}, &o, &seconds, NULL, &err), TUTTI_ERR_FAILED);
        assert_non_null(strstr(err.text, "hangs: rank 0"));
    }
    tutti_schedule_destroy(s);
}

static void what_an_engine_cannot_it_says(void **state)
{
    (void)state;
    tutti_topology host = parsed("host"), torus = parsed("torus,x=4,y=1");
    tutti_schedule *s = compiled("ring", 4, &torus);
    tutti_engine_question q = {.schedule = s, .algorithm = "ring", .topology = &torus, .n = 100, .limit_s = 60};
    char why[200];
    double seconds;
    tutti_failure err = {0};
    assert_false(tutti_engine_find("closed-form")->can(&q, why));
    assert_non_null(strstr(why, "star"));
    assert_true(tutti_engine_find("rounds")->can(&q, why));
    tutti_topology lossy = parsed("star,incast=0.1");
    q.topology = &lossy;
    assert_true(tutti_engine_find("rounds")->can(&q, why));
    assert_false(tutti_engine_find("events")->can(&q, why));
    assert_non_null(strstr(why, "incast"));
    q.topology = &host;
    for (int i = 0; i < tutti_engine_count(); i++) { /* two-sided on a host */
        assert_int_equal(tutti_engine_ask(tutti_engine_at(i), &q, &seconds, &err), TUTTI_ERR_USAGE);
        assert_true(strlen(err.text) > 20);
    }
    assert_null(tutti_engine_find("crystal-ball"));
    tutti_schedule_destroy(s);
}

static void a_helper_has_a_deadline_and_is_looked_for(void **state)
{
    (void)state;
    char why[200];
    double seconds;
    tutti_failure err = {0};
    tutti_topology t = parsed("star");
    tutti_schedule *s = compiled("ring", 128, &t);
    const tutti_simgrid_options soon = {.limit_s = 1e-3};
    const char *given = getenv("TUTTI_SIMGRID");
    char *kept = given ? strdup(given) : NULL;
    if (has_simgrid()) {
        assert_int_equal(tutti_simgrid_run(&(tutti_playing){s, &t, 1 << 20}, &soon, &seconds, NULL, &err),
                         TUTTI_ERR_FAILED);
        assert_non_null(strstr(err.text, "stopped after"));
    }
    setenv("TUTTI_SIMGRID", "/no/such/program", 1);
    assert_false(tutti_simgrid_found(why));
    assert_non_null(strstr(why, "/no/such/program"));
    assert_int_equal(tutti_simgrid_run(&(tutti_playing){s, &t, 100}, &soon, &seconds, NULL, &err), TUTTI_ERR_FAILED);
    if (kept)
        setenv("TUTTI_SIMGRID", kept, 1);
    else
        unsetenv("TUTTI_SIMGRID");
    free(kept);
    tutti_schedule_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_are_equal_where_nothing_collides),
        cmocka_unit_test(nobody_is_below_the_lower_bound),
        cmocka_unit_test(a_late_rank_is_waited_for),
        cmocka_unit_test(schedules_that_hang_are_named),
        cmocka_unit_test(what_an_engine_cannot_it_says),
        cmocka_unit_test(a_helper_has_a_deadline_and_is_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

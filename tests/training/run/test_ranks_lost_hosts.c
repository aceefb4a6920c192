/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_lost_hosts.c: workers that visit a centre on another host and are killed, as processes: those that are
 * left go on, on whatever host and over whatever wire, and rank 0 says whom they have lost. Within one host:
 * test_ranks_lost.c. */
#include "testing.h"

#include "base/rng.h"
#include "collective/wire/wire.h"
#include "training/run/by_hand.h"

static const char job[] =
    "model: mlp\ndata: {set: digits, train_samples: 96, test_samples: 600}\nbatch: 12\nsteps: 160\n"
    "optimiser: {rule: momentum, lr: 0.003}\neval_every_epochs: 1\nlog_every: 1\n"
    "checkpoint: {every_steps: 24}\nexchange: {deadline_s: 20}\n";
enum { EVALS = 20 };

static const char *const methods[] = {"easgd",     "async-easgd", "async-measgd", "hogwild-easgd",
                                      "async-sgd", "async-msgd",  "hogwild-sgd",  "bounded-sgd"};
enum { NMETHODS = sizeof methods / sizeof *methods };

typedef struct {
    const char *method, *hosts, *wire;
    unsigned victims; /* bit r: rank r is killed */
    long step;        /* once so many have been done */
    double later_s;
    bool in_time; /* long before the end */
} death;

static bool is_victim(const death *d, int rank)
{
    return d->victims >> rank & 1;
}

static bool is_there(const char *wire)
{
    const tutti_wire_row *row = tutti_wire_find(wire, NULL);
    return row && !row->absent;
}

__attribute__((noinline)) static char *metrics_of(const char *out)
{
    char path[200], *text;
    size_t n;
    snprintf(path, sizeof path, "%s/metrics.jsonl", out);
    assert_int_equal(tutti_file_read(path, 1 << 26, TUTTI_ERR_FAILED, &text, &n, NULL), TUTTI_OK);
    return text;
}

static int count(const char *text, const char *words)
{
    int n = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words)) n++;
    return n;
}

static double number_after(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    if (!at) fail_msg("no '%s' in %s", words, text);
    return strtod(at + strlen(words), NULL);
}

/* Who was not killed ends well; returns how many were, in time to be missed. */
static int wait_for_all(const death *d, const spawned_run ranks[], int nranks)
{
    int nkilled = 0;
    for (int r = 0; r < nranks; r++) {
        const int rc = run_wait(&ranks[r]);
        if (is_victim(d, r) && rc == 128 + SIGKILL)
            nkilled++;
        else if (rc)
            fail_msg("%s, hosts %s over %s, victims %x: rank %d: exit %d: %s\nrank 0: %s", d->method, d->hosts, d->wire,
                     d->victims, r, rc, run_log(&ranks[r]), run_log(&ranks[0]));
    }
    return nkilled;
}

static void expect_whole(const death *d, const spawned_run ranks[], int nranks, const char *out)
{
    const int nkilled = wait_for_all(d, ranks, nranks);
    char *log = run_log(&ranks[0]), *metrics = metrics_of(out);
    const int lost = count(metrics, "\"ev\":\"lost\"");
    if (lost > nkilled || (d->in_time && lost != nkilled))
        fail_msg("%s, hosts %s over %s, victims %x: %d killed, %d lost: %s", d->method, d->hosts, d->wire, d->victims,
                 nkilled, lost, log);
    if (lost) assert_int_equal(number_after(metrics, "\"lost_ranks\":"), lost);
    assert_int_equal(count(log, " was lost at step "), lost);
    for (int r = 1; r < nranks && lost == nkilled && d->in_time; r++) {
        char name[32];
        snprintf(name, sizeof name, "rank %d (host ", r);
        assert_int_equal(strstr(log, name) != NULL, is_victim(d, r));
    }
    assert_int_equal(count(metrics, "\"ev\":\"eval\""), EVALS);
    const char *end = strstr(metrics, "\"ev\":\"end\"");
    assert_non_null(end);
    assert_int_equal(number_after(end, "\"step\":"), 160);
    const double first = number_after(metrics, "\"loss\":"), last = number_after(end, "\"loss\":");
    if (!(last < 0.8 * first)) fail_msg("%s: the loss falls from %g to %g only", d->method, first, last);
    free(log), free(metrics);
}

static void play(const run_folder *f, const death *d)
{
    spawned_run ranks[SPAWNED_MAX_RANKS];
    char out[160], name[64];
    const int nranks = (int)strlen(d->hosts);
    snprintf(out, sizeof out, "%s/out", f->dir);
    snprintf(name, sizeof name, "method.name=%s", d->method);
    by_hand_start(f, &(by_hand){.job = job, .nranks = nranks, .wire = d->wire, .hosts = d->hosts, .set = {name}},
                  ranks);
    if (run_until_step(&ranks[0], out, d->step)) {
        tutti_clock_sleep_s(d->later_s);
        for (int r = 1; r < nranks; r++)
            if (is_victim(d, r)) kill(ranks[r].pid, SIGKILL);
    }
    expect_whole(d, ranks, nranks, out);
    run_expect_checkpoint(f, out);
    assert_int_equal(tutti_file_remove_tree(out, NULL), TUTTI_OK);
}

/* Of another host and of rank 0's, the lowest of its host or not. */
static void whichever_method_and_wire_the_others_go_on(void **state)
{
    static const char *const layouts[] = {"aab", "abb", "abc", "abb"}, *const wires[] = {"tcp", "ucx"};
    static const unsigned victims[] = {4, 2, 2, 4};
    const int each = getenv("TUTTI_KILLS") ? 1 : 2; /* over ucx, whose processes begin slowly */
    for (int w = 0; w < 2; w++)
        for (int i = 0; i < NMETHODS && is_there(wires[w]); i += w ? each : 1) {
            const int k = (i + i / 4) % 4;
            play(*state, &(death){methods[i], layouts[k], wires[w], victims[k], 20 + 5 * i, 0, true});
        }
}

static void all_of_a_host_may_die(void **state)
{
    for (int i = 0; i < NMETHODS; i += 3) {
        play(*state, &(death){methods[i], "abb", "tcp", 6, 30, 0, true});
        play(*state, &(death){methods[i + 1], "aabb", "tcp", 12, 30, 0, true});
    }
    play(*state, &(death){"easgd", "aab", "tcp", 2, 30, 0, true}); /* rank 0's neighbour */
}

static void whoever_is_killed_at_any_moment_the_others_go_on(void **state)
{
    static const char *const layouts[] = {"abc", "abb", "aabb", "abcd", "abab", "aab"};
    const char *kills = getenv("TUTTI_KILLS");
    const int nruns = kills ? 8 * (int)strtol(kills, NULL, 10) : 4;
    const uint64_t seed = kills ? (uint64_t)tutti_clock_ns() : 1;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < nruns; i++) {
        const tutti_random4 chance = tutti_random(seed, TUTTI_STREAM_TEST, (uint64_t)i, 0);
        const char *hosts = layouts[(i / NMETHODS + i) % 6], *wire = i % 3 == 2 && is_there("ucx") ? "ucx" : "tcp";
        const unsigned most = (1u << strlen(hosts)) - 2, some = chance.word[2] & most;
        play(*state, &(death){methods[i % NMETHODS], hosts, wire, some ? some : 2, 1 + (long)(chance.word[0] % 110),
                              1e-5 * (double)(chance.word[1] % 1000), false});
    }
}

static void the_end_of_rank_0_ends_the_run_whoever_was_lost_before(void **state)
{
    const run_folder *f = *state;
    static const char *const some[] = {"easgd", "hogwild-sgd", "bounded-sgd"}, *const hosts[] = {"abcc", "aabb",
                                                                                                 "abbc"};
    char out[160], name[64];
    snprintf(out, sizeof out, "%s/out", f->dir);
    for (int i = 0; i < 3; i++) {
        spawned_run ranks[SPAWNED_MAX_RANKS];
        snprintf(name, sizeof name, "method.name=%s", some[i]);
        by_hand_start(
            f, &(by_hand){.job = job, .nranks = 4, .wire = "tcp", .hosts = hosts[i], .set = {name, "steps=1000000"}},
            ranks);
        assert_true(run_until_step(&ranks[0], out, 20));
        kill(ranks[2].pid, SIGKILL);
        assert_true(run_until_step(&ranks[0], out, run_step(out) + 60));
        run_until_checkpoint(out);
        kill(ranks[0].pid, SIGKILL);
        for (int r = 0; r < 4; r++) {
            const int rc = run_wait(&ranks[r]);
            char *log = run_log(&ranks[r]);
            if (rc != (r % 2 ? TUTTI_ERR_PEER : 128 + SIGKILL)) fail_msg("%s: rank %d: %d: %s", some[i], r, rc, log);
            if (r % 2) by_hand_expect(log, "rank 0 ");
            free(log);
        }
        run_expect_checkpoint(f, out);
        assert_int_equal(tutti_file_remove_tree(out, NULL), TUTTI_OK);
    }
}

/* Who waits for nobody, and is to meet the others in hours, hears of it all the same, and goes on until it is asked to
 * end. */
static void who_is_left_ends_in_good_order(void **state)
{
    const run_folder *f = *state;
    const by_hand h = {.job = job,
                       .nranks = 3,
                       .wire = "tcp",
                       .hosts = "abc",
                       .set = {"method.name=hogwild-sgd", "steps=1000000", "checkpoint.every_steps=1000000"}};
    char out[160];
    spawned_run ranks[SPAWNED_MAX_RANKS];
    snprintf(out, sizeof out, "%s/out", f->dir);
    by_hand_start(f, &h, ranks);
    assert_true(run_until_step(&ranks[0], out, 20));
    kill(ranks[2].pid, SIGKILL);
    assert_int_equal(run_wait(&ranks[2]), 128 + SIGKILL);
    assert_true(run_until_step(&ranks[0], out, run_step(out) + 200));
    char *metrics = metrics_of(out);
    assert_int_equal(count(metrics, "\"ev\":\"lost\""), 1);
    free(metrics);
    kill(ranks[1].pid, SIGTERM);
    for (int r = 0; r < 2; r++) {
        const int rc = run_wait(&ranks[r]);
        if (rc != 128 + SIGTERM) fail_msg("rank %d: exit %d: %s", r, rc, run_log(&ranks[r]));
    }
    char *log = run_log(&ranks[0]);
    by_hand_expect(log, "rank 2 ");
    by_hand_expect(log, " was lost at step ");
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whichever_method_and_wire_the_others_go_on, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(all_of_a_host_may_die, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(whoever_is_killed_at_any_moment_the_others_go_on, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(the_end_of_rank_0_ends_the_run_whoever_was_lost_before, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(who_is_left_ends_in_good_order, run_folder_make, run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_bear.c: a group of threads that outlives the deaths of its ranks. To die is here to close what the system
 * would close. */
#include "testing.h"

#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "collective/group/group_impl.h"
#include "collective/thread_ranks.h"

enum { ROUNDS = 30 };

typedef struct {
    int dies[MOST_RANKS]; /* in which round, 0 = never */
    bool resigns, has_sent;
} deaths;

static void die(tutti_group *g)
{
    for (int r = 0; r < g->nranks; r++) {
        if (g->peers[r].mesh >= 0) shutdown(g->peers[r].mesh, SHUT_RDWR);
        if (g->peers[r].control >= 0) shutdown(g->peers[r].control, SHUT_RDWR);
    }
}

/* What it had sent of its next call counts. */
static void send_and_die(tutti_group *g, int number)
{
    tutti_frame_head head = {.magic = TUTTI_FRAME_MAGIC,
                             .epoch = g->epoch,
                             .kind = TUTTI_FRAME_GATHER,
                             .rank = g->rank,
                             .call = g->calls + 1,
                             .nbytes = sizeof number};
    snprintf(head.what, sizeof head.what, "numbers");
    tutti_star_write(g, 0, &head, &number);
    die(g);
}

static bool has_gone(const deaths *d, int rank, int round)
{
    const int in = d->dies[rank];
    return in && round >= in + d->has_sent;
}

static const char *living_body(tutti_group *g, void *arg)
{
    const deaths *d = arg;
    tutti_failure err = {0};
    const int p = tutti_group_nranks(g), me = tutti_group_rank(g);
    EXPECT(!tutti_group_may_resign(g));
    EXPECT(tutti_group_bear(g, &err) == TUTTI_OK);
    EXPECT(tutti_group_may_resign(g) == (me > 0));
    for (int round = 1; round <= ROUNDS; round++) {
        int mine = 100 * round + me, all[MOST_RANKS], nliving = 0, place = 0;
        if (d->dies[me] == round) {
            if (d->resigns)
                tutti_group_resign(g, "its disk is full");
            else if (d->has_sent)
                send_and_die(g, mine);
            else
                die(g);
            return NULL;
        }
        EXPECT(tutti_group_all_gather(g, "numbers", &mine, all, sizeof mine, &err) == TUTTI_OK);
        for (int r = 0; r < p; r++) {
            EXPECT(all[r] == (has_gone(d, r, round) ? 0 : 100 * round + r));
            nliving += !has_gone(d, r, round);
            place += r < me && !has_gone(d, r, round);
            EXPECT(!has_gone(d, r, round) || tutti_group_is_gone(g, r));
        }
        EXPECT(tutti_group_nliving(g) == nliving && tutti_group_place(g) == place);
        EXPECT(tutti_group_barrier(g, "step", &err) == TUTTI_OK);
        int word = me == 0 ? 7 + round : 0;
        EXPECT(tutti_group_broadcast(g, "word", 0, &word, sizeof word, &err) == TUTTI_OK && word == 7 + round);
        EXPECT(tutti_group_agree(g, "text", "same", &err) == TUTTI_OK);
    }
    EXPECT(tutti_group_poll(g, &err) == TUTTI_OK);
    for (int r = 0; r < p; r++) {
        const char *words = tutti_group_last_words(g, r);
        EXPECT(d->dies[r] || !*words);
        if (d->dies[r] && me == 0) EXPECT(!strncmp(words, tutti_group_describe(g, r), 7));
        /* Others may have heard of it from rank 0 first. */
        if (d->dies[r] && d->resigns && me == 0) EXPECT(strstr(words, "has failed: its disk is full"));
    }
    return NULL;
}

static void calls_do_without_who_has_died(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++)
        for (int p = 2; p <= 6; p++)
            for (int round = 1; round < ROUNDS; round += 9) {
                deaths d = {.resigns = how == 1, .has_sent = how == 2};
                d.dies[1 + round % (p - 1)] = round;
                run_ranks(p, 20, living_body, &d);
                for (int r = 1; r < p; r++) d.dies[r] = round + r / 2; /* rank 0 goes on alone */
                run_ranks(p, 20, living_body, &d);
            }
}

/* It dies as soon as it has answered: who has not read that yet sees the death in this call. */
static const char *zero_dies_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    const tutti_status st = tutti_group_bear(g, &err);
    if (tutti_group_rank(g) == 0) {
        die(g);
        return st ? "rank 0 does not bear" : NULL;
    }
    EXPECT((st ? st : tutti_group_barrier(g, "step", &err)) == TUTTI_ERR_PEER);
    EXPECT(strstr(err.text, "rank 0 ") && !tutti_group_may_resign(g));
    return NULL;
}

static void the_death_of_rank_0_is_the_end(void **state)
{
    (void)state;
    run_ranks(4, 20, zero_dies_body, NULL);
}

static const char *unborne_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    if (tutti_group_rank(g) == 1) {
        die(g);
        return NULL;
    }
    EXPECT(tutti_group_barrier(g, "step", &err) == TUTTI_ERR_PEER && strstr(err.text, "rank 1 "));
    EXPECT(!tutti_group_is_gone(g, 1));
    return NULL;
}

static void who_has_not_said_so_bears_nothing(void **state)
{
    (void)state;
    run_ranks(3, 20, unborne_body, NULL);
}

static const char *gone_root_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    int word = 3;
    EXPECT(tutti_group_bear(g, &err) == TUTTI_OK);
    if (tutti_group_rank(g) == 2) {
        die(g);
        return NULL;
    }
    EXPECT(tutti_group_broadcast(g, "word", 2, &word, sizeof word, &err) == TUTTI_ERR_PEER);
    EXPECT(strstr(err.text, "broadcast 'word': rank 2 ") && word == 3);
    EXPECT(tutti_group_barrier(g, "step", &err) == TUTTI_OK); /* a call that failed is not the end */
    return NULL;
}

static void nobody_can_be_told_what_the_dead_knew(void **state)
{
    (void)state;
    run_ranks(4, 20, gone_root_body, NULL);
}

/* A death that a rank in a long phase dies must not stop the others' clocks. */
static const char *long_phase_body(tutti_group *g, void *arg)
{
    (void)arg;
    tutti_failure err = {0};
    EXPECT(tutti_group_bear(g, &err) == TUTTI_OK);
    if (tutti_group_rank(g) == 1) {
        tutti_group_long_phase_begin(g, "tests", "samples");
        die(g);
        return NULL;
    }
    EXPECT(tutti_group_barrier(g, "step", &err) == TUTTI_OK);
    const double began = tutti_clock_s();
    if (tutti_group_rank(g) == 2) {
        while (tutti_group_poll(g, &err) == TUTTI_OK && tutti_clock_s() - began < 10) tutti_clock_sleep_s(0.01);
        return NULL;
    }
    EXPECT(tutti_group_barrier(g, "late", &err) == TUTTI_ERR_PEER && tutti_clock_s() - began < 8);
    EXPECT(strstr(err.text, "deadline") && strstr(err.text, "rank 2 ") && !strstr(err.text, "rank 1 "));
    return NULL;
}

static void a_deadline_passes_though_somebody_has_died(void **state)
{
    (void)state;
    run_ranks(3, 0.5, long_phase_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_do_without_who_has_died),
        cmocka_unit_test(the_death_of_rank_0_is_the_end),
        cmocka_unit_test(who_has_not_said_so_bears_nothing),
        cmocka_unit_test(nobody_can_be_told_what_the_dead_knew),
        cmocka_unit_test(a_deadline_passes_though_somebody_has_died),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

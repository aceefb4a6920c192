/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_once.c: what is the same for all ranks is made by one of them: bytes that a host shares, the proof of a
 * schedule, exchanges of one plan in one round; and the cores that bound ranks have together. */
#include "testing.h"

#include <sched.h>
#include <sys/mman.h>

#include "collective/exchange/executor.h"
#include "collective/group/share.h"
#include "collective/rank_processes.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { BYTES = 3 << 20, N = 1000, EXCHANGES = 5 };

/* --- as a rank --- */

/* Sets of ranks 0 and 2, 1 and 3: two copies, each with the number of whoever made it in front. */
static void fill_named(void *arg, void *bytes)
{
    memset(bytes, *(int *)arg, BYTES);
}

static tutti_status share_among(tutti_group *g, tutti_failure *err)
{
    const int32_t set_of[4] = {7, 3, 7, 3};
    int rank = tutti_group_rank(g);
    tutti_shared_bytes *b, *common;
    tutti_status s =
        tutti_shared_bytes_create(g, set_of, &(tutti_shared_wish){"test", BYTES, fill_named, &rank}, &b, err);
    if (!s)
        s = tutti_shared_bytes_create(g, NULL, &(tutti_shared_wish){"of all", BYTES, fill_named, &rank}, &common, err);
    if (s) return s;
    const uint8_t *at = tutti_shared_bytes_at(b), *all = tutti_shared_bytes_at(common);
    if (tutti_group_maker_among(g, set_of) != rank % 2) say("another maker"), s = 1;
    if (tutti_shared_bytes_count(b) != BYTES) say("another length"), s = 1;
    for (int i = 0; i < BYTES && !s; i++)
        if (at[i] != rank % 2 || all[i] != 0) say("bytes of another set"), s = 1;
    tutti_shared_bytes_destroy(b);
    tutti_shared_bytes_destroy(common);
    return s;
}

static void fill(void *arg, void *bytes)
{
    ++*(int *)arg;
    for (int i = 0; i < BYTES; i++) ((uint8_t *)bytes)[i] = (uint8_t)(i * 7 % 251);
}

static tutti_status share_bytes(tutti_group *g, tutti_failure *err)
{
    int fills = 0;
    tutti_shared_bytes *b;
    tutti_status s = tutti_shared_bytes_create(g, NULL, &(tutti_shared_wish){"test", BYTES, fill, &fills}, &b, err);
    if (s) return s;
    const uint8_t *at = tutti_shared_bytes_at(b);
    if (fills != tutti_group_makes(g) || fills != (tutti_group_rank(g) == 0)) say("it was made elsewhere"), s = 1;
    if (tutti_shared_bytes_count(b) != BYTES) say("another length"), s = 1;
    for (int i = 0; i < BYTES && !s; i++)
        if (at[i] != (uint8_t)(i * 7 % 251)) say("other bytes"), s = 1;
    if (!mprotect((void *)(uintptr_t)at, 4096, PROT_READ | PROT_WRITE)) say("it can be written"), s = 1;
    tutti_shared_bytes_destroy(b);
    return s;
}

static tutti_status compile_for(tutti_group *g, const char *algorithm, tutti_schedule **two_sided, tutti_schedule **out,
                                tutti_failure *err)
{
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = tutti_group_nranks(g), .in_place = true};
    const tutti_status s = tutti_schedule_compile(algorithm, &q, two_sided, err);
    return s ? s : tutti_schedule_lower_hosts(*two_sided, tutti_group_hosts(g), out, err);
}

static tutti_status prove(tutti_group *g, const char *algorithm, tutti_failure *err)
{
    tutti_schedule *two_sided = NULL, *lowered = NULL;
    uint64_t hash = 0;
    tutti_status s = compile_for(g, algorithm, &two_sided, &lowered, err);
    if (!s) s = tutti_group_prove(g, lowered, &hash, err);
    if (!s) s = tutti_group_barrier(g, "all have compared", err);
    if (!s && hash != tutti_schedule_hash(lowered)) say("another hash"), s = 1;
    tutti_schedule_destroy(lowered), tutti_schedule_destroy(two_sided);
    return s;
}

/* Sums of small whole numbers: exact. */
static tutti_status run_all(tutti_group *g, tutti_region *region, tutti_exchange **x, tutti_failure *err)
{
    const int rank = tutti_group_rank(g), nranks = tutti_group_nranks(g);
    float *own = tutti_region_base(region, rank);
    tutti_status s = TUTTI_OK;
    for (int i = 0; i < EXCHANGES * N; i++) own[i] = (float)(i + rank);
    for (int i = 0; i < EXCHANGES; i++) tutti_exchange_start(x[i], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int i = 0; i < EXCHANGES && !s; i++) s = tutti_exchange_wait(x[i], err);
    for (int i = 0; i < EXCHANGES * N && !s; i++)
        if (own[i] != (float)(nranks * i + nranks * (nranks - 1) / 2)) say("another sum"), s = 1;
    return s;
}

static tutti_status make_all(tutti_group *g, bool differ, tutti_failure *err)
{
    tutti_schedule *two_sided[2] = {NULL}, *lowered[2] = {NULL};
    tutti_region *region;
    tutti_exchange_request requests[EXCHANGES];
    tutti_place places[EXCHANGES];
    tutti_exchange *x[EXCHANGES] = {NULL};
    tutti_status s = tutti_region_create(g, "vectors", EXCHANGES * N * sizeof(float), &region, err);
    if (s) return s;
    s = compile_for(g, "direct", &two_sided[0], &lowered[0], err);
    if (!s) s = compile_for(g, "ring", &two_sided[1], &lowered[1], err);
    for (int i = 0; i < EXCHANGES; i++) {
        places[i] = (tutti_place){region, (size_t)i * N * sizeof(float)};
        requests[i] = (tutti_exchange_request){lowered[i % 2], {.name = "vector", .n = N, .in = &places[i], .nin = 1}};
        requests[i].binding.out = places[i];
    }
    if (differ && tutti_group_rank(g) == 1) requests[3].binding.n--;
    if (!s) s = tutti_exchange_create_all(g, requests, EXCHANGES, x, err);
    if (!s) s = run_all(g, region, x, err);
    if (!s) tutti_exchange_destroy(x[0]), x[0] = NULL; /* the others' memory stays */
    if (!s) s = tutti_group_barrier(g, "one is gone", err);
    for (int i = 1; i < EXCHANGES && !s; i++) tutti_exchange_start(x[i], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int i = 1; i < EXCHANGES && !s; i++) s = tutti_exchange_wait(x[i], err);
    for (int i = 0; i < EXCHANGES; i++) tutti_exchange_destroy(x[i]);
    for (int i = 0; i < 2; i++) tutti_schedule_destroy(lowered[i]), tutti_schedule_destroy(two_sided[i]);
    tutti_region_destroy(region);
    return s;
}

/* Each rank on one of the cores that there are; returns how many there are. */
static int bind_to_a_core(int rank)
{
    cpu_set_t all, own;
    CPU_ZERO(&own);
    sched_getaffinity(0, sizeof all, &all);
    const int ncores = CPU_COUNT(&all);
    for (int i = 0, k = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all) && k++ == rank % ncores) CPU_SET(i, &own);
    sched_setaffinity(0, sizeof own, &own);
    return ncores;
}

static int run_as_rank(const char *mode)
{
    tutti_group_config c;
    tutti_failure err = {0};
    tutti_group *g = NULL;
    take_host();
    tutti_status s = tutti_group_config_from_env(&c, &err);
    const int there = !strcmp(mode, "bound") ? bind_to_a_core(c.rank) : 0;
    if (!strcmp(mode, "told")) c.ncores = 7;
    if (!s) s = tutti_group_join(&c, &g, &err);
    if (!s && !strcmp(mode, "share")) s = share_bytes(g, &err);
    if (!s && !strcmp(mode, "share among")) s = share_among(g, &err);
    if (!s && !strcmp(mode, "prove")) s = prove(g, "ring", &err);
    if (!s && !strcmp(mode, "prove others")) s = prove(g, c.rank == 2 ? "direct" : "ring", &err);
    if (!s && !strcmp(mode, "together")) s = make_all(g, false, &err);
    if (!s && !strcmp(mode, "together, differ")) s = make_all(g, true, &err);
    if (!s && there && tutti_group_ncores(g) != (there < c.nranks ? there : c.nranks)) say("other cores"), s = 1;
    if (!s && !strcmp(mode, "told") && tutti_group_ncores(g) != 7) say("not as told"), s = 1;
    if (!s || err.text[0]) say(s ? err.text : "fine");
    tutti_group_leave(g);
    return s;
}

/* --- as the test --- */

static void expect_fine(const char *mode, int nranks)
{
    outcome o;
    run_mode("test_ranks_once", mode, nranks, &o);
    if (o.exit_code) fail_msg("%s: exit %d: %.600s; rank 0: %s", mode, o.exit_code, o.words, o.heard[0]);
    for (int r = 0; r < nranks; r++) expect_words(&o, r, "fine");
}

static void one_rank_of_a_host_makes_bytes_and_nobody_can_write_them(void **state)
{
    (void)state;
    expect_fine("share", 4);
}

static void one_rank_of_a_set_makes_bytes_for_that_set(void **state)
{
    (void)state;
    expect_fine("share among", 4);
}

static void one_rank_proves_and_a_part_that_differs_is_refused_by_all(void **state)
{
    (void)state;
    outcome o;
    expect_fine("prove", 4);
    run_mode("test_ranks_once", "prove others", 4, &o);
    assert_int_equal(o.exit_code, TUTTI_ERR_RENDEZVOUS);
    expect_words(&o, 2, "the ranks run different schedules: of direct allreduce, rank 2's part has hash");
    expect_words(&o, 0, "the ranks run different schedules");
}

static void exchanges_made_together_run_as_those_made_alone(void **state)
{
    (void)state;
    outcome o;
    expect_fine("together", 4);
    run_mode("test_ranks_once", "together, differ", 3, &o);
    assert_int_equal(o.exit_code, TUTTI_ERR_RENDEZVOUS);
    for (int r = 0; r < 3; r++) {
        expect_words(&o, r, "the ranks create different exchanges");
        expect_words(&o, r, "1000 elements");
        expect_words(&o, r, "999 elements");
    }
}

static void bound_ranks_have_their_cores_together(void **state)
{
    (void)state;
    expect_fine("bound", 2);
    expect_fine("bound", 4);
    expect_fine("told", 2);
}

int main(int argc, char **argv)
{
    if (is_rank(argc)) return run_as_rank(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_of_a_host_makes_bytes_and_nobody_can_write_them),
        cmocka_unit_test(one_rank_of_a_set_makes_bytes_for_that_set),
        cmocka_unit_test(one_rank_proves_and_a_part_that_differs_is_refused_by_all),
        cmocka_unit_test(exchanges_made_together_run_as_those_made_alone),
        cmocka_unit_test(bound_ranks_have_their_cores_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

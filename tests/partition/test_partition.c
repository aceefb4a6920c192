/* SPDX-License-Identifier: Apache-2.0 */
/* test_partition.c: machines of hwloc's synthetic descriptions into groups: which cores, which caches, whose memory;
 * what cannot be. */
#include "testing.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/partition_impl.h"

/* ---- machines ---- */

static hwloc_topology_t machine_of(const char *description, const char *only)
{
    hwloc_topology_t m;
    assert_int_equal(hwloc_topology_init(&m), 0);
    if (hwloc_topology_set_synthetic(m, description)) fail_msg("'%s' is no description", description);
    assert_int_equal(hwloc_topology_load(m), 0);
    if (!only) return m;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    hwloc_bitmap_list_sscanf(set, only);
    assert_int_equal(hwloc_topology_restrict(m, set, 0), 0);
    hwloc_bitmap_free(set);
    return m;
}

static tutti_status cut(const char *description, const char *only, const char *rule, tutti_partition *p,
                        tutti_failure *err)
{
    tutti_partition_rule r;
    hwloc_topology_t m = machine_of(description, only);
    assert_int_equal(tutti_partition_parse(rule, &r, err), TUTTI_OK);
    const tutti_status st = tutti_partition_cut(m, &r, p, err);
    hwloc_topology_destroy(m);
    return st;
}

/* "0-3 cache L3 0 (16.0 MiB) node 0 | ...": groups as text, each with its threads, cache and nodes. */
static char *text_of(const tutti_partition *p)
{
    tutti_strbuf out = {0};
    for (int g = 0; g < p->ngroups; g++) {
        if (g) tutti_strbuf_puts(&out, " | ");
        tutti_cores_print(&p->groups[g].threads, &out);
        const char *cache = p->groups[g].cache, *bytes = strstr(cache, " (");
        tutti_strbuf_printf(&out, " %.*s ", bytes ? (int)(bytes - cache) : (int)strlen(cache), cache);
        tutti_partition_memory_words(&p->groups[g].nodes, &out);
    }
    return tutti_strbuf_detach(&out);
}

/* No core is in two groups or in none, counts are true, domains have every group. */
static void check_sums(const tutti_partition *p, const char *what)
{
    tutti_core_set all = {0};
    int ncores = 0, nthreads = 0, fewest = p->ncores, in_domains = 0;
    for (int g = 0; g < p->ngroups; g++) {
        const tutti_core_group *o = &p->groups[g];
        tutti_cores_add(&all, &o->threads);
        ncores += o->ncores;
        nthreads += o->nthreads;
        if (o->ncores < fewest) fewest = o->ncores;
        assert_int_equal(o->nthreads, tutti_cores_count(&o->threads));
        assert_true(o->domain >= 0 && o->domain < p->ndomains && o->ncores > 0);
    }
    for (int d = 0; d < p->ndomains; d++) in_domains += p->domains[d].ngroups;
    if (tutti_cores_count(&all) != nthreads || ncores != p->ncores || fewest != p->fewest || in_domains != p->ngroups)
        fail_msg("%s: %d threads in %d, %d cores of %d", what, nthreads, tutti_cores_count(&all), ncores, p->ncores);
}

static void check(const char *description, const char *only, const char *rule, const char *expected)
{
    tutti_partition p;
    tutti_failure err = {0};
    if (cut(description, only, rule, &p, &err)) fail_msg("%s by %s: %s", description, rule, err.text);
    char *text = text_of(&p);
    check_sums(&p, description);
    if (strcmp(text, expected) != 0) fail_msg("%s by %s:\n%s\nnot\n%s", description, rule, text, expected);
    free(text);
    tutti_partition_release(&p);
}

static void refused(const char *description, const char *only, const char *rule, const char *words)
{
    tutti_partition p;
    tutti_failure err = {0};
    assert_int_equal(cut(description, only, rule, &p, &err), TUTTI_ERR_USAGE);
    if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
}

#define SERVER "pack:2 numa:1 l3:2 core:4 pu:2" /* 32 hardware threads, numbered core by core */

/* ---- tests ---- */

static void nodes_and_caches_are_groups_and_hardware_threads_stay_together(void **state)
{
    (void)state;
    check(SERVER, NULL, "numa", "0-15 L3 0-1 node 0 | 16-31 L3 2-3 node 1");
    check(SERVER, NULL, "l3", "0-7 L3 0 node 0 | 8-15 L3 1 node 0 | 16-23 L3 2 node 1 | 24-31 L3 3 node 1");
    check(SERVER, NULL, "1", "0-31 L3 0-3 nodes 0-1");
    check(SERVER, NULL, "2", "0-15 L3 0-1 node 0 | 16-31 L3 2-3 node 1");
    check(SERVER, NULL, "4", "0-7 L3 0 node 0 | 8-15 L3 1 node 0 | 16-23 L3 2 node 1 | 24-31 L3 3 node 1");
    /* threads of a core as Linux numbers them: 0 and 4 are one core */
    check("pack:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)", NULL, "2",
          "0-1,4-5 no cache known node 0 | 2-3,6-7 no cache known node 0");
    check("numa:1 core:1 pu:4", NULL, "1", "0-3 no cache known node 0");
}

static void runs_are_equal_but_for_one_and_cut_caches_where_they_must_only(void **state)
{
    (void)state;
    check("numa:1 l3:1 core:3 pu:1", NULL, "2", "0-1 part of L3 0 node 0 | 2 part of L3 0 node 0");
    /* 9 cores, of which 4 have the first cache, in 3 equal runs: one has parts of both */
    check("numa:1 l3:2 core:5 pu:1", "0-2,3,5-9", "3",
          "0-2 part of L3 0 node 0 | 3,5-6 part of L3 0-1 node 0 | 7-9 part of L3 1 node 0");
    check("numa:1 l3:3 core:4 pu:1", "0-2,4-7,8-10", "3", "0-2 L3 0 node 0 | 4-7 L3 1 node 0 | 8-10 L3 2 node 0");
    check("numa:1 l3:3 core:4 pu:1", "0-2,4-6,8-11", "3", "0-2 L3 0 node 0 | 4-6 L3 1 node 0 | 8-11 L3 2 node 0");
    /* between nodes first, though a cut at 0-2 would save a cache */
    check("numa:2 l3:2 core:2 pu:1", "0-2,4-7", "2", "0-2 L3 0-1 node 0 | 4-7 L3 2-3 node 1");
    check("numa:1 l3:1 l2:3 core:2 pu:1", "0-4", "3",
          "0-1 part of L3 0 node 0 | 2-3 part of L3 0 node 0 | 4 part of L3 0 node 0");
    check("numa:1 l3:1 l2:3 core:2 pu:1", "0,2-5", "3",
          "0 part of L3 0 node 0 | 2-3 part of L3 0 node 0 | 4-5 part of L3 0 node 0");
}

static void memory_without_cores_is_nobodys(void **state)
{
    (void)state;
    check("pack:2 numa:1 l3:1 core:2 pu:1", "0-1", "numa", "0-1 L3 0 node 0");
    check("pack:2 numa:1 l3:1 core:2 pu:1", "2-3", "2", "2 part of L3 0 node 1 | 3 part of L3 0 node 1");
    /* two kinds of memory at one place are near alike; memory further up is not the nearest */
    check("pack:2 [numa] [numa] core:2 pu:1", NULL, "numa",
          "0-1 no cache known nodes 0-1 | 2-3 no cache known nodes 2-3");
    check("[numa] pack:2 [numa] core:2 pu:1", NULL, "numa", "0-1 no cache known node 0 | 2-3 no cache known node 1");
}

static void groups_of_one_node_are_of_one_domain(void **state)
{
    (void)state;
    tutti_partition p;
    tutti_failure err = {0};
    assert_int_equal(cut("pack:2 [numa(memory=4GiB)] l3:2 core:2 pu:1", NULL, "l3", &p, &err), TUTTI_OK);
    assert_int_equal(p.ngroups, 4);
    assert_int_equal(p.ndomains, 2);
    for (int g = 0; g < 4; g++) assert_int_equal(p.groups[g].domain, g / 2);
    for (int d = 0; d < 2; d++) assert_int_equal(p.domains[d].nbytes, (int64_t)4 << 30);
    assert_int_equal(p.domains[0].ngroups, 2);
    tutti_partition_release(&p);
    /* 3 groups over 2 nodes: the one in the middle has both, so that all of them share all */
    assert_int_equal(cut("pack:2 [numa(memory=4GiB)] core:3 pu:1", NULL, "3", &p, &err), TUTTI_OK);
    assert_int_equal(p.ndomains, 1);
    assert_int_equal(p.domains[0].nbytes, (int64_t)8 << 30);
    assert_int_equal(p.domains[0].ngroups, 3);
    tutti_partition_release(&p);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    refused("numa:1 l3:1 core:3 pu:2", NULL, "4", "4 groups of 3 cores: each group needs one; at most 3 are possible");
    refused("numa:1 core:1 pu:1", NULL, "2", "2 groups of 1 core:");
    refused("numa:1 core:4 pu:1", NULL, "l3", "does not say which cores share a cache; take 'numa' or a number");
}

static void a_rule_is_a_word_or_a_number(void **state)
{
    (void)state;
    static const char *const bad[] = {"",   "0",  "-1", "+2",   "02",     " 2",  "2 ",          "2.0",  "4097",
                                      "l4", "L3", "x",  "NUMA", "none,2", "1e2", "99999999999", "numa2"};
    tutti_partition_rule r;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tutti_failure err = {0};
        if (tutti_partition_parse(bad[i], &r, &err) != TUTTI_ERR_USAGE) fail_msg("'%s' is taken", bad[i]);
        if (!strstr(err.text, "neither none, numa nor l3, nor a number of groups from 1 to 4096"))
            fail_msg("%s", err.text);
    }
    assert_int_equal(tutti_partition_parse("4096", &r, NULL), TUTTI_OK);
    assert_true(r.kind == TUTTI_PARTITION_NUMBER && r.ngroups == 4096);
    assert_int_equal(tutti_partition_parse("none", &r, NULL), TUTTI_OK);
    assert_true(r.kind == TUTTI_PARTITION_NONE);
}

static void ranks_divide_into_groups_or_are_refused(void **state)
{
    (void)state;
    const tutti_partition p = {.ngroups = 4, .ncores = 14, .fewest = 3};
    tutti_failure err = {0};
    assert_int_equal(tutti_partition_fits(&p, 8, &err), TUTTI_OK);
    assert_int_equal(tutti_partition_fits(&p, 6, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "6 ranks of this host do not divide into 4 groups; 4 or 8 would"));
    assert_int_equal(tutti_partition_fits(&p, 1, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "1 rank of this host for 4 groups: each group needs one; 4 would do"));
    static const int groups[8] = {0, 0, 1, 1, 2, 2, 3, 3};
    for (int r = 0; r < 8; r++) assert_int_equal(tutti_partition_group_of(&p, r, 8), groups[r]);
    for (int r = 0; r < 4; r++) assert_int_equal(tutti_partition_group_of(&p, r, 4), r);
    /* the smallest group's cores, shared by its ranks, as far as a quota goes */
    assert_int_equal(tutti_partition_threads(&p, 4, 0), 3);
    assert_int_equal(tutti_partition_threads(&p, 8, 0), 1);
    assert_int_equal(tutti_partition_threads(&p, 16, 0), 1);
    assert_int_equal(tutti_partition_threads(&p, 4, 8.5), 2);
    assert_int_equal(tutti_partition_threads(&p, 4, 0.5), 1);
}

static void more_than_a_domain_has_is_refused_with_all_numbers(void **state)
{
    (void)state;
    tutti_domain_need need = {"l3", "node 0", 1000000, 4, 800000, 200000};
    tutti_failure err = {0};
    assert_int_equal(tutti_partition_check_memory(&need, &err), TUTTI_OK);
    need.of_samples++;
    assert_int_equal(tutti_partition_check_memory(&need, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "partition: l3: memory of node 0: 4 ranks need 0.80 MB"));
    assert_non_null(strstr(err.text, "samples 0.20 MB once: 1.00 MB of 1.0 MB: take fewer groups"));
    need.nbytes = 0; /* not known */
    assert_int_equal(tutti_partition_check_memory(&need, &err), TUTTI_OK);
}

static void lists_of_cores_are_read_as_they_are_written(void **state)
{
    (void)state;
    static const char *const lists[] = {"0", "0-3", "0-3,8", "1,3,5-6", "4095", "62-65,4094-4095"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        tutti_core_set set;
        tutti_strbuf out = {0};
        assert_true(tutti_cores_parse(lists[i], &set));
        tutti_cores_print(&set, &out);
        assert_string_equal(out.text, lists[i]);
        tutti_strbuf_release(&out);
    }
    static const char *const bad[] = {"",  ",",   "0,",   "3-1",         "-1",   "1-",
                                      "a", "0 1", "4096", "99999999999", "0-3x", "0--3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tutti_core_set set = {0};
        if (tutti_cores_parse(bad[i], &set)) fail_msg("'%s' is taken", bad[i]);
        assert_int_equal(tutti_cores_count(&set), 0);
    }
}

/* Every number of groups on machines of every size: sums hold, lengths differ by one at most, and no cut of equal
 * lengths ends more runs between caches, found by trying all of them. */
static int ends_well(const int *cache, const int *length, int ngroups)
{
    int at = 0, n = 0;
    for (int g = 0; g + 1 < ngroups; g++) {
        at += length[g];
        n += cache[at - 1] != cache[at];
    }
    return n;
}

static void no_other_cut_ends_more_runs_between_caches(void **state)
{
    (void)state;
    for (unsigned mask = 1; mask < 1 << 9; mask++) {
        char list[64] = "";
        int cache[9], n = 0;
        for (int i = 0; i < 9; i++)
            if (mask >> i & 1) {
                snprintf(list + strlen(list), sizeof list - strlen(list), "%s%d", n ? "," : "", i);
                cache[n++] = i / 3;
            }
        for (int ngroups = 1; ngroups <= n; ngroups++) {
            char rule[12];
            tutti_partition p;
            tutti_failure err = {0};
            int length[9], got[9], best = 0;
            snprintf(rule, sizeof rule, "%d", ngroups);
            assert_int_equal(cut("numa:1 l3:3 core:3 pu:1", list, rule, &p, &err), TUTTI_OK);
            check_sums(&p, list);
            for (int g = 0; g < ngroups; g++) got[g] = p.groups[g].ncores;
            for (int g = 0; g < ngroups; g++) assert_true(got[g] == n / ngroups || got[g] == n / ngroups + 1);
            for (unsigned longer = 0; longer < 1u << ngroups; longer++) {
                if (__builtin_popcount(longer) != n % ngroups) continue;
                for (int g = 0; g < ngroups; g++) length[g] = n / ngroups + (longer >> g & 1);
                const int ends = ends_well(cache, length, ngroups);
                if (ends > best) best = ends;
            }
            if (ends_well(cache, got, ngroups) != best) fail_msg("cores %s in %d groups", list, ngroups);
            tutti_partition_release(&p);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_and_caches_are_groups_and_hardware_threads_stay_together),
        cmocka_unit_test(runs_are_equal_but_for_one_and_cut_caches_where_they_must_only),
        cmocka_unit_test(memory_without_cores_is_nobodys),
        cmocka_unit_test(groups_of_one_node_are_of_one_domain),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_rule_is_a_word_or_a_number),
        cmocka_unit_test(ranks_divide_into_groups_or_are_refused),
        cmocka_unit_test(more_than_a_domain_has_is_refused_with_all_numbers),
        cmocka_unit_test(lists_of_cores_are_read_as_they_are_written),
        cmocka_unit_test(no_other_cut_ends_more_runs_between_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_machines.c: machines with names: all are read, say where each figure is from, and grow with their ranks. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/parsed_topology.h"
#include "topology/topology_impl.h"

static const char *const wanted[] = {"p40-100gbe", "knl-aries",  "e5-fdr",      "aws-10gbe", "k80-10gbe", "v100-ib",
                                     "v100-10gbe", "v100-25gbe", "v100-100gbe", "eflops",    "manoa"};
enum { NWANTED = sizeof wanted / sizeof wanted[0] };

static void every_machine_is_read_and_names_the_source_of_each_figure(void **state)
{
    (void)state;
    int n = 0;
    while (tutti_topology_machine_at(n)) n++;
    assert_int_equal(n, NWANTED);
    for (int i = 0; i < NWANTED; i++) {
        char name[40];
        snprintf(name, sizeof name, "@%s", wanted[i]);
        tutti_topology t = parsed(name);
        assert_string_equal(t.machine, wanted[i]);
        const tutti_topology_row *row = tutti_topology_row_at((int)t.kind);
        for (int p = 0; p < row->npresets; p++) {
            const tutti_figure f = row->presets[p].figure;
            tutti_strbuf source = {0};
            tutti_topology_machine_source(&t, f, &source);
            if (f != TUTTI_FIGURE_PLACE && t.figure[f] > 0 && !source.text)
                fail_msg("%s: %s has no source", name, tutti_figure_name(f));
            assert_true(t.from[f] == TUTTI_FROM_READ || t.from[f] == TUTTI_FROM_MEASURED ||
                        t.from[f] == TUTTI_FROM_ASSUMED);
            tutti_strbuf_release(&source);
        }
        char *about = tutti_topology_machine_about(wanted[i]);
        assert_true(strlen(about) > 10);
        assert_true(strstr(about, "[TCP, ") || strstr(about, "[RDMA, "));
        free(about);
    }
}

/* Of @manoa: 16 + 1 + 1 nodes of three roles, a network that is there once; others name no prices. */
static void prices_are_of_a_node_and_of_what_is_there_once(void **state)
{
    (void)state;
    tutti_machine_prices p = {0};
    tutti_topology manoa = parsed("@manoa,nic=25Gb"), none = parsed("@k80-10gbe"), star = parsed("star");
    assert_true(tutti_topology_machine_prices(&manoa, &p));
    assert_true(p.node == 52000 && p.once == 8000 + 12000 + 40000 && p.hours == 26280);
    assert_false(tutti_topology_machine_prices(&none, &p));
    assert_false(tutti_topology_machine_prices(&star, &p));
}

static void a_machine_has_as_many_hosts_as_its_ranks_fill(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t nranks, hosts;
    } cases[] = {{"@v100-25gbe", 64, 16},        {"@v100-25gbe", 65, 17}, {"@v100-25gbe", 1, 1},
                 {"@v100-25gbe,hosts=2", 64, 2}, {"@k80-10gbe", 16, 4},   {"@manoa", 128, 16},
                 {"@p40-100gbe", 2048, 256},     {"@eflops", 64, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_topology t = parsed(cases[i].text);
        tutti_topology_grow(&t, cases[i].nranks);
        assert_int_equal((int)t.figure[TUTTI_FIGURE_HOSTS], cases[i].hosts);
        assert_int_equal(tutti_topology_fits(&t, cases[i].nranks, NULL) == TUTTI_OK, cases[i].hosts != 2 || i > 6);
    }
    tutti_topology seated = parsed("@manoa,place=100.5"); /* on hosts that two ranks would not fill */
    tutti_topology_grow(&seated, 2);
    assert_int_equal((int)seated.figure[TUTTI_FIGURE_HOSTS], 16);
    tutti_topology plain = parsed("cluster,hosts=4,ranks=2"), star = parsed("@e5-fdr");
    tutti_topology_grow(&plain, 64);
    tutti_topology_grow(&star, 64);
    assert_int_equal((int)plain.figure[TUTTI_FIGURE_HOSTS], 4);
    assert_int_equal(tutti_topology_fits(&star, 64, NULL), TUTTI_OK);
}

static void figures_may_follow_a_machine_s_name(void **state)
{
    (void)state;
    tutti_topology t = parsed("@v100-10gbe,nic=25Gb,hosts=3");
    assert_true(t.figure[TUTTI_FIGURE_NIC] == 3.125e9);
    assert_int_equal(t.from[TUTTI_FIGURE_NIC], TUTTI_FROM_GIVEN);
    char *described = tutti_topology_describe(&t), *text = tutti_topology_print(&t);
    assert_non_null(strstr(described, "machine @v100-10gbe"));
    assert_null(strstr(described, "10GbE with TCP/IP")); /* the source of what was replaced */
    assert_non_null(strstr(described, "V100-PCIE-32GB"));
    tutti_topology again = parsed(text);
    for (int f = 0; f < TUTTI_NFIGURES; f++) assert_true(again.figure[f] == t.figure[f]);
    free(described);
    free(text);
}

static void roles_and_prices_are_shown_with_the_machine(void **state)
{
    (void)state;
    tutti_topology t = parsed("@manoa");
    char *described = tutti_topology_describe(&t);
    assert_non_null(strstr(described, "role.job-server"));
    assert_non_null(strstr(described, "price.compute"));
    free(described);
}

static void unknown_machines_are_refused_with_the_nearest(void **state)
{
    (void)state;
    tutti_topology t;
    tutti_failure err = {0};
    assert_int_equal(tutti_topology_parse("@v100-20gbe", &t, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "no machine '@v100-20gbe'"));
    assert_non_null(strstr(err.text, "did you mean '@v100-"));
    assert_int_equal(tutti_topology_parse("@", &t, &err), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_topology_parse("@v100-ib,bw=1Gb", &t, &err), TUTTI_ERR_USAGE); /* no figure of that kind */
    assert_int_equal(tutti_topology_parse("v100-ib", &t, &err), TUTTI_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_machine_is_read_and_names_the_source_of_each_figure),
        cmocka_unit_test(prices_are_of_a_node_and_of_what_is_there_once),
        cmocka_unit_test(a_machine_has_as_many_hosts_as_its_ranks_fill),
        cmocka_unit_test(figures_may_follow_a_machine_s_name),
        cmocka_unit_test(roles_and_prices_are_shown_with_the_machine),
        cmocka_unit_test(unknown_machines_are_refused_with_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies as text and as links: what is printed parses to the same figures, and each kind routes as it says. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topology/parsed_topology.h"
#include "topology/topology_impl.h"

static void figures_are_read_in_their_units(void **state)
{
    (void)state;
    tutti_topology t = parsed("star,bw=10Gb,lat=5us,soft=200ns,add=2.5GB");
    assert_true(t.figure[TUTTI_FIGURE_BANDWIDTH] == 1.25e9);
    assert_true(fabs(t.figure[TUTTI_FIGURE_LATENCY] - 5e-6) < 1e-18);
    assert_true(fabs(t.figure[TUTTI_FIGURE_SOFTWARE] - 2e-7) < 1e-18);
    assert_true(t.figure[TUTTI_FIGURE_ADD] == 2.5e9);
    assert_int_equal(t.from[TUTTI_FIGURE_ADD], TUTTI_FROM_GIVEN);
    assert_int_equal(parsed("star,bw=1Gb").from[TUTTI_FIGURE_LATENCY], TUTTI_FROM_ASSUMED);
    t = parsed("host,cores=4,cache=32MiB,lat=0ns");
    assert_true(t.figure[TUTTI_FIGURE_CACHE] == 32 * 1048576.0 && t.figure[TUTTI_FIGURE_LATENCY] == 0);
}

static void printed_text_parses_to_the_same_figures(void **state)
{
    (void)state;
    static const char *const texts[] = {"star",
                                        "star,bw=100Gb,lat=1.5us,soft=14us,add=7GB",
                                        "star,bw=3b,lat=0s",
                                        "host,cores=64,bw=203.4GB,lat=87ns,copy=11GB,add=13.25GB,switch=3us,cache=1GiB",
                                        "cluster,hosts=3,ranks=4,nics=2,place=round-robin",
                                        "cluster,hosts=1",
                                        "pcie,hosts=4,nics=8,inside=nic",
                                        "dgx1p,gpus=0.1.4.5,wires=nvlink",
                                        "dgx1v,hosts=2,place=3.2.1.0",
                                        "dgx2,gpus=1.3.15",
                                        "fat-tree,pods=2,routing=ecmp,paths=4,seed=0",
                                        "bigraph,place=parity",
                                        "cards,gpus=0.1.3,mesh=0-1.0-3x2.1-3x12,wires=nvlink",
                                        "cards,mesh=0-7.5-2x3.0-2.3-1",
                                        "nvswitch,gpus=0.3,links=12",
                                        "torus,x=3,y=2,z=5"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tutti_topology a = parsed(texts[i]), b;
        char *first = tutti_topology_print(&a);
        b = parsed(first);
        char *second = tutti_topology_print(&b);
        assert_string_equal(first, second);
        free(first);
        free(second);
        for (int f = 0; f < TUTTI_NFIGURES; f++)
            assert_true(fabs(a.figure[f] - b.figure[f]) <= 1e-11 * fabs(a.figure[f]));
    }
}

static void are_refused(size_t n, const char *const wrong[][2])
{
    for (size_t i = 0; i < n; i++) {
        tutti_topology t = {0};
        tutti_failure err = {0};
        assert_int_equal(tutti_topology_parse(wrong[i][0], &t, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, wrong[i][1])) fail_msg("'%s': %s", wrong[i][0], err.text);
    }
}

static void pairs_of_a_mesh_come_in_any_order(void **state)
{
    (void)state;
    const tutti_topology a = parsed("cards,mesh=0-7.5-2x3.0-2.3-1"), b = parsed("cards,mesh=0-2.0-7.1-3.2-5x3");
    assert_int_equal(a.nmesh, 4);
    assert_memory_equal(a.mesh, b.mesh, sizeof a.mesh);
}

static void a_wrong_mesh_of_nvlinks_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"cards,mesh=1-1", "mesh=0-1.0-3x2"},
        {"cards,mesh=0-1.0-1", "mesh=0-1.0-3x2"},
        {"cards,mesh=0-1.0-2.1-0", "mesh=0-1.0-3x2"},
        {"cards,mesh=0-1x0", "mesh=0-1.0-3x2"},
        {"cards,mesh=0-1x", "mesh=0-1.0-3x2"},
        {"cards,mesh=0-1x65", "mesh=0-1.0-3x2"},
        {"cards,mesh=0-1.", "mesh=0-1.0-3x2"},
        {"cards,mesh=0-16", "mesh=0-1.0-3x2"},
        {"cards,mesh=0", "mesh=0-1.0-3x2"},
        {"cards,mesh=0-", "mesh=0-1.0-3x2"},
        {"cards,mesh=", "mesh=0-1.0-3x2"},
        {"cards,mesh", "mesh=0-1.0-3x2"},
        {"cards,mesh=0-1,mesh=0-1", "mesh is given twice"},
        {"cards,mesh=0-8", "slots are 0 to 7"},
        {"cards,gpus=8", "slots 0 to 7"},
        {"cards,sockets=2,switches=3,slots=3", "up to 16 slots"},
        {"cards,sockets=3,slots=1", "1 or 2 sockets"},
        {"cards,wires=nvlink", "wires has no effect"},
        {"cards,mesh=0-1,wires=pcie", "mesh has no effect"},
        {"cards,mesh=0-1,wires=split", "split is of dgx1p"},
        {"cards,mesh=0-1,wires=nvlink", "do not join"},
        {"cards,mesh=0-1,gpus=0.1,wires=nvlink,qpi=1GB", "qpi has no effect"},
        {"nvswitch,links=0", "links=8"},
        {"dgx2,links=6", "no figure 'links'"},
    };
    are_refused(sizeof wrong / sizeof wrong[0], wrong);
}

static void a_wrong_text_is_refused_with_what_would_be_right(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"ring", "no kind 'ring'"},
        {"dgx1", "did you mean 'dgx1p'"},
        {"dgx1v,gpus=0.8", "GPUs 0 to 7"},
        {"dgx1v,gpus=1.0", "gpus=0.1.4.5"},
        {"dgx1v,gpus=0.7,wires=nvlink", "do not join"},
        {"dgx1v,wires=nvlink,pcie=12GB", "pcie has no effect"},
        {"dgx1v,wires=nvlink,hosts=2", "do not leave"},
        {"dgx1v,nic=10Gb", "nic has no effect"},
        {"pcie,sockets=3", "1 or 2 sockets"},
        {"pcie,nics=2", "nics has no effect"},
        {"pcie,nics=6,inside=nic", "as many NICs under each"},
        {"pcie,sockets=1,qpi=10GB", "qpi has no effect"},
        {"fat-tree,seed=3", "seed has no effect"},
        {"fat-tree,tops=3", "tops has no effect"},
        {"fat-tree,routing=spray", "dmodk|ecmp"},
        {"fat-tree,place=parity", "no place=parity"},
        {"bigraph,switches=5", "two equal layers"},
        {"bigraph,switches=2,hosts=2,place=0.1.4", "no seat 4"},
        {"bigraph,switches=2,hosts=2,place=0.1.1", "taken twice"},
        {"bigraph,place=list", "name the seats"},
        {"bigraph,place=0..1", "wanted a figure"},
        {"torus,x=200", "ways of 64 links"},
        {"cluster,ranks=2,nics=3", "nobody uses"},
        {"cluster,hosts=1,lat=5us", "lat has no effect"},
        {"", "no kind ''"},
        {"star,bw=10", "bw=10Gb"},
        {"star,bw=10us", "bw=10Gb"},
        {"star,bw=-1Gb", "bw=10Gb"},
        {"star,bw=0Gb", "bw=10Gb"},
        {"star,lat=5", "lat=5us"},
        {"star,cores=4", "no figure 'cores'"},
        {"star,bw", "bw=10Gb"},
        {"star,bw=1Gb,lat=5us,bw=10Gb", "bw is given twice"},
        {"star,", "no figure ''"},
        {"star,bw=nanGb", "bw=10Gb"},
        {"host,cores=0", "cores=8"},
        {"host,cores=2.5", "cores=8"},
        {"host,soft=1us", "no figure 'soft'"},
        {"star,width=10Gb", "bw lat soft add"},
    };
    are_refused(sizeof wrong / sizeof wrong[0], wrong);
}

static void hosts_of_a_star_share_no_link_and_ranks_of_a_core_do(void **state)
{
    (void)state;
    tutti_topology star = parsed("star"), host = parsed("host,cores=2");
    int32_t a[TUTTI_MAX_HOPS], b[TUTTI_MAX_HOPS];
    char name[32];
    tutti_topology_route(&star, 0, 1, 0, a);
    tutti_topology_route(&star, 1, 0, 0, b);
    assert_true(a[0] != b[0] && a[0] != b[1] && a[1] != b[0] && a[1] != b[1]);
    tutti_topology_link_name(&star, 4, a[1], name);
    assert_string_equal(name, "down(1)");
    tutti_topology_route(&host, 0, 1, 0, a);
    tutti_topology_route(&host, 2, 1, 0, b);
    assert_true(a[0] == b[0]);
    tutti_topology_link_name(&host, 4, a[1], name);
    assert_string_equal(name, "memory");
}

static void this_machine_has_cores(void **state)
{
    (void)state;
    tutti_host_shape shape = {0};
    tutti_topology_detect(&shape);
    assert_true(shape.ncores >= 1 && shape.nsockets >= 1);
}

static void fitted_figures_are_taken_when_they_are_of_this_machine(void **state)
{
    (void)state;
    char path[] = "/tmp/tutti-topology-XXXXXX";
    int fd = mkstemp(path), ncores = (int)parsed("host").figure[TUTTI_FIGURE_CORES];
    setenv("TUTTI_TOPOLOGY", path, 1);
    tutti_topology t;
    tutti_failure err = {0};
    for (int other = 0; other < 2; other++) {
        FILE *f = fopen(path, "w");
        fprintf(f, "# fitted\nhost,cores=%d,lat=123ns,copy=3GB\n", ncores + other);
        fclose(f);
        assert_int_equal(tutti_topology_of_this_host(&t, &err), TUTTI_OK);
        assert_int_equal(t.from[TUTTI_FIGURE_LATENCY], other ? TUTTI_FROM_ASSUMED : TUTTI_FROM_FITTED);
        assert_true((t.figure[TUTTI_FIGURE_COPY] == 3e9) == !other);
    }
    FILE *f = fopen(path, "w");
    fprintf(f, "host,lat=fast\n");
    fclose(f);
    assert_int_equal(tutti_topology_of_this_host(&t, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, path));
    unlink(path);
    assert_int_equal(tutti_topology_of_this_host(&t, &err), TUTTI_OK); /* no file: assumed */
    close(fd);
}

/* As on a box, in a data sheet, or out of a program. */
static void units_are_read_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *text, *plain;
    } same[] = {
        {"star,bw=25GbE,incast=0", "star,bw=25Gb,incast=0%"},
        {"star,bw=3.1GB/s", "star,bw=3.1GB"},
        {"star,bw=100Gbit/s", "star,bw=100Gb"},
        {"star,bw=100gbps", "star,bw=100Gb"},
        {"star,bw=10Gb/s,lat=5us", "star,bw=10Gb,lat=5us"},
        {"star,bw=300mbit", "star,bw=300Mb"},
        {"star,bw=12.5GBps", "star,bw=12.5GB"},
        {"star,lat=5\xc2\xb5s", "star,lat=5us"},
        {"cluster,nic=100GbE,incast=0.5%", "cluster,nic=100Gb,incast=0.005"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const tutti_topology a = parsed(same[i].text), b = parsed(same[i].plain);
        assert_memory_equal(a.figure, b.figure, sizeof a.figure);
    }
    static const char *const wrong[] = {"star,bw=10/s",     "star,bw=10Gb/",   "star,bw=10GbEs",
                                        "star,bw=10 GbE",   "star,bw=10Gq/s",  "star,lat=5us/s",
                                        "star,incast=101%", "star,incast=1us", "dgx2,incast=1%"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tutti_topology t;
        assert_int_equal(tutti_topology_parse(wrong[i], &t, NULL), TUTTI_ERR_USAGE);
    }
}

/* Who says Ethernet gets its loss where many send to one; other wires have none unless it is given. */
static void a_port_of_ethernet_has_an_incast(void **state)
{
    (void)state;
    const tutti_topology plain = parsed("star,bw=25Gb"), ethernet = parsed("star,bw=25GbE"),
                         said = parsed("star,bw=25GbE,incast=3%"), none = parsed("cluster,nic=25GbE,incast=0");
    assert_true(plain.figure[TUTTI_FIGURE_INCAST] == 0 && none.figure[TUTTI_FIGURE_INCAST] == 0);
    assert_true(ethernet.figure[TUTTI_FIGURE_INCAST] > 0 && ethernet.from[TUTTI_FIGURE_INCAST] == TUTTI_FROM_ASSUMED);
    assert_true(said.figure[TUTTI_FIGURE_INCAST] == 3e-2 && said.from[TUTTI_FIGURE_INCAST] == TUTTI_FROM_GIVEN);
    for (int i = 0; i < 4; i++) {
        const tutti_topology *t = (const tutti_topology *[]){&plain, &ethernet, &said, &none}[i];
        char *text = tutti_topology_print(t);
        const tutti_topology again = parsed(text);
        assert_true(fabs(again.figure[TUTTI_FIGURE_INCAST] - t->figure[TUTTI_FIGURE_INCAST]) < 1e-12);
        if (t == &plain) assert_null(strstr(text, "incast"));
        free(text);
    }
    assert_int_equal(tutti_topology_port(&plain, 2), 1);
    assert_int_equal(tutti_topology_port(&none, 4), 2); /* the NIC, then the way to the rank */
    assert_int_equal(tutti_topology_port(&none, 3), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_read_as_people_write_them),
        cmocka_unit_test(a_port_of_ethernet_has_an_incast),
        cmocka_unit_test(figures_are_read_in_their_units),
        cmocka_unit_test(printed_text_parses_to_the_same_figures),
        cmocka_unit_test(pairs_of_a_mesh_come_in_any_order),
        cmocka_unit_test(a_wrong_mesh_of_nvlinks_is_refused),
        cmocka_unit_test(a_wrong_text_is_refused_with_what_would_be_right),
        cmocka_unit_test(hosts_of_a_star_share_no_link_and_ranks_of_a_core_do),
        cmocka_unit_test(this_machine_has_cores),
        cmocka_unit_test(fitted_figures_are_taken_when_they_are_of_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

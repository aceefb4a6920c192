/* SPDX-License-Identifier: Apache-2.0 */
/* Networks as graphs: every route is a way from its source to its destination, and the machines have the links, degrees
 * and cuts that they are known for. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/parsed_topology.h"
#include "topology/topology_impl.h"

static const char *const networks[] = {
    "star",
    "cluster,hosts=3,ranks=4,nics=2",
    "cluster,hosts=3,ranks=4,place=round-robin",
    "cluster,hosts=1,ranks=12",
    "pcie,sockets=2,switches=2,slots=3",
    "pcie,switches=1,slots=1",
    "pcie,hosts=2,nics=1",
    "pcie,hosts=2,nics=8",
    "pcie,hosts=1,switches=3,nics=6,inside=nic",
    "pcie,hosts=2,nics=4,inside=nic,place=11.10.9.8.7.6.5.4.3.2.1.0",
    "dgx1p",
    "dgx1v",
    "dgx1v,wires=nvlink",
    "dgx1v,wires=pcie",
    "dgx1p,wires=nvlink,gpus=0.1.4.5.6",
    "dgx1v,gpus=0.3.5.6",
    "dgx1v,hosts=2,gpus=1.2.3.4.6.7",
    "dgx2",
    "dgx2,gpus=0.5.9.15",
    "nvswitch,links=12",
    "cards",
    "cards,sockets=1,switches=3,slots=3,gpus=0.2.4.8,mesh=0-2.2-4x2,place=3.1.0.2",
    "cards,gpus=0.1.2.4,mesh=0-1.1-2x2.2-4.3-4,wires=nvlink",
    "fat-tree",
    "fat-tree,pods=2,leaves=2,hosts=3,spines=2,tops=3",
    "fat-tree,pods=2,leaves=2,hosts=3,spines=2,tops=3,routing=ecmp,place=round-robin",
    "bigraph,switches=4,hosts=3",
    "bigraph,switches=4,hosts=3,place=parity",
    "torus,x=4,y=3,z=2",
    "torus,x=5,y=1,z=3",
    "torus,x=2,y=2,z=3",
    "torus,x=1,y=12",
};
enum { NNETWORKS = sizeof networks / sizeof networks[0] };

static int32_t room_of(const tutti_topology *t)
{
    int32_t room = tutti_topology_nseats(t, 12);
    return room < 12 ? room : 12;
}

/* A way: consecutive links meet, the first leaves src, the last enters dst, none is used twice. */
static void route_check(const char *name, const tutti_topology *t, const tutti_fabric *net, int32_t src, int32_t dst)
{
    int32_t links[TUTTI_MAX_HOPS], at = src;
    int n = tutti_topology_route(t, src, dst, 0, links);
    if (n < 1 || n > TUTTI_MAX_HOPS) fail_msg("%s: %d links from %d to %d", name, n, (int)src, (int)dst);
    for (int i = 0; i < n; i++) {
        assert_in_range(links[i], 0, net->nlinks - 1);
        if (net->links[links[i]].src != at)
            fail_msg("%s, %d to %d: link %d leaves node %d, not %d", name, (int)src, (int)dst, i,
                     (int)net->links[links[i]].src, (int)at);
        at = net->links[links[i]].dst;
        for (int j = 0; j < i; j++) assert_int_not_equal(links[i], links[j]);
    }
    if (at != dst) fail_msg("%s, %d to %d: ends in %d", name, (int)src, (int)dst, (int)at);
}

static void every_route_is_a_way_from_its_source_to_its_destination(void **state)
{
    (void)state;
    for (int k = 0; k < NNETWORKS; k++)
        for (int fewer = 0; fewer < 2; fewer++) {
            tutti_topology t = parsed(networks[k]);
            tutti_fabric net;
            int32_t p = room_of(&t) - fewer;
            assert_true(tutti_topology_graph(&t, p, &net));
            for (int32_t src = 0; src < p; src++)
                for (int32_t dst = 0; dst < p; dst++)
                    if (src != dst) route_check(networks[k], &t, &net, src, dst);
            int32_t links[TUTTI_MAX_HOPS];
            assert_int_equal(tutti_topology_route(&t, 0, 0, 0, links), 0);
            tutti_fabric_release(&net);
        }
}

static void every_link_has_a_name_of_its_own_and_joins_two_nodes(void **state)
{
    (void)state;
    for (int k = 0; k < NNETWORKS; k++) {
        tutti_topology t = parsed(networks[k]);
        tutti_fabric net;
        assert_true(tutti_topology_graph(&t, room_of(&t), &net));
        char(*names)[32] = malloc((size_t)net.nlinks * sizeof *names);
        for (int32_t l = 0; l < net.nlinks; l++) {
            const tutti_link *link = &net.links[l], alone = tutti_topology_link(&t, net.nranks, l);
            assert_true(link->src != link->dst && link->bytes_per_s > 0 && link->latency_s >= 0);
            assert_in_range(link->src, 0, net.nnodes - 1);
            assert_in_range(link->dst, 0, net.nnodes - 1);
            assert_true(alone.src == link->src && alone.dst == link->dst && alone.bytes_per_s == link->bytes_per_s);
            tutti_topology_link_name(&t, net.nranks, l, names[l]);
            for (int32_t other = 0; other < l; other++) /* several NICs under one PCIe switch are parallel links */
                if (!strcmp(names[l], names[other]) &&
                    (net.links[other].src != link->src || net.links[other].dst != link->dst))
                    fail_msg("%s: two links are called %s", networks[k], names[l]);
        }
        free(names);
        tutti_fabric_release(&net);
    }
}

static void more_ranks_than_seats_are_refused(void **state)
{
    (void)state;
    tutti_topology t = parsed("dgx1v,gpus=0.1.2"), listed = parsed("bigraph,place=5.6.7");
    tutti_failure err = {0};
    tutti_fabric net;
    assert_int_equal(tutti_topology_fits(&t, 3, &err), TUTTI_OK);
    assert_int_equal(tutti_topology_fits(&t, 4, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "1 to 3 ranks, not for 4"));
    assert_int_equal(tutti_topology_fits(&listed, 4, &err), TUTTI_ERR_USAGE);
    assert_false(tutti_topology_graph(&t, 4, &net));
    t = parsed("host");
    assert_false(tutti_topology_graph(&t, 1, &net));
}

/* NVLinks of each pair of a DGX-1, in units of one link. */
static void nvlinks_of(const char *text, double rate, int count[8][8])
{
    tutti_topology t = parsed(text);
    tutti_fabric net;
    memset(count, 0, 64 * sizeof(int));
    assert_true(tutti_topology_graph(&t, 8, &net));
    for (int32_t l = 0; l < net.nlinks; l++)
        count[net.links[l].src][net.links[l].dst] += (int)lround(net.links[l].bytes_per_s / rate);
    tutti_fabric_release(&net);
}

static void a_dgx1_has_4_or_6_nvlinks_a_gpu_and_the_same_both_ways(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double rate;
        int degree, all;
    } cases[] = {{"dgx1p,wires=nvlink", 18e9, 4, 16}, {"dgx1v,wires=nvlink", 20e9, 6, 24}};
    for (int k = 0; k < 2; k++) {
        int count[8][8], all = 0;
        nvlinks_of(cases[k].text, cases[k].rate, count);
        for (int a = 0; a < 8; a++) {
            int degree = 0;
            for (int b = 0; b < 8; b++) {
                assert_int_equal(count[a][b], count[b][a]);
                degree += count[a][b];
            }
            assert_int_equal(degree, cases[k].degree);
            all += degree;
        }
        assert_int_equal(all, 2 * cases[k].all);
    }
}

static void the_least_cut_of_a_dgx1v_is_6_links(void **state)
{
    (void)state;
    int count[8][8], least = 1000;
    nvlinks_of("dgx1v,wires=nvlink", 20e9, count);
    for (unsigned set = 1; set < 255; set++) {
        int cut = 0;
        for (int a = 0; a < 8; a++)
            for (int b = 0; b < 8; b++)
                if ((set >> a & 1) && !(set >> b & 1)) cut += count[a][b];
        least = cut < least ? cut : least;
    }
    assert_int_equal(least, 6);
}

/* min over partitions of c(between the parts) / (parts - 1), as a fraction. */
static void tree_packing(int (*count)[8], int gpu, int nparts, int part[8], int best[2])
{
    if (gpu < 8) {
        for (int in = 0; in <= nparts; in++) {
            part[gpu] = in;
            tree_packing(count, gpu + 1, in == nparts ? nparts + 1 : nparts, part, best);
        }
        return;
    }
    int between = 0;
    for (int a = 0; a < 8; a++)
        for (int b = a + 1; b < 8; b++)
            if (part[a] != part[b]) between += count[a][b];
    if (nparts > 1 && between * best[1] < best[0] * (nparts - 1)) best[0] = between, best[1] = nparts - 1;
}

static void spanning_trees_pack_into_a_dgx1v_at_24_sevenths(void **state)
{
    (void)state;
    int count[8][8], part[8], best[2] = {1000, 1};
    nvlinks_of("dgx1v,wires=nvlink", 20e9, count);
    tree_packing(count, 0, 0, part, best);
    assert_int_equal(best[0] * 7, 24 * best[1]);
}

static void gpus_without_an_nvlink_talk_over_pcie(void **state)
{
    (void)state;
    tutti_topology t = parsed("dgx1v"), relayed = parsed("dgx1v,wires=nvlink");
    int32_t links[TUTTI_MAX_HOPS];
    char name[32];
    assert_int_equal(tutti_topology_route(&t, 0, 3, 0, links), 1);
    assert_true(tutti_topology_link(&t, 8, links[0]).bytes_per_s == 40e9);
    assert_int_equal(tutti_topology_route(&t, 0, 5, 0, links), 5); /* up, socket, qpi, down, down */
    tutti_topology_link_name(&t, 8, links[2], name);
    assert_string_equal(name, "cpu0>cpu1");
    assert_int_equal(tutti_topology_route(&relayed, 0, 5, 0, links), 2);
}

static void a_nic_of_its_own_keeps_the_root_complex_free(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool crosses;
    } cases[] = {
        {"pcie,hosts=2,nics=8", false}, {"pcie,hosts=2,nics=2", true}, {"pcie,hosts=1,nics=8,inside=nic", false}};
    for (int k = 0; k < 3; k++) {
        tutti_topology t = parsed(cases[k].text);
        bool crosses = false, one = tutti_count(&t, TUTTI_FIGURE_HOSTS) == 1;
        for (int32_t src = 0; src < 8; src++)
            for (int32_t dst = one ? 0 : 8; dst < (one ? 8 : 16); dst++) {
                int32_t links[TUTTI_MAX_HOPS];
                int n = tutti_topology_route(&t, src, dst, 0, links);
                for (int i = 0; i < n; i++) {
                    char name[32];
                    tutti_topology_link_name(&t, one ? 8 : 16, links[i], name);
                    crosses |= strstr(name, "cpu") != NULL;
                }
            }
        assert_true(crosses == cases[k].crosses);
    }
}

static void hashed_paths_follow_the_seed_and_d_mod_k_the_destination(void **state)
{
    (void)state;
    tutti_topology hashed = parsed("fat-tree,leaves=4,hosts=8,spines=8,routing=ecmp"), other = hashed,
                   fixed = parsed("fat-tree,leaves=4,hosts=8,spines=8");
    other.figure[TUTTI_FIGURE_SEED] = 2;
    int differ = 0, spread[8] = {0};
    for (int32_t dst = 8; dst < 32; dst++) {
        int32_t a[TUTTI_MAX_HOPS], b[TUTTI_MAX_HOPS], c[TUTTI_MAX_HOPS], d[TUTTI_MAX_HOPS];
        assert_int_equal(tutti_topology_route(&hashed, 0, dst, 3, a), 4);
        tutti_topology_route(&hashed, 0, dst, 3, b);
        tutti_topology_route(&other, 0, dst, 3, c);
        assert_memory_equal(a, b, 4 * sizeof a[0]);
        differ += a[1] != c[1];
        tutti_topology_route(&fixed, 0, dst, 3, c);
        tutti_topology_route(&fixed, 1, dst, 4, d);
        assert_true(c[2] == d[2] && c[3] == d[3]); /* down one way, from wherever */
        spread[(a[1] / 2 - 32) % 8]++;
    }
    assert_true(differ > 12);
    int used = 0;
    for (int s = 0; s < 8; s++) used += spread[s] > 0;
    assert_true(used > 4);
    assert_int_equal(tutti_topology_npaths(&fixed), 1);
    hashed = parsed("fat-tree,routing=ecmp,paths=4");
    assert_int_equal(tutti_topology_npaths(&hashed), 4);
}

/* ---- pictures ---- */

enum { MOST_NODES = 200, MOST_POINTS = 4 };
typedef struct {
    double x[MOST_POINTS], y[MOST_POINTS];
    int n;
} drawn_cable;
typedef struct {
    double x[MOST_NODES], y[MOST_NODES]; /* middles of boxes */
    drawn_cable cables[4 * MOST_NODES];
    int nnodes, ncables;
} drawn;

/* Boxes and cables as the SVG has them: a cable is M, then lines. */
static void picture_read(const char *text, int32_t nranks, drawn *out)
{
    const tutti_topology t = parsed(text);
    char *svg = tutti_topology_svg(&t, nranks);
    assert_non_null(svg);
    *out = (drawn){.nnodes = 0};
    for (const char *at = svg; (at = strstr(at, "<rect")); at++) {
        double x, y;
        const char *where = strstr(at, " x=\"");
        if (sscanf(where, " x=\"%lf\" y=\"%lf\" width=\"58\" height=\"30\"", &x, &y) != 2) continue;
        if (strncmp(strstr(where, " width"), " width=\"58\"", 11) != 0) continue; /* the page */
        assert_true(out->nnodes < MOST_NODES);
        out->x[out->nnodes] = x + 29;
        out->y[out->nnodes++] = y + 15;
    }
    for (const char *at = svg; (at = strstr(at, " d=\"M")); at++) {
        drawn_cable c = {.n = 0};
        const char *p = at + 4;
        if (strchr(p, 'h') && strchr(p, 'h') < strchr(p, '"')) continue; /* of the legend */
        for (int read = 0; c.n < MOST_POINTS && sscanf(p, "%*1[ML]%lf %lf%n", &c.x[c.n], &c.y[c.n], &read) == 2;
             p += read)
            c.n++;
        assert_true(*p == '"' && c.n >= 2);
        out->cables[out->ncables++] = c;
    }
    free(svg);
}

/* Does a line between two points go through the box of a node at whose edge or middle neither of its ends is? */
static bool is_crossed(const drawn *p, int node, double x1, double y1, double x2, double y2)
{
    enum { STEPS = 400 };
    const double w = 28, h = 14;
    for (int i = 0; i <= STEPS; i++) {
        const double x = x1 + (x2 - x1) * i / STEPS, y = y1 + (y2 - y1) * i / STEPS;
        if (fabs(x - p->x[node]) < w && fabs(y - p->y[node]) < h) return true;
    }
    return false;
}

static bool is_at(const drawn *p, int node, double x, double y)
{
    return fabs(x - p->x[node]) <= 29.1 && fabs(y - p->y[node]) <= 15.1;
}

static void drawn_cables_pass_by_the_nodes_that_they_do_not_join(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t nranks;
    } cases[] = {{"dgx1v", 8},
                 {"dgx1p,hosts=2", 16},
                 {"cluster,hosts=5,ranks=3", 15},
                 {"fat-tree,leaves=3,hosts=4,spines=3", 12},
                 {"torus,x=5,y=4", 20},
                 {"torus,x=3,y=2,z=2", 12},
                 {"star", 9},
                 {"dgx2", 16},
                 {"pcie,hosts=2", 16},
                 {"dgx1v,wires=nvlink", 8}};
    drawn *p = malloc(sizeof *p);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        picture_read(cases[i].text, cases[i].nranks, p);
        assert_true(p->nnodes >= cases[i].nranks && p->ncables > 0);
        for (int c = 0; c < p->ncables; c++) {
            const drawn_cable *cable = &p->cables[c];
            for (int v = 0; v < p->nnodes; v++) {
                const int last = cable->n - 1;
                if (is_at(p, v, cable->x[0], cable->y[0]) || is_at(p, v, cable->x[last], cable->y[last])) continue;
                for (int k = 0; k < last; k++)
                    if (is_crossed(p, v, cable->x[k], cable->y[k], cable->x[k + 1], cable->y[k + 1]))
                        fail_msg("%s: cable %d runs through node %d", cases[i].text, c, v);
            }
        }
        for (int v = 0; v < p->nnodes; v++)
            for (int u = 0; u < v; u++) assert_false(fabs(p->x[u] - p->x[v]) < 58 && fabs(p->y[u] - p->y[v]) < 30);
    }
    free(p);
}

static void drawn_nvlinks_have_lanes_of_their_own(void **state)
{
    (void)state;
    drawn *p = malloc(sizeof *p);
    int around = 0;
    picture_read("dgx1v", 8, p);
    for (int c = 0; c < p->ncables; c++) {
        const drawn_cable *a = &p->cables[c];
        around += a->n == 4;
        for (int d = 0; d < c; d++) {
            const drawn_cable *b = &p->cables[d];
            if (a->n != 4 || b->n != 4 || fabs(a->y[1] - b->y[1]) > 1) continue;
            assert_true(a->x[2] < b->x[1] || b->x[2] < a->x[1]); /* one behind the other */
        }
    }
    assert_int_equal(around, 10); /* of 16 pairs with NVLinks 6 are neighbours */
    free(p);
}

static void a_drawn_torus_is_a_grid_and_a_switch_stands_in_the_middle(void **state)
{
    (void)state;
    drawn *p = malloc(sizeof *p);
    picture_read("torus,x=4,y=3", 12, p);
    for (int v = 0; v < 12; v++) {
        assert_true(p->x[v] == p->x[v % 4] && p->y[v] == p->y[v / 4 * 4]);
        assert_true(v % 4 == 0 || p->x[v] > p->x[v - 1]);
        assert_true(v < 4 || p->y[v] > p->y[v - 4]);
    }
    picture_read("cluster,hosts=4,ranks=4", 16, p);
    int top = 0;
    double middle = 0;
    for (int v = 0; v < p->nnodes; v++) top = p->y[v] < p->y[top] ? v : top;
    for (int v = 0; v < 16; v++) middle += p->x[v] / 16;
    for (int v = 0; v < p->nnodes; v++) assert_true(v == top || p->y[v] > p->y[top]); /* the switch alone */
    assert_true(fabs(p->x[top] - middle) < 1);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_a_way_from_its_source_to_its_destination),
        cmocka_unit_test(every_link_has_a_name_of_its_own_and_joins_two_nodes),
        cmocka_unit_test(more_ranks_than_seats_are_refused),
        cmocka_unit_test(a_dgx1_has_4_or_6_nvlinks_a_gpu_and_the_same_both_ways),
        cmocka_unit_test(the_least_cut_of_a_dgx1v_is_6_links),
        cmocka_unit_test(spanning_trees_pack_into_a_dgx1v_at_24_sevenths),
        cmocka_unit_test(gpus_without_an_nvlink_talk_over_pcie),
        cmocka_unit_test(a_nic_of_its_own_keeps_the_root_complex_free),
        cmocka_unit_test(hashed_paths_follow_the_seed_and_d_mod_k_the_destination),
        cmocka_unit_test(drawn_cables_pass_by_the_nodes_that_they_do_not_join),
        cmocka_unit_test(drawn_nvlinks_have_lanes_of_their_own),
        cmocka_unit_test(a_drawn_torus_is_a_grid_and_a_switch_stands_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

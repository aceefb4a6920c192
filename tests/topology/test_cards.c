/* SPDX-License-Identifier: Apache-2.0 */
/* test_cards.c: cards by NVML, held against the machines that are known without it, and NVML that fails or lies.
 * Machines are those of tests/cuda/fakenvml. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective/pack/packers.h"
#include "cuda/fakenvml/machine.h"
#include "topology/parsed_topology.h"

#define DGX1V_TREE                                                                                                     \
    "level 0 1 10\nlevel 2 3 10\nlevel 4 5 10\nlevel 6 7 10\nlevel 0 2 30\nlevel 0 3 30\nlevel 1 2 30\n"               \
    "level 1 3 30\nlevel 4 6 30\nlevel 4 7 30\nlevel 5 6 30\nlevel 5 7 30\n"
#define DGX1V_MESH                                                                                                     \
    "pair 0 1 1\npair 0 2 1\npair 0 3 2\npair 1 2 2\npair 1 3 1\npair 2 3 2\npair 4 5 1\npair 4 6 1\npair 4 7 2\n"     \
    "pair 5 6 2\npair 5 7 1\npair 6 7 2\npair 0 4 2\npair 1 5 2\npair 2 6 1\npair 3 7 1\n"
#define V100 "name Tesla V100-SXM2-16GB\ncompute 7 0\npcie 3 16\nnvlink 2\n"
#define H100 "name NVIDIA H100 80GB HBM3\ncompute 9 0\npcie 5 16\nnvlink 7\n" /* its links are 4.0; NVML said 5.0 */
#define PCIE_BOX                                                                                                       \
    "cards 4\nname NVIDIA L4\ncompute 8 9\npcie 4 16\nlevel 0 1 10\nlevel 2 3 10\nlevel 0 2 30\nlevel 0 3 30\n"        \
    "level 1 2 30\nlevel 1 3 30\n"

static tutti_status detect(const char *machine, tutti_host_cards *cards, tutti_failure *err)
{
    char path[NVML_PATH];
    nvml_machine(machine, path);
    setenv("TUTTI_NVML_LIBRARY", FAKE_NVML_LIBRARY, 1);
    tutti_status st = tutti_topology_detect_cards(cards, err);
    unlink(path);
    return st;
}

/* Makes the topology of a machine; notes has room of TUTTI_TOPOLOGY_NOTES bytes. The text of the topology gives the
 * same one again. */
static tutti_topology seated(const char *machine, char *notes)
{
    tutti_host_cards cards;
    tutti_topology t = {0};
    tutti_failure err = {0};
    if (detect(machine, &cards, &err) || tutti_topology_of_cards(&cards, &t, notes, &err)) fail_msg("%s", err.text);
    char *text = tutti_topology_print(&t);
    const tutti_topology again = parsed(text);
    assert_int_equal(again.kind, t.kind);
    for (int f = 0; f < TUTTI_NFIGURES; f++)
        assert_true(fabs(again.figure[f] - t.figure[f]) <= 1e-11 * fabs(t.figure[f]));
    assert_memory_equal(again.mesh, t.mesh, sizeof t.mesh);
    assert_memory_equal(again.listed, t.listed, sizeof t.listed);
    free(text);
    return t;
}

static void says(const tutti_topology *t, const char *wanted)
{
    char *text = tutti_topology_print(t);
    assert_string_equal(text, wanted);
    free(text);
}

enum { MAX_NODES = 32 };

/* A picture has rates and latencies of links by their ends, and the way of every pair of ranks as nodes. */
typedef struct {
    int32_t nnodes, nlinks;
    tutti_link between[MAX_NODES][MAX_NODES];
    int32_t hops[16][16], way[16][16][TUTTI_MAX_HOPS];
} picture;

static void draw(const tutti_topology *t, int32_t nranks, picture *out)
{
    tutti_fabric net;
    int32_t links[TUTTI_MAX_HOPS];
    memset(out, 0, sizeof *out);
    assert_true(tutti_topology_graph(t, nranks, &net) && net.nnodes <= MAX_NODES);
    out->nnodes = net.nnodes, out->nlinks = net.nlinks;
    for (int32_t l = 0; l < net.nlinks; l++) out->between[net.links[l].src][net.links[l].dst] = net.links[l];
    for (int32_t from = 0; from < nranks; from++)
        for (int32_t to = 0; to < nranks; to++) {
            const int n = tutti_topology_route(t, from, to, 0, links);
            out->hops[from][to] = n;
            for (int i = 0; i < n; i++) out->way[from][to][i] = net.links[links[i]].dst;
        }
    tutti_fabric_release(&net);
}

/* t has the nodes, links and ways of a known topology, whatever the kinds are called and however their links are
 * numbered. */
static void has_the_links_of(const tutti_topology *t, const char *known, int32_t nranks)
{
    static picture a, b;
    const tutti_topology other = parsed(known);
    draw(t, nranks, &a);
    draw(&other, nranks, &b);
    assert_memory_equal(&a, &b, sizeof a);
}

/* Shares of trees are rounded, by the order of the links. */
static bool are_near(double a, double b)
{
    return fabs(a - b) <= 1e-5 * b;
}

static double packed(const tutti_topology *t, int32_t nranks)
{
    tutti_packing p;
    tutti_failure err = {0};
    if (tutti_packing_of(t, nranks, &(tutti_packing_wish){TUTTI_PACKING_ALLREDUCE, 0, 0}, &p, &err))
        fail_msg("%s", err.text);
    const double rate = tutti_packing_rate(&p);
    tutti_packing_release(&p);
    return rate;
}

static void a_dgx1v_is_what_its_own_kind_makes(void **state)
{
    (void)state;
    char notes[TUTTI_TOPOLOGY_NOTES];
    const tutti_topology t = seated("cards 8\n" V100 DGX1V_TREE DGX1V_MESH, notes), known = parsed("dgx1v");
    assert_string_equal(notes, "");
    says(&t, "cards,gpus=0.1.2.3.4.5.6.7,sockets=2,switches=2,slots=2,wires=both,"
             "mesh=0-1.0-2.0-3x2.0-4x2.1-2x2.1-3.1-5x2.2-3x2.2-6.3-7.4-5.4-6.4-7x2.5-6x2.5-7.6-7x2,"
             "nvlink=20GB,pcie=12GB,qpi=10GB,near=1us,soft=3.4us,add=300GB,place=block");
    assert_true(t.figure[TUTTI_FIGURE_SOFTWARE] == known.figure[TUTTI_FIGURE_SOFTWARE]);
    assert_int_equal(t.from[TUTTI_FIGURE_MESH], TUTTI_FROM_DETECTED);
    assert_int_equal(t.from[TUTTI_FIGURE_NVLINK], TUTTI_FROM_DETECTED);
    assert_int_equal(t.from[TUTTI_FIGURE_QPI], TUTTI_FROM_READ);
    has_the_links_of(&t, "dgx1v,qpi=10GB", 8);
    assert_true(are_near(packed(&t, 8), packed(&known, 8)));
    assert_true(are_near(packed(&t, 8), 24.0 / 7 * 20e9));
}

/* Trees on any cards of a DGX-1V, over NVLinks, PCIe and both, carry what they carry on the one that is known. */
static void subsets_of_a_dgx1v_carry_what_is_known(void **state)
{
    (void)state;
    char notes[TUTTI_TOPOLOGY_NOTES];
    static const char *const sets[] = {"0.1.2.3", "0.1.4.5", "0.3.4.7", "1.2.5"};
    const tutti_topology whole = seated("cards 8\n" V100 DGX1V_TREE DGX1V_MESH, notes);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char text[200];
        const int32_t n = (int32_t)(strlen(sets[i]) + 1) / 2;
        snprintf(text, sizeof text, "dgx1v,gpus=%s", sets[i]);
        const tutti_topology known = parsed(text);
        tutti_topology t = whole;
        t.figure[TUTTI_FIGURE_GPUS] = known.figure[TUTTI_FIGURE_GPUS];
        assert_true(are_near(packed(&t, n), packed(&known, n)));
    }
}

/* The mesh is numbered by NVML in another order than the tree's: rank r is on card r all the same. */
static void ranks_sit_on_the_cards_of_their_numbers(void **state)
{
    (void)state;
    char notes[TUTTI_TOPOLOGY_NOTES];
    const tutti_topology t =
        seated("cards 4\n" V100 "level 0 2 10\nlevel 1 3 10\nlevel 0 1 30\nlevel 0 3 30\nlevel 1 2 30\n"
               "level 2 3 30\npair 0 1 1\n",
               notes);
    int32_t way[TUTTI_MAX_HOPS];
    says(&t, "cards,gpus=0.1.2.3,sockets=1,switches=2,slots=2,wires=both,mesh=0-2,nvlink=20GB,pcie=12GB,near=1us,"
             "soft=3.4us,add=300GB,place=0.2.1.3");
    assert_int_equal(tutti_topology_route(&t, 0, 1, 0, way), 1); /* their NVLink */
    assert_int_equal(tutti_topology_route(&t, 0, 2, 0, way), 2); /* one switch */
    assert_int_equal(tutti_topology_route(&t, 2, 3, 0, way), 4); /* two, and the host bridge */
}

static void cards_on_nvswitches_have_all_their_links_there(void **state)
{
    (void)state;
    char notes[TUTTI_TOPOLOGY_NOTES];
    const tutti_topology v100 = seated("cards 16\n" V100 "switched -1 6\n", notes);
    has_the_links_of(&v100, "dgx2", 16);
    assert_string_equal(notes, "");
    const tutti_topology h100 = seated("cards 8\n" H100 "switched -1 18\n", notes);
    assert_string_equal(notes, "");
    says(&h100, "nvswitch,gpus=0.1.2.3.4.5.6.7,links=18,nvlink=20.6GB,near=1us,soft=3.4us,add=300GB,place=block");
    assert_true(tutti_topology_link(&h100, 8, 0).bytes_per_s == 18 * 20.6e9);
    const tutti_topology some = seated("cards 3\n" H100 "switched 0 18\nswitched 2 12\nidle 2 6\n", notes);
    says(&some, "nvswitch,gpus=0.2,links=12,nvlink=20.6GB,near=1us,soft=3.4us,add=300GB,place=block");
    assert_non_null(strstr(notes, "Card 1 has no NVLink"));
    assert_non_null(strstr(notes, "12 to 18 NVLinks"));
    assert_null(strstr(notes, "lead to no card")); /* idle links lead nowhere, and nobody asks where */
}

static void a_box_of_pcie_switches_is_that_of_its_kind(void **state)
{
    (void)state;
    char notes[TUTTI_TOPOLOGY_NOTES];
    const tutti_topology t = seated(PCIE_BOX, notes);
    says(&t, "cards,gpus=0.1.2.3,sockets=1,switches=2,slots=2,pcie=24GB,near=1us,soft=5.7us,add=300GB,place=block");
    has_the_links_of(&t, "pcie,sockets=1,pcie=24GB", 4);
    assert_string_equal(notes, "");
    const tutti_topology slower = seated(PCIE_BOX "slow 2 3\n", notes);
    assert_true(slower.figure[TUTTI_FIGURE_PCIE] == 12e9);
    assert_non_null(strstr(notes, "PCIe links differ"));
    /* This machine has switches that are not full, and sockets with cards of their own. */
    const tutti_topology uneven =
        seated("cards 4\nname L4\ncompute 8 9\npcie 4 8\nlevel 1 2 10\nlevel 0 1 40\nlevel 0 2 20\n", notes);
    says(&uneven, "cards,gpus=0.2.3.4,sockets=2,switches=2,slots=2,pcie=12GB,qpi=10GB,near=1us,soft=5.7us,add=300GB,"
                  "place=block");
}

/* A driver in a virtual machine has one card and supports no NVLink. */
static void one_card_has_one_seat(void **state)
{
    (void)state;
    char notes[TUTTI_TOPOLOGY_NOTES];
    const tutti_topology t = seated("cards 1\nname NVIDIA H200\ncompute 9 0\npcie 5 16\n", notes);
    says(&t, "cards,gpus=0,sockets=1,switches=1,slots=1,pcie=48GB,near=1us,soft=5.7us,add=300GB,place=block");
    assert_string_equal(notes, "");
    assert_int_equal(tutti_topology_nseats(&t, 1), 1);
}

static void what_nvml_does_not_know_is_assumed_and_said(void **state)
{
    (void)state;
    char notes[TUTTI_TOPOLOGY_NOTES];
    const tutti_topology t = seated(PCIE_BOX "fail nvmlDeviceGetMaxPcieLinkWidth 3\n"
                                             "fail nvmlDeviceGetTopologyCommonAncestor 3\n",
                                    notes);
    assert_int_equal(t.from[TUTTI_FIGURE_PCIE], TUTTI_FROM_READ); /* the preset's */
    assert_true(t.figure[TUTTI_FIGURE_PCIE] == 12e9 && t.figure[TUTTI_FIGURE_SOCKETS] == 1);
    assert_non_null(strstr(notes, "PCIe link is unknown"));
    assert_non_null(strstr(notes, "does not say what PCIe ways"));
    const tutti_topology stray = seated(PCIE_BOX "pair 0 1 2\nnowhere 3 2\nhalf 2 2 1\n", notes);
    assert_int_equal(stray.nmesh, 1);
    assert_non_null(strstr(notes, "2 NVLinks of card 3 lead to no card"));
    assert_non_null(strstr(notes, "1 NVLinks of card 2 lead to no card")); /* but to itself */
    const tutti_topology blind = seated(PCIE_BOX "pair 0 1 2\nfail nvmlDeviceGetNvLinkRemoteDeviceType 3\n", notes);
    assert_int_equal(blind.nmesh, 1); /* told by its address */
    assert_true(blind.mesh[0].count == 2 && blind.figure[TUTTI_FIGURE_NVLINK] == 20e9);
}

static void what_fails_is_said_in_words(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"cards 1\nfail nvmlInit_v2 9\n", "to begin: Driver Not Loaded (9)"},
        {"cards 1\nfail nvmlInit_v2 77\n", "to begin: unknown error (77)"},
        {"cards 2\nfail nvmlDeviceGetCount_v2 15\n", "the number of cards: GPU is lost (15)"},
        {"cards 2\nfail nvmlDeviceGetHandleByIndex_v2 15\n", "the handle of card 0: GPU is lost"},
        {"cards 2\nfail nvmlDeviceGetName 2\n", "the name of card 0"},
        {"cards 2\nfail nvmlDeviceGetPciInfo_v3 15\n", "the PCI address of card 0"},
        {"cards 2\nfail nvmlDeviceGetCudaComputeCapability 15\n", "the compute capability of card 0"},
        {"cards 2\nfail nvmlDeviceGetMaxPcieLinkGeneration 15\n", "the PCIe generation of card 0"},
        {"cards 2\nfail nvmlDeviceGetMaxPcieLinkWidth 15\n", "the PCIe width of card 0"},
        {"cards 2\nfail nvmlDeviceGetTopologyCommonAncestor 15\n", "the PCIe way to another card of card 1"},
        {"cards 2\nfail nvmlDeviceGetNvLinkState 15\n", "the state of an NVLink of card 0"},
        {"cards 2\npair 0 1 1\nfail nvmlDeviceGetNvLinkVersion 15\n", "the version of an NVLink of card 0"},
        {"cards 2\npair 0 1 1\nfail nvmlDeviceGetNvLinkRemoteDeviceType 15\n", "what is at the other end"},
        {"cards 2\npair 0 1 1\nfail nvmlDeviceGetNvLinkRemotePciInfo_v2 15\n", "who is at the other end"},
        {"cards 2\nhalf 0 1 2\nhalf 1 0 1\n", "contradicts itself: card 1 has 1 NVLinks to card 0, which has 2"},
        {"cards 3\ntwins 0 2\n", "cards 0 and 2 have one PCI address, 0000:10:00"},
        {"cards 17\n", "there are 17 cards; a server has room for 16"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tutti_host_cards cards;
        tutti_failure err = {0};
        assert_int_equal(detect(wrong[i][0], &cards, &err), TUTTI_ERR_FAILED);
        if (!strstr(err.text, wrong[i][1])) fail_msg("%s: %s", wrong[i][0], err.text);
        assert_true(cards.has_driver && cards.n == 0);
    }
}

static void machines_that_no_kind_expresses_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"cards 3\n", "under 3 sockets"},
        {"cards 11\n" DGX1V_TREE "level 0 8 10\nlevel 0 9 10\nlevel 0 10 10\n",
         "2 PCIe switches a socket and 5 cards a switch"},
        {"cards 0\n", "no card of NVIDIA's that its driver sees"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tutti_host_cards cards;
        tutti_topology t;
        tutti_failure err = {0};
        assert_int_equal(detect(wrong[i][0], &cards, &err), TUTTI_OK);
        if (!tutti_topology_of_cards(&cards, &t, NULL, &err)) fail_msg("%s: expressed", wrong[i][0]);
        if (!strstr(err.text, wrong[i][1])) fail_msg("%s: %s", wrong[i][0], err.text);
    }
}

static void libraries_that_are_no_nvml_are_named(void **state)
{
    (void)state;
    tutti_host_cards cards;
    tutti_failure err = {0};
    setenv("TUTTI_NVML_LIBRARY", FAKE_NVML_OLD_LIBRARY, 1);
    assert_int_equal(tutti_topology_detect_cards(&cards, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "has no nvmlDeviceGetNvLinkRemoteDeviceType"));
    assert_non_null(strstr(err.text, "NVIDIA's driver"));
    setenv("TUTTI_NVML_LIBRARY", TUTTI_SOURCE_DIR "/README.md", 1);
    assert_int_equal(tutti_topology_detect_cards(&cards, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "README.md"));
    setenv("TUTTI_NVML_LIBRARY", "/nonexistent/libnvidia-ml.so.1", 1);
    assert_int_equal(tutti_topology_detect_cards(&cards, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "/nonexistent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dgx1v_is_what_its_own_kind_makes),
        cmocka_unit_test(subsets_of_a_dgx1v_carry_what_is_known),
        cmocka_unit_test(ranks_sit_on_the_cards_of_their_numbers),
        cmocka_unit_test(cards_on_nvswitches_have_all_their_links_there),
        cmocka_unit_test(a_box_of_pcie_switches_is_that_of_its_kind),
        cmocka_unit_test(one_card_has_one_seat),
        cmocka_unit_test(what_nvml_does_not_know_is_assumed_and_said),
        cmocka_unit_test(what_fails_is_said_in_words),
        cmocka_unit_test(machines_that_no_kind_expresses_are_refused),
        cmocka_unit_test(libraries_that_are_no_nvml_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

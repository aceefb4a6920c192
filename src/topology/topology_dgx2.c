/* SPDX-License-Identifier: Apache-2.0 */
/* topology_dgx2.c: the topologies dgx2 and nvswitch: GPUs with NVLinks into NVSwitches, which join all of them without
 * blocking. The NVSwitches are modelled as one switch, to which each GPU has one cable with the sum of its NVLinks'
 * rates. gpus= selects any subset of the GPUs. dgx2 has sixteen V100 with 6 NVLinks each. In nvswitch, links= is the
 * number of NVLinks of each GPU, by default the 18 of an H100. */
#include <stdio.h>

#include "topology_impl.h"

enum { LINKS_OF_A_V100 = 6 };

static double links_of_gpu(const tutti_topology *t)
{
    return t->kind == TUTTI_TOPOLOGY_DGX2 ? LINKS_OF_A_V100 : t->figure[TUTTI_FIGURE_LINKS];
}

static int32_t dgx2_nseats(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    return __builtin_popcount((unsigned)t->figure[TUTTI_FIGURE_GPUS]);
}

static int32_t dgx2_nnodes(const tutti_topology *t, int32_t nranks)
{
    return dgx2_nseats(t, nranks) + 1;
}

static int32_t dgx2_nlinks(const tutti_topology *t, int32_t nranks)
{
    return 2 * dgx2_nseats(t, nranks);
}

static tutti_link dgx2_link(const tutti_topology *t, int32_t nranks, int32_t link)
{
    return tutti_cable_link(link, link / 2, dgx2_nseats(t, nranks), links_of_gpu(t) * t->figure[TUTTI_FIGURE_NVLINK],
                            link % 2 ? 0 : t->figure[TUTTI_FIGURE_NEAR]);
}

static void dgx2_node_name(const tutti_topology *t, int32_t nranks, int32_t node, char out[40])
{
    if (node == dgx2_nseats(t, nranks)) {
        snprintf(out, 40, "nvswitch");
        return;
    }
    unsigned gpus = (unsigned)t->figure[TUTTI_FIGURE_GPUS];
    for (; node > 0; node--) gpus &= gpus - 1;
    snprintf(out, 40, "gpu%d", __builtin_ctz(gpus));
}

static int dgx2_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel, int32_t links[TUTTI_MAX_HOPS])
{
    (void)t, (void)channel;
    links[0] = 2 * src;
    links[1] = 2 * dst + 1;
    return 2;
}

static const tutti_preset presets_dgx2[] = {
    {TUTTI_FIGURE_GPUS, 0xffff, TUTTI_FROM_READ, "nvidia-smi topo -m in published logs", NULL},
    {TUTTI_FIGURE_NVLINK, 20e9, TUTTI_FROM_READ, "NCCL's topology code", "of one of a GPU's 6 NVLinks each way"},
    {TUTTI_FIGURE_NEAR, 1e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_SOFTWARE, 3.4e-6, TUTTI_FROM_READ, "NCCL's tuning code, a ring's step over NVLink, Simple", NULL},
    {TUTTI_FIGURE_ADD, 300e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_PLACE, TUTTI_PLACE_BLOCK, TUTTI_FROM_ASSUMED, NULL, NULL},
};

static const tutti_preset presets_nvswitch[] = {
    {TUTTI_FIGURE_GPUS, 0xff, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_LINKS, 18, TUTTI_FROM_RECALLED, "NVIDIA's datasheet of the H100", NULL},
    {TUTTI_FIGURE_NVLINK, 20.6e9, TUTTI_FROM_READ, "NCCL's topology code, sm_90", NULL},
    {TUTTI_FIGURE_NEAR, 1e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_SOFTWARE, 3.4e-6, TUTTI_FROM_READ, "NCCL's tuning code, a ring's step over NVLink, Simple", NULL},
    {TUTTI_FIGURE_ADD, 300e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_PLACE, TUTTI_PLACE_BLOCK, TUTTI_FROM_ASSUMED, NULL, NULL},
};

#define NVSWITCHES_ANSWER                                                                                              \
    .is_machine = true, .nseats = dgx2_nseats, .nnodes = dgx2_nnodes, .nlinks = dgx2_nlinks, .link = dgx2_link,        \
    .node_name = dgx2_node_name, .route = dgx2_route

const tutti_topology_row tutti_topology_dgx2_row = {
    .name = "dgx2",
    .about = "DGX-2: sixteen GPUs, 6 NVLinks each into NVSwitches",
    .presets = presets_dgx2,
    .npresets = sizeof presets_dgx2 / sizeof presets_dgx2[0],
    NVSWITCHES_ANSWER,
};

const tutti_topology_row tutti_topology_nvswitch_row = {
    .name = "nvswitch",
    .about = "up to sixteen GPUs, links= NVLinks each into NVSwitches",
    .presets = presets_nvswitch,
    .npresets = sizeof presets_nvswitch / sizeof presets_nvswitch[0],
    NVSWITCHES_ANSWER,
};

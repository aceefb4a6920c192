/* SPDX-License-Identifier: Apache-2.0 */
/* topology_dgx1.c: the topologies dgx1p and dgx1v: DGX-1 with P100 (dgx1p) and V100 (dgx1v): eight GPUs on two sockets,
 * two PCIe switches a socket, a NIC a switch, and NVLinks in a hybrid cube mesh: two quads {0..3}, {4..7}, all pairs of
 * a quad joined, and GPU g joined with g + 4. P100 has 4 NVLinks a GPU, one for each pair: 16 in all. V100 has 6 a GPU:
 * two between 0-3, 0-4, 1-2, 1-5, 2-3, 5-6, 4-7, 6-7, one between the others, 24 in all. This is the matrix that
 * `nvidia-smi topo -m` prints on such machines, according to published logs. The P100 mesh has the same pairs, each
 * with one NVLink. gpus= selects any subset of the GPUs, as a queueing system may assign them. */
#include "detect/server.h"

static const tutti_nvlink mesh_p100[] = {
    {0, 1, 1}, {0, 2, 1}, {0, 3, 1}, {1, 2, 1}, {1, 3, 1}, {2, 3, 1}, /* {GPU, GPU, NVLinks} in quad {0..3} */
    {4, 5, 1}, {4, 6, 1}, {4, 7, 1}, {5, 6, 1}, {5, 7, 1}, {6, 7, 1}, /* in quad {4..7} */
    {0, 4, 1}, {1, 5, 1}, {2, 6, 1}, {3, 7, 1},                       /* between the quads */
};
static const tutti_nvlink mesh_v100[] = {
    {0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2}, /* {GPU, GPU, NVLinks} in quad {0..3} */
    {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}, /* in quad {4..7} */
    {0, 4, 2}, {1, 5, 2}, {2, 6, 1}, {3, 7, 1},                       /* between the quads */
};
enum { NPAIRS = sizeof mesh_v100 / sizeof mesh_v100[0], NGPUS = 8 };

static void dgx1_server(const tutti_topology *t, tutti_server *out)
{
    *out = (tutti_server){.hosts = tutti_count(t, TUTTI_FIGURE_HOSTS),
                          .sockets = 2,
                          .switches = 2,
                          .slots = 2,
                          .nics = tutti_count(t, TUTTI_FIGURE_NICS),
                          .gpus = (unsigned)t->figure[TUTTI_FIGURE_GPUS],
                          .wires = (tutti_wires)t->figure[TUTTI_FIGURE_WIRES],
                          .nvlinks = t->kind == TUTTI_TOPOLOGY_DGX1P ? mesh_p100 : mesh_v100,
                          .nnvlinks = NPAIRS};
    out->joined = out->hosts > 1;
}

static bool dgx1_idle(const tutti_topology *t, tutti_figure f)
{
    tutti_server s;
    dgx1_server(t, &s);
    if (f == TUTTI_FIGURE_NICS || f == TUTTI_FIGURE_NIC || f == TUTTI_FIGURE_LATENCY) return s.hosts == 1;
    if (f == TUTTI_FIGURE_PCIE || f == TUTTI_FIGURE_QPI) return s.wires == TUTTI_WIRES_NVLINK;
    return f == TUTTI_FIGURE_NVLINK && s.wires == TUTTI_WIRES_PCIE;
}

static tutti_status dgx1_check(const tutti_topology *t, tutti_failure *err)
{
    tutti_server s;
    dgx1_server(t, &s);
    if (s.gpus >> NGPUS) return tutti_fail(err, TUTTI_ERR_USAGE, "topology: a DGX-1 has GPUs 0 to %d", NGPUS - 1);
    if (t->figure[TUTTI_FIGURE_NICS] > 4 || t->figure[TUTTI_FIGURE_HOSTS] > 4096)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: a DGX-1 has up to 4 NICs, and there are up to 4096 of them");
    if (s.wires != TUTTI_WIRES_NVLINK && s.wires != TUTTI_WIRES_SPLIT) return TUTTI_OK;
    if (s.hosts > 1)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: NVLinks do not leave a DGX-1: wires=%s wants hosts=1",
                          s.wires == TUTTI_WIRES_SPLIT ? "split" : "nvlink");
    if (!tutti_server_nvlinks_join(&s))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "topology: NVLinks do not join all of these gpus; wires=both uses PCIe too");
    return TUTTI_OK;
}

/* The rows of dgx1p and dgx1v, which differ in the rate of an NVLink. */
/* clang-format off */
#define PRESETS(nvlink) { \
    {TUTTI_FIGURE_GPUS, 0xff, TUTTI_FROM_READ, "nvidia-smi topo -m in published logs", NULL}, \
    {TUTTI_FIGURE_WIRES, TUTTI_WIRES_BOTH, TUTTI_FROM_ASSUMED, NULL, NULL}, \
    {TUTTI_FIGURE_NVLINK, nvlink, TUTTI_FROM_READ, "NCCL's topology code", NULL}, \
    {TUTTI_FIGURE_PCIE, 12e9, TUTTI_FROM_READ, "NCCL's topology code, gen3 x16", NULL}, \
    {TUTTI_FIGURE_QPI, 6e9, TUTTI_FROM_READ, "NCCL's topology code, Broadwell's QPI", NULL}, \
    {TUTTI_FIGURE_HOSTS, 1, TUTTI_FROM_ASSUMED, NULL, "servers"}, \
    {TUTTI_FIGURE_NICS, 4, TUTTI_FROM_READ, "nvidia-smi topo -m in published logs", NULL}, \
    {TUTTI_FIGURE_NIC, 12e9, TUTTI_FROM_READ, "NCCL's topology code, 100 Gb/s", NULL}, \
    {TUTTI_FIGURE_NEAR, 1e-6, TUTTI_FROM_ASSUMED, NULL, NULL}, \
    {TUTTI_FIGURE_LATENCY, 5e-6, TUTTI_FROM_ASSUMED, NULL, "from NIC to NIC, beside near"}, \
    {TUTTI_FIGURE_SOFTWARE, 3.4e-6, TUTTI_FROM_READ, "NCCL's tuning code, a ring's step over NVLink, Simple", NULL}, \
    {TUTTI_FIGURE_ADD, 300e9, TUTTI_FROM_ASSUMED, NULL, NULL}, \
    {TUTTI_FIGURE_PLACE, TUTTI_PLACE_BLOCK, TUTTI_FROM_ASSUMED, NULL, NULL}, \
}
/* clang-format on */
static const tutti_preset presets_p100[] = PRESETS(18e9), presets_v100[] = PRESETS(20e9);

const tutti_topology_row tutti_topology_dgx1p_row = {
    .name = "dgx1p",
    .about = "DGX-1 with P100: eight GPUs, 4 NVLinks each in a hybrid cube mesh, PCIe tree",
    .presets = presets_p100,
    .npresets = sizeof presets_p100 / sizeof presets_p100[0],
    .idle = dgx1_idle,
    .check = dgx1_check,
    .server = dgx1_server,
    TUTTI_SERVERS_ANSWER,
};
const tutti_topology_row tutti_topology_dgx1v_row = {
    .name = "dgx1v",
    .about = "DGX-1 with V100: eight GPUs, 6 NVLinks each in a hybrid cube mesh, PCIe tree",
    .presets = presets_v100,
    .npresets = sizeof presets_v100 / sizeof presets_v100[0],
    .idle = dgx1_idle,
    .check = dgx1_check,
    .server = dgx1_server,
    TUTTI_SERVERS_ANSWER,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* topology_pcie.c: the topology pcie: servers of GPUs on PCIe, after the server of EFLOPS (Dong et al., HPCA 2020). If
 * there are as many NICs (nics=) as GPUs, each GPU has a NIC of its own under its PCIe switch. Fewer NICs are shared.
 * inside=nic sends bytes that would cross the root complex or the link between sockets through the NICs instead. */
#include "detect/server.h"

static void pcie_server(const tutti_topology *t, tutti_server *out)
{
    *out = (tutti_server){.hosts = tutti_count(t, TUTTI_FIGURE_HOSTS),
                          .sockets = tutti_count(t, TUTTI_FIGURE_SOCKETS),
                          .switches = tutti_count(t, TUTTI_FIGURE_SWITCHES),
                          .slots = tutti_count(t, TUTTI_FIGURE_SLOTS),
                          .nics = tutti_count(t, TUTTI_FIGURE_NICS),
                          .wires = TUTTI_WIRES_PCIE,
                          .through_nics = tutti_count(t, TUTTI_FIGURE_INSIDE) == TUTTI_INSIDE_NIC};
    out->gpus = (1u << out->sockets * out->switches * out->slots) - 1;
    out->joined = out->hosts > 1 || out->through_nics;
}

static bool pcie_idle(const tutti_topology *t, tutti_figure f)
{
    bool network = f == TUTTI_FIGURE_NICS || f == TUTTI_FIGURE_NIC || f == TUTTI_FIGURE_LATENCY;
    if (f == TUTTI_FIGURE_QPI) return tutti_count(t, TUTTI_FIGURE_SOCKETS) == 1;
    return network && tutti_count(t, TUTTI_FIGURE_HOSTS) == 1 &&
           tutti_count(t, TUTTI_FIGURE_INSIDE) == TUTTI_INSIDE_PCIE;
}

static tutti_status pcie_check(const tutti_topology *t, tutti_failure *err)
{
    double gpus = t->figure[TUTTI_FIGURE_SOCKETS] * t->figure[TUTTI_FIGURE_SWITCHES] * t->figure[TUTTI_FIGURE_SLOTS];
    if (t->figure[TUTTI_FIGURE_SOCKETS] > 2 || gpus > TUTTI_MAX_SERVER_GPUS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: pcie: a server has 1 or 2 sockets and up to %d GPUs",
                          TUTTI_MAX_SERVER_GPUS);
    if (t->figure[TUTTI_FIGURE_HOSTS] > 4096)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: pcie: at most 4096 servers");
    if (pcie_idle(t, TUTTI_FIGURE_NICS)) return TUTTI_OK;
    if (t->figure[TUTTI_FIGURE_NICS] > gpus)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: pcie: at most one NIC a GPU");
    int32_t nics = tutti_count(t, TUTTI_FIGURE_NICS);
    int32_t nswitches = tutti_count(t, TUTTI_FIGURE_SOCKETS) * tutti_count(t, TUTTI_FIGURE_SWITCHES);
    if (tutti_count(t, TUTTI_FIGURE_INSIDE) == TUTTI_INSIDE_NIC && nics % nswitches)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "topology: pcie: inside=nic wants as many NICs under each of the %d PCIe switches",
                          (int)nswitches);
    return TUTTI_OK;
}

static const tutti_preset presets[] = {
    {TUTTI_FIGURE_HOSTS, 1, TUTTI_FROM_ASSUMED, NULL, "servers"},
    {TUTTI_FIGURE_SOCKETS, 2, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_SWITCHES, 2, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_SLOTS, 2, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_NICS, 4, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_INSIDE, TUTTI_INSIDE_PCIE, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_PCIE, 12e9, TUTTI_FROM_READ, "NCCL's topology code, gen3 x16", NULL},
    {TUTTI_FIGURE_QPI, 10e9, TUTTI_FROM_READ, "NCCL's topology code, Skylake's UPI", NULL},
    {TUTTI_FIGURE_NIC, 12e9, TUTTI_FROM_READ, "NCCL's topology code, 100 Gb/s", NULL},
    {TUTTI_FIGURE_NEAR, 1e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_LATENCY, 5e-6, TUTTI_FROM_ASSUMED, NULL, "from NIC to NIC, beside near"},
    {TUTTI_FIGURE_SOFTWARE, 5.7e-6, TUTTI_FROM_READ, "NCCL's tuning code, a ring's step over PCIe, Simple", NULL},
    {TUTTI_FIGURE_ADD, 300e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_PLACE, TUTTI_PLACE_BLOCK, TUTTI_FROM_ASSUMED, NULL, NULL},
};

const tutti_topology_row tutti_topology_pcie_row = {
    .name = "pcie",
    .about = "servers of GPUs under PCIe switches, NICs shared or one a GPU",
    .presets = presets,
    .npresets = sizeof presets / sizeof presets[0],
    .idle = pcie_idle,
    .check = pcie_check,
    .server = pcie_server,
    TUTTI_SERVERS_ANSWER,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* topology_cards.c: the topology cards: one server of GPUs as detected. The server has slots under PCIe switches under
 * one or two sockets, and any mesh of NVLinks between GPUs. Some slots may be empty (gpus= lists the full ones). `tutti
 * topo detect --cards` writes such lines. */
#include <string.h>

#include "detect/server.h"

enum { MOST_LINKS_OF_A_PAIR = 64 };

/* Adds a pair to the mesh, which stays sorted by a, then by b. Returns false if the mesh already has the pair. */
static bool insert_pair(tutti_topology *t, tutti_nvlink pair)
{
    int32_t at = t->nmesh;
    for (; at > 0; at--) {
        const tutti_nvlink *before = &t->mesh[at - 1];
        if (before->a == pair.a && before->b == pair.b) return false;
        if (before->a < pair.a || (before->a == pair.a && before->b < pair.b)) break;
    }
    memmove(&t->mesh[at + 1], &t->mesh[at], (size_t)(t->nmesh++ - at) * sizeof t->mesh[0]);
    t->mesh[at] = pair;
    return true;
}

bool tutti_mesh_parse(tutti_topology *t, const char *text, size_t n)
{
    t->nmesh = 0;
    for (size_t at = 0; at < n; at++) {
        int32_t a, b, count = 1;
        if (!tutti_digits_read(text, n, &at, 2, &a) || at == n || text[at++] != '-') return false;
        if (!tutti_digits_read(text, n, &at, 2, &b)) return false;
        if (at < n && text[at] == 'x' && (at++, !tutti_digits_read(text, n, &at, 2, &count))) return false;
        const int32_t low = a < b ? a : b, high = a < b ? b : a;
        if (a == b || high >= TUTTI_MAX_SERVER_GPUS || count < 1 || count > MOST_LINKS_OF_A_PAIR) return false;
        if (!insert_pair(t, (tutti_nvlink){(uint8_t)low, (uint8_t)high, (uint8_t)count})) return false;
        if (at < n && (text[at] != '.' || at + 1 == n)) return false;
    }
    t->figure[TUTTI_FIGURE_MESH] = t->nmesh;
    return t->nmesh > 0;
}

void tutti_mesh_print(const tutti_topology *t, tutti_strbuf *out)
{
    for (int32_t i = 0; i < t->nmesh; i++) {
        const tutti_nvlink *pair = &t->mesh[i];
        tutti_strbuf_printf(out, "%s%d-%d", i ? "." : "", pair->a, pair->b);
        if (pair->count > 1) tutti_strbuf_printf(out, "x%d", pair->count);
    }
}

static void cards_server(const tutti_topology *t, tutti_server *out)
{
    *out = (tutti_server){.hosts = 1,
                          .sockets = tutti_count(t, TUTTI_FIGURE_SOCKETS),
                          .switches = tutti_count(t, TUTTI_FIGURE_SWITCHES),
                          .slots = tutti_count(t, TUTTI_FIGURE_SLOTS),
                          .gpus = (unsigned)t->figure[TUTTI_FIGURE_GPUS],
                          .wires = t->nmesh ? (tutti_wires)t->figure[TUTTI_FIGURE_WIRES] : TUTTI_WIRES_PCIE,
                          .nvlinks = t->mesh,
                          .nnvlinks = t->nmesh};
}

static bool cards_idle(const tutti_topology *t, tutti_figure f)
{
    const tutti_wires wires = (tutti_wires)t->figure[TUTTI_FIGURE_WIRES];
    const bool nvlink_alone = t->nmesh && wires == TUTTI_WIRES_NVLINK;
    if (f == TUTTI_FIGURE_WIRES) return !t->nmesh;
    if (f == TUTTI_FIGURE_MESH || f == TUTTI_FIGURE_NVLINK) return !t->nmesh || wires == TUTTI_WIRES_PCIE;
    if (f == TUTTI_FIGURE_QPI) return nvlink_alone || tutti_count(t, TUTTI_FIGURE_SOCKETS) == 1;
    return f == TUTTI_FIGURE_PCIE && nvlink_alone;
}

static tutti_status cards_check(const tutti_topology *t, tutti_failure *err)
{
    const double nslots =
        t->figure[TUTTI_FIGURE_SOCKETS] * t->figure[TUTTI_FIGURE_SWITCHES] * t->figure[TUTTI_FIGURE_SLOTS];
    tutti_server s;
    if (t->figure[TUTTI_FIGURE_SOCKETS] > 2 || nslots > TUTTI_MAX_SERVER_GPUS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: cards: a server has 1 or 2 sockets and up to %d slots",
                          TUTTI_MAX_SERVER_GPUS);
    cards_server(t, &s);
    if (s.gpus >> (int)nslots)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "topology: cards: sockets x switches x slots make slots 0 to %d; gpus names others",
                          (int)nslots - 1);
    for (int32_t i = 0; i < t->nmesh; i++)
        if (t->mesh[i].b >= nslots)
            return tutti_fail(err, TUTTI_ERR_USAGE, "topology: cards: mesh joins GPU %d, and slots are 0 to %d",
                              t->mesh[i].b, (int)nslots - 1);
    if (s.wires == TUTTI_WIRES_SPLIT)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: cards: wires=both|nvlink|pcie; split is of dgx1p and dgx1v");
    if (s.wires == TUTTI_WIRES_NVLINK && !tutti_server_nvlinks_join(&s))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "topology: NVLinks do not join all of these gpus; wires=both uses PCIe too");
    return TUTTI_OK;
}

static const tutti_preset presets[] = {
    {TUTTI_FIGURE_GPUS, 0xff, TUTTI_FROM_ASSUMED, NULL, "slots with a GPU; rank r is on the r-th of them"},
    {TUTTI_FIGURE_SOCKETS, 2, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_SWITCHES, 2, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_SLOTS, 2, TUTTI_FROM_ASSUMED, NULL, "under a PCIe switch"},
    {TUTTI_FIGURE_WIRES, TUTTI_WIRES_BOTH, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_MESH, 0, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_NVLINK, 20e9, TUTTI_FROM_READ, "NCCL's topology code, sm_70 and sm_80", NULL},
    {TUTTI_FIGURE_PCIE, 12e9, TUTTI_FROM_READ, "NCCL's topology code, gen3 x16", NULL},
    {TUTTI_FIGURE_QPI, 10e9, TUTTI_FROM_READ, "NCCL's topology code, Skylake's UPI", NULL},
    {TUTTI_FIGURE_NEAR, 1e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_SOFTWARE, 5.7e-6, TUTTI_FROM_READ, "NCCL's tuning code, a ring's step over PCIe, Simple", NULL},
    {TUTTI_FIGURE_ADD, 300e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_PLACE, TUTTI_PLACE_BLOCK, TUTTI_FROM_ASSUMED, NULL, NULL},
};

const tutti_topology_row tutti_topology_cards_row = {
    .name = "cards",
    .about = "one server of GPUs: slots under PCIe switches, any mesh of NVLinks",
    .presets = presets,
    .npresets = sizeof presets / sizeof presets[0],
    .idle = cards_idle,
    .check = cards_check,
    .server = cards_server,
    TUTTI_SERVERS_ANSWER,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* server.c: nodes, cables and routes of servers of GPUs.
 *
 *   gpu -- PCIe switch -- root complex "cpu" -- (qpi) -- cpu' -- PCIe switch' -- gpu'
 *              |
 *             NIC -- switch between servers
 *
 * Cables of a server, in this order: GPU to PCIe switch; PCIe switch to socket; socket to socket; NICs; pairs with
 * NVLinks. A NIC sits under a PCIe switch. Its cable has the rate of the NIC or of PCIe, whichever is lower. GPU g uses
 * NIC g * nics / GPUs. So if there are as many NICs as GPUs, each GPU has a NIC of its own under its own switch
 * (EFLOPS, Dong et al., HPCA 2020). Several NVLinks of a pair are one cable with the sum of their rates. If two GPUs
 * have no NVLink between them, a route over NVLinks goes through as few other GPUs as possible. */
#include "server.h"

#include <math.h>
#include <stdio.h>

typedef struct {
    int32_t ngpus, nswitches, nnics; /* for each server: number of GPUs in use, of PCIe switches, of NICs */
    /* numbers of nodes: of the first PCIe switch, of the first socket, of the switch between servers */
    int32_t switch0, cpu0, middle;
    /* in a server: number of the first cable of each kind; ncables: how many cables a server has */
    int32_t to_socket, qpi, nic, nvlink, ncables;
    /* for each pair of GPUs in use that NVLinks join: the pair's index in the mesh */
    int32_t pair[TUTTI_MAX_NVLINK_PAIRS];
} layout;

static bool takes_part(const tutti_server *s, int gpu)
{
    return s->gpus >> gpu & 1;
}

/* gpu_of returns the number, in the machine, of the i-th GPU in use. index_of returns i for such a number. */
static int gpu_of(const tutti_server *s, int32_t i)
{
    for (int g = 0;; g++)
        if (takes_part(s, g) && i-- == 0) return g;
}

static int32_t index_of(const tutti_server *s, int gpu)
{
    return __builtin_popcount(s->gpus & ((1u << gpu) - 1));
}

static tutti_server server_of(const tutti_topology *t)
{
    tutti_server s;
    tutti_topology_row_at((int)t->kind)->server(t, &s);
    return s;
}

int32_t tutti_servers_group(const tutti_topology *t)
{
    return __builtin_popcount(server_of(t).gpus);
}

int32_t tutti_servers_nseats(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    return server_of(t).hosts * tutti_servers_group(t);
}

static layout layout_of(const tutti_server *s)
{
    layout l = {.ngpus = __builtin_popcount(s->gpus)};
    bool pcie = s->wires != TUTTI_WIRES_NVLINK;
    l.nswitches = pcie ? s->sockets * s->switches : 0;
    l.nnics = s->joined ? s->nics : 0;
    l.switch0 = s->hosts * l.ngpus;
    l.cpu0 = l.switch0 + s->hosts * l.nswitches;
    l.middle = l.cpu0 + (pcie ? s->hosts * s->sockets : 0);
    l.to_socket = pcie ? l.ngpus : 0;
    l.qpi = l.to_socket + l.nswitches;
    l.nic = l.qpi + (pcie ? s->sockets - 1 : 0);
    l.nvlink = l.nic + l.nnics;
    int32_t npairs = 0;
    for (int32_t i = 0; i < s->nnvlinks && s->wires != TUTTI_WIRES_PCIE; i++)
        if (takes_part(s, s->nvlinks[i].a) && takes_part(s, s->nvlinks[i].b)) l.pair[npairs++] = i;
    l.ncables = l.nvlink + npairs;
    return l;
}

int32_t tutti_servers_nnodes(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    const tutti_server s = server_of(t);
    return layout_of(&s).middle + s.joined;
}

int32_t tutti_servers_nlinks(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    const tutti_server s = server_of(t);
    return 2 * s.hosts * layout_of(&s).ncables;
}

/* Returns the number, in the server, of the PCIe switch under which a NIC sits. */
static int32_t switch_of_nic(const layout *l, int32_t nic)
{
    return nic * l->nswitches / l->nnics;
}

tutti_link tutti_servers_link(const tutti_topology *t, int32_t nranks, int32_t link)
{
    (void)nranks;
    const tutti_server s = server_of(t);
    layout l = layout_of(&s);
    const double pcie = t->figure[TUTTI_FIGURE_PCIE], near = t->figure[TUTTI_FIGURE_NEAR];
    int32_t host = link / 2 / l.ncables, cable = link / 2 % l.ncables, sw = l.switch0 + host * l.nswitches;
    int32_t gpu = host * l.ngpus, cpu = l.cpu0 + host * s.sockets;
    if (cable < l.to_socket)
        return tutti_cable_link(link, gpu + cable, sw + gpu_of(&s, cable) / s.slots, pcie, link % 2 ? 0 : near);
    if (cable < l.qpi) {
        cable -= l.to_socket;
        return tutti_cable_link(link, sw + cable, cpu + cable / s.switches, pcie, 0);
    }
    if (cable < l.nic) return tutti_cable_link(link, cpu, cpu + 1, t->figure[TUTTI_FIGURE_QPI], 0);
    if (cable < l.nvlink)
        return tutti_cable_link(link, sw + switch_of_nic(&l, cable - l.nic), l.middle,
                                fmin(pcie, t->figure[TUTTI_FIGURE_NIC]),
                                link % 2 ? 0 : t->figure[TUTTI_FIGURE_LATENCY]);
    const tutti_nvlink *nv = &s.nvlinks[l.pair[cable - l.nvlink]];
    return tutti_cable_link(link, gpu + index_of(&s, nv->a), gpu + index_of(&s, nv->b),
                            nv->count * t->figure[TUTTI_FIGURE_NVLINK], near);
}

void tutti_servers_node_name(const tutti_topology *t, int32_t nranks, int32_t node, char out[40])
{
    (void)nranks;
    const tutti_server s = server_of(t);
    layout l = layout_of(&s);
    char host[12] = "";
    int32_t per = node < l.switch0 ? l.ngpus : node < l.cpu0 ? l.nswitches : s.sockets;
    int32_t at = node - (node < l.switch0 ? 0 : node < l.cpu0 ? l.switch0 : l.cpu0);
    if (s.hosts > 1) snprintf(host, sizeof host, "h%d.", (int)(at / per));
    if (node == l.middle)
        snprintf(out, 40, "switch");
    else if (node < l.switch0)
        snprintf(out, 40, "%sgpu%d", host, gpu_of(&s, at % per));
    else
        snprintf(out, 40, "%s%s%d", host, node < l.cpu0 ? "pcie" : "cpu", (int)(at % per));
}

/* Finds the route from a GPU to a PCIe switch of its server. If it is not the GPU's own switch, the route goes over the
 * sockets. With `up`, the links lead from the GPU to the switch. Without, each link is the opposite one of its cable,
 * still in the same order; the caller reverses the order. */
static int to_switch(const tutti_server *s, const layout *l, int32_t seat, int32_t target, bool up, int32_t *links)
{
    int32_t host = seat / l->ngpus, base = 2 * host * l->ncables, i = seat % l->ngpus, own = gpu_of(s, i) / s->slots;
    int32_t from = own / s->switches, to = target / s->switches;
    int n = 0;
    links[n++] = base + 2 * i + !up;
    if (own == target) return n;
    links[n++] = base + 2 * (l->to_socket + own) + !up;
    if (from != to) links[n++] = base + 2 * l->qpi + ((from == 0) != up);
    links[n++] = base + 2 * (l->to_socket + target) + up;
    return n;
}

/* Finds the route from a GPU to the switch between servers, or with `up` false the opposite links, as to_switch
 * does. */
static int to_middle(const tutti_server *s, const layout *l, int32_t seat, bool up, int32_t *links)
{
    int32_t gpu = gpu_of(s, seat % l->ngpus), all = s->sockets * s->switches * s->slots, nic = gpu * l->nnics / all;
    int32_t part[8];
    int n = to_switch(s, l, seat, switch_of_nic(l, nic), up, part);
    part[n++] = 2 * (seat / l->ngpus * l->ncables + l->nic + nic) + !up;
    for (int i = 0; i < n; i++) links[i] = part[up ? i : n - 1 - i];
    return n;
}

/* Returns the number of the NVLink from GPU a of the server to GPU b; -1 if they have none. */
static int32_t nvlink_between(const tutti_server *s, const layout *l, int a, int b)
{
    for (int32_t c = l->nvlink; c < l->ncables; c++) {
        const tutti_nvlink *nv = &s->nvlinks[l->pair[c - l->nvlink]];
        if (nv->a == a && nv->b == b) return 2 * c;
        if (nv->a == b && nv->b == a) return 2 * c + 1;
    }
    return -1;
}

/* Searches breadth first from GPU a; before[g] = the GPU before g on a shortest path, -1 = not reached. */
static void nvlink_search(const tutti_server *s, const layout *l, int a, int before[TUTTI_MAX_SERVER_GPUS])
{
    int queue[TUTTI_MAX_SERVER_GPUS], head = 0, tail = 0;
    for (int g = 0; g < TUTTI_MAX_SERVER_GPUS; g++) before[g] = -1;
    before[a] = a;
    queue[tail++] = a;
    while (head < tail) {
        int at = queue[head++];
        for (int g = 0; g < TUTTI_MAX_SERVER_GPUS; g++)
            if (before[g] < 0 && nvlink_between(s, l, at, g) >= 0) before[g] = at, queue[tail++] = g;
    }
}

bool tutti_server_nvlinks_join(const tutti_server *s)
{
    layout l = layout_of(s);
    int before[TUTTI_MAX_SERVER_GPUS];
    nvlink_search(s, &l, gpu_of(s, 0), before);
    for (int g = 0; g < TUTTI_MAX_SERVER_GPUS; g++)
        if (takes_part(s, g) && before[g] < 0) return false;
    return true;
}

static int nvlink_route(const tutti_server *s, const layout *l, int a, int b, int32_t *links)
{
    int before[TUTTI_MAX_SERVER_GPUS], n = 0;
    nvlink_search(s, l, a, before);
    for (int at = b; at != a && before[at] >= 0; at = before[at]) n++;
    for (int at = b, i = n; at != a && i > 0; at = before[at]) links[--i] = nvlink_between(s, l, before[at], at);
    return n;
}

int tutti_servers_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel,
                        int32_t links[TUTTI_MAX_HOPS])
{
    const tutti_server s = server_of(t);
    const bool split = s.wires == TUTTI_WIRES_SPLIT,
               nvlink_alone = s.wires == TUTTI_WIRES_NVLINK || (split && channel % 2 == 0);
    layout l = layout_of(&s);
    int32_t host = src / l.ngpus, base = 2 * host * l.ncables;
    int n;
    if (host == dst / l.ngpus) {
        int a = gpu_of(&s, src % l.ngpus), b = gpu_of(&s, dst % l.ngpus);
        int32_t direct = nvlink_between(&s, &l, a, b);
        if (direct >= 0 && (!split || nvlink_alone)) {
            links[0] = base + direct;
            return 1;
        }
        if (nvlink_alone) {
            n = nvlink_route(&s, &l, a, b, links);
            for (int i = 0; i < n; i++) links[i] += base;
            return n;
        }
        if (!s.through_nics || a / s.slots == b / s.slots) {
            n = to_switch(&s, &l, src, b / s.slots, true, links);
            links[n++] = base + 2 * (dst % l.ngpus) + 1;
            return n;
        }
    }
    n = to_middle(&s, &l, src, true, links);
    return n + to_middle(&s, &l, dst, false, links + n);
}

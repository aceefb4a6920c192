/* SPDX-License-Identifier: Apache-2.0 */
/* topology_host.c: the topology host: ranks of one machine, which map each other's memory. A core is modelled as a
 * link, because a core's work is moving bytes. Links 0 .. cores-1 are the cores. Rank r runs on core r mod cores, so
 * two ranks share a core as two flows share a wire. Link `cores` is the memory behind all caches. The capacity of a
 * core is the rate at which it reduces, the commonest work. For copies the simulator uses the figure `copy`. */
#include <math.h>
#include <stdio.h>

#include "topology_impl.h"

static int32_t ncores_of(const tutti_topology *t)
{
    return (int32_t)t->figure[TUTTI_FIGURE_CORES];
}

static void host_take(tutti_topology *t, const tutti_host_shape *machine)
{
    if (machine->ncores > 0) {
        t->figure[TUTTI_FIGURE_CORES] = machine->ncores;
        t->from[TUTTI_FIGURE_CORES] = TUTTI_FROM_DETECTED;
    }
    int64_t cache = machine->core_cache * machine->ncores + machine->shared_cache;
    if (cache > 0) {
        t->figure[TUTTI_FIGURE_CACHE] = (double)cache;
        t->from[TUTTI_FIGURE_CACHE] = TUTTI_FROM_DETECTED;
    }
}

static int32_t host_nlinks(const tutti_topology *t, int32_t nranks)
{
    (void)nranks;
    return ncores_of(t) + 1;
}

static tutti_link host_link(const tutti_topology *t, int32_t nranks, int32_t link)
{
    (void)nranks;
    bool memory = link == ncores_of(t);
    return (tutti_link){-1, -1, t->figure[memory ? TUTTI_FIGURE_BANDWIDTH : TUTTI_FIGURE_ADD], 0};
}

static void host_link_name(const tutti_topology *t, int32_t nranks, int32_t link, char out[32])
{
    (void)nranks;
    if (link == ncores_of(t))
        snprintf(out, 32, "memory");
    else
        snprintf(out, 32, "core(%d)", (int)link);
}

static int host_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel, int32_t links[TUTTI_MAX_HOPS])
{
    (void)dst, (void)channel;
    links[0] = src % ncores_of(t);
    links[1] = ncores_of(t);
    return 2;
}

static int32_t host_nseats(const tutti_topology *t, int32_t nranks)
{
    (void)t;
    return nranks;
}

static const tutti_preset presets[] = {
    {TUTTI_FIGURE_BANDWIDTH, 20e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_LATENCY, 0.2e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_COPY, 20e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_ADD, 20e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_REMOTE, 5e9, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_SWITCH, 5e-6, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_CORES, 1, TUTTI_FROM_ASSUMED, NULL, NULL},
    {TUTTI_FIGURE_CACHE, 1 << 20, TUTTI_FROM_ASSUMED, NULL, NULL},
};

const tutti_topology_row tutti_topology_host_row = {
    .name = "host",
    .about = "ranks of one machine that map each other's memory",
    .presets = presets,
    .npresets = sizeof presets / sizeof presets[0],
    .maps_memory = true,
    .is_machine = true,
    .take = host_take,
    .nseats = host_nseats,
    .nlinks = host_nlinks,
    .link = host_link,
    .link_name = host_link_name,
    .route = host_route,
};

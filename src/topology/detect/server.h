/* SPDX-License-Identifier: Apache-2.0 */
/* server.h: servers of GPUs under PCIe switches, root complexes and a link between two sockets, optionally with NVLinks
 * between the GPUs; a switch that never blocks joins several servers. The topologies pcie, dgx1p, dgx1v and cards share
 * these functions. Threads: any (pure functions). */
#ifndef TUTTI_TOPOLOGY_SERVER_H
#define TUTTI_TOPOLOGY_SERVER_H

#include "../topology_impl.h"

/* One server of GPUs. The row of a topology's kind fills it in. */
typedef struct tutti_server {
    int32_t hosts, sockets, switches /* of each socket */, slots /* of each switch */, nics;
    bool joined;   /* true if there are NICs and a switch between servers */
    unsigned gpus; /* bit set of the GPUs in use, among sockets * switches * slots GPUs */
    tutti_wires wires;
    bool through_nics; /* true if GPUs of one server under different switches exchange through NICs */
    const tutti_nvlink *nvlinks;
    int32_t nnvlinks;
} tutti_server;

/* Returns true if NVLinks alone join all GPUs in use. */
bool tutti_server_nvlinks_join(const tutti_server *s);

/* Functions for the rows of the kinds of topology whose `server` is not NULL. */
int32_t tutti_servers_nseats(const tutti_topology *t, int32_t nranks);
int32_t tutti_servers_group(const tutti_topology *t); /* returns the number of GPUs in use of a server */
int32_t tutti_servers_nnodes(const tutti_topology *t, int32_t nranks);
int32_t tutti_servers_nlinks(const tutti_topology *t, int32_t nranks);
tutti_link tutti_servers_link(const tutti_topology *t, int32_t nranks, int32_t link);
void tutti_servers_node_name(const tutti_topology *t, int32_t nranks, int32_t node, char out[40]);
int tutti_servers_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel,
                        int32_t links[TUTTI_MAX_HOPS]);
#define TUTTI_SERVERS_ANSWER                                                                                           \
    .is_machine = true, .places = 1u << TUTTI_PLACE_ROUND_ROBIN, .nseats = tutti_servers_nseats,                       \
    .group = tutti_servers_group, .nnodes = tutti_servers_nnodes, .nlinks = tutti_servers_nlinks,                      \
    .link = tutti_servers_link, .node_name = tutti_servers_node_name, .route = tutti_servers_route

#endif

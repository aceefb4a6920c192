/* SPDX-License-Identifier: Apache-2.0 */
/* server.h: servers of GPUs under PCIe switches, root complexes and a link between two sockets, optionally with NVLinks
 * between the GPUs; several servers joined by a switch that never blocks. What the rows pcie, dgx1p, dgx1v and cards
 * share. Threads: shared (pure functions). */
#ifndef TUTTI_TOPOLOGY_SERVER_H
#define TUTTI_TOPOLOGY_SERVER_H

#include "../topology_impl.h"

/* One server as its kind describes it. */
typedef struct tutti_server {
    int32_t hosts, sockets, switches /* a socket */, slots /* a switch */, nics;
    bool joined;   /* NICs and a switch between servers are there */
    unsigned gpus; /* which of sockets * switches * slots take part */
    tutti_wires wires;
    bool through_nics; /* between GPUs of one server under different switches */
    const tutti_nvlink *nvlinks;
    int32_t nnvlinks;
} tutti_server;

/* NVLinks alone join all GPUs that take part. */
bool tutti_server_nvlinks_join(const tutti_server *s);

/* What a row whose `server` is given answers. */
int32_t tutti_servers_nseats(const tutti_topology *t, int32_t nranks);
int32_t tutti_servers_group(const tutti_topology *t); /* GPUs of a server that take part */
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

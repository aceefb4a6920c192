/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_topology.c: any bytes as the text form of a topology. What parses must print and parse again to the same text,
 * and its links and routes must lie in its network. */
#include <stdlib.h>
#include <string.h>

#include "tutti/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_LINKS = 20000, MAX_RANKS = 40 };

static void route_check(const tutti_topology *t, const tutti_fabric *net, int32_t src, int32_t dst)
{
    int32_t links[TUTTI_MAX_HOPS], at = src;
    int n = tutti_topology_route(t, src, dst, src + dst, links);
    if (n < (src != dst) || n > TUTTI_MAX_HOPS) abort();
    for (int i = 0; i < n; i++) {
        if (links[i] < 0 || links[i] >= net->nlinks || net->links[links[i]].src != at) abort();
        at = net->links[links[i]].dst;
    }
    if (at != dst) abort();
}

static void network_check(const tutti_topology *t)
{
    tutti_fabric net;
    int32_t room = tutti_topology_nseats(t, MAX_RANKS), p = room < MAX_RANKS ? room : MAX_RANKS;
    if (t->nlisted && t->nlisted < p) p = t->nlisted;
    if (tutti_topology_nlinks(t, p) > MAX_LINKS || !tutti_topology_graph(t, p, &net)) return;
    for (int32_t l = 0; l < net.nlinks; l++) {
        char name[32];
        const tutti_link *link = &net.links[l];
        tutti_topology_link_name(t, p, l, name);
        if (link->src < 0 || link->dst < 0 || link->src >= net.nnodes || link->dst >= net.nnodes) abort();
        if (!(link->bytes_per_s > 0) || !(link->latency_s >= 0)) abort();
    }
    for (int32_t src = 0; src < p; src++)
        for (int32_t dst = 0; dst < p; dst++) route_check(t, &net, src, dst);
    tutti_fabric_release(&net);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tutti_topology t, again;
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    text[strcspn(text, "\n")] = '\0';
    tutti_status status = tutti_topology_parse(text, &t, NULL);
    free(text);
    if (status) return 0;
    char *printed = tutti_topology_print(&t), *described = tutti_topology_describe(&t);
    if (tutti_topology_parse(printed, &again, NULL)) abort();
    char *twice = tutti_topology_print(&again);
    if (strcmp(printed, twice)) abort();
    network_check(&t);
    free(twice);
    free(described);
    free(printed);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* topology_table.c: the kinds of topology and what all share: links and routes by row. */
#include <assert.h>

#include "topology_impl.h"

static const tutti_topology_row *const rows[TUTTI_NTOPOLOGY_KINDS] = {
    [TUTTI_TOPOLOGY_HOST] = &tutti_topology_host_row,
    [TUTTI_TOPOLOGY_STAR] = &tutti_topology_star_row,
};

const tutti_topology_row *tutti_topology_row_at(int kind)
{
    return kind >= 0 && kind < TUTTI_NTOPOLOGY_KINDS ? rows[kind] : NULL;
}

int32_t tutti_topology_nlinks(const tutti_topology *t, int32_t nranks)
{
    return rows[t->kind]->nlinks(t, nranks);
}

tutti_link tutti_topology_link(const tutti_topology *t, int32_t nranks, int32_t link)
{
    assert(link >= 0 && link < tutti_topology_nlinks(t, nranks));
    return rows[t->kind]->link(t, nranks, link);
}

void tutti_topology_link_name(const tutti_topology *t, int32_t nranks, int32_t link, char out[32])
{
    rows[t->kind]->link_name(t, nranks, link, out);
}

int tutti_topology_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel,
                         int32_t links[TUTTI_MAX_HOPS])
{
    return rows[t->kind]->route(t, src, dst, channel, links);
}

const char *tutti_provenance_name(tutti_provenance p)
{
    switch (p) {
    case TUTTI_FROM_ASSUMED: return "assumed";
    case TUTTI_FROM_DETECTED: return "detected";
    case TUTTI_FROM_FITTED: return "fitted";
    case TUTTI_FROM_GIVEN: return "given";
    }
    return "unknown";
}

/* SPDX-License-Identifier: Apache-2.0 */
/* topology_impl.h: the row of a kind of topology, private to src/topology. A new kind = one file + one row. */
#ifndef TUTTI_TOPOLOGY_IMPL_H
#define TUTTI_TOPOLOGY_IMPL_H

#include "tutti/topology.h"

typedef struct {
    const char *name;
    unsigned figures;                  /* bit set of 1 << TUTTI_FIGURE_*: what this kind has */
    double assumed[TUTTI_NFIGURES];    /* when nobody says more */
    void (*detect)(tutti_topology *t); /* fills in what this machine tells; NULL = nothing */
    int32_t (*nlinks)(const tutti_topology *t, int32_t nranks);
    tutti_link (*link)(const tutti_topology *t, int32_t nranks, int32_t link);
    void (*link_name)(const tutti_topology *t, int32_t nranks, int32_t link, char out[32]);
    int (*route)(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel, int32_t links[TUTTI_MAX_HOPS]);
} tutti_topology_row;

extern const tutti_topology_row tutti_topology_host_row, tutti_topology_star_row;
const tutti_topology_row *tutti_topology_row_at(int kind); /* tutti_topology_kind; NULL past the end */

/* "10Gb" -> 1.25e9 and so on; false if it is no positive figure of the kind that f has. */
bool tutti_figure_parse(tutti_figure f, const char *text, size_t nbytes, double *out);
/* The shortest text that parses to the same figure, within 1e-12: "10Gb", "5us". */
void tutti_figure_print(tutti_figure f, double value, char out[32]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* topology_impl.h: the row of a kind of topology, private to src/topology. A new kind = one file + one row.
 *
 * Rows speak of *seats*: where a rank can sit (a host, a GPU, a node), numbered 0 .. nseats - 1; switches are the nodes
 * after them. Who sits where is common to all kinds (topology_place.c): a row never hears of ranks. */
#ifndef TUTTI_TOPOLOGY_IMPL_H
#define TUTTI_TOPOLOGY_IMPL_H

#include "../base/text/strbuf.h"
#include "tutti/topology.h"

/* A figure of a kind, as it is when nobody says more. */
typedef struct {
    tutti_figure figure;
    double value;
    tutti_provenance from;
    const char *source;  /* where it stands; NULL = assumed and detected figures need none */
    const char *meaning; /* for this kind; NULL = what it means everywhere */
} tutti_preset;

struct tutti_server;
typedef struct {
    const char *name, *about;
    const tutti_preset *presets;
    int npresets;
    bool maps_memory; /* ranks of a group (without groups: all) map each other's memory */
    bool is_machine;  /* a group (without groups: all) is one machine, whether links or memory carry what its ranks
                     * exchange */
    int behind_port;  /* hosts with ports: links of a route from the one into a host on, that included; 0: there are
                      * none */
    unsigned places;  /* bit set of 1 << TUTTI_PLACE_*, besides block and list */
    void (*take)(tutti_topology *t, const tutti_host_shape *machine); /* what this machine tells; NULL = nothing */
    bool (*idle)(const tutti_topology *t, tutti_figure); /* has no effect beside the others; NULL = all have one */
    tutti_status (*check)(const tutti_topology *t,
                          tutti_failure *err); /* figures that do not go together; NULL = none */
    /* NULL, or servers of GPUs as the figures describe them: server.h answers the rest. */
    void (*server)(const tutti_topology *t, struct tutti_server *out);
    int32_t (*nseats)(const tutti_topology *t, int32_t nranks);
    int32_t (*group)(const tutti_topology *t);                  /* seats behind one switch; NULL = no groups */
    int32_t (*nnodes)(const tutti_topology *t, int32_t nranks); /* NULL: no network */
    int32_t (*nlinks)(const tutti_topology *t, int32_t nranks);
    tutti_link (*link)(const tutti_topology *t, int32_t nranks, int32_t link);
    void (*node_name)(const tutti_topology *t, int32_t nranks, int32_t node, char out[40]);
    bool (*cell)(const tutti_topology *t, int32_t node,
                 double at[2]); /* on the grid of a picture; NULL or false: on none */
    void (*link_name)(const tutti_topology *t, int32_t nranks, int32_t link, char out[32]); /* NULL: "node>node" */
    /* src != dst */
    int (*route)(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel, int32_t links[TUTTI_MAX_HOPS]);
} tutti_topology_row;

enum { TUTTI_TOPOLOGY_MAX_KINDS = 64 };
const tutti_topology_row *tutti_topology_row_at(int kind); /* tutti_topology_kind; NULL past the end */
const tutti_preset *tutti_topology_preset(const tutti_topology_row *row,
                                          tutti_figure f); /* NULL: it has no such figure */

/* Where a picture shows a node, to the right and down, in cells of a grid that nodes fill; false: on no grid. */
bool tutti_topology_cell(const tutti_topology *t, int32_t nranks, int32_t node, double at[2]);
/* Is link l the way back of the one before it? */
bool tutti_link_goes_back(const tutti_fabric *net, int32_t l);

/* A figure as a whole number. */
static inline int32_t tutti_count(const tutti_topology *t, tutti_figure f)
{
    return (int32_t)t->figure[f];
}

/* The link out of a duplex cable: cable c between nodes a and b is link 2c from a to b and link 2c + 1 back. */
tutti_link tutti_cable_link(int32_t link, int32_t a, int32_t b, double bytes_per_s, double latency_s);

/* rank_of[seat]: -1 if nobody sits there. */
void tutti_place_invert(const tutti_topology *t, int32_t nranks, int32_t nseats, int32_t *rank_of);
tutti_status tutti_place_check(const tutti_topology *t, tutti_failure *err);

/* Reads a number of at most `most` digits, no more than 9, from text[*at] on and moves *at behind it (topology_text.c).
 * false: no digit is there. */
bool tutti_digits_read(const char *text, size_t n, size_t *at, size_t most, int32_t *out);
/* Pairs joined by NVLinks (topology_cards.c): "0-1.0-3x2" of n bytes to t->mesh, each pair once; and back. */
bool tutti_mesh_parse(tutti_topology *t, const char *text, size_t n);
void tutti_mesh_print(const tutti_topology *t, tutti_strbuf *out);

/* Hashed choice among n equal paths, a function of the seed and of who talks to whom on which channel. */
int32_t tutti_ecmp_pick(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel, int level, int32_t n);

/* The first line of /sys/PATH, without its end and cut at 63 bytes; false if there is none. */
bool tutti_sysfs_line(char out[64], const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Named machines (topology_machine.c): fills in kind and figures of the one that n bytes name; TUTTI_ERR_USAGE: there
 * is none. */
tutti_status tutti_topology_take_machine(const char *text, size_t n, tutti_topology *t, tutti_failure *err);
/* Figures of a kind as they are when nobody says more. */
void tutti_topology_take_presets(const tutti_topology_row *row, tutti_topology *t);
/* Where a machine's figure is from, in brackets, and its nodes and their prices, a line each; nothing where the
 * topology is no machine. */
void tutti_topology_machine_source(const tutti_topology *t, tutti_figure f, tutti_strbuf *out);
void tutti_topology_machine_nodes(const tutti_topology *t, tutti_strbuf *out);

/* What a figure is called and measured in (topology_figures.c). */
const char *tutti_figure_meaning(tutti_figure f);
const char *tutti_figure_example(tutti_figure f);
/* "10Gb" -> 1.25e9 and so on; false if it is no figure of the kind that f has. Not for a list of seats. */
bool tutti_figure_parse(tutti_figure f, const char *text, size_t nbytes, double *out);
bool tutti_figure_is_ethernet(const char *text, size_t nbytes); /* "25GbE" */
/* The shortest text that parses to the same figure, within 1e-12: "10Gb", "5us". Sets need up to 48 bytes. */
void tutti_figure_print(tutti_figure f, double value, char out[64]);

#endif

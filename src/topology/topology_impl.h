/* SPDX-License-Identifier: Apache-2.0 */
/* topology_impl.h: the row of a kind of topology, such as star or torus; private to src/topology. A new kind is one
 * file and one row.
 *
 * Rows know only *seats*, the places where a rank can sit (a host, a GPU, a node), numbered 0 .. nseats - 1; switches
 * are the nodes after them. topology_place.c puts ranks on seats for all kinds, so rows never see ranks. */
#ifndef TUTTI_TOPOLOGY_IMPL_H
#define TUTTI_TOPOLOGY_IMPL_H

#include "../base/text/strbuf.h"
#include "tutti/topology.h"

/* A figure that a kind of topology has, and its preset, the value that it has if nothing else sets it. */
typedef struct {
    tutti_figure figure;
    double value;
    tutti_provenance from;
    const char *source;  /* where the preset's value is published; NULL = the value is assumed or detected */
    const char *meaning; /* what the figure means for this kind; NULL = the general meaning */
} tutti_preset;

struct tutti_server;
typedef struct {
    const char *name, *about;
    const tutti_preset *presets;
    int npresets;
    /* true if ranks of one group map each other's memory (a kind without groups has one group of all ranks) */
    bool maps_memory;
    /* true if the ranks of one group run on one machine. They may exchange bytes over links or through memory (a kind
     * without groups has one group of all ranks) */
    bool is_machine;
    /* number of links at the end of a route into a host: the link that is the host's port, and the links behind it; 0:
     * the kind has no ports */
    int behind_port;
    unsigned places; /* bit set of 1 << TUTTI_PLACE_*: the placements that this kind has besides block and list */
    /* sets the figures that can be detected from this machine; NULL = none */
    void (*take)(tutti_topology *t, const tutti_host_shape *machine);
    /* returns true if the figure has no effect, given the other figures; NULL = all figures always have an effect */
    bool (*idle)(const tutti_topology *t, tutti_figure);
    tutti_status (*check)(const tutti_topology *t,
                          tutti_failure *err); /* refuses figures that contradict each other; NULL = no figures do */
    /* Describes a server of GPUs, from the figures. NULL for kinds without servers. server.h has the functions that use
     * it. */
    void (*server)(const tutti_topology *t, struct tutti_server *out);
    int32_t (*nseats)(const tutti_topology *t, int32_t nranks);
    /* returns the number of seats of a group, that is, behind one switch; NULL = the kind has no groups */
    int32_t (*group)(const tutti_topology *t);
    int32_t (*nnodes)(const tutti_topology *t, int32_t nranks); /* returns the number of nodes; NULL: the kind is no
                                                                 * network */
    int32_t (*nlinks)(const tutti_topology *t, int32_t nranks);
    tutti_link (*link)(const tutti_topology *t, int32_t nranks, int32_t link);
    void (*node_name)(const tutti_topology *t, int32_t nranks, int32_t node, char out[40]);
    bool (*cell)(const tutti_topology *t, int32_t node,
                 /* writes the place of a node on the grid of a picture. If it is NULL or returns false, the kind has no
                  * grid */
                 double at[2]);
    /* writes the name of a link; NULL: names are "node>node" */
    void (*link_name)(const tutti_topology *t, int32_t nranks, int32_t link, char out[32]);
    /* writes the links of the route from seat src to another seat dst; returns their number */
    int (*route)(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel, int32_t links[TUTTI_MAX_HOPS]);
} tutti_topology_row;

enum { TUTTI_TOPOLOGY_MAX_KINDS = 64 };
const tutti_topology_row *tutti_topology_row_at(int kind); /* returns the row of a kind (a tutti_topology_kind); NULL
                                                            * past the end */
const tutti_preset *tutti_topology_preset(const tutti_topology_row *row,
                                          tutti_figure f); /* returns the preset of a figure; NULL if the kind has no
                                                            * such figure */

/* Computes the place of a node in a picture: its column at[0] and row at[1], in cells of a grid. Returns false if the
 * kind has no grid. */
bool tutti_topology_cell(const tutti_topology *t, int32_t nranks, int32_t node, double at[2]);
/* Returns true if link l is the opposite direction of link l - 1, so that both are one cable. */
bool tutti_link_goes_back(const tutti_fabric *net, int32_t l);

/* Returns a figure as a whole number. */
static inline int32_t tutti_count(const tutti_topology *t, tutti_figure f)
{
    return (int32_t)t->figure[f];
}

/* Returns one link of a duplex cable: cable c between nodes a and b is link 2c from a to b and link 2c + 1 back. */
tutti_link tutti_cable_link(int32_t link, int32_t a, int32_t b, double bytes_per_s, double latency_s);

/* Writes to rank_of[seat] the rank that sits on each seat; -1 for an empty seat. */
void tutti_place_invert(const tutti_topology *t, int32_t nranks, int32_t nseats, int32_t *rank_of);
tutti_status tutti_place_check(const tutti_topology *t, tutti_failure *err);

/* Reads a number at text[*at] and moves *at behind it (topology_text.c). The number may have up to `most` digits, and
 * `most` is at most 9. Returns false if there is no digit. */
bool tutti_digits_read(const char *text, size_t n, size_t *at, size_t most, int32_t *out);
/* tutti_mesh_parse reads the n bytes of a text such as "0-1.0-3x2" into t->mesh: pairs of GPUs that NVLinks join, each
 * pair once, with their number of NVLinks. The next function prints the mesh (topology_cards.c). */
bool tutti_mesh_parse(tutti_topology *t, const char *text, size_t n);
void tutti_mesh_print(const tutti_topology *t, tutti_strbuf *out);

/* Chooses one of n equal paths by a hash of the seed, source, destination, channel and level. */
int32_t tutti_ecmp_pick(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel, int level, int32_t n);

/* Reads the first line of the file /sys/PATH, without its newline and cut at 63 bytes. Returns false if there is
 * none. */
bool tutti_sysfs_line(char out[64], const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Named machines (topology_machine.c). Fills in kind and figures of the machine whose name is the n bytes of text.
 * TUTTI_ERR_USAGE: there is no such machine. */
tutti_status tutti_topology_take_machine(const char *text, size_t n, tutti_topology *t, tutti_failure *err);
/* Sets the figures of a kind to their presets. */
void tutti_topology_take_presets(const tutti_topology_row *row, tutti_topology *t);
/* tutti_topology_machine_source writes the source of a machine's figure, in brackets. The next function writes the
 * machine's nodes and their prices, a line each. Both write nothing if the topology is no machine. */
void tutti_topology_machine_source(const tutti_topology *t, tutti_figure f, tutti_strbuf *out);
void tutti_topology_machine_nodes(const tutti_topology *t, tutti_strbuf *out);

/* Return the meaning and the unit of a figure (topology_figures.c). */
const char *tutti_figure_meaning(tutti_figure f);
const char *tutti_figure_example(tutti_figure f);
/* Parses the value of figure f: "10Gb" is 1.25e9 bytes per second, and so on. Returns false if the text does not have
 * the dimension of f. Lists of seats are not figures. */
bool tutti_figure_parse(tutti_figure f, const char *text, size_t nbytes, double *out);
/* returns true if the text is a rate of Ethernet, such as "25GbE" */
bool tutti_figure_is_ethernet(const char *text, size_t nbytes);
/* Prints the shortest text that parses to the same figure, within 1e-12: "10Gb", "5us". Sets need up to 48 bytes. */
void tutti_figure_print(tutti_figure f, double value, char out[64]);

#endif

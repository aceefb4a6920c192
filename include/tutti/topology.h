/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h: the machine that a schedule runs on, as a value: links, what they carry, and where each figure is from.
 *
 * One row a kind (src/topology/topology_table.c). All kinds answer the same question, route(src, dst, channel) -> links;
 * what simulates schedules knows links and nothing else.
 *   host  ranks of one machine that map each other's memory. Moving bytes is work of a core: link core(r mod cores) carries
 *         every byte that rank r reads and writes, link memory those of all ranks when they do not fit in the caches.
 *         More ranks than cores share cores in time.
 *   star  one rank a host, all on one switch that never blocks: link up(r) and down(r), full duplex.
 *
 * Text form, one line: KIND[,key=value]..., for example "star,bw=10Gb,lat=5us". Rates: b = bits/s, B = bytes/s with k, M, G, T;
 * times: s, ms, us, ns; sizes: B, KiB, MiB, GiB. What is not given is detected, fitted by `tutti coll tune`, or assumed;
 * tutti_topology_describe says which. Threads: shared (a plain value). */
#ifndef TUTTI_TOPOLOGY_H
#define TUTTI_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti/failure.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { TUTTI_TOPOLOGY_HOST, TUTTI_TOPOLOGY_STAR, TUTTI_NTOPOLOGY_KINDS } tutti_topology_kind;

/* Where a figure is from. */
typedef enum {
    TUTTI_FROM_ASSUMED,  /* nobody measured it: a round figure */
    TUTTI_FROM_DETECTED, /* the operating system says so */
    TUTTI_FROM_FITTED,   /* measured by tutti coll tune */
    TUTTI_FROM_GIVEN,    /* written by the user */
} tutti_provenance;
const char *tutti_provenance_name(tutti_provenance p); /* "assumed", "detected", "fitted", "given" */

/* The figures. A kind has those that its row lists; the others are 0. */
typedef enum {
    TUTTI_FIGURE_BANDWIDTH, /* bw      star: of a link, each way. host: of the memory, all cores together. Bytes/s */
    TUTTI_FIGURE_LATENCY,   /* lat     alpha: from the signal or send to the waiter's next step, s */
    TUTTI_FIGURE_SOFTWARE,  /* soft    star: work of a host for each message that it sends or receives, s */
    TUTTI_FIGURE_COPY,      /* copy    1 / beta: host: bytes read and written by one core while copying, bytes/s */
    TUTTI_FIGURE_ADD,       /* add     1 / gamma: host: the same while reducing; star: bytes added to a sum, bytes/s */
    TUTTI_FIGURE_REMOTE, /* remote  host: bytes read in another rank's memory, with the calling back of their lines, bytes/s */
    TUTTI_FIGURE_SWITCH, /* switch  host: a core goes from one rank to another, s */
    TUTTI_FIGURE_CORES,  /* cores   host: usable by all ranks together */
    TUTTI_FIGURE_CACHE,  /* cache   host: bytes that stay in the caches of all cores together */
    TUTTI_NFIGURES
} tutti_figure;
const char *tutti_figure_name(tutti_figure f); /* "bw", ... */

typedef struct tutti_topology {
    tutti_topology_kind kind;
    double figure[TUTTI_NFIGURES]; /* in the units above */
    tutti_provenance from[TUTTI_NFIGURES];
} tutti_topology;

/* TUTTI_ERR_USAGE names the unknown or wrong part of the text. */
tutti_status tutti_topology_parse(const char *text, tutti_topology *out, tutti_failure *err);
/* Every figure of the kind; parsing it gives the same figures, all "given". */
void tutti_topology_print(const tutti_topology *t, char out[256]);
/* Several lines for people: each figure, its unit, where it is from, what it means. The text is the caller's (free()). */
char *tutti_topology_describe(const tutti_topology *t);
/* This machine: cores and caches detected, the rest from the file that `tutti coll tune` wrote, else assumed. */
tutti_status tutti_topology_of_this_host(tutti_topology *out, tutti_failure *err);
/* Where tune writes and of_this_host reads: $TUTTI_TOPOLOGY, else $XDG_CACHE_HOME/tutti/host.topology, else
 * ~/.cache/tutti/host.topology. The text is the caller's (free()). */
char *tutti_topology_tuned_path(void);

typedef struct {
    double bytes_per_s; /* capacity; INFINITY: never in the way */
    double latency_s;
} tutti_link;

enum { TUTTI_MAX_HOPS = 4 };
/* Links of a machine with nranks ranks are numbered 0 .. nlinks - 1. */
int32_t tutti_topology_nlinks(const tutti_topology *t, int32_t nranks);
tutti_link tutti_topology_link(const tutti_topology *t, int32_t nranks, int32_t link);
void tutti_topology_link_name(const tutti_topology *t, int32_t nranks, int32_t link, char out[32]); /* "up(3)" */
/* Links that a byte from src to dst uses, in order; on a host, src is the rank that moves it. Returns how many. */
int tutti_topology_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel,
                         int32_t links[TUTTI_MAX_HOPS]);

/* What the operating system says about this machine (hwloc, else /sys). 0 = unknown. */
typedef struct {
    int ncores;           /* that this process may use */
    int nsockets;         /* of the machine */
    int64_t core_cache;   /* bytes of cache private to one core (largest level) */
    int64_t shared_cache; /* bytes of last-level caches, all together; beyond core_cache */
} tutti_host_shape;
void tutti_topology_detect(tutti_host_shape *out);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h: the machine that a schedule runs on, as a value: links, what they carry, and where each figure is from.
 *
 * One row a kind (src/topology/topology_table.c); docs/topologies.md describes them and their keys:
 *   host     ranks of one machine that map each other's memory. Moving bytes is work of a core: link core(r mod cores)
 *            carries every byte that rank r reads and writes, link memory those of all ranks when they do not fit in
 *            the caches. More ranks than cores share cores in time.
 *   star     one rank a host, all on one switch that never blocks: link up(r) and down(r), full duplex.
 *   cluster  hosts on one switch, several ranks a host, which share the host's memory and its NICs.
 *   pcie     servers of GPUs under PCIe switches, root complexes and a link between sockets; NICs shared or one a GPU.
 *   dgx1p, dgx1v  that server with NVLinks in a hybrid cube mesh, any subset of the GPUs.
 *   dgx2     GPUs on NVSwitches.   fat-tree, bigraph, torus: networks of hosts with one rank each.
 *   cards    one server of GPUs: a PCIe tree and any mesh of NVLinks.   nvswitch: any number of NVLinks a GPU into
 *            NVSwitches.
 * All but `host` are networks: directed links between nodes. Nodes 0 .. nranks - 1 are the ranks, then come switches.
 * All kinds answer route(src, dst, channel) -> links; what simulates schedules knows links and nothing else.
 *
 * Text form, one line: KIND[,key=value]..., for example "star,bw=10Gb,lat=5us" or "dgx1v,gpus=0.1.4.5". Rates: b =
 * bits/s, B = bytes/s with k, M, G, T; times: s, ms, us, ns; sizes: B, KiB, MiB, GiB; counts; words; sets joined by
 * dots. What is not given is detected, fitted by `tutti coll tune`, or the preset of its kind; tutti_topology_describe
 * says which and where that is from. A figure without effect (the seed of a routing that draws nothing) is neither
 * printed nor accepted. Threads: shared (a plain value). */
#ifndef TUTTI_TOPOLOGY_H
#define TUTTI_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti/failure.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    TUTTI_TOPOLOGY_HOST,
    TUTTI_TOPOLOGY_STAR,
    TUTTI_TOPOLOGY_CLUSTER,
    TUTTI_TOPOLOGY_PCIE,
    TUTTI_TOPOLOGY_DGX1P,
    TUTTI_TOPOLOGY_DGX1V,
    TUTTI_TOPOLOGY_DGX2,
    TUTTI_TOPOLOGY_FAT_TREE,
    TUTTI_TOPOLOGY_BIGRAPH,
    TUTTI_TOPOLOGY_TORUS,
    TUTTI_TOPOLOGY_CARDS,
    TUTTI_TOPOLOGY_NVSWITCH
} tutti_topology_kind; /* kinds that programs need not know by name have the numbers behind these */
int tutti_topology_nkinds(void);
const char *tutti_topology_kind_name(tutti_topology_kind kind);  /* "host", "fat-tree" */
const char *tutti_topology_kind_about(tutti_topology_kind kind); /* one line for people */

/* The keys that a kind has, with spaces between, longer than 400 bytes never. */
void tutti_topology_kind_keys(tutti_topology_kind kind, char out[400]);

/* Where a figure is from. */
typedef enum {
    TUTTI_FROM_ASSUMED,  /* nobody measured it: a round figure */
    TUTTI_FROM_DETECTED, /* the operating system says so */
    TUTTI_FROM_FITTED,   /* measured by tutti coll tune */
    TUTTI_FROM_GIVEN,    /* written by the user */
    TUTTI_FROM_READ,     /* preset: stands in a source or document that we read */
    TUTTI_FROM_MEASURED, /* preset: somebody measured and published it */
    TUTTI_FROM_RECALLED, /* preset: known, but the source was not read again */
} tutti_provenance;
const char *tutti_provenance_name(tutti_provenance p); /* "assumed", "detected", "fitted", "given", "read", ... */

/* The figures. A kind has those that its row lists; the others are 0. Choices are indices into their words, sets bit
 * sets. */
typedef enum {
    TUTTI_FIGURE_BANDWIDTH, /* bw      network: of an endpoint's link, each way. host: of the memory, all cores
                             *         together. Bytes/s */
    TUTTI_FIGURE_LATENCY,   /* lat     alpha: from the signal or send to the waiter's next step, s */
    TUTTI_FIGURE_SOFTWARE,  /* soft    network: work of a rank for each message that it sends or receives, s */
    TUTTI_FIGURE_COPY,      /* copy    1 / beta: host: bytes read and written by one core while copying, bytes/s */
    TUTTI_FIGURE_ADD,     /* add     1 / gamma: host: the same while reducing; network: bytes added to a sum, bytes/s */
    TUTTI_FIGURE_REMOTE,  /* remote  host: bytes read in another rank's memory, with the calling back of their lines,
                          * bytes/s */
    TUTTI_FIGURE_SWITCH,  /* switch  host: a core goes from one rank to another, s */
    TUTTI_FIGURE_CORES,   /* cores   host: usable by all ranks together */
    TUTTI_FIGURE_CACHE,   /* cache   host: bytes that stay in the caches of all cores together */
    TUTTI_FIGURE_HOSTS,   /* hosts   how many; fat-tree, bigraph: on one switch */
    TUTTI_FIGURE_RANKS,   /* ranks   on one host of a cluster */
    TUTTI_FIGURE_NICS,    /* nics    of a host or server */
    TUTTI_FIGURE_NIC,     /* nic     rate of a NIC, each way, bytes/s */
    TUTTI_FIGURE_BUS,     /* bus     cluster: memory of a host, all its ranks together, bytes/s */
    TUTTI_FIGURE_NEAR,    /* near    latency inside a host or server, s */
    TUTTI_FIGURE_SOCKETS, /* sockets of a server */
    TUTTI_FIGURE_SWITCHES, /* switches  pcie: PCIe switches a socket; bigraph: of both layers together */
    TUTTI_FIGURE_SLOTS,    /* slots   GPUs a PCIe switch */
    TUTTI_FIGURE_GPUS,     /* gpus    which of the machine's GPUs, a set; rank r is the r-th of them */
    TUTTI_FIGURE_NVLINK,   /* nvlink  rate of one NVLink, each way, bytes/s */
    TUTTI_FIGURE_LINKS,    /* links   NVLinks of a GPU into NVSwitches */
    TUTTI_FIGURE_MESH,     /* mesh    cards: pairs of GPUs that NVLinks join; which are in `mesh` below */
    TUTTI_FIGURE_PCIE,     /* pcie    rate of a PCIe link, each way, bytes/s */
    TUTTI_FIGURE_QPI,      /* qpi     rate between two sockets, each way, bytes/s */
    TUTTI_FIGURE_WIRES,    /* wires   both | nvlink | pcie | split: what GPUs of a DGX-1 talk over */
    TUTTI_FIGURE_INSIDE,   /* inside  pcie | nic: how GPUs of one server under different switches talk */
    TUTTI_FIGURE_PODS,     /* pods    fat-tree: 1 = two levels */
    TUTTI_FIGURE_LEAVES,   /* leaves  fat-tree: leaf switches a pod */
    TUTTI_FIGURE_SPINES,   /* spines  fat-tree: switches above the leaves of a pod */
    TUTTI_FIGURE_TOPS,     /* tops    fat-tree of several pods: switches above each spine */
    TUTTI_FIGURE_UP,       /* up      rate of a link between two switches, each way, bytes/s */
    TUTTI_FIGURE_HOP,      /* hop     latency of a link between two switches, s */
    TUTTI_FIGURE_ROUTING,  /* routing dmodk | ecmp */
    TUTTI_FIGURE_PATHS,    /* paths   ecmp: hashed parts that a message is cut into */
    TUTTI_FIGURE_SEED,     /* seed    ecmp: of the hash */
    TUTTI_FIGURE_X,        /* x, y, z torus: nodes along each side */
    TUTTI_FIGURE_Y,
    TUTTI_FIGURE_Z,
    TUTTI_FIGURE_INCAST, /* incast  share of a port's rate that each further sender costs who send to one host at a
                          * time: Ethernet loses packets there. 0 but where a rate was said in GbE: then it is
                          * assumed */
    TUTTI_FIGURE_BURST,  /* burst   network: what a shaped link lets through at once after idling, bytes; 0 = a wire */
    TUTTI_FIGURE_PLACE,  /* place   block | round-robin | parity | seats joined by dots: who sits where */
    TUTTI_NFIGURES
} tutti_figure;
const char *tutti_figure_name(tutti_figure f); /* "bw", ... */

typedef enum { TUTTI_PLACE_BLOCK, TUTTI_PLACE_ROUND_ROBIN, TUTTI_PLACE_PARITY, TUTTI_PLACE_LIST } tutti_seating;
typedef enum { TUTTI_ROUTING_DMODK, TUTTI_ROUTING_ECMP } tutti_routing;
typedef enum {
    TUTTI_WIRES_BOTH,
    TUTTI_WIRES_NVLINK,
    TUTTI_WIRES_PCIE,
    TUTTI_WIRES_SPLIT /* even channels over NVLink, odd ones over PCIe */
} tutti_wires;
typedef enum { TUTTI_INSIDE_PCIE, TUTTI_INSIDE_NIC } tutti_inside;

enum { TUTTI_MAX_SEATS_LISTED = 1024, TUTTI_MAX_SERVER_GPUS = 16, TUTTI_MAX_NVLINK_PAIRS = 120 };

/* A pair of GPUs, a < b, joined by `count` NVLinks. */
typedef struct {
    uint8_t a, b, count;
} tutti_nvlink;

typedef struct tutti_topology {
    tutti_topology_kind kind;
    double figure[TUTTI_NFIGURES]; /* in the units above */
    tutti_provenance from[TUTTI_NFIGURES];
    int32_t nlisted; /* place = list: rank r sits on seat listed[r]; else 0 */
    uint16_t listed[TUTTI_MAX_SEATS_LISTED];
    int32_t nmesh; /* pairs of `mesh`, by a, then by b; 0 where the kind has none */
    tutti_nvlink mesh[TUTTI_MAX_NVLINK_PAIRS];
    const char
        *machine; /* the name that its figures came by, without the '@'; NULL: none. Lives as long as the program */
} tutti_topology;

/* What the operating system says about this machine (hwloc, else /sys). 0 = unknown. Cost: milliseconds; who
 * wants several things of it looks once and passes it on. */
typedef struct {
    int ncores;           /* that the host allows its processes */
    int own_cores;        /* that this process may use of them: its affinity mask */
    int nsockets;         /* of the machine */
    int64_t core_cache;   /* bytes of cache private to one core (largest level) */
    int64_t shared_cache; /* bytes of last-level caches, all together; beyond core_cache */
} tutti_host_shape;
void tutti_topology_detect(tutti_host_shape *out);

/* TUTTI_ERR_USAGE names the unknown or wrong part of the text. */
tutti_status tutti_topology_parse(const char *text, tutti_topology *out, tutti_failure *err);
/* The same where the machine has been looked at already; NULL: it is looked at if the kind wants to know. */
tutti_status tutti_topology_parse_on(const char *text, const tutti_host_shape *machine, tutti_topology *out,
                                     tutti_failure *err);
/* Every figure that has an effect; parsing it gives the same figures, all "given". The text is the caller's
 * (free()). */
char *tutti_topology_print(const tutti_topology *t);
/* Several lines for people: each figure, its unit, where it is from, what it means. The text is the caller's
 * (free()). */
char *tutti_topology_describe(const tutti_topology *t);
/* This machine: cores and caches detected, the rest from the file that `tutti coll tune` wrote, else assumed. Its cores
 * are those that the host allows its processes (online, in the cpuset, as far as the control group's quota goes),
 * whatever this one is bound to. */
tutti_status tutti_topology_of_this_host(tutti_topology *out, tutti_failure *err);
enum { TUTTI_TOPOLOGY_NOTES = 600 };
/* The same for ncores of them, such as those that the ranks of a group have together; 0: all. notes (may be NULL): what
 * a person should know, a sentence a line: that this process may use fewer, that fitted figures are of another number
 * and are not used; "" = nothing. */
tutti_status tutti_topology_of_cores(int ncores, tutti_topology *out, char notes[TUTTI_TOPOLOGY_NOTES],
                                     tutti_failure *err);
/* The same where the machine has been looked at already. */
tutti_status tutti_topology_of_machine(const tutti_host_shape *machine, int ncores, tutti_topology *out,
                                       char notes[TUTTI_TOPOLOGY_NOTES], tutti_failure *err);
/* Where tune writes and of_this_host reads: $TUTTI_TOPOLOGY, else $XDG_CACHE_HOME/tutti/host.topology, else
 * ~/.cache/tutti/host.topology. The text is the caller's (free()). */
char *tutti_topology_tuned_path(void);

/* Machines with names: "@v100-25gbe" instead of a KIND, figures of one's own may follow. Names, NULL past the end; what
 * one is in words, the caller's (free()). */
const char *tutti_topology_machine_at(int i);
char *tutti_topology_machine_about(const char *name);
/* Costs of a named machine as its file has them, in any currency. false: the file has none, or the topology is no named
 * machine. */
typedef struct {
    double node;  /* of a node that ranks sit on */
    double once;  /* all else together: other roles, the network */
    double hours; /* of work that this buys */
} tutti_machine_prices;
bool tutti_topology_machine_prices(const tutti_topology *t, tutti_machine_prices *out);
/* A named machine gets as many hosts as nranks fill, unless somebody has given their number or listed
 * seats; others stay as they are. */
void tutti_topology_grow(tutti_topology *t, int32_t nranks);

/* Has it room for nranks? TUTTI_ERR_USAGE says for how many. What follows wants that it has. */
tutti_status tutti_topology_fits(const tutti_topology *t, int32_t nranks, tutti_failure *err);
/* Seats that ranks may take (a host, GPU or node each); star and host: as many as there are ranks. */
int32_t tutti_topology_nseats(const tutti_topology *t, int32_t nranks);
bool tutti_topology_has_place(const tutti_topology *t, tutti_seating place); /* has its kind this placement? */
int32_t tutti_topology_seat_of(const tutti_topology *t, int32_t rank);
/* Puts rank r on seat[r], all different, nranks <= TUTTI_MAX_SEATS_LISTED. */
void tutti_topology_place(tutti_topology *t, int32_t nranks, const int32_t *seat);

typedef struct {
    int32_t src, dst;   /* nodes; -1 on a host, whose links are cores and memory */
    double bytes_per_s; /* capacity */
    double latency_s;
} tutti_link;

enum { TUTTI_MAX_HOPS = 64 };
/* Links of a machine with nranks ranks are numbered 0 .. nlinks - 1. */
int32_t tutti_topology_nlinks(const tutti_topology *t, int32_t nranks);
tutti_link tutti_topology_link(const tutti_topology *t, int32_t nranks, int32_t link);
void tutti_topology_link_name(const tutti_topology *t, int32_t nranks, int32_t link, char out[32]); /* "up(3)" */
/* Links that a byte from src to dst uses, in order; on a host, src is the rank that moves it. Returns how many; 0 from
 * a rank to itself on a network. */
int tutti_topology_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel,
                         int32_t links[TUTTI_MAX_HOPS]);
/* Which of the n links of a route is the port of the host that it ends at; -1: it stays inside a host, or the kind has
 * no such ports. */
int tutti_topology_port(const tutti_topology *t, int nlinks);
/* Parts that a message is cut into: part i of channel c travels as channel c * npaths + i. 1 without hashed paths. */
int32_t tutti_topology_npaths(const tutti_topology *t);

/* All links of a network, for those who look for cuts, flows and trees. Nodes 0 .. nranks - 1 are the ranks; switches
 * and seats without a rank follow and only pass bytes on. links[i] is link i of the topology. */
typedef struct {
    int32_t nranks, nnodes, nlinks;
    tutti_link *links;
} tutti_fabric;
/* False on a host, or if nranks do not fit. Release what was filled. Cost: O(nodes + links). */
bool tutti_topology_graph(const tutti_topology *t, int32_t nranks, tutti_fabric *out);
void tutti_fabric_release(tutti_fabric *network);
void tutti_topology_node_name(const tutti_topology *t, int32_t nranks, int32_t node,
                              char out[40]); /* "leaf2", "gpu5" */
/* Which group of seats behind one switch, host or server a rank is in; 0 where there are no groups. */
int32_t tutti_topology_group_of(const tutti_topology *t, int32_t rank);

/* host_of[r]: the lowest rank of those whose memory rank r can map: all of a `host`, of one host of a `cluster`; else
 * r. */
void tutti_topology_hosts(const tutti_topology *t, int32_t nranks, int32_t *host_of);
/* machine_of[r]: the lowest rank of those that run on the machine of rank r, as `tutti train` would find it there: of a
 * host or cluster as above, and all ranks of a server of GPUs; else r. The ranks fit. */
void tutti_topology_machines(const tutti_topology *t, int32_t nranks, int32_t *machine_of);

typedef struct {
    char name[16];
    double bytes_per_s; /* 0 = it does not say */
    int socket;         /* NUMA node; -1 = unknown */
    bool up;
} tutti_host_nic;
/* Interfaces behind which a device stands, sorted by name; how many. */
int tutti_topology_detect_nics(tutti_host_nic *out, int room);

/* NVIDIA's cards of this machine, as the driver's library NVML sees them. */
typedef struct {
    char name[96];
    char bus[16];   /* its PCI address: "0000:3b:00" */
    int capability; /* 90 = sm_90; 0 = unknown */
    int generation; /* of PCIe, the most that card and slot can do; 0 = unknown */
    int width;      /* lanes of PCIe, likewise */
    int nvlink;   /* version of its NVLinks as NVML numbers it: 1 2 3 4 5 6 7 = 1.0 2.0 2.2 3.0 3.1 4.0 5.0; 0 = none or
                 * unknown */
    int switched; /* NVLinks into NVSwitches */
    int elsewhere; /* NVLinks that lead to none of these cards and to no NVSwitch */
} tutti_host_card;
enum { TUTTI_ANCESTOR_UNKNOWN = 255 };
typedef struct {
    bool has_driver; /* NVML is installed */
    int n;
    tutti_host_card card[TUTTI_MAX_SERVER_GPUS];                   /* as NVML numbers them: by PCI address */
    uint8_t nvlinks[TUTTI_MAX_SERVER_GPUS][TUTTI_MAX_SERVER_GPUS]; /* between two of them, symmetric */
    /* The farthest thing that a way over PCIe between two of them goes through, symmetric: 0 one board, 10 one PCIe
     * switch, 20 several, 30 a host bridge, 40 several bridges of one NUMA node, 50 several nodes, or
     * TUTTI_ANCESTOR_UNKNOWN. */
    uint8_t ancestor[TUTTI_MAX_SERVER_GPUS][TUTTI_MAX_SERVER_GPUS];
} tutti_host_cards;
/* Asks libnvidia-ml.so.1, or the file that TUTTI_NVML_LIBRARY names. Where that is not installed all is 0 and TUTTI_OK
 * comes. TUTTI_ERR_FAILED: it is there and fails or contradicts itself; words say where. Cost: tens of milliseconds. */
tutti_status tutti_topology_detect_cards(tutti_host_cards *out, tutti_failure *err);
/* These cards as a topology, rank r on card r: `nvswitch` where NVLinks lead into NVSwitches, else `cards`. notes (may
 * be NULL): what a person should know, a sentence a line; "" = nothing. TUTTI_ERR_FAILED: there is no card, or the kind
 * cannot express them. */
tutti_status tutti_topology_of_cards(const tutti_host_cards *cards, tutti_topology *out,
                                     char notes[TUTTI_TOPOLOGY_NOTES], tutti_failure *err);

/* Drawings of a network: for Graphviz, and as SVG. The text is the caller's (free()); NULL on a host. */
char *tutti_topology_dot(const tutti_topology *t, int32_t nranks);
char *tutti_topology_svg(const tutti_topology *t, int32_t nranks);

#ifdef __cplusplus
}
#endif
#endif

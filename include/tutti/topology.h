/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h: the topology, a machine as a value: links, what they carry, and where each figure is from.
 *
 * Each kind is one row of src/topology/topology_table.c; docs/topologies.md describes the kinds for users:
 *   host     ranks of one machine that map each other's memory. Moving bytes is work of a core: link core(r mod cores)
 *            carries every byte that rank r reads and writes. Link `memory` carries the bytes of all ranks if their
 *            data does not fit in the caches. If there are more ranks than cores, ranks take turns on a core.
 *   star     one rank on each host, all on one switch that never blocks: link up(r) and down(r), full duplex.
 *   cluster  hosts on one switch, several ranks on each host, which share the host's memory and its NICs.
 *   pcie     servers of GPUs under PCIe switches, root complexes and a link between sockets; NICs shared or one for
 *            each GPU.
 *   dgx1p, dgx1v  a DGX-1 with NVLinks in a hybrid cube mesh, any subset of the GPUs.
 *   dgx2     GPUs on NVSwitches.   fat-tree, bigraph, torus: networks of hosts with one rank each.
 *   cards    one server of GPUs: a PCIe tree and any mesh of NVLinks.   nvswitch: any number of NVLinks from each GPU
 *            into NVSwitches.
 * All but `host` are networks: directed links between nodes. Nodes 0 .. nranks - 1 are the ranks, then come switches.
 * All kinds answer route(src, dst, channel) -> links; simulators of schedules know links and nothing else.
 *
 * Text form, one line: KIND[,key=value]..., for example "star,bw=10Gb,lat=5us" or "dgx1v,gpus=0.1.4.5". Rates: b =
 * bits/s, B = bytes/s with k, M, G, T; times: s, ms, us, ns; sizes: B, KiB, MiB, GiB; counts; words; sets joined by
 * dots. A figure that is not given is detected, fitted by `tutti coll tune`, or the preset of its kind;
 * tutti_topology_describe names its source. A figure without effect (the seed of a routing that draws nothing) is
 * neither printed nor accepted. Threads: any (a plain value). */
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
} tutti_topology_kind; /* other kinds have larger numbers without a name here */
int tutti_topology_nkinds(void);
const char *tutti_topology_kind_name(tutti_topology_kind kind);  /* returns a name such as "host" or "fat-tree" */
const char *tutti_topology_kind_about(tutti_topology_kind kind); /* describes the kind in one line for people */

/* Writes the keys of a kind, with spaces between; they always fit in 400 bytes. */
void tutti_topology_kind_keys(tutti_topology_kind kind, char out[400]);

/* The source of a figure. */
typedef enum {
    TUTTI_FROM_ASSUMED,  /* a round number that nobody measured or read */
    TUTTI_FROM_DETECTED, /* the operating system reported the figure */
    TUTTI_FROM_FITTED,   /* `tutti coll tune` measured the figure */
    TUTTI_FROM_GIVEN,    /* the user wrote the figure */
    TUTTI_FROM_READ,     /* preset: a source or document that we read gives the figure */
    TUTTI_FROM_MEASURED, /* preset: somebody measured the figure and published it */
    TUTTI_FROM_RECALLED, /* preset: the figure is remembered from a source that was not read again */
} tutti_provenance;
const char *tutti_provenance_name(tutti_provenance p); /* returns "assumed", "detected", "fitted", ... */

/* The figures. A kind has the figures that its row lists; its other figures are 0. The value of a choice is an index
 * into its words, the value of a set is a bit set. */
typedef enum {
    TUTTI_FIGURE_BANDWIDTH, /* bw      network: rate of an endpoint's link, each way. host: rate of the memory for all
                             *         cores together. Bytes/s */
    TUTTI_FIGURE_LATENCY,   /* lat     alpha: time from the signal or send to the next step of the rank that waits, s */
    TUTTI_FIGURE_SOFTWARE,  /* soft    network: time that a rank works for each message that it sends or receives, s */
    TUTTI_FIGURE_COPY,      /* copy    1 / beta. host: bytes that one core reads and writes while copying, bytes/s */
    TUTTI_FIGURE_ADD,       /* add     1 / gamma. host: bytes that one core reads and writes while reducing; network:
                             *         bytes added to a sum, bytes/s */
    TUTTI_FIGURE_REMOTE,   /* remote  host: bytes read in another rank's memory, with the time to fetch their lines from
                            * its cache, bytes/s */
    TUTTI_FIGURE_SWITCH,   /* switch  host: time that a core needs to switch from one rank to another, s */
    TUTTI_FIGURE_CORES,    /* cores   host: cores that all ranks may use together */
    TUTTI_FIGURE_CACHE,    /* cache   host: bytes that stay in the caches of all cores together */
    TUTTI_FIGURE_HOSTS,    /* hosts   number of hosts; fat-tree, bigraph: hosts on one switch */
    TUTTI_FIGURE_RANKS,    /* ranks   ranks on one host of a cluster */
    TUTTI_FIGURE_NICS,     /* nics    NICs of a host or server */
    TUTTI_FIGURE_NIC,      /* nic     rate of a NIC, each way, bytes/s */
    TUTTI_FIGURE_BUS,      /* bus     cluster: rate of a host's memory for all its ranks together, bytes/s */
    TUTTI_FIGURE_NEAR,     /* near    latency inside a host or server, s */
    TUTTI_FIGURE_SOCKETS,  /* sockets of a server */
    TUTTI_FIGURE_SWITCHES, /* switches  pcie: PCIe switches of a socket; bigraph: switches of both layers together */
    TUTTI_FIGURE_SLOTS,    /* slots   GPUs on a PCIe switch */
    TUTTI_FIGURE_GPUS,     /* gpus    set of the machine's GPUs that ranks use; rank r is the r-th of them */
    TUTTI_FIGURE_NVLINK,   /* nvlink  rate of one NVLink, each way, bytes/s */
    TUTTI_FIGURE_LINKS,    /* links   NVLinks of a GPU into NVSwitches */
    TUTTI_FIGURE_MESH,     /* mesh    cards: pairs of GPUs that NVLinks join; the field `mesh` of tutti_topology lists
                            *         them */
    TUTTI_FIGURE_PCIE,     /* pcie    rate of a PCIe link, each way, bytes/s */
    TUTTI_FIGURE_QPI,      /* qpi     rate between two sockets, each way, bytes/s */
    TUTTI_FIGURE_WIRES,    /* wires   both | nvlink | pcie | split: links between GPUs of a DGX-1 */
    TUTTI_FIGURE_INSIDE,   /* inside  pcie | nic: links between GPUs of one server under different switches */
    TUTTI_FIGURE_PODS,     /* pods    fat-tree: number of pods; 1 = two levels of switches */
    TUTTI_FIGURE_LEAVES,   /* leaves  fat-tree: leaf switches of each pod */
    TUTTI_FIGURE_SPINES,   /* spines  fat-tree: switches above the leaves of a pod */
    TUTTI_FIGURE_TOPS,     /* tops    fat-tree of several pods: switches above each spine */
    TUTTI_FIGURE_UP,       /* up      rate of a link between two switches, each way, bytes/s */
    TUTTI_FIGURE_HOP,      /* hop     latency of a link between two switches, s */
    TUTTI_FIGURE_ROUTING,  /* routing fat-tree: dmodk (by the destination's number) | ecmp (by a hash) */
    TUTTI_FIGURE_PATHS,    /* paths   ecmp: hashed parts that a message is cut into */
    TUTTI_FIGURE_SEED,     /* seed    ecmp: seed of the hash */
    TUTTI_FIGURE_X,        /* x, y, z torus: nodes along each side */
    TUTTI_FIGURE_Y,
    TUTTI_FIGURE_Z,
    /* incast  share of a port's rate that is lost for each further sender that sends to the same host at a time,
     * because Ethernet then loses packets. 0 unless a rate was given in GbE; then it is assumed */
    TUTTI_FIGURE_INCAST,
    TUTTI_FIGURE_BURST, /* burst   network: bytes that a shaped link lets through at once after idling; 0: a link
                         *         without shaping */
    TUTTI_FIGURE_PLACE, /* place   block | round-robin | parity | seats joined by dots: which rank sits where */
    TUTTI_NFIGURES
} tutti_figure;
const char *tutti_figure_name(tutti_figure f); /* returns a name such as "bw" */

typedef enum { TUTTI_PLACE_BLOCK, TUTTI_PLACE_ROUND_ROBIN, TUTTI_PLACE_PARITY, TUTTI_PLACE_LIST } tutti_seating;
typedef enum { TUTTI_ROUTING_DMODK, TUTTI_ROUTING_ECMP } tutti_routing;
typedef enum {
    TUTTI_WIRES_BOTH,
    TUTTI_WIRES_NVLINK,
    TUTTI_WIRES_PCIE,
    TUTTI_WIRES_SPLIT /* even channels travel over NVLink, odd ones over PCIe */
} tutti_wires;
typedef enum { TUTTI_INSIDE_PCIE, TUTTI_INSIDE_NIC } tutti_inside;

enum { TUTTI_MAX_SEATS_LISTED = 1024, TUTTI_MAX_SERVER_GPUS = 16, TUTTI_MAX_NVLINK_PAIRS = 120 };

/* GPUs a and b, a < b, joined by `count` NVLinks */
typedef struct {
    uint8_t a, b, count;
} tutti_nvlink;

typedef struct tutti_topology {
    tutti_topology_kind kind;
    double figure[TUTTI_NFIGURES]; /* value of each figure, in the units of tutti_figure */
    tutti_provenance from[TUTTI_NFIGURES];
    int32_t nlisted; /* number of entries of `listed`: rank r sits on seat listed[r]; 0 unless place = list */
    uint16_t listed[TUTTI_MAX_SEATS_LISTED];
    int32_t nmesh; /* number of pairs in `mesh`, which are sorted by a, then by b; 0: the kind has no mesh */
    tutti_nvlink mesh[TUTTI_MAX_NVLINK_PAIRS];
    const char
        *machine; /* name of the machine whose figures these are, without the '@'; NULL: none. Lives as long as the
                   * program */
} tutti_topology;

/* This machine as the operating system reports it (hwloc, else /sys). 0 means unknown. A look costs milliseconds; a
 * caller that needs several facts looks once and passes the value on. */
typedef struct {
    int ncores;           /* cores that the host allows its processes */
    int own_cores;        /* number of the host's cores that this process may use: its affinity mask */
    int nsockets;         /* sockets of the machine */
    int64_t core_cache;   /* bytes of cache private to one core (largest level) */
    int64_t shared_cache; /* bytes of last-level caches beyond core_cache, all together */
} tutti_host_shape;
void tutti_topology_detect(tutti_host_shape *out);

/* Parses the text form. TUTTI_ERR_USAGE names the unknown or wrong part of the text. */
tutti_status tutti_topology_parse(const char *text, tutti_topology *out, tutti_failure *err);
/* Parses the text form for a machine that was already detected; NULL: detects it if the kind needs it. */
tutti_status tutti_topology_parse_on(const char *text, const tutti_host_shape *machine, tutti_topology *out,
                                     tutti_failure *err);
/* Prints every figure that has an effect; parsing the text gives the same figures, all "given". The text is the
 * caller's (free()). */
char *tutti_topology_print(const tutti_topology *t);
/* Describes each figure in a line for people: its unit, its source, its meaning. The text is the caller's (free()). */
char *tutti_topology_describe(const tutti_topology *t);
/* Makes the topology of this machine: cores and caches are detected, the rest is from the file that `tutti coll tune`
 * wrote, else assumed. Cores are those that the host allows its processes (online, in the cpuset, within the control
 * group's quota), whatever this process is bound to. */
tutti_status tutti_topology_of_this_host(tutti_topology *out, tutti_failure *err);
enum { TUTTI_TOPOLOGY_NOTES = 600 };
/* Makes the topology of ncores of this machine's cores, such as those that the ranks of a group have together; 0: all.
 * notes (may be NULL) gets what a person should know, one sentence per line: this process may use fewer cores, or
 * fitted figures are for another number of cores and are not used. "": nothing. */
tutti_status tutti_topology_of_cores(int ncores, tutti_topology *out, char notes[TUTTI_TOPOLOGY_NOTES],
                                     tutti_failure *err);
/* Makes the same topology for a machine that was already detected. */
tutti_status tutti_topology_of_machine(const tutti_host_shape *machine, int ncores, tutti_topology *out,
                                       char notes[TUTTI_TOPOLOGY_NOTES], tutti_failure *err);
/* Returns the path that tune writes and of_this_host reads: $TUTTI_TOPOLOGY, else $XDG_CACHE_HOME/tutti/host.topology,
 * else ~/.cache/tutti/host.topology. The text is the caller's (free()). */
char *tutti_topology_tuned_path(void);

/* Machines with names: "@v100-25gbe" may be written instead of a KIND, and figures may follow it.
 * tutti_topology_machine_at returns the i-th name, NULL past the end; tutti_topology_machine_about describes a machine
 * in a text that is the caller's (free()). */
const char *tutti_topology_machine_at(int i);
char *tutti_topology_machine_about(const char *name);
/* Costs of a named machine, from its file, in any currency. tutti_topology_machine_prices returns false if the file has
 * none or the topology is no named machine. */
typedef struct {
    double node;  /* cost of a node that ranks sit on */
    double once;  /* cost of all else: nodes without ranks, the network */
    double hours; /* hours of work that these costs pay for */
} tutti_machine_prices;
bool tutti_topology_machine_prices(const tutti_topology *t, tutti_machine_prices *out);
/* Gives a named machine enough hosts for nranks, unless the caller has given their number or listed seats. Leaves other
 * topologies as they are. */
void tutti_topology_grow(tutti_topology *t, int32_t nranks);

/* Fails with TUTTI_ERR_USAGE, which says how many ranks fit, if the topology has no room for nranks. The functions
 * below need a topology that has room. */
tutti_status tutti_topology_fits(const tutti_topology *t, int32_t nranks, tutti_failure *err);
/* Returns the number of seats (a host, GPU or node each) that ranks may take; star and host: nranks. */
int32_t tutti_topology_nseats(const tutti_topology *t, int32_t nranks);
bool tutti_topology_has_place(const tutti_topology *t, tutti_seating place); /* true if the kind has this placement */
int32_t tutti_topology_seat_of(const tutti_topology *t, int32_t rank);
/* Puts rank r on seat[r]. Seats differ; nranks <= TUTTI_MAX_SEATS_LISTED. */
void tutti_topology_place(tutti_topology *t, int32_t nranks, const int32_t *seat);

typedef struct {
    int32_t src, dst;   /* numbers of the nodes where the link begins and ends; -1 for kind host, whose links are cores
                         * and memory */
    double bytes_per_s; /* capacity of the link */
    double latency_s;
} tutti_link;

enum { TUTTI_MAX_HOPS = 64 };
/* Returns the number of links of a machine with nranks ranks. Links are numbered from 0. */
int32_t tutti_topology_nlinks(const tutti_topology *t, int32_t nranks);
tutti_link tutti_topology_link(const tutti_topology *t, int32_t nranks, int32_t link);
void tutti_topology_link_name(const tutti_topology *t, int32_t nranks, int32_t link, char out[32]); /* writes "up(3)" */
/* Fills `links` with the links that a byte from src to dst uses, in order. On a host, src is the rank that moves the
 * byte. Returns their number: 0 from a rank to itself on a network. */
int tutti_topology_route(const tutti_topology *t, int32_t src, int32_t dst, int32_t channel,
                         int32_t links[TUTTI_MAX_HOPS]);
/* Returns which of the n links of a route is the port of the host where it ends; -1 if the route stays inside a host or
 * the kind has no such ports. */
int tutti_topology_port(const tutti_topology *t, int nlinks);
/* Returns the number of parts that a message is cut into; 1 without hashed paths. Part i of channel c travels as
 * channel c * npaths + i. */
int32_t tutti_topology_npaths(const tutti_topology *t);

/* All links of a network, to find cuts, flows and trees in it. Nodes 0 .. nranks - 1 are the ranks; switches and seats
 * without a rank follow and only pass bytes on. links[i] is link i of the topology. */
typedef struct {
    int32_t nranks, nnodes, nlinks;
    tutti_link *links;
} tutti_fabric;
/* Fills *out; the caller releases it. Returns false for kind host, or if nranks do not fit. Cost: O(nodes + links). */
bool tutti_topology_graph(const tutti_topology *t, int32_t nranks, tutti_fabric *out);
void tutti_fabric_release(tutti_fabric *network);
void tutti_topology_node_name(const tutti_topology *t, int32_t nranks, int32_t node,
                              char out[40]); /* writes a name such as "leaf2" or "gpu5" */
/* Returns the group of the rank: ranks behind one switch, or of one host or server. 0 if there are no groups. */
int32_t tutti_topology_group_of(const tutti_topology *t, int32_t rank);

/* Sets host_of[r] to the lowest rank whose memory rank r can map: all ranks of a `host`, and all ranks of one host of a
 * `cluster`, map each other's memory; in other kinds host_of[r] is r. */
void tutti_topology_hosts(const tutti_topology *t, int32_t nranks, int32_t *host_of);
/* Sets machine_of[r] to the lowest rank on the machine of rank r, as `tutti train` would find it on that machine. For
 * kinds host and cluster this is the rank that tutti_topology_hosts sets. All ranks of a server of GPUs are on one
 * machine. For other kinds machine_of[r] is r. The ranks must fit. */
void tutti_topology_machines(const tutti_topology *t, int32_t nranks, int32_t *machine_of);

typedef struct {
    char name[16];
    double bytes_per_s; /* rate of the interface; 0: unknown */
    int socket;         /* NUMA node; -1 = unknown */
    bool up;
} tutti_host_nic;
/* Finds the interfaces that belong to a device, sorted by name, `room` at most. Returns their number. */
int tutti_topology_detect_nics(tutti_host_nic *out, int room);

/* NVIDIA's cards of this machine, as the driver's library NVML sees them. */
typedef struct {
    char name[96];
    char bus[16];   /* PCI address of the card: "0000:3b:00" */
    int capability; /* compute capability: 90 = sm_90; 0 = unknown */
    int generation; /* PCIe generation, the highest that card and slot can do; 0 = unknown */
    int width;      /* lanes of PCIe, the most that card and slot can do */
    int nvlink;    /* version of the card's NVLinks as NVML numbers it: 1 2 3 4 5 6 7 = 1.0 2.0 2.2 3.0 3.1 4.0 5.0; 0 =
                    * none or unknown */
    int switched;  /* number of the card's NVLinks that lead into NVSwitches */
    int elsewhere; /* number of its NVLinks that lead neither to one of these cards nor to an NVSwitch */
} tutti_host_card;
enum { TUTTI_ANCESTOR_UNKNOWN = 255 };
typedef struct {
    bool has_driver; /* true if NVML is installed */
    int n;
    tutti_host_card card[TUTTI_MAX_SERVER_GPUS];                   /* the cards in NVML's order, by PCI address */
    uint8_t nvlinks[TUTTI_MAX_SERVER_GPUS][TUTTI_MAX_SERVER_GPUS]; /* number of NVLinks between two cards, symmetric */
    /* The farthest point on the way over PCIe between two cards, symmetric: 0 one board, 10 one PCIe switch, 20
     * several, 30 a host bridge, 40 several bridges of one NUMA node, 50 several nodes, or TUTTI_ANCESTOR_UNKNOWN. */
    uint8_t ancestor[TUTTI_MAX_SERVER_GPUS][TUTTI_MAX_SERVER_GPUS];
} tutti_host_cards;
/* Asks libnvidia-ml.so.1, or the file that TUTTI_NVML_LIBRARY names. If it is not installed, the call returns TUTTI_OK
 * and all is 0. TUTTI_ERR_FAILED: the library is installed but fails or contradicts itself; the words say where. Cost:
 * tens of milliseconds. */
tutti_status tutti_topology_detect_cards(tutti_host_cards *out, tutti_failure *err);
/* Makes a topology of these cards, with rank r on card r: `nvswitch` if NVLinks lead into NVSwitches, else `cards`.
 * notes (may be NULL) gets what a person should know, one sentence per line; "": nothing. TUTTI_ERR_FAILED: there is no
 * card, or the kind cannot express them. */
tutti_status tutti_topology_of_cards(const tutti_host_cards *cards, tutti_topology *out,
                                     char notes[TUTTI_TOPOLOGY_NOTES], tutti_failure *err);

/* Draws a network, for Graphviz or as SVG. The text is the caller's (free()); NULL for kind host. */
char *tutti_topology_dot(const tutti_topology *t, int32_t nranks);
char *tutti_topology_svg(const tutti_topology *t, int32_t nranks);

#ifdef __cplusplus
}
#endif
#endif

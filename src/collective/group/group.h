/* SPDX-License-Identifier: Apache-2.0 */
/* group.h: the ranks of one run, once they have found each other (launch/join.h): how they notice a death, and share
 * memory.
 *
 * A group is its members and an epoch, which its config says (launch/join.h). Control messages travel over the group's
 * own TCP connections (never over the data path) and carry the epoch; older ones are refused. Each rank also keeps one
 * local socket to every rank of the same host: it passes descriptors at the start, and its closing is a death at once.
 * Ranks are of one host when boot id, network namespace and TUTTI_HOST_ID agree.
 *   - Every blocking call has a deadline (join.h; 60 s unless set; begun anew each time that a rank in a long phase
 *     says how far it is); its failure (TUTTI_ERR_PEER) names rank, host, what was waited for, and who has not arrived.
 *   - A rank whose socket closes is named by all others within 1 s, whatever they are doing in this module, one whose
 *     host vanishes within 5 s; a wait that has lasted 15 s is told to the caller (tutti_group_on_silence), who may
 *     print it.
 * Control collectives go over rank 0 (a star), and between hosts so does the news of deaths, aborts and long phases.
 *
 * Threads: owner, but for tutti_group_abort, tutti_group_is_over, what asks who is gone, and what never changes: rank,
 * nranks, hosts, descriptions (shared). */
#ifndef TUTTI_GROUP_H
#define TUTTI_GROUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/headway.h"
#include "tutti/failure.h"

typedef struct tutti_group tutti_group;

/* Leaves in good order: peers do not take it for a death. */
void tutti_group_leave(tutti_group *group);
/* Ends the epoch for all ranks with these words: whoever waits returns TUTTI_ERR_PEER with them. */
void tutti_group_abort(tutti_group *group, const char *words);

int tutti_group_rank(const tutti_group *group);
int tutti_group_nranks(const tutti_group *group);
/* Cores that the ranks of this machine have together: the union of their affinity masks, as far as quotas go, unless
 * the config said otherwise; and how many ranks share them. */
int tutti_group_ncores(const tutti_group *group);
int tutti_group_nmachine(const tutti_group *group);
/* Hosts are numbered from 0 by the lowest rank on each. */
int tutti_group_nhosts(const tutti_group *group);
int tutti_group_host_of(const tutti_group *group, int rank);
/* What carries the bytes: "shm", "tcp (lo 127.0.0.1)", "shm and tcp (eth0 10.77.0.1, 10 Gbit/s)". */
const char *tutti_group_wires(const tutti_group *group);
const int32_t *tutti_group_hosts(const tutti_group *group); /* of all ranks; as long as the group */
/* "rank 3 (host box, pid 4711)". Valid as long as the group. */
const char *tutti_group_describe(const tutti_group *group, int rank);

/* Control plane: small, synchronous, in the same order on every rank. `what` is named in failures ("handshake"). */
tutti_status tutti_group_barrier(tutti_group *group, const char *what, tutti_failure *err);
tutti_status tutti_group_broadcast(tutti_group *group, const char *what, int root, void *bytes, size_t nbytes,
                                   tutti_failure *err);
/* all: nranks * nbytes, own part included. */
tutti_status tutti_group_all_gather(tutti_group *group, const char *what, const void *own, void *all, size_t nbytes,
                                    tutti_failure *err);
/* Same value everywhere or TUTTI_ERR_RENDEZVOUS naming two ranks and both values. */
tutti_status tutti_group_agree(tutti_group *group, const char *what, const char *value, tutti_failure *err);

/* Whether all is well everywhere; else the first rank's status and words that it is not, for all, but for one that has
 * a failure of its own in err. */
tutti_status tutti_group_all_well(tutti_group *group, const char *what, tutti_status own, tutti_failure *err);
/* The second half of that, where all know already that rank `first` has failed: `own` is its failure, which all then
 * have. */
tutti_status tutti_group_tell_failure(tutti_group *group, const char *what, int first, const tutti_failure *own,
                                      tutti_failure *err);

/* Whether all ranks are ready: own status if it is a failure, else that of the first rank that is not, with empty
 * words: it says why. */
tutti_status tutti_group_all_ready(tutti_group *group, const char *what, tutti_status own, tutti_failure *err);

/* A long phase: this rank does something alone that may take longer than the deadline (a test, a checkpoint), while
 * others wait for it. Each report of progress gives who waits a whole deadline again; a phase that reports nothing for
 * so long has failed, as any silent rank has. So a part between two reports is to be far shorter than any deadline:
 * report a sample, a file, a MiB; what cannot report is split.
 *   begin     what: a verb that people read behind "rank 1" ("tests", "writes a checkpoint"); unit: of the counts
 *             ("samples"), "": none
 *   progress  done of total (0: unknown); a look at the clock and three stores, so as often as one likes. Looks for
 *             news of the others as well, every 10 ms. False: the run is over, whose reason tutti_group_failure has;
 *             the phase may end at once.
 * Only the owner, not in a phase of its own already. A group of one rank does nothing. */
void tutti_group_long_phase_begin(tutti_group *group, const char *what, const char *unit);
bool tutti_group_progress(tutti_group *group, int64_t done, int64_t total);
void tutti_group_long_phase_end(tutti_group *group);
/* The same for callees that know no group. As long as the group. */
tutti_headway tutti_group_headway(tutti_group *group);
/* Collective: from now on the group bears the death of any rank but 0, until it is left. Who is gone takes part in
 * nothing any more, and control calls do without it: of an all-gather its part is zeros; a broadcast from it fails.
 * Waits of the caller's own ask who is gone. What else would wait for it, such as an exchange, meets its deadline. */
tutti_status tutti_group_bear(tutti_group *group, tutti_failure *err);
/* Whether the group bears the end of this rank: it may resign instead of ending all with tutti_group_abort. */
bool tutti_group_may_resign(const tutti_group *group);
/* The others hear that this rank is gone, and why. It does nothing more in the group but leave. */
void tutti_group_resign(tutti_group *group, const char *words);
/* Whether this rank has seen that one go, and how many it has seen go. Any thread. */
bool tutti_group_is_gone(const tutti_group *group, int rank);
int tutti_group_ngone(const tutti_group *group);
/* What becomes true when this rank has seen that one go: for a wait that ends then. As long as the group. */
const atomic_bool *tutti_group_gone_flag(const tutti_group *group, int rank);
/* What is known of it: "rank 3 (host box, pid 4711) died: ..."; "" of who is not gone. */
const char *tutti_group_last_words(const tutti_group *group, int rank);
/* As rank 0 answered the last control call, hence the same for all after it: how many are not gone, and how many of
 * them have a lower number than this one. */
int tutti_group_nliving(const tutti_group *group);
int tutti_group_place(const tutti_group *group);

/* Non-blocking look for deaths and aborts; TUTTI_OK or TUTTI_ERR_PEER with the culprit's name. */
tutti_status tutti_group_poll(tutti_group *group, tutti_failure *err);
/* Why the epoch is over, without looking for news; TUTTI_OK: it is not. *culprit (may be NULL): the rank that died, or
 * -1. */
tutti_status tutti_group_failure(const tutti_group *group, int *culprit, tutti_failure *err);
/* Whether it is over, as far as this rank has noticed: any thread's call. */
bool tutti_group_is_over(const tutti_group *group);
/* As tutti_group_abort with a status of the caller's, who is the owner; does nothing if the epoch is over already. */
void tutti_group_fail(tutti_group *group, tutti_status status, const char *words);
/* Of the waits from now on; returns the one before. */
double tutti_group_set_deadline(tutti_group *group, double seconds);
double tutti_group_deadline(const tutti_group *group);
/* look is called by a blocking call each time before it sleeps, at least once a second: it may find out why nobody
 * comes, and fail the group. */
void tutti_group_on_idle(tutti_group *group, void (*look)(void *arg), void *arg);

/* A wait of the caller's own for one rank at a time, counted as blocking calls count theirs: not while the caller
 * itself stood still, and from the start again when a long phase reports while that rank runs. Zero-initialised. Any
 * thread. */
typedef struct {
    int64_t last_ns, used_ns;
    uint64_t moves, pulse; /* as last seen */
    int rank;              /* 1 + who was waited for then */
    bool said;             /* the notice */
} tutti_group_wait;
/* Seconds that count, of waiting for that rank; called at least once a second. */
double tutti_group_waited(const tutti_group *group, tutti_group_wait *wait, int rank);
/* The owner's: `doing` ("waits for its turn, after") is told once after 15 s, or after 2 s if that rank is stopped or
 * somebody is in a long phase. */
void tutti_group_wait_notice(tutti_group *group, tutti_group_wait *wait, const char *doing, int rank);
/* What a failure says of the rank: " [stopped by a signal; ...]", " [tests, 1,200 of 20,000 samples]", "". The owner's;
 * until the next call. */
const char *tutti_group_condition(const tutti_group *group, int rank);

/* notice is called by a blocking call when it has waited for 15 s, sooner when who is waited for has been stopped
 * (SIGSTOP) or stands still in a long phase; the words name who has not arrived. It is also handed reports, of many
 * lines: when a deadline passes, on every rank, and on request. */
void tutti_group_on_silence(tutti_group *group, void (*notice)(void *arg, const char *words), void *arg);

/* From now on this signal to any rank makes every rank hand its report to `notice` and go on: what it waits for, which
 * step, which peer, how many bytes are missing, who has not arrived, who is the slowest, its last 50 operations. The
 * caller has blocked the signal in all threads; it is looked at while waiting and by tutti_exchange_progress, every 10
 * ms. */
tutti_status tutti_group_report_on(tutti_group *group, int signal, tutti_failure *err);

/* Memory of a peer that no region maps, such as the stack and heap of its program. */
typedef enum {
    TUTTI_PEERS_CLOSED, /* out of reach */
    TUTTI_PEERS_COPIED, /* the system reads and writes it for us, page by page (CMA) */
    TUTTI_PEERS_SHARED  /* threads of one process: as our own */
} tutti_peer_memory;
/* Collective: finds out which, for all ranks alike. Before: closed. TUTTI_CMA=off in the environment of any rank closes
 * it. */
tutti_status tutti_group_probe_peers(tutti_group *group, tutti_failure *err);
/* Whether, as this rank sees it, the ranks of its machine have a core each. */
bool tutti_group_has_cores(const tutti_group *group);
/* *why_closed (may be NULL): words. */
tutti_peer_memory tutti_group_peer_memory(const tutti_group *group, const char **why_closed);

/* Regions: memory of every rank, mapped by all ranks of its host. Create is collective (same order on every rank); each
 * rank gives its own size. Allocation is real (no SIGBUS later); failure says need and have. `name` serves failures
 * only. */
typedef struct tutti_region tutti_region;
tutti_status tutti_region_create(tutti_group *group, const char *name, size_t own_bytes, tutti_region **out,
                                 tutti_failure *err);
/* Makes a region like create, but of a device's memory, which ranks of one host open by handles. Addresses are the
 * device's. The region keeps a copy of `source`. TUTTI_ERR_USAGE where ranks are threads or lie on several hosts. */
enum { TUTTI_REGION_HANDLE = 64 };
typedef struct {
    void *device;     /* what the functions are called with */
    const char *name; /* "cuda", for failures */
    tutti_status (*make)(void *device, size_t nbytes, void **at, tutti_failure *err);
    /* Writes a handle by which other processes open the memory that make gave. */
    tutti_status (*show)(void *device, const void *at, char handle[TUTTI_REGION_HANDLE], tutti_failure *err);
    tutti_status (*open)(void *device, const char handle[TUTTI_REGION_HANDLE], size_t nbytes, void **at,
                         tutti_failure *err);
    void (*close)(void *device, void *at);                  /* what open gave */
    void (*release)(void *device, void *at, size_t nbytes); /* what make gave */
} tutti_region_source;
tutti_status tutti_region_create_of(tutti_group *group, const tutti_region_source *source, const char *name,
                                    size_t own_bytes, tutti_region **out, tutti_failure *err);
/* Memory that is there already: nbytes at `at`, a shared mapping of descriptor fd at `offset`, read and write. */
typedef struct {
    int fd;
    int64_t offset;
    void *at;
    size_t nbytes;
} tutti_enrolled;
/* Whether it is what it is said to be; TUTTI_ERR_USAGE with words. Not collective. */
tutti_status tutti_enrolled_check(const tutti_enrolled *memory, tutti_failure *err);
/* As create, of the caller's memory, which it has checked; it stays the caller's, and mapped until destroy. The
 * descriptor may be closed afterwards. */
tutti_status tutti_region_enrol(tutti_group *group, const char *name, const tutti_enrolled *own, tutti_region **out,
                                tutti_failure *err);
/* Page-aligned, zeroed at create. NULL for a rank of another host: its memory is not mapped here. */
void *tutti_region_base(const tutti_region *region, int rank);
size_t tutti_region_bytes(const tutti_region *region, int rank);
/* Before the group is left. Unmaps at once; the memory lives until the last rank has unmapped it. */
void tutti_region_destroy(tutti_region *region);

#endif

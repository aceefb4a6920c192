/* SPDX-License-Identifier: Apache-2.0 */
/* group.h: the ranks of one run after they have found each other (launch/join.h): they notice deaths and share memory.
 *
 * A group is its members and an epoch, which its config gives (launch/join.h). Control messages travel over the group's
 * own TCP connections (never over the data path) and carry the epoch; messages of older epochs are refused. Each rank
 * also keeps one local socket to every rank of the same host: it passes descriptors at the start, and its closing tells
 * of a death at once. Ranks are of one host when boot id, network namespace and TUTTI_HOST_ID agree.
 *   - Every blocking call has a deadline (join.h; 60 s unless set). It begins anew each time that a rank in a long
 *     phase reports progress. Its failure (TUTTI_ERR_PEER) names rank, host, the wait, and the ranks that have not
 *     arrived.
 *   - When the socket of a rank closes, all other ranks name that rank within 1 s, whatever they do in this module.
 *     When a host vanishes, they name its rank within 5 s. After 15 s of waiting the caller gets a notice
 *     (tutti_group_on_silence), which it may print.
 * Control collectives go over rank 0 (a star). Between hosts, news of deaths, aborts and long phases go the same way.
 *
 * Threads: one at a time. Any thread may call tutti_group_abort, tutti_group_is_over and the functions that ask which
 * ranks are gone, and may read what never changes: rank, nranks, hosts, descriptions. */
#ifndef TUTTI_GROUP_H
#define TUTTI_GROUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/headway.h"
#include "tutti/failure.h"

typedef struct tutti_group tutti_group;

/* Leaves in good order: peers do not take this for a death. */
void tutti_group_leave(tutti_group *group);
/* Ends the epoch for all ranks with these words: every waiting call returns TUTTI_ERR_PEER with them. */
void tutti_group_abort(tutti_group *group, const char *words);

int tutti_group_rank(const tutti_group *group);
int tutti_group_nranks(const tutti_group *group);
/* Returns the number of the group's epoch: 1, and one more each time that ranks have joined again in its place. */
uint32_t tutti_group_epoch(const tutti_group *group);
/* Return the cores that the ranks of this machine have together (the union of their affinity masks, within quotas,
 * unless the config gave a number), and how many ranks share them. */
int tutti_group_ncores(const tutti_group *group);
int tutti_group_nmachine(const tutti_group *group);
/* Returns the number of hosts, or the host of a rank. Hosts are numbered from 0 by the lowest rank on each. */
int tutti_group_nhosts(const tutti_group *group);
int tutti_group_host_of(const tutti_group *group, int rank);
/* Returns words for the transport of the bytes: "shm", "tcp (lo 127.0.0.1)", "shm and tcp (eth0 10.77.0.1, 10
 * Gbit/s)". */
const char *tutti_group_wires(const tutti_group *group);
const int32_t *tutti_group_hosts(const tutti_group *group); /* returns the hosts of all ranks; valid as long as the
                                                             * group */
/* Returns words such as "rank 3 (host box, pid 4711)", valid as long as the group. */
const char *tutti_group_describe(const tutti_group *group, int rank);

/* Control plane: small synchronous calls, in the same order on every rank. Failures name `what` ("handshake"). */
tutti_status tutti_group_barrier(tutti_group *group, const char *what, tutti_failure *err);
tutti_status tutti_group_broadcast(tutti_group *group, const char *what, int root, void *bytes, size_t nbytes,
                                   tutti_failure *err);
/* Gathers nbytes of every rank; all: nranks * nbytes, with this rank's own part. */
tutti_status tutti_group_all_gather(tutti_group *group, const char *what, const void *own, void *all, size_t nbytes,
                                    tutti_failure *err);
/* Returns TUTTI_OK if the value is the same on all ranks, else TUTTI_ERR_RENDEZVOUS with two ranks and both values. */
tutti_status tutti_group_agree(tutti_group *group, const char *what, const char *value, tutti_failure *err);

/* Returns TUTTI_OK if `own` is TUTTI_OK on every rank. Otherwise all ranks get status and words of the first rank that
 * has failed; a rank that failed itself keeps its own failure in err. */
tutti_status tutti_group_all_well(tutti_group *group, const char *what, tutti_status own, tutti_failure *err);
/* The second half of tutti_group_all_well, when all ranks know that rank `first` has failed: gives that rank's failure
 * `own` to all ranks. */
tutti_status tutti_group_tell_failure(tutti_group *group, const char *what, int first, const tutti_failure *own,
                                      tutti_failure *err);

/* Returns `own` if it is a failure, else the status of the first rank that is not ready, with empty words, because that
 * rank says why. TUTTI_OK: all ranks are ready. */
tutti_status tutti_group_all_ready(tutti_group *group, const char *what, tutti_status own, tutti_failure *err);

/* A long phase: this rank does something alone that may take longer than the deadline (a test, a checkpoint) while
 * others wait for it. Each report of progress gives the waiting ranks a whole deadline again. A phase that reports
 * nothing for a whole deadline has failed, as any silent rank has. So reports must come far more often than any
 * deadline: after each sample, file or MiB; split work that cannot report.
 *   begin     what: a verb that people read after "rank 1" ("tests", "writes a checkpoint"); unit: of the counts
 *             ("samples"), "": none
 *   progress  done of total (0: unknown). Call it as often as you like: it costs a look at the clock and three stores.
 *             Every 10 ms it also looks for news of the others. False: the run is over, tutti_group_failure has the
 *             reason, and the phase may end at once.
 * Only the owner may call them, and phases do not nest. A group of one rank does nothing. */
void tutti_group_long_phase_begin(tutti_group *group, const char *what, const char *unit);
bool tutti_group_progress(tutti_group *group, int64_t done, int64_t total);
void tutti_group_long_phase_end(tutti_group *group);
/* Returns the functions of a long phase for callees that know no group. Valid as long as the group. */
tutti_headway tutti_group_headway(tutti_group *group);
/* Collective: from now on the group survives the death of any rank but 0, until it is left. A rank that is gone takes
 * part in nothing any more, and control calls do without it: in an all-gather its part is zeros; a broadcast from it
 * fails. A caller that waits by itself must ask which ranks are gone. Every other wait for a gone rank, such as an
 * exchange, ends at its deadline. */
tutti_status tutti_group_bear(tutti_group *group, tutti_failure *err);
/* Returns true if the group survives the end of this rank: it may resign instead of calling tutti_group_abort. */
bool tutti_group_may_resign(const tutti_group *group);
/* Tells the others that this rank is gone, and why. The rank then does nothing in the group but leave it. */
void tutti_group_resign(tutti_group *group, const char *words);
/* Return true if this rank has noticed that `rank` is gone, and the number of ranks that it has noticed to be gone. Any
 * thread. */
bool tutti_group_is_gone(const tutti_group *group, int rank);
int tutti_group_ngone(const tutti_group *group);
/* Returns a flag that becomes true when this rank notices that `rank` is gone; waits can watch it. Valid as long as the
 * group. */
const atomic_bool *tutti_group_gone_flag(const tutti_group *group, int rank);
/* Returns what is known of the rank's end: "rank 3 (host box, pid 4711) died: ..."; "" for a rank that is not gone. */
const char *tutti_group_last_words(const tutti_group *group, int rank);
/* Return the number of ranks that are not gone, and how many of these have a lower number than this rank. Both numbers
 * come with rank 0's answer to the last control call, and so are the same on all ranks after it. */
int tutti_group_nliving(const tutti_group *group);
int tutti_group_place(const tutti_group *group);

/* Looks for deaths and aborts without blocking. Returns TUTTI_OK, or TUTTI_ERR_PEER with the culprit's name. */
tutti_status tutti_group_poll(tutti_group *group, tutti_failure *err);
/* Returns why the epoch is over, without reading new messages; TUTTI_OK: it is not over. *culprit (may be NULL): the
 * rank that died, or -1. */
tutti_status tutti_group_failure(const tutti_group *group, int *culprit, tutti_failure *err);
/* Returns true if the epoch is over, as far as this rank has noticed. Any thread. */
bool tutti_group_is_over(const tutti_group *group);
/* Ends the epoch as tutti_group_abort does, with a status of the caller's. Only the owner calls it. Does nothing if the
 * epoch is over already. */
void tutti_group_fail(tutti_group *group, tutti_status status, const char *words);
/* Sets the deadline of later waits; returns the one before. */
double tutti_group_set_deadline(tutti_group *group, double seconds);
double tutti_group_deadline(const tutti_group *group);
/* Sets a callback that blocking calls call before each sleep, at least once a second. It may find out why no rank
 * answers, and fail the group. */
void tutti_group_on_idle(tutti_group *group, void (*look)(void *arg), void *arg);

/* State of a wait that the caller makes by itself, for one rank at a time. Time counts as in blocking calls. Time in
 * which this process itself was stopped does not count. The count begins anew when a long phase reports progress and
 * the awaited rank runs. Zero-initialise. Any thread. */
typedef struct {
    int64_t last_ns, used_ns;
    uint64_t moves, pulse; /* the awaited rank's counters `moves` and `pulse` (group_impl.h) when this wait last read
                            * them */
    int rank;              /* 1 + the rank whose moves and pulse were read last; 0: none yet */
    bool said;             /* true once the notice of a long wait has been given */
} tutti_group_wait;
/* Returns the seconds of the wait for `rank` that count, by the rule at tutti_group_wait; call it at least once a
 * second. */
double tutti_group_waited(const tutti_group *group, tutti_group_wait *wait, int rank);
/* Gives the notice of a wait with tutti_group_wait, once: after 15 s, or after 2 s if that rank is stopped or some rank
 * is in a long phase. The notice begins with `doing` ("waits for its turn, after"). Owner. */
void tutti_group_wait_notice(tutti_group *group, tutti_group_wait *wait, const char *doing, int rank);
/* Returns what failures say of the rank: " [stopped by a signal; ...]", " [tests, 1,200 of 20,000 samples]", "". Owner;
 * valid until the next call. */
const char *tutti_group_condition(const tutti_group *group, int rank);

/* Sets a callback for notices. A blocking call calls it after 15 s of waiting, or sooner when the awaited rank has been
 * stopped (SIGSTOP) or makes no progress in a long phase; the words name the ranks that have not arrived. It also gets
 * reports of many lines: when a deadline passes, on every rank, and on request. */
void tutti_group_on_silence(tutti_group *group, void (*notice)(void *arg, const char *words), void *arg);

/* From now on, when any rank gets this signal, every rank passes a report to `notice` and continues. A report names the
 * wait, the step, the peer, the bytes missing, the ranks that have not arrived, the slowest rank, and the last 50
 * operations. The caller has blocked the signal in all threads; waits and tutti_exchange_progress look for it every 10
 * ms. */
tutti_status tutti_group_report_on(tutti_group *group, int signal, tutti_failure *err);

/* How this rank reaches memory of a peer that no region maps, such as the stack and heap of its program. */
typedef enum {
    TUTTI_PEERS_CLOSED, /* the memory cannot be reached */
    TUTTI_PEERS_COPIED, /* the system reads and writes the memory page by page (CMA) */
    TUTTI_PEERS_SHARED  /* peers are threads of one process: the memory is like this rank's own */
} tutti_peer_memory;
/* Collective: finds out how peers' memory is reached, alike for all ranks. Before this call: closed. TUTTI_CMA=off in
 * the environment of any rank closes it. */
tutti_status tutti_group_probe_peers(tutti_group *group, tutti_failure *err);
/* Returns true if each rank of this machine has a core of its own, as this rank sees it. */
bool tutti_group_has_cores(const tutti_group *group);
/* Returns what tutti_group_probe_peers found; *why_closed (may be NULL) gets the reason if memory cannot be reached. */
tutti_peer_memory tutti_group_peer_memory(const tutti_group *group, const char **why_closed);

/* Regions: memory of every rank, mapped by all ranks of its host. Create is collective (same order on every rank); each
 * rank gives its own size. The memory is really allocated (no SIGBUS later); a failure says how much is needed and how
 * much there is. Only failures use `name`. */
typedef struct tutti_region tutti_region;
tutti_status tutti_region_create(tutti_group *group, const char *name, size_t own_bytes, tutti_region **out,
                                 tutti_failure *err);
/* Creates a region of a device's memory, which ranks of one host open by handles. Addresses are the device's. The
 * region keeps a copy of `source`. TUTTI_ERR_USAGE if ranks are threads or lie on several hosts. */
enum { TUTTI_REGION_HANDLE = 64 };
typedef struct {
    void *device;     /* the device, which the functions below get as first argument */
    const char *name; /* name of the device for failures, such as "cuda" */
    tutti_status (*make)(void *device, size_t nbytes, void **at, tutti_failure *err);
    /* Writes a handle by which other processes open the memory that `make` gave. */
    tutti_status (*show)(void *device, const void *at, char handle[TUTTI_REGION_HANDLE], tutti_failure *err);
    tutti_status (*open)(void *device, const char handle[TUTTI_REGION_HANDLE], size_t nbytes, void **at,
                         tutti_failure *err);
    void (*close)(void *device, void *at);                  /* `at` is an address that `open` gave */
    void (*release)(void *device, void *at, size_t nbytes); /* `at` is an address that `make` gave */
} tutti_region_source;
tutti_status tutti_region_create_of(tutti_group *group, const tutti_region_source *source, const char *name,
                                    size_t own_bytes, tutti_region **out, tutti_failure *err);
/* Memory of a caller: nbytes at address `at`, a shared mapping of descriptor fd at `offset`, for reading and
 * writing. */
typedef struct {
    int fd;
    int64_t offset;
    void *at;
    size_t nbytes;
} tutti_enrolled;
/* Checks that the memory is a shared mapping as described; TUTTI_ERR_USAGE with words. Not collective. */
tutti_status tutti_enrolled_check(const tutti_enrolled *memory, tutti_failure *err);
/* Creates a region of the caller's memory, which the caller has checked. The memory stays the caller's, and mapped
 * until destroy. The descriptor may be closed afterwards. */
tutti_status tutti_region_enrol(tutti_group *group, const char *name, const tutti_enrolled *own, tutti_region **out,
                                tutti_failure *err);
/* Returns the rank's memory, page-aligned, zeroed at create. NULL for a rank of another host: its memory is not mapped
 * here. */
void *tutti_region_base(const tutti_region *region, int rank);
size_t tutti_region_bytes(const tutti_region *region, int rank);
/* Destroys a region before the group is left. Unmaps at once; the memory lives until the last rank has unmapped it. */
void tutti_region_destroy(tutti_region *region);

#endif

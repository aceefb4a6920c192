/* SPDX-License-Identifier: Apache-2.0 */
/* executor.h: the executor: runs one rank's part of a lowered schedule on region memory.
 *
 * An exchange is a schedule bound to memory: slices become addresses, and channels become counter words, so that
 * starting it again costs next to nothing. Steps cannot fail while they run, because everything checkable was checked
 * at create. A wait stays awake for about 50 us, then sleeps on one descriptor set (doorbells, control sockets), so
 * that a run with more ranks than cores does not come to a standstill. While awake it spins if there are no more ranks
 * than cores, and yields only to a rank that it sees on its core; with more ranks than cores it always yields.
 *
 * An exchange is over all ranks of a group or over some, its members: the schedule's rank i is then the group's rank
 * members[i]. Several exchanges may be in flight, over disjoint members or over some of the same;
 * tutti_exchange_progress drives all of them.
 *
 * Life cycle: create (collective, same order on all ranks) -> { start -> tell ... -> test | wait } ... -> destroy.
 * Between hosts bytes travel over the group's wire, and a thread of the group makes progress while the owner computes.
 * Threads: one at a time for each group. Between hosts, if a thread of the group makes progress, another thread may
 * have an exchange to itself: then start, tell, wait_any and stats_read may be called from any thread, and the owner
 * looks out for deaths. */
#ifndef TUTTI_EXECUTOR_H
#define TUTTI_EXECUTOR_H

#include <stdatomic.h>

#include "../../device/device_row.h"
#include "../group/group.h"
#include "../lower/prepare.h"
#include "tutti/schedule.h"
#include "tutti/types.h"

typedef struct tutti_exchange tutti_exchange;

/* The place of element 0 of a buffer: the same region and offset on every rank (bytes, multiple of the element's
 * alignment). Element i lies i elements further, also on a rank that stores only a window of the index space, so the
 * same place serves reduce-scatter and all-gather. */
typedef struct {
    tutti_region *region;
    size_t offset;
} tutti_place;

typedef struct {
    const char *name; /* name of the exchange in failures and traces: "gradients of bucket 2" */
    int64_t n;        /* elements of the vector */
    /* The group's rank of each of the schedule's ranks, in any order; NULL: all ranks in their order. Copied. */
    const int32_t *members;
    int32_t nmembers;
    tutti_dtype type; /* element type and operation of the reduction; zero means f32 and sum */
    tutti_operation op;
    /* Type (bf16 or f16) of scratch, and of inputs if `taken` names it too (else inputs are f32). Outputs are sums of
     * such values, made in f32 and written as f32 or rounded once. It is for sums in regions by schedules that put only
     * inputs or their sums into scratch; partial sums of other kinds would be rounded again and are refused. Zero: all
     * is of `type`. */
    tutti_dtype sent, taken;
    /* Uneven blocks: the number of elements of each rank's block; their sum is n (all-to-all: nranks^2, block (i, j) at
     * i * nranks + j). Block k of K blocks then begins at fraction k/K of the vector; points between are interpolated
     * and rounded down. The points are monotone, so the proof for every n holds. NULL: floor(first*n/of). Copied. */
    const int64_t *counts;
    const tutti_place *in; /* a place for each input buffer: one for each ordinal that any rank has */
    int nin;
    tutti_place out; /* ignored when the schedule is in place */
    /* For a broadcast in place in which the root uses other memory than the receivers. The root sends from `in` and
     * keeps no copy; the other ranks receive at `out`. Between two ranks this moves data from one rank to the other. */
    bool moves;
    /* in_window, out_window: the place of inputs, or of the output, holds only the window that the rank stores, from
     * the window's first element on; several outputs lie one after the other. Not for schedules in place. */
    bool in_window, out_window;
    /* Inputs and outputs are plain memory of the ranks: no places are needed, and tutti_exchange_aim precedes each
     * start. A schedule in which ranks touch memory of others needs a group that can do so (tutti_group_probe_peers);
     * one-shot and two-shot need nothing. */
    bool plain;
    /* Stores to memory that other ranks read (plain: scratch; regions: every output) bypass the caches, whatever their
     * length. This pays on machines where a line that another core has just written arrives later than a line from
     * memory. */
    bool past_caches;
    /* The device that computes on inputs and outputs on this rank. NULL: the cpu. Exchanges that are made together have
     * the same device. */
    const tutti_device *device;
    int priority; /* among the group's exchanges in flight, the exchange with the lowest number moves first; exchanges
                   * with equal numbers take turns */
} tutti_exchange_binding;

/* Creates an exchange. The schedule must be checked and lowered for the hosts of the members
 * (tutti_schedule_lower_hosts, or any lowering on one host), and must outlive the exchange. Scratch and counters are
 * allocated here. The whole group makes the call, even if only some ranks are members: all compare their arguments, in
 * rounds over rank 0 that cost the same for one exchange and for all of a plan. *out is NULL on a rank that is no
 * member. Failures are alike on all ranks. TUTTI_ERR_USAGE: a bad list of members (a rank twice, or not of the group,
 * or another number of members than the schedule has); TUTTI_ERR_RENDEZVOUS: ranks were asked for different exchanges;
 * the words give both. */
tutti_status tutti_exchange_create(tutti_group *group, const tutti_schedule *schedule,
                                   const tutti_exchange_binding *binding, tutti_exchange **out, tutti_failure *err);
/* Creates several exchanges, such as those of a plan, with as many messages as for one, in one shared region. out: n of
 * them, NULL where this rank is no member and after a failure. */
typedef struct {
    const tutti_schedule *schedule;
    tutti_exchange_binding binding;
} tutti_exchange_request;
tutti_status tutti_exchange_create_all(tutti_group *group, const tutti_exchange_request *requests, int n,
                                       tutti_exchange **out, tutti_failure *err);
void tutti_exchange_destroy(tutti_exchange *x);

/* Begins one invocation; `when`: the TUTTI_WHEN_* conditions that hold already. Does what is possible without waiting,
 * unless an exchange of a lower priority number can do a step; then that exchange does its steps. */
void tutti_exchange_start(tutti_exchange *x, unsigned when);
/* Sets the plain memory that the next invocation uses, over vectors of n <= binding.n elements (binding.n if it has
 * counts); n is the same on every rank. in and out point to element 0; in place: in = out. stream: true if the outputs
 * exceed the caches. */
void tutti_exchange_aim(tutti_exchange *x, const void *in, void *out, int64_t n, bool stream);
/* Sets a number that marks the next invocations, 0 at first. If a rank of this host marks an invocation with another
 * number, the group fails before that invocation touches any memory. If the callback of tutti_group_on_idle has found a
 * reason, the failure names that reason. */
void tutti_exchange_call(tutti_exchange *x, uint64_t call);
/* Sets a callback for the end of an invocation. It runs inside the call that drove the exchange, or in the thread that
 * makes progress. If it returns true, the next invocation begins with the same conditions (the callback may set other
 * memory), and the exchange stays in flight. It may not start or destroy exchanges or fail the group. */
void tutti_exchange_on_done(tutti_exchange *x, bool (*again)(void *arg), void *arg);

/* Makes x follow `first`: the caller no longer reports that x is ready. Instead the library calls `act` once per
 * invocation, when `first` has ended its invocation of the same number and all other conditions of x hold; then x is
 * ready. `act` runs inside the call that drives x, or (`beside` is true) in the thread that makes progress. It may call
 * no function of the group. Callers that want to use the wire wait until `act` has returned. */
void tutti_exchange_follow(tutti_exchange *x, tutti_exchange *first, void (*act)(void *arg, bool beside), void *arg);

/* Starts x if may(arg) returns true. Callbacks of tutti_exchange_on_done cannot run in between, so both may look at the
 * same queue. */
void tutti_exchange_start_if(tutti_exchange *x, unsigned when, bool (*may)(void *arg), void *arg);

/* Tells the exchange that the conditions `when` (TUTTI_WHEN_*) hold now. Does what is possible without waiting. */
void tutti_exchange_tell(tutti_exchange *x, unsigned when);
/* Sets *done and never blocks. */
tutti_status tutti_exchange_test(tutti_exchange *x, bool *done, tutti_failure *err);
/* Waits until done, the deadline, or a death. The failure names rank, host, exchange, schedule step, peer, bytes
 * missing, and the ranks that have not arrived. Drives the group's other exchanges meanwhile. */
tutti_status tutti_exchange_wait(tutti_exchange *x, tutti_failure *err);
/* Waits as tutti_exchange_wait does, but until *done is set. The callback `again` of this exchange sets it, or
 * tutti_group_gone_flag when a rank that the exchange needs is gone. In the second case the exchange may not be started
 * again. */
tutti_status tutti_exchange_wait_for(tutti_exchange *x, const atomic_bool *done, tutti_failure *err);
/* Drives all exchanges in flight once and never blocks. */
void tutti_exchange_progress(tutti_group *group);
/* Sleeps until one of n exchanges of one group has ended, and returns the index of the first such; -1: `seconds` have
 * passed, the group's epoch is over, or *ends (may be NULL) was set, which is noticed within a tenth of a second.
 * Drives nothing: the thread that makes progress does, or the owner. Any thread may call it, in a group between hosts.
 * No two threads may wait for the same exchange. */
int tutti_exchange_wait_any(tutti_exchange *const x[], int n, double seconds, const atomic_bool *ends);

/* For tests: from now on half of the schedule steps, picked by the seed, sleep up to most_us microseconds before they
 * run. 0: none sleeps. */
void tutti_exchange_delay(tutti_exchange *x, uint64_t seed, int32_t most_us);

typedef struct {
    int64_t invocations;
    int64_t bytes_read, bytes_written; /* bytes that this rank reads, and writes, in one invocation */
    int64_t
        bytes_crossed; /* the part of these bytes that is read from or written to memory of other ranks; its sum over
                        * ranks is the traffic between them */
    int64_t copies;    /* bytes copied only in order to be sent, on this rank or on the receiver (0 if ranks read and
                        * write each other's memory directly) */
    double wait_s,
        work_s; /* work_s: time of reducing and copying; wait_s: time of waiting for peers (waits of up to a microsecond
                 * do not count); both summed over invocations */
    /* Times (clock_ns) of the last invocation, if it was timed: when the caller last called tutti_exchange_start or
     * _tell, and when the invocation was complete. */
    int64_t told_ns, done_ns;
    double met_s; /* seconds summed over timed invocations, without the time in which other ranks had not begun */
} tutti_exchange_stats;
/* Turns timing of later invocations on or off: each then reads the clock a few times; off at first. */
void tutti_exchange_time(tutti_exchange *x, bool on);
void tutti_exchange_stats_read(const tutti_exchange *x, tutti_exchange_stats *out);

/* Proving a schedule once for all ranks that run it. Threads: one at a time. */

/* Collective. Rank 0 proves (tutti_schedule_check) and hashes its schedule. Each rank compares its own part, which it
 * will run, with the proved one: a different part ends the epoch for all, TUTTI_ERR_RENDEZVOUS with both hashes. *hash:
 * of the whole schedule. Cost: the proof on rank 0, one part on the others. */
tutti_status tutti_group_prove(tutti_group *group, const tutti_schedule *schedule, uint64_t *hash, tutti_failure *err);
tutti_prover tutti_group_prover(tutti_group *group); /* returns a prover that calls tutti_group_prove */
/* Proves a schedule over some ranks of the group (executor.h). The call is still collective over all ranks. Rank 0
 * proves, whether it is a member or not; a rank that is no member compares nothing. The proof does not depend on the
 * members: one proof serves all exchanges of a schedule, and each exchange compares parts again when it is created.
 * TUTTI_ERR_USAGE, on all ranks: some rank has no list of members. */
tutti_status tutti_group_prove_among(tutti_group *group, const tutti_schedule *schedule, const int32_t *members,
                                     int32_t nmembers, uint64_t *hash, tutti_failure *err);

#endif

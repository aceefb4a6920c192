/* SPDX-License-Identifier: Apache-2.0 */
/* executor.h: the executor: runs one rank's part of a lowered schedule on region memory.
 *
 * An exchange is a schedule bound to memory: slices become addresses, channels become counter words, so that starting
 * it again costs next to nothing (persistent). Steps that fail cannot be: everything checkable was checked at create.
 * Waiting: about 50 us awake, then asleep on one descriptor set (doorbells, control sockets), so more ranks than cores
 * do not collapse. Awake is to spin if ranks <= cores, and to make way for a rank that is seen on the same core; else
 * to yield.
 *
 * An exchange is over all ranks of a group or over some, its members: the schedule's rank i is then the group's rank
 * members[i]. Any number of them may be in flight, over disjoint members or over some of the same.
 *
 * Life cycle: create (collective, same order on all ranks) -> { start -> tell ... -> test | wait } ... -> destroy.
 * Between hosts bytes travel over the group's wire, and a thread of the group makes progress while the owner computes.
 * Several exchanges may be in flight; tutti_exchange_progress drives all of them.
 * Threads: owner of the group. Between hosts, where it has a thread that makes progress, an exchange may be another
 * thread's while it is nobody else's: start, tell, wait_any and stats_read are any thread's then; who looks out for
 * deaths is the owner. */
#ifndef TUTTI_EXECUTOR_H
#define TUTTI_EXECUTOR_H

#include <stdatomic.h>

#include "../../device/device_row.h"
#include "../group/group.h"
#include "../lower/prepare.h"
#include "tutti/schedule.h"
#include "tutti/types.h"

typedef struct tutti_exchange tutti_exchange;

/* Where element 0 of a buffer lies: the same region and offset on every rank (bytes, multiple of the element's
 * alignment). Element i lies i elements on, also where a rank stores only a window of the index space: the same place
 * serves reduce-scatter and all-gather. */
typedef struct {
    tutti_region *region;
    size_t offset;
} tutti_place;

typedef struct {
    const char *name; /* named in failures and traces: "gradients of bucket 2" */
    int64_t n;        /* elements of the vector */
    /* Ranks of the group, one for each of the schedule's, in any order; NULL: all, in theirs. Copied. */
    const int32_t *members;
    int32_t nmembers;
    tutti_dtype type; /* zero: f32, sum */
    tutti_operation op;
    /* bf16, f16: scratch holds this, and inputs, if `taken` says so too (else f32): outputs are sums of it, made in f32
     * and written as f32 or rounded once. For sums in regions by schedules that put into scratch what inputs hold, or
     * sums of inputs: partial sums of other kinds would be rounded again, and are refused. Zero: all is of `type`. */
    tutti_dtype sent, taken;
    /* Uneven blocks: elements of block r of the ranks' blocks, sum n (all-to-all: nranks^2, block (i, j) at i * nranks
     * + j). Point first/of of the vector then lies on the line through the blocks' beginnings, rounded down: monotone,
     * so the proof for every n holds. NULL: floor(first*n/of). Copied. */
    const int64_t *counts;
    const tutti_place *in; /* one a buffer of role IN (largest ordinal of any rank + 1) */
    int nin;
    tutti_place out; /* ignored when the schedule is in place */
    /* A broadcast in place whose root has other memory than the rest: the root sends what lies at `in`, and keeps no
     * copy, the others get it at `out`. Between two ranks that is one taking what it has to the other. */
    bool moves;
    /* Only the window that the rank stores lies at the place, from its first element on, several outputs one after the
     * other. Not for schedules in place. */
    bool in_window, out_window;
    /* Inputs and outputs are plain memory of the ranks, no places are needed, and each start is preceded by an aim. A
     * schedule in which ranks touch those of others needs a group that can (tutti_group_probe_peers); one-shot and
     * two-shot need nothing. */
    bool plain;
    /* What is stored for others to read (plain: scratch; regions: every output) bypasses the caches, whatever the
     * length: where a line that another core has written last comes later than one from memory. */
    bool past_caches;
    /* Where inputs and outputs lie; it does all that is done to them here. NULL: the cpu. Exchanges that are made
     * together have the same. */
    const tutti_device *device;
    int priority; /* of the group's exchanges in flight, those of the lowest number go on first; equal: in turn */
} tutti_exchange_binding;

/* schedule: lowered for the hosts of the members (tutti_schedule_lower_hosts, or any lowering on one host) and checked;
 * must outlive the exchange. Scratch and counters are allocated here. A call of the whole group, also where members are
 * some of it: all compare what they were asked for, in rounds over rank 0 that cost the same for one exchange and for
 * all of a plan. *out: NULL on a rank that is no member. TUTTI_ERR_USAGE: a list of members that is none (a rank twice,
 * or not of the group, another number of them than the schedule has); TUTTI_ERR_RENDEZVOUS: the ranks were asked for
 * different exchanges, with both; on all ranks alike. */
tutti_status tutti_exchange_create(tutti_group *group, const tutti_schedule *schedule,
                                   const tutti_exchange_binding *binding, tutti_exchange **out, tutti_failure *err);
/* Several in as many rounds as one, in memory that is made once: what a plan needs. out: n of them, NULL where this
 * rank is no member and after a failure. */
typedef struct {
    const tutti_schedule *schedule;
    tutti_exchange_binding binding;
} tutti_exchange_request;
tutti_status tutti_exchange_create_all(tutti_group *group, const tutti_exchange_request *requests, int n,
                                       tutti_exchange **out, tutti_failure *err);
void tutti_exchange_destroy(tutti_exchange *x);

/* Begins one invocation; `when`: the TUTTI_WHEN_* conditions that hold already. Does what it can without waiting,
 * unless an exchange of a lower priority number can go on: that one does. */
void tutti_exchange_start(tutti_exchange *x, unsigned when);
/* Plain memory of the next invocation, which is over vectors of n <= binding.n elements (binding.n where it has
 * counts); the same n on every rank. in place: in = out, of element 0. stream: the outputs exceed the caches. */
void tutti_exchange_aim(tutti_exchange *x, const void *in, void *out, int64_t n, bool stream);
/* A number that the next invocations go by, 0 at first: a rank of this host that goes by another one is found out
 * before anything of it is touched, and the group fails, with the words of tutti_group_on_idle's look if that finds
 * any. */
void tutti_exchange_call(tutti_exchange *x, uint64_t call);
/* again is called when an invocation is complete, inside whatever call drove it, or in the thread that makes progress;
 * true: the next one begins with the same conditions (it may have aimed), and the exchange stays in flight. It may not
 * start or destroy exchanges or fail the group. */
void tutti_exchange_on_done(tutti_exchange *x, bool (*again)(void *arg), void *arg);

/* From now on x is not told that it is ready: once an invocation, when `first` has been invoked as often and has ended,
 * and all other conditions of x hold, act is called, and x is ready. It is called inside whatever call drives x, or
 * (`beside`) in the thread that makes progress: it may call nothing of the group, and whoever wants the wire waits for
 * it. */
void tutti_exchange_follow(tutti_exchange *x, tutti_exchange *first, void (*act)(void *arg, bool beside), void *arg);

/* Starts if may(arg), which nothing that `again` does can interrupt: for queues that both of them look at. */
void tutti_exchange_start_if(tutti_exchange *x, unsigned when, bool (*may)(void *arg), void *arg);

/* The caller says that these conditions hold now. Does what it can without waiting. */
void tutti_exchange_tell(tutti_exchange *x, unsigned when);
/* Never blocks. */
tutti_status tutti_exchange_test(tutti_exchange *x, bool *done, tutti_failure *err);
/* Until done, the deadline, or a death: the failure names rank, host, exchange, schedule step, peer, bytes missing, who
 * has not arrived. Drives the group's other exchanges meanwhile. */
tutti_status tutti_exchange_wait(tutti_exchange *x, tutti_failure *err);
/* As tutti_exchange_wait, until *done: what an `again` of this exchange sets, or tutti_group_gone_flag of one that it
 * cannot end without, and which then may not be started again. */
tutti_status tutti_exchange_wait_for(tutti_exchange *x, const atomic_bool *done, tutti_failure *err);
/* Drives all exchanges in flight once; never blocks. */
void tutti_exchange_progress(tutti_group *group);
/* Sleeps until one of n exchanges of one group is not under way, and says which, the first of them; -1: `seconds` have
 * passed, the group's epoch is over, or *ends (may be NULL) was set, which is seen within a tenth of a second. Drives
 * nothing: the thread that makes progress does, or the owner; any thread's call of a group between hosts. No two
 * threads wait for the same exchange. */
int tutti_exchange_wait_any(tutti_exchange *const x[], int n, double seconds, const atomic_bool *ends);

/* For tests: half of the steps from now on sleep up to most_us first, which ones follows from the seed. 0: none. */
void tutti_exchange_delay(tutti_exchange *x, uint64_t seed, int32_t most_us);

typedef struct {
    int64_t invocations;
    int64_t bytes_read, bytes_written; /* by this rank, one invocation */
    int64_t
        bytes_crossed; /* of these, read from or written to memory of other ranks: over all ranks, what travels between
                        * them */
    int64_t copies;    /* bytes copied only in order to be sent, here or where they arrive (0 on the direct path) */
    double wait_s,
        work_s; /* summed over invocations: waiting for peers, what is over within a microsecond not counted; reducing
                            * and copying */
    /* Of the last invocation, if it was timed (clock_ns): when the caller last started or told it, when it was done. */
    int64_t told_ns, done_ns;
    double
        met_s; /* summed over timed invocations: all time but that before the others had begun, when there was nothing
                * to do */
} tutti_exchange_stats;
/* Whether invocations from now on are timed: some looks at the clock each, off at first. */
void tutti_exchange_time(tutti_exchange *x, bool on);
void tutti_exchange_stats_read(const tutti_exchange *x, tutti_exchange_stats *out);

/* One proof of a schedule for all ranks that run it. Threads: owner. */

/* Collective. Rank 0 proves (tutti_schedule_check) and hashes the schedule that it has; each rank compares its own
 * part, which is what it will run, with what was proved: another part ends the epoch for all, TUTTI_ERR_RENDEZVOUS with
 * both hashes. *hash: of the whole schedule. Cost: rank 0 the proof, the others one part. */
tutti_status tutti_group_prove(tutti_group *group, const tutti_schedule *schedule, uint64_t *hash, tutti_failure *err);
tutti_prover tutti_group_prover(tutti_group *group); /* that does so */
/* The same of a schedule over some ranks of the group (executor.h), still collective over all and proved by rank 0, a
 * member or not; who is none compares nothing. The proof does not depend on who the members are: one is enough for all
 * exchanges of one schedule, and each of them compares parts again when it is created. TUTTI_ERR_USAGE, on all: some
 * rank has no list of members. */
tutti_status tutti_group_prove_among(tutti_group *group, const tutti_schedule *schedule, const int32_t *members,
                                     int32_t nmembers, uint64_t *hash, tutti_failure *err);

#endif

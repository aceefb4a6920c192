/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.h: the schedule, a collective as a frozen value: which rank moves which slice where, after what.
 *
 * src/collective/schedule implements the value and its text form. tutti/compile.h makes a schedule, tutti/lower.h makes
 * it fit a wire, tutti/check.h proves it. A schedule says nothing of bytes, transports or time, so one value can be
 * proved, timed and run.
 *
 * MODEL. A schedule is a header and, for each rank, a *part*: buffers and steps. Parts are generated on demand, so a
 * schedule's memory grows neither with the vector nor with the number of ranks.
 *
 *   slice     (rank, buffer, first, count, of) = elements floor(first*n/of) .. floor((first+count)*n/of) of the
 *             n-element index space of that buffer, for any n >= 0. Empty slices are legal and move nothing.
 *   sequence  program order on one rank. A step starts when its predecessor in its sequence and all its deps (steps of
 *             the same part) are complete, and its external condition, if any, holds.
 *   channel   a FIFO (src, dst, number): the i-th send on it meets the i-th recv.
 *   bank      a buffer with banks = b stands for b buffers; invocation e of the schedule uses bank e mod b.
 *
 *   Step kinds, unlowered (two-sided; slices are this rank's own):
 *     send   inputs[0] to `peer` on `channel`; completes when received (capacity 0) or buffered (capacity c). A slice
 *            of no elements (count 0) makes a message without data: lowered, it is a signal and a wait.
 *     recv   into outputs[0].
 *     reduce outputs = expression over inputs. Every output gets the same value. The expression is postfix: after
 *            input i is pushed, `folds[i]` times the two topmost values are replaced by their sum (older + newer).
 *     copy   outputs = inputs[0].
 *     nop    carries dependencies.
 *   Lowered for TUTTI_WIRE_MAPPED: slices may belong to other ranks, whose memory this rank maps, and
 *     signal adds one to the counter (this rank -> peer, channel). The rank that waits for it sees everything that this
 *            rank's sequence and deps did before.
 *     wait   completes when the counter (peer -> this rank, channel) has reached the ordinal of this wait: the i-th
 *            wait on a channel meets the i-th signal.
 *   Lowered for TUTTI_WIRE_ONE_SIDED: as mapped, but the only remote access is
 *     put    outputs[0] (remote) = inputs[0] (own); visible to the peer only after its wait sees a later signal of
 *            the same channel.
 *   Lowered for TUTTI_WIRE_MIXED: as mapped among the ranks of one host, as one-sided between hosts.
 *
 *   External conditions, bound by the caller of the executor: TUTTI_WHEN_READY (this rank's inputs hold their values)
 *   and TUTTI_WHEN_FREE (this rank's outputs may be overwritten). A schedule completes on a rank when all steps of its
 *   part are complete: then its outputs hold their values, and no rank touches its inputs or outputs any more.
 *
 *   `stage` of a step is for readers and for the engine `rounds`; no step has a lower stage than a step that it depends
 *  on.
 *
 * Threads: any, after create; tutti_schedule_part may be called by any thread at any time. */
#ifndef TUTTI_SCHEDULE_H
#define TUTTI_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti/failure.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    TUTTI_ALLREDUCE,      /* in: n elements on each rank; out: the sum, n elements, on every rank */
    TUTTI_REDUCE_SCATTER, /* in: n elements on each rank; out: rank r holds the sum in slice (r, 1, ranks) */
    TUTTI_ALL_GATHER,     /* in: rank r holds slice (r, 1, ranks); out: all slices on every rank */
    TUTTI_GATHER,         /* in: rank r holds slice (r, 1, ranks); out: all slices on rank `root` */
    TUTTI_BROADCAST,      /* in: n elements on rank `root`; out: the same on every rank */
    TUTTI_REDUCE,         /* in: n elements on each rank; out: the sum, n elements, on rank `root` */
    /* The vector is a ranks x ranks matrix of blocks. Block (i, j) = slice (i * ranks + j, 1, ranks^2) is what rank i
     * has for rank j. in: rank i holds row i, the slice (i, 1, ranks); out: rank j has `ranks` buffers of role OUT, and
     * ordinal i holds block (i, j). Never in place. */
    TUTTI_ALL_TO_ALL,
    TUTTI_BARRIER, /* no elements; a rank that has completed the barrier knows that every rank has begun it */
    TUTTI_NCOLLECTIVES
} tutti_collective;
const char *tutti_collective_name(tutti_collective c);               /* returns "allreduce", "reduce-scatter", ... */
bool tutti_collective_find(const char *name, tutti_collective *out); /* finds a collective by its name; false: there is
                                                                      * none */
/* true for allreduce, reduce-scatter and reduce, which sum */
bool tutti_collective_reduces(tutti_collective c);
bool tutti_collective_has_root(tutti_collective c);     /* true for gather, broadcast and reduce */
bool tutti_collective_takes_slices(tutti_collective c); /* true for all-gather and gather, where each rank brings its
                                                         * slice of the vector */
bool tutti_collective_gives_slices(tutti_collective c); /* true for reduce-scatter, where each rank gets its slice */

typedef enum {
    TUTTI_WIRE_TWO_SIDED, /* for unlowered schedules: messages are sent and received (send, recv) */
    TUTTI_WIRE_MAPPED,    /* every peer's buffers are mapped: ranks load and store, and signal */
    TUTTI_WIRE_ONE_SIDED, /* ranks write each other's memory only by put and signal */
    TUTTI_WIRE_MIXED,     /* mapped among the ranks of a host (header.host_of), put and signal between hosts */
    TUTTI_NWIRE_CLASSES
} tutti_wire_class;
const char *tutti_wire_class_name(tutti_wire_class c); /* returns "two-sided", "mapped", "one-sided" or "mixed" */

/* The determinism class: on what the order of the sum of an element may depend. The compiler claims a class, and the
 * checker proves it. */
typedef enum {
    TUTTI_DETERMINISM_PER_SLICE, /* each element is always summed in the same order, but the order differs between
                                  * elements (ring) and changes with n */
    TUTTI_DETERMINISM_FIXED,     /* all elements are summed in one order, up to commutation; the order changes with the
                                  * rank count */
    TUTTI_DETERMINISM_CANONICAL, /* all elements are summed by the balanced binary tree over `slots` leaves, which does
                                  * not change with the rank count */
} tutti_determinism;
const char *tutti_determinism_name(tutti_determinism d); /* returns "per-slice", "fixed" or "canonical" */

typedef enum { TUTTI_BUFFER_IN, TUTTI_BUFFER_OUT, TUTTI_BUFFER_SCRATCH } tutti_buffer_role;

typedef struct {
    int32_t rank;             /* the rank that owns the memory: this rank itself, except in lowered schedules */
    int32_t buffer;           /* index into the buffers of the part of `rank` */
    int32_t first, count, of; /* the slice is elements floor(first*n/of) to floor((first+count)*n/of) of n, without the
                               * last */
} tutti_slice;

typedef struct {
    char name[16]; /* name in the text form, such as "in", "in1", "out", "s3" */
    tutti_buffer_role role;
    int32_t ordinal;    /* number among the buffers of the same role: with canonical sums a rank has one `in` for each
                         * subtree of the sum that it brings; in all-to-all it has one `out` for each rank */
    int32_t banks;      /* number of copies (banks) of the buffer, which invocations use in turn; only scratch may have
                         * more than one */
    tutti_slice window; /* the part of the index space for which the buffer has memory (count = of: all of it) */
    int32_t leaf, nleaves; /* role IN: the buffer holds the sum of leaves leaf .. leaf + nleaves - 1. Without canonical
                            * sums the leaf is the rank, and nleaves is 1 */
} tutti_buffer;

typedef enum {
    TUTTI_STEP_NOP,
    TUTTI_STEP_SEND,
    TUTTI_STEP_RECV,
    TUTTI_STEP_PUT,
    TUTTI_STEP_SIGNAL,
    TUTTI_STEP_WAIT,
    TUTTI_STEP_REDUCE,
    TUTTI_STEP_COPY,
    TUTTI_NSTEP_KINDS
} tutti_step_kind;
const char *tutti_step_kind_name(tutti_step_kind k);

/* bits of tutti_step.when: this rank's inputs hold their values; its outputs may be overwritten */
enum { TUTTI_WHEN_READY = 1, TUTTI_WHEN_FREE = 2 };

/* Hints on send and recv for lowering; both ends of a message carry the same hints. The checker proves the lowered
 * schedule, so a wrong hint is refused and never runs. */
enum {
    TUTTI_HINT_PULL = 1, /* mapped: the receiver reads the sender's slice (default: the sender writes, "push") */
    TUTTI_HINT_NO_ACK =
        2, /* No acknowledgement travels, because a later message of the schedule implies it. pull: the sender need not
            * hear that its slice was read. push: the receiver need not report that its slice may be written. */
};

typedef struct {
    tutti_step_kind kind;
    int32_t sequence; /* number of the step's sequence in its part, from 0 */
    int32_t stage;
    int32_t peer, channel;    /* send, recv, put, signal, wait: the other rank, and the number of the channel to or from
                               * it; else -1 */
    uint32_t when;            /* TUTTI_WHEN_* bits that must hold before the step starts */
    uint32_t hint;            /* bits of TUTTI_HINT_PULL, ... */
    int32_t first_dep, ndeps; /* the range of part.deps with the steps of this part that this step depends on */
    int32_t first_in, nins;   /* the range of part.slices with the inputs */
    int32_t first_out, nouts; /* the range of part.slices with the outputs */
    int32_t first_fold;       /* reduce: index in part.folds of the first of nins numbers, one for each input */
} tutti_step;

/* One rank's part. It owns its arrays. Make it with tutti_schedule_part, give it back with tutti_part_release. */
typedef struct {
    int32_t rank;
    tutti_buffer *buffers;
    int32_t nbuffers;
    tutti_step *steps; /* the steps of all sequences; steps of one sequence are in program order */
    int32_t nsteps;
    tutti_slice *slices;
    int32_t nslices;
    int32_t *deps;
    int32_t ndeps;
    uint8_t *folds;
    int32_t nfolds;
    void *storage; /* the memory behind the part's arrays */
} tutti_part;

enum { TUTTI_ALGORITHM_TEXT = 64 };

typedef struct {
    char algorithm[TUTTI_ALGORITHM_TEXT]; /* name and parameters: "direct", "hierarchical,group=4", ...; for a schedule
                                           * from a file, the text in that file */
    tutti_collective collective;
    int32_t nranks;
    int32_t root;  /* root of a collective that has one, else 0 */
    int32_t slots; /* canonical: number of slots S (a power of two); else 0 */
    bool in_place; /* buffer `out` (ordinal 0) is the same memory as buffer `in` */
    tutti_wire_class wire;
    const int32_t *host_of; /* mixed: the host of each rank, 0 .. nranks - 1, owned by the schedule. Else NULL */
    tutti_determinism determinism;
    int32_t room; /* two-sided: number of messages that a channel buffers; 0: a send completes when its message was
                   * received. Else 0 */
} tutti_schedule_header;

typedef struct tutti_schedule tutti_schedule;

const tutti_schedule_header *tutti_schedule_head(const tutti_schedule *s);
/* Fills *out with the part of `rank`. Cost: O(steps of the part). */
void tutti_schedule_part(const tutti_schedule *s, int32_t rank, tutti_part *out);
void tutti_part_release(tutti_part *part);
void tutti_schedule_destroy(tutti_schedule *s); /* NULL is accepted */
/* Returns xxh3 over header and all parts; equal text means equal hash. Cost: generates every part once. */
uint64_t tutti_schedule_hash(const tutti_schedule *s);
/* Returns the hash of one part alone. Cost: generates it once. */
uint64_t tutti_schedule_part_hash(const tutti_schedule *s, int32_t rank);

/* Returns the text form (docs/schedule-format.md). print(parse(print(s))) == print(s). The text is the caller's
 * (free()). */
char *tutti_schedule_print(const tutti_schedule *s);
/* Parses the text form. Failures name `name` and the line. TUTTI_ERR_DATA. */
tutti_status tutti_schedule_parse(const char *name, const char *text, size_t nbytes, tutti_schedule **out,
                                  tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif

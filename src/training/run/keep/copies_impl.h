/* SPDX-License-Identifier: Apache-2.0 */
/* copies_impl.h: shared by copies.c, which lays out, writes and reads the memory file of a host, and copies_hosts.c,
 * which agrees with other hosts on the newest copy and sends parts between their files. Threads: one at a time for each
 * group. */
#ifndef TUTTI_COPIES_IMPL_H
#define TUTTI_COPIES_IMPL_H

#include <stdatomic.h>

#include "copies.h"
#include "keep.h"

/* COPY_VECTORS: most vectors of a copy, as many as a tutti_checkpoint has room for: weights, common states, own
 * vectors. */
enum {
    TUTTI_COPY_SLOTS = 2,
    TUTTI_COPY_PAGE = 4096,
    TUTTI_COPY_VECTORS = 2 * TUTTI_RULE_MAX_STATES + 2,
};

/* The figures that one rank has written into a slot beside its vectors: the step, the loss and others. */
typedef struct {
    _Atomic int64_t done; /* 1 + the step of the rank's part; 0 = the part is not whole */
    double loss;
    tutti_loss_scale_state scale;
    int64_t earlier_updates;
    int64_t has_frozen; /* the frozen parameters have been written (rank 0) */
    char skips[TUTTI_CHECKPOINT_SKIPS];
} tutti_copy_record;

/* The beginning of the file, which says where values lie. The offsets of the parameters follow it in the file. */
typedef struct {
    uint64_t layout; /* hash of everything that says where values lie; 0 = the file is empty */
    uint64_t kind;   /* hash of the common vectors' names and of the kernels: files with equal `kind` can be
                      * converted */
    int32_t nranks, nvectors, nparams;
    int64_t at[TUTTI_COPY_VECTORS];       /* byte of a slot at which each vector begins */
    int64_t elements[TUTTI_COPY_VECTORS]; /* number of elements of each vector */
    int64_t records_at, slots_at, slot_bytes, nbytes;
} tutti_copy_head;

struct tutti_copies {
    const tutti_plan *plan;
    int rank, nranks;
    uint64_t file; /* identity of this host's file */
    int nfiles;    /* number of different files of all ranks */
    bool *is_here; /* for each rank: true if it shares this host's file; heap */
    bool is_first; /* true if no rank with a lower number shares the file */
    bool was_same; /* when it was mapped, the file had the layout of this plan already */
    int64_t every; /* steps between copies; 0 = by time */
    int memory[TUTTI_COPY_VECTORS], nvectors, nown; /* the plan's memories in a copy: common, then own */
    tutti_copy_head head; /* head for this plan; an own vector of rank r lies r * own_bytes behind its `at` */
    int64_t common_bytes, own_bytes;
    char *base;
    int64_t mapped; /* mapped bytes of the file; an earlier plan may have needed more than this one */
    /* all ranks have agreed on the copy from which the run continues: */
    int64_t step;           /* step of the copy from which the run continues; -1 = there is no such copy */
    int slot,               /* slot of this host's file in which that copy lies, or will be received */
        source;             /* a rank whose file has the whole copy; -1 = each rank has only its part */
    bool is_everywhere;     /* every file has the whole copy */
    int next;               /* the slot of the next copy */
    double cost_s, taken_s; /* seconds that the last copy took, and when it ended */
};

/* ---- copies.c ---- */

tutti_copy_record *tutti_copies_record(const tutti_copies *c, int slot, int rank);
/* Returns where a slot begins. */
char *tutti_copies_slot(const tutti_copies *c, int slot);
/* ---- copies_hosts.c ---- */

/* Collective, after the file was mapped: agrees on the newest copy that can be read, and drops all other content. A
 * copy of a plan with another number of ranks is converted if the kernels are the same. */
tutti_status tutti_copies_agree(tutti_group *group, tutti_copies *c, tutti_failure *err);
/* Collective, when all ranks have written a copy into this slot: sends each rank's part to the other hosts' files. */
tutti_status tutti_copies_share(tutti_group *group, const tutti_copies *c, int slot, tutti_failure *err);

#endif

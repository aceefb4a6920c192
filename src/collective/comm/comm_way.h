/* SPDX-License-Identifier: Apache-2.0 */
/* comm_way.h: the ways that calls may go through memory, and which of several a kind of call goes.
 *
 * All ways of an allreduce sum in one order (a balanced tree over the ranks), so the bits do not depend on the choice.
 * Nobody can tell beforehand which is the soonest: on one and the same virtual machine, reading what another core has
 * just written takes a fifth of the time of storing it past the caches, or five times as long, depending on where the
 * host has put the two. So the first calls of a class try its ways in turn, the others go the soonest, and now and then
 * one tries another again (never for more than about a hundredth of the time).
 *
 * Rank 0's times decide for all. It says at the beginning of call k of the class which way call k + 1 goes, in one of
 * two words; whoever has completed call k knows that rank 0 has begun it, and reads the word before he begins call k +
 * 1, which rank 0 cannot complete before: hence only collectives that no rank completes before rank 0 has begun, nor
 * rank 0 before all have, and only calls that block. Requests go a way that is agreed on when they are prepared.
 *
 * Threads: owner. */
#ifndef TUTTI_COMM_WAY_H
#define TUTTI_COMM_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/types.h"

typedef enum {
    TUTTI_WAY_MAPPED,
    TUTTI_WAY_ONE_SHOT,
    TUTTI_WAY_ONE_SHOT_PAST,
    TUTTI_WAY_TWO_SHOT,
    TUTTI_WAY_TWO_SHOT_PAST,
    TUTTI_WAY_STAGED,
    TUTTI_WAY_STAGED_PAST,
    TUTTI_WAY_REACHED,
    TUTTI_NWAYS
} tutti_way;

typedef enum { TUTTI_PATH_MAPPED, TUTTI_PATH_SHOWN, TUTTI_PATH_STAGED, TUTTI_PATH_REACHED } tutti_path;

typedef struct {
    tutti_path path;
    const char *algorithm; /* of a call that leaves the choice to us; NULL: the soonest by the figures of this host */
    bool past_caches;      /* what peers read is stored past the caches */
    int32_t piece;         /* bytes that an invocation moves, of all blocks together ... */
    bool shared;           /* ... divided by the ranks: each of them reads everybody's */
    const char *words;
} tutti_way_row;
const tutti_way_row *tutti_way_at(tutti_way way);
/* Bytes of a piece among so many ranks; 0: everything at once. */
int64_t tutti_way_piece(tutti_way way, int32_t nranks);

/* --- choosing (comm_choice.c) --- */

/* Calls that are alike: the key of a class. */
typedef struct {
    int32_t collective, type, op, in_place;
    int32_t octave; /* bytes: 2^octave <= bytes < 2^(octave + 1) */
    uint32_t ways;  /* bits: those to choose from */
} tutti_class_key;

/* Calls in a row that try a way. */
typedef struct {
    int left, n; /* to come; that count */
    bool begun;
    double sum, least, most; /* seconds a byte */
} tutti_way_burst;

typedef struct {
    int64_t tries; /* calls that have gone it */
    int64_t last;  /* number of the last one */
    double cost;   /* seconds a byte; 0: not known */
    tutti_way_burst burst;
} tutti_way_record;

enum { TUTTI_MOST_CLASSES = 64 };

typedef struct tutti_class tutti_class;
struct tutti_class {
    tutti_class *next;
    tutti_class_key key;
    bool takes_turns; /* ranks share cores */
    int number;       /* in the order of making, the same on all ranks */
    int64_t calls;    /* begun */
    double credit;    /* seconds that may be spent on trying */
    tutti_way way;    /* that calls go now ... */
    int left;         /* ... how many of them without a choice */
    tutti_way_record record[TUTTI_NWAYS];
};

/* Rank 0: the next calls try this way; the first calls of a class try that of whoever has not been told. */
void tutti_class_begin_burst(tutti_class *c, tutti_way way);
/* Rank 0: the way of the call after the one that begins now. */
tutti_way tutti_class_next(tutti_class *c);
/* Rank 0: a call went this way and took so long. */
void tutti_class_record(tutti_class *c, tutti_way way, int64_t bytes, double seconds);
/* Rank 0: the soonest as far as is known; `otherwise` when nothing is. */
tutti_way tutti_class_best(const tutti_class *c, tutti_way otherwise);
int32_t tutti_octave_of(int64_t bytes);

#endif

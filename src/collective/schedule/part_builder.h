/* SPDX-License-Identifier: Apache-2.0 */
/* part_builder.h: builds one rank's part, step by step.
 *
 * tutti_part_step opens a step; inputs, outputs and deps then go to the step that was opened last (inputs before
 * outputs). A send or recv also notes its *far* slice: the place of the other end of the message. Compilers know it
 * anyway. With it a rank can be lowered without its peers' parts, so lowering p ranks costs the sum of their steps. Far
 * slices are claims: conformance tests compare them with the peer's step, and the checker proves the lowered result.
 *
 * Threads: one at a time. */
#ifndef TUTTI_PART_BUILDER_H
#define TUTTI_PART_BUILDER_H

#include "tutti/schedule.h"

typedef struct {
    tutti_part part;
    tutti_slice *far; /* for each step: the slice at the other end; rank -1 = none */
    int32_t buffers_capacity, steps_capacity, far_capacity, slices_capacity, deps_capacity, folds_capacity;
} tutti_part_builder; /* initialise it with tutti_part_begin */

void tutti_part_begin(tutti_part_builder *b, int32_t rank);
/* Moves the part to `out` (give it back with tutti_part_release) and forgets it. */
void tutti_part_finish(tutti_part_builder *b, tutti_part *out);
void tutti_part_abandon(tutti_part_builder *b);
/* Copies everything that `from` holds into the empty builder b. */
void tutti_part_copy(tutti_part_builder *b, const tutti_part_builder *from);

/* Add a buffer, and open a step. Both return the index. tutti_part_step takes only kind, sequence, stage, peer,
 * channel, when and hint of `step`. */
int32_t tutti_part_buffer(tutti_part_builder *b, const tutti_buffer *buffer);
int32_t tutti_part_step(tutti_part_builder *b, const tutti_step *step);
void tutti_part_in(tutti_part_builder *b, tutti_slice slice);
void tutti_part_fold(tutti_part_builder *b, tutti_slice slice, int folds); /* adds an input to a reduce */
void tutti_part_out(tutti_part_builder *b, tutti_slice slice);
void tutti_part_dep(tutti_part_builder *b, int32_t step);
void tutti_part_set_far(tutti_part_builder *b, tutti_slice slice);

/* Returns the far slice of a step of a part that a builder made; NULL if none is known. */
const tutti_slice *tutti_part_far(const tutti_part *part, int32_t step);

/* Returns the number of sequences of a part; 0 = it has no steps. */
static inline int32_t tutti_part_nsequences(const tutti_part *part)
{
    int32_t n = 0;
    for (int32_t i = 0; i < part->nsteps; i++)
        if (part->steps[i].sequence >= n) n = part->steps[i].sequence + 1;
    return n;
}

/* Returns a step with neither peer nor channel. */
static inline tutti_step tutti_local_step(tutti_step_kind kind, int32_t sequence, int32_t stage, uint32_t when)
{
    return (tutti_step){
        .kind = kind, .sequence = sequence, .stage = stage, .peer = -1, .channel = -1, .when = when, .hint = 0};
}

#endif

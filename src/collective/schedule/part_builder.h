/* SPDX-License-Identifier: Apache-2.0 */
/* part_builder.h: grows one rank's part, step by step.
 *
 * A step is opened with tutti_part_step; inputs, outputs, deps then go to the step that was opened last (inputs before
 * outputs). A send or recv also notes its *far* slice: where the other end of the message lies. The compilers know it
 * for nothing; with it a rank can be lowered without its peers' parts, so lowering p ranks costs the sum of their
 * steps. Far slices are claims: conformance tests compare them with the peer's step, and the checker proves what is
 * made of them.
 *
 * Threads: owner. */
#ifndef TUTTI_PART_BUILDER_H
#define TUTTI_PART_BUILDER_H

#include "tutti/schedule.h"

typedef struct {
    tutti_part part;
    tutti_slice *far; /* one a step; rank -1 = none */
    int32_t buffers_capacity, steps_capacity, far_capacity, slices_capacity, deps_capacity, folds_capacity;
} tutti_part_builder; /* tutti_part_begin initialises */

void tutti_part_begin(tutti_part_builder *b, int32_t rank);
/* Hands the part over (give back with tutti_part_release) and forgets it. */
void tutti_part_finish(tutti_part_builder *b, tutti_part *out);
void tutti_part_abandon(tutti_part_builder *b);
/* Everything that `from` holds; b is fresh. */
void tutti_part_copy(tutti_part_builder *b, const tutti_part_builder *from);

/* Both return the index. Of `step`, only kind, sequence, stage, peer, channel, when and hint are taken. */
int32_t tutti_part_buffer(tutti_part_builder *b, const tutti_buffer *buffer);
int32_t tutti_part_step(tutti_part_builder *b, const tutti_step *step);
void tutti_part_in(tutti_part_builder *b, tutti_slice slice);
void tutti_part_fold(tutti_part_builder *b, tutti_slice slice, int folds); /* an input of a reduce */
void tutti_part_out(tutti_part_builder *b, tutti_slice slice);
void tutti_part_dep(tutti_part_builder *b, int32_t step);
void tutti_part_set_far(tutti_part_builder *b, tutti_slice slice);

/* NULL if nothing is known about the other end of this step of a part that a builder finished. */
const tutti_slice *tutti_part_far(const tutti_part *part, int32_t step);

/* How many sequences a part has; 0 = it has no steps. */
static inline int32_t tutti_part_nsequences(const tutti_part *part)
{
    int32_t n = 0;
    for (int32_t i = 0; i < part->nsteps; i++)
        if (part->steps[i].sequence >= n) n = part->steps[i].sequence + 1;
    return n;
}

/* Local steps have neither peer nor channel. */
static inline tutti_step tutti_local_step(tutti_step_kind kind, int32_t sequence, int32_t stage, uint32_t when)
{
    return (tutti_step){
        .kind = kind, .sequence = sequence, .stage = stage, .peer = -1, .channel = -1, .when = when, .hint = 0};
}

#endif

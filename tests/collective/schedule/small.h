/* SPDX-License-Identifier: Apache-2.0 */
/* small.h: schedules small enough to be judged by eye, for the tests of checker and interpreter. */
#ifndef TUTTI_TESTS_SMALL_H
#define TUTTI_TESTS_SMALL_H

#include "collective/schedule/made.h"

enum { IN, OUT, SCRATCH };

static MADE_UNUSED tutti_slice whole(int rank, int buffer)
{
    return (tutti_slice){rank, buffer, 0, 1, 1};
}

static MADE_UNUSED tutti_slice part_of(int rank, int buffer, int first, int of)
{
    return (tutti_slice){rank, buffer, first, 1, of};
}

static MADE_UNUSED void three_buffers(made *m, int banks)
{
    for (int r = 0; r < m->head.nranks; r++) {
        made_buffer(m, r, "in", TUTTI_BUFFER_IN);
        made_buffer(m, r, "out", TUTTI_BUFFER_OUT);
        made_buffer(m, r, "s", TUTTI_BUFFER_SCRATCH);
        m->parts[r].buffers[SCRATCH].banks = banks;
    }
}

/* Two ranks exchange their inputs; sends stand in sequence 0, the rest in sequence 1. */
static MADE_UNUSED made exchange(void)
{
    made m = made_create(TUTTI_ALLREDUCE, 2, TUTTI_WIRE_TWO_SIDED);
    three_buffers(&m, 1);
    for (int r = 0; r < 2; r++) {
        made_step(&m, r, TUTTI_STEP_SEND, 0);
        made_in(&m, r, whole(r, IN), 0);
        made_peer(&m, r, 1 - r, 0);
        made_when(&m, r, TUTTI_WHEN_READY);
        made_step(&m, r, TUTTI_STEP_RECV, 1);
        made_out(&m, r, whole(r, SCRATCH));
        made_peer(&m, r, 1 - r, 0);
        made_step(&m, r, TUTTI_STEP_REDUCE, 1);
        made_in(&m, r, whole(r, IN), 0);
        made_in(&m, r, whole(r, SCRATCH), 1);
        made_out(&m, r, whole(r, OUT));
        made_when(&m, r, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    }
    m.head.determinism = TUTTI_DETERMINISM_FIXED;
    return m;
}

/* Every rank copies its input to its own slot of all others, signals, waits for all, sums. One synchronisation; what
 * protects a slot from the next invocation is that there are two banks of it. */
static MADE_UNUSED made one_shot(int p, int banks)
{
    made m = made_create(TUTTI_ALLREDUCE, p, TUTTI_WIRE_MAPPED);
    for (int r = 0; r < p; r++) {
        made_buffer(&m, r, "in", TUTTI_BUFFER_IN);
        made_buffer(&m, r, "out", TUTTI_BUFFER_OUT);
        for (int q = 0; q < p; q++) {
            int s = made_buffer(&m, r, "s", TUTTI_BUFFER_SCRATCH);
            m.parts[r].buffers[s].banks = banks;
        }
        made_step(&m, r, TUTTI_STEP_COPY, 0);
        made_in(&m, r, whole(r, IN), 0);
        for (int q = 0; q < p; q++) made_out(&m, r, whole(q, SCRATCH + r));
        made_when(&m, r, TUTTI_WHEN_READY);
        for (int i = 1; i < p; i++) {
            made_step(&m, r, TUTTI_STEP_SIGNAL, 0);
            made_peer(&m, r, (r + i) % p, 0);
        }
        for (int i = 1; i < p; i++) {
            made_step(&m, r, TUTTI_STEP_WAIT, 0);
            made_peer(&m, r, (r + i) % p, 0);
        }
        made_step(&m, r, TUTTI_STEP_REDUCE, 0);
        for (int q = 0; q < p; q++) made_in(&m, r, whole(r, SCRATCH + q), q > 0);
        made_out(&m, r, whole(r, OUT));
        made_when(&m, r, TUTTI_WHEN_FREE);
    }
    m.head.determinism = TUTTI_DETERMINISM_FIXED;
    return m;
}

#endif

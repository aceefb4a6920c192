/* SPDX-License-Identifier: Apache-2.0 */
/* random_schedules.h: random but lawful exchanges: messages between random ranks in a random order, each end in a
 * random sequence of its rank, sums between them that random later steps wait for. Nobody can hang: all ranks keep to
 * one order of messages. What comes out is no collective; engines do not ask. */
#ifndef RANDOM_SCHEDULES_H
#define RANDOM_SCHEDULES_H

#include "testing.h"

#include <stdlib.h>

#include "base/rng.h"
#include "base/text/strbuf.h"
#include "tutti/schedule.h"

typedef struct {
    uint64_t seed, drawn;
} draws;

static inline int32_t draw(draws *d, int32_t below)
{
    return (int32_t)tutti_random_below(tutti_random(d->seed, TUTTI_STREAM_TEST, d->drawn++, 0), (uint64_t)below);
}

enum { RANDOM_RANKS = 24, RANDOM_OF = 16, RANDOM_SEQUENCES = 3 };

typedef struct {
    tutti_strbuf lines[RANDOM_RANKS];
    int32_t nsteps[RANDOM_RANKS];

} random_text;

static inline void random_step(random_text *t, draws *d, int32_t rank, int32_t sequence, int32_t stage,
                               const char *what)
{
    tutti_strbuf *out = &t->lines[rank];
    tutti_strbuf_printf(out, "    %d seq %d stage %d %s", (int)t->nsteps[rank], (int)sequence, (int)stage, what);
    if (t->nsteps[rank] && !draw(d, 3)) tutti_strbuf_printf(out, " after %d", (int)draw(d, t->nsteps[rank]));
    tutti_strbuf_puts(out, "\n");
    t->nsteps[rank]++;
}

/* A channel joins one sequence of a rank with one of another: its messages have an order. */
static inline void random_message(random_text *t, draws *d, int32_t nranks, int32_t stage)
{
    const int32_t src = draw(d, nranks), dst = (src + 1 + draw(d, nranks - 1)) % nranks;
    const int32_t from = draw(d, RANDOM_SEQUENCES), to = draw(d, RANDOM_SEQUENCES),
                  channel = from * RANDOM_SEQUENCES + to;
    const int32_t first = draw(d, RANDOM_OF), count = 1 + draw(d, RANDOM_OF - first);
    char words[120];
    snprintf(words, sizeof words, "send in[%d+%d/%d] to %d channel %d", (int)first, (int)count, RANDOM_OF, (int)dst,
             (int)channel);
    random_step(t, d, src, from, stage, words);
    snprintf(words, sizeof words, "recv s[%d+%d/%d] from %d channel %d", (int)first, (int)count, RANDOM_OF, (int)src,
             (int)channel);
    random_step(t, d, dst, to, stage, words);
    if (draw(d, 2)) return;
    snprintf(words, sizeof words, "reduce out[%d+%d/%d] <- (s[%d+%d/%d] in[%d+%d/%d])", (int)first, (int)count,
             RANDOM_OF, (int)first, (int)count, RANDOM_OF, (int)first, (int)count, RANDOM_OF);
    random_step(t, d, dst, draw(d, RANDOM_SEQUENCES), stage, words);
}

static inline tutti_schedule *random_schedule(draws *d, int32_t nranks, int32_t nmessages)
{
    random_text t = {0};
    tutti_strbuf all = {0};
    tutti_schedule *out = NULL;
    tutti_failure err = {0};
    const int32_t a_stage = 1 + draw(d, nranks);
    for (int32_t m = 0; m < nmessages; m++) random_message(&t, d, nranks, m / a_stage);
    tutti_strbuf_printf(
        &all,
        "tutti-schedule 1\nalgorithm random\ncollective allreduce\nranks %d\nroot 0\nslots 0\nin-place no\n"
        "wire two-sided\ndeterminism per-slice\n",
        (int)nranks);
    for (int32_t r = 0; r < nranks; r++) {
        tutti_strbuf_printf(&all, "\nrank %d\n  buffer in in leaves %d\n  buffer out out\n  buffer s scratch\n", (int)r,
                            (int)r);
        if (t.lines[r].text) tutti_strbuf_puts(&all, t.lines[r].text);
        tutti_strbuf_release(&t.lines[r]);
    }
    if (tutti_schedule_parse("random", all.text, all.length, &out, &err)) fail_msg("%s\n%s", err.text, all.text);
    tutti_strbuf_release(&all);
    return out;
}

#endif

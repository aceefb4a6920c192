/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: the proof of a schedule: it loads the parts, replays them and judges the results (check_impl.h says how and
 * why it holds).
 *
 * The first run remembers only accesses that may matter (check_layout.c). If it suspects a race, a second run repeats
 * the replay with clocks that cover all threads. A race that remains is known only by the number of its cell. So one
 * more run keeps every access to that cell, to name them; the other runs store no names. All runs take the same
 * interleaving. */
#include <stdlib.h>

#include "check_impl.h"

static void release(tutti_checker *c)
{
    for (int32_t i = 0; i < c->nchannels; i++) free(c->channels[i].seen);
    free(c->channels);
    free(c->channel_table);
    free(c->cells);
    free(c->heads);
    free(c->pieces);
    free(c->reads);
    free(c->witnesses);
    free(c->touched);
    tutti_grid_release(&c->grid);
    tutti_values_release(&c->values);
    tutti_clocks_release(&c->clocks);
    tutti_arena_release(&c->arena);
}

typedef struct {
    bool full;    /* true if clocks have an entry for every thread */
    int64_t cell; /* before the run: the cell whose accesses are kept, -1 = none; after the run: the cell of the race */
    bool again;   /* the run failed because a clock did not cover a thread, so the check runs again with full clocks */
    bool misreads; /* the run failed because a read found nothing that was written for it */
} attempt;

static tutti_status check_once(const tutti_part_source *source, attempt *a, tutti_check_report *report,
                               tutti_failure *err)
{
    tutti_checker c = {.source = source,
                       .head = source->head,
                       .err = err,
                       .spare_read = -1,
                       .full = a->full || source->head->collective == TUTTI_BARRIER, /* a barrier is right only if every
                                                                                      * rank knows that all others have
                                                                                      * begun, so clocks need all
                                                                                      * entries */
                       .watch = a->cell,
                       .race = -1};
    tutti_status st = tutti_check_load(&c);
    if (st == TUTTI_OK) st = tutti_check_replay(&c);
    if (st == TUTTI_OK && report) *report = c.report;
    *a = (attempt){true, c.race, !c.full && c.suspicion, c.misreads};
    release(&c);
    return st;
}

tutti_status tutti_check_source(const tutti_part_source *source, tutti_check_report *report, tutti_failure *err)
{
    attempt a = {.cell = -1};
    tutti_failure words = {0};
    tutti_status st = check_once(source, &a, report, &words);
    if (st != TUTTI_OK && a.again) {
        a.cell = -1;
        st = check_once(source, &a, report, &words);
    }
    if (st != TUTTI_OK && a.cell >= 0) st = check_once(source, &a, report, &words);
    if (source->races) *source->races = st != TUTTI_OK && (a.cell >= 0 || a.misreads);
    if (st == TUTTI_OK) return TUTTI_OK;
    tutti_fail(err, st, "%s", words.text);
    return tutti_fail_at(err, "%s %s of %d ranks (%s)", source->head->algorithm,
                         tutti_collective_name(source->head->collective), source->head->nranks,
                         tutti_wire_class_name(source->head->wire));
}

tutti_status tutti_schedule_check_rounded(const tutti_schedule *s, tutti_check_report *report, tutti_failure *err)
{
    tutti_part_source source = tutti_part_source_of(s);
    source.rounds_sums = true;
    return tutti_check_source(&source, report, err);
}

tutti_status tutti_schedule_check(const tutti_schedule *s, tutti_check_report *report, tutti_failure *err)
{
    const tutti_part_source source = tutti_part_source_of(s);
    return tutti_check_source(&source, report, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: the proof of a schedule: load, replay, judge (check_impl.h says how and why it holds).
 *
 * A race is found by a number only; the check is then run once more, keeping every access to the cell in question, so
 * that the common case stores no names. Both runs take the same interleaving. */
#include <stdlib.h>

#include "check_impl.h"

static void release(tutti_checker *c)
{
    for (int32_t i = 0; i < c->nchannels; i++) free(c->channels[i].seen);
    free(c->channels);
    free(c->channel_table);
    free(c->cells);
    free(c->reads);
    free(c->witnesses);
    tutti_grid_release(&c->grid);
    tutti_values_release(&c->values);
    tutti_clocks_release(&c->clocks);
    tutti_arena_release(&c->arena);
}

static tutti_status check_once(const tutti_part_source *source, int64_t *cell, tutti_check_report *report,
                               tutti_failure *err)
{
    tutti_checker c = {
        .source = source, .head = source->head, .err = err, .spare_read = -1, .watch = *cell, .race = -1};
    tutti_status st = tutti_check_load(&c);
    if (st == TUTTI_OK) st = tutti_check_replay(&c);
    if (st == TUTTI_OK && report) *report = c.report;
    *cell = c.race;
    release(&c);
    return st;
}

tutti_status tutti_check_source(const tutti_part_source *source, tutti_check_report *report, tutti_failure *err)
{
    int64_t cell = -1;
    tutti_failure words = {0};
    tutti_status st = check_once(source, &cell, report, &words);
    if (st != TUTTI_OK && cell >= 0) st = check_once(source, &cell, report, &words);
    if (st == TUTTI_OK) return TUTTI_OK;
    tutti_fail(err, st, "%s", words.text);
    return tutti_fail_at(err, "%s %s of %d ranks (%s)", source->head->algorithm,
                         tutti_collective_name(source->head->collective), source->head->nranks,
                         tutti_wire_class_name(source->head->wire));
}

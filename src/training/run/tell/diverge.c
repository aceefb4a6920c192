/* SPDX-License-Identifier: Apache-2.0 */
/* diverge.c: ends a run that diverges: its loss or weights are not finite any more.
 *
 * All ranks notice it after the same step. The loss and the verdicts over gradients are the same on all ranks already,
 * and test results are summed over all ranks. Weights are checked before they are saved, and the ranks tell each other
 * the result. Workers that take steps of their own write their losses on the board of visits. Only a run that has
 * diverged exchanges more: it finds out on which ranks it happened. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../../base/text/strbuf.h"
#include "tell.h"

enum { MOST_SKIPPED = 32 }; /* skipped steps in a row that end a run with a fixed scale */

/* Adds the last good checkpoint to the message. A checkpoint's numbers are finite, or it would not have been saved.
 * Only the step after a checkpoint shows whether its weights are good. So the checkpoint of the last step is named only
 * if there is no other. */
static void say_last_good(const tutti_telling *t, tutti_strbuf *words)
{
    tutti_checkpoint_entry *entries;
    int n;
    if (!t->run->config->dir || tutti_checkpoint_list(t->run->config->dir, &entries, &n, NULL)) return;
    const int last = n > 1 && entries[0].step + 1 >= t->run->step ? 1 : 0;
    if (!n) tutti_strbuf_puts(words, "; no checkpoint had been saved before");
    if (n)
        tutti_strbuf_printf(words,
                            "; the last good checkpoint is %s: --init %s --out OTHER begins "
                            "at it with other keys",
                            entries[last].path, entries[last].path);
    tutti_checkpoint_list_release(entries, n);
}

/* Reports once that the run has diverged. If the run is to end: TUTTI_ERR_FAILED, with the message on rank 0 and
 * without one on the others. */
static tutti_status diverge(tutti_telling *t, const char *what, tutti_failure *err)
{
    tutti_strbuf words = {0};
    const bool ends = !t->run->config->outlives_nan;
    if (t->has_diverged) return TUTTI_OK;
    t->has_diverged = true;
    tutti_status st = tutti_report_written(t, true, err);
    if (st) return st;
    tutti_strbuf_printf(&words, "step %" PRId64 ": %s: the run has diverged", t->run->step, what);
    if (t->run->rank == 0 && ends) {
        if (t->run->config->if_diverged) tutti_strbuf_printf(&words, ". %s", t->run->config->if_diverged);
        say_last_good(t, &words);
    } else if (t->run->rank == 0) {
        tutti_strbuf_puts(&words, ", and goes on (on_nan: continue); nothing is saved while weights are not finite");
    }
    if (t->run->rank == 0) st = tutti_report_diverged(t, words.text, ends, err);
    if (!st && ends) st = tutti_fail(err, TUTTI_ERR_FAILED, "%s", t->run->rank == 0 ? words.text : "");
    tutti_strbuf_release(&words);
    return st;
}

static const char *name_of(double value)
{
    return isnan(value) ? "nan" : "infinite";
}

/* ---- the loss ---- */

/* Says which ranks have samples whose loss is not finite. */
static tutti_status say_ranks(const tutti_telling *t, tutti_strbuf *words, tutti_failure *err)
{
    int32_t mine = !isfinite(tutti_step_own_loss(t->run)), n = 0,
            *all = tutti_alloc(sizeof *all * (size_t)t->run->nranks);
    tutti_status st = tutti_group_all_gather(t->run->group, "whose loss is not finite", &mine, all, sizeof mine, err);
    for (int r = 0; r < t->run->nranks; r++) n += all[r];
    for (int r = 0, said = 0; r < t->run->nranks && n && n < t->run->nranks && said < 8; r++)
        if (all[r]) tutti_strbuf_printf(words, "%s%d", said++ ? ", " : n > 1 ? " on ranks " : " on rank ", r);
    if (n == t->run->nranks) tutti_strbuf_puts(words, n > 1 ? " on all ranks" : " on rank 0");
    free(all);
    return st;
}

static tutti_status say_visits(tutti_telling *t, int64_t step, int rank, tutti_failure *err)
{
    tutti_strbuf words = {0};
    tutti_strbuf_printf(&words, "the loss of rank %d is not finite since step %" PRId64, rank, step);
    const tutti_status st = diverge(t, words.text, err);
    tutti_strbuf_release(&words);
    return st;
}

tutti_status tutti_diverge_after_step(tutti_telling *t, tutti_failure *err)
{
    tutti_strbuf words = {0};
    tutti_status st = TUTTI_OK;
    int64_t step;
    int rank;
    if (t->run->config->pretended || t->has_diverged) return TUTTI_OK;
    if (t->run->visits)
        return tutti_visits_bad(t->run->visits, &step, &rank) ? say_visits(t, step + 1, rank, err) : TUTTI_OK;
    const bool is_stuck =
        t->run->skipped_in_a_row &&
        ((t->run->config->loss_scale.dynamic && t->run->skipped_at_least) || t->run->skipped_in_a_row >= MOST_SKIPPED);
    if (isfinite(t->run->last_loss) && !is_stuck) return TUTTI_OK;
    /* the step was skipped and changed no weight; a smaller loss scale may be enough */
    if (t->run->skipped_in_a_row && !is_stuck) return TUTTI_OK;
    if (is_stuck)
        tutti_strbuf_printf(
            &words, "gradients are not finite at loss scale %g, %s, and the last %" PRId64 " steps were skipped",
            t->run->scale.scale, t->run->config->loss_scale.dynamic ? "the smallest" : "which is fixed",
            t->run->skipped_in_a_row);
    else
        tutti_strbuf_printf(&words, "the loss is %s", name_of(t->run->last_loss));
    if (!is_stuck) st = say_ranks(t, &words, err);
    if (!st) st = diverge(t, words.text, err);
    tutti_strbuf_release(&words);
    return st;
}

/* ---- weights ---- */

typedef struct {
    int32_t is_bad;
    char what[120];
} finding;

/* Sends each rank's finding to all ranks. mine: this rank's finding. *is_bad: true if some rank has found bad
 * weights. */
static tutti_status agree(tutti_telling *t, const char *before, const finding *mine, bool *is_bad, tutti_failure *err)
{
    finding *all = tutti_alloc(sizeof *all * (size_t)t->run->nranks);
    int r = 0;
    tutti_status st = tutti_group_all_gather(t->run->group, "are weights finite", mine, all, sizeof *mine, err);
    while (!st && r < t->run->nranks && !all[r].is_bad) r++;
    *is_bad = !st && r < t->run->nranks;
    if (*is_bad) {
        tutti_strbuf words = {0};
        tutti_strbuf_printf(&words, "%sweights are not finite: %s on rank %d", before, all[r].what, r);
        st = diverge(t, words.text, err);
        tutti_strbuf_release(&words);
    }
    free(all);
    return st;
}

tutti_status tutti_diverge_before_saving(tutti_telling *t, const tutti_checkpoint *lent, bool *is_bad,
                                         tutti_failure *err)
{
    finding mine = {0};
    if (t->run->rank == 0 || lent->nown) mine.is_bad = tutti_checkpoint_find_bad(lent, t->run->rank != 0, mine.what);
    return agree(t, "", &mine, is_bad, err);
}

/* Checks the loss of a test. Good weights, too, may give a loss that is not finite for samples of a test set, for
 * example large samples in 16 bits. */
tutti_status tutti_diverge_after_test(tutti_telling *t, double loss, tutti_failure *err)
{
    finding mine = {0};
    bool is_bad;
    char before[64];
    if (isfinite(loss) || t->has_diverged) return TUTTI_OK;
    if (t->run->rank == 0) {
        tutti_checkpoint there = tutti_saving_of(t->run);
        there.nstates = there.nown = 0;
        tutti_checkpoint c = tutti_lent_borrow(t->run, &there);
        mine.is_bad = tutti_checkpoint_find_bad(&c, false, mine.what);
        tutti_lent_give_back(t->run, &there, &c, false);
    }
    snprintf(before, sizeof before, "the loss of the test set is %s, ", name_of(loss));
    const tutti_status st = agree(t, before, &mine, &is_bad, err);
    if (!st && !is_bad && !t->has_odd_test)
        tutti_report_note(t, "the loss of the test set is not finite, and all weights are: look at its samples");
    t->has_odd_test = true;
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* svm_progress.c: draws the progress bar of an SVM training: the bar follows the logarithm of the gap, from its first
 * value down to eps. It goes to stderr, because stdout has LIBSVM's output; a file or a pipe gets a line every
 * second. */
#include "svm_progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../svm/svm_trace.h"
#include "../progress.h"

static const double REDRAW_S = 0.1, LINE_S = 1;

tutti_status tutti_svm_progress_begin(bool shown, const tutti_svm_config *config, const char *path, int nranks,
                                      tutti_svm_progress *out, tutti_failure *err)
{
    *out = (tutti_svm_progress){.shown = shown, .tty = isatty(STDERR_FILENO), .eps = config->eps};
    if (!path) return TUTTI_OK;
    const tutti_status st = tutti_metrics_open(path, -1, &out->trace, err);
    return st ? st : tutti_svm_trace_begin(out->trace, nranks, config->nthreads, err);
}

/* Returns 0 .. 1: how far the gap has fallen from its first value to eps, on a logarithmic scale. */
static double share_done(const tutti_svm_progress *p, const tutti_svm_event *e)
{
    if (e->over || e->gap <= p->eps) return 1;
    if (!(p->first_gap > p->eps) || !(e->gap < p->first_gap)) return 0;
    return log(p->first_gap / e->gap) / log(p->first_gap / p->eps);
}

static void draw(tutti_svm_progress *p, const tutti_svm_event *e)
{
    char bar[TUTTI_PROGRESS_BAR + 3], pair[32] = "";
    tutti_progress_bar((int64_t)(TUTTI_PROGRESS_BAR * share_done(p, e)), TUTTI_PROGRESS_BAR, bar);
    if (e->npairs > 1) snprintf(pair, sizeof pair, "problem %d/%d ", e->pair + 1, e->npairs);
    fprintf(stderr,
            "%s%s%s gap %-9.3g active %" PRId64 "/%" PRId64 " (%.0f %% eliminated) kernel rows %" PRId64 "  %.1f s%s",
            p->tty ? "\r" : "", pair, bar, e->gap, e->active, e->samples,
            e->samples ? 100.0 * (double)(e->samples - e->active) / (double)e->samples : 0.0, e->kernel_rows,
            e->seconds, p->tty ? " \x1b[K" : "\n");
    p->open = p->tty;
}

void tutti_svm_progress_event(void *arg, const tutti_svm_event *e)
{
    tutti_svm_progress *p = arg;
    const double now = tutti_clock_s();
    if (e->round <= 1 || !p->first_gap) p->first_gap = e->gap;
    if (p->trace && !p->trace_failure.status) (void)tutti_svm_trace_event(p->trace, e, &p->trace_failure);
    if (!p->shown || (!e->over && now - p->drawn < (p->tty ? REDRAW_S : LINE_S))) return;
    draw(p, e);
    p->drawn = now;
}

tutti_status tutti_svm_progress_end(tutti_svm_progress *p, tutti_failure *err)
{
    if (p->open) fprintf(stderr, "\n");
    p->open = false;
    if (p->trace && !p->trace_failure.status) (void)tutti_metrics_sync(p->trace, &p->trace_failure);
    tutti_metrics_close(p->trace);
    p->trace = NULL;
    return p->trace_failure.status ? tutti_fail(err, p->trace_failure.status, "%s", p->trace_failure.text) : TUTTI_OK;
}

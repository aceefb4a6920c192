/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: draws the progress bar of a run. On a TTY the step line is drawn over itself, at most ten times a second;
 * a file or a pipe gets one line for each logged interval. Notes go to stderr. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"

static const double REDRAW_S = 0.1;

tutti_progress tutti_progress_begin(bool quiet, const char *dir)
{
    return (tutti_progress){.quiet = quiet, .tty = isatty(STDOUT_FILENO), .dir = dir, .began = tutti_clock_s()};
}

void tutti_progress_end(tutti_progress *p)
{
    if (p->open) printf("\n");
    p->open = false;
    fflush(stdout);
}

void tutti_progress_bar(int64_t done, int64_t all, char out[TUTTI_PROGRESS_BAR + 3])
{
    const int full = (int)(TUTTI_PROGRESS_BAR * done / all);
    memset(out + 1, '.', TUTTI_PROGRESS_BAR);
    memset(out + 1, '#', (size_t)full);
    out[0] = '[';
    snprintf(out + 1 + TUTTI_PROGRESS_BAR, 2, "]");
}

void tutti_progress_time(double seconds, char out[24])
{
    const long s = seconds < 0 ? 0 : seconds > 3e6 ? 3000000 : (long)(seconds + 0.5);
    if (s >= 3600)
        snprintf(out, 24, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, 24, "%ld:%02ld", s / 60, s % 60);
}

static void draw_bar(tutti_progress *p, const tutti_run_event *e)
{
    const double now = tutti_clock_s();
    if (now - p->drawn < REDRAW_S && e->step < e->nsteps) return;
    const double a_step = (now - p->began) / (double)(e->step - p->first_step);
    char bar[TUTTI_PROGRESS_BAR + 3], left[24];
    tutti_progress_bar(e->step, e->nsteps, bar);
    tutti_progress_time(a_step * (double)(e->nsteps - e->step), left);
    printf("\repoch %-5.2f step %" PRId64 "/%" PRId64 " %s loss %.4f  %.0f images/s  %s left \x1b[K", e->epoch, e->step,
           e->nsteps, bar, e->loss, p->ips, left);
    fflush(stdout);
    p->open = true;
    p->drawn = now;
}

static void show_step(tutti_progress *p, const tutti_run_event *e)
{
    if (e->is_logged) p->ips = e->images_per_s;
    if (p->tty) draw_bar(p, e);
    if (p->tty || !e->is_logged) return;
    printf("epoch %.2f step %" PRId64 "/%" PRId64 " loss %.4f lr %.4g %.0f images/s step %.2f ms comm %.2f ms",
           e->epoch, e->step, e->nsteps, e->loss, e->lr, e->images_per_s, e->step_ms, e->comm_ms);
    if (e->nskipped) printf(" loss scale %g, skipped %" PRId64, e->loss_scale, e->nskipped);
    printf("\n");
}

static void show_note(tutti_progress *p, const char *text)
{
    const size_t length = strlen(text);
    tutti_progress_end(p);
    fprintf(stderr, "tutti train: %s%s", text, length && text[length - 1] == '\n' ? "" : "\n");
}

void tutti_progress_event(tutti_progress *p, const tutti_run_event *e)
{
    if (e->kind == TUTTI_RUN_NOTE) {
        show_note(p, e->text);
        return;
    }
    const bool again = e->epoch_of_group > 1; /* a rank was lost and the run continues: most lines were printed
                                               * before */
    if (p->quiet) return;
    switch (e->kind) {
    case TUTTI_RUN_BEGIN:
        p->began = tutti_clock_s();
        p->first_step = e->step;
        if (again) break;
        if (strcmp(e->text, "f32") != 0 && e->step < e->nsteps) printf("precision %s\n", e->text);
        if (e->step > 0 && e->step < e->nsteps)
            printf("resuming at step %" PRId64 " of %" PRId64 " from %s\n", e->step, e->nsteps, p->dir);
        break;
    case TUTTI_RUN_INIT:
    case TUTTI_RUN_PROVED:
    case TUTTI_RUN_COPIES:
        if (!again) printf("%s\n", e->text);
        break;
    case TUTTI_RUN_STEP: show_step(p, e); break;
    case TUTTI_RUN_TEST:
        tutti_progress_end(p);
        printf("epoch %.2f test accuracy %.2f %% loss %.4f\n", e->epoch, 100 * e->accuracy, e->loss);
        break;
    case TUTTI_RUN_RESTARTED:
    case TUTTI_RUN_TRACED:
    case TUTTI_RUN_VISITS:
        tutti_progress_end(p);
        printf("%s\n", e->text);
        break;
    case TUTTI_RUN_PLAN:
    case TUTTI_RUN_DATA:
    case TUTTI_RUN_COST:
        if (again && e->kind != TUTTI_RUN_COST) break;
        tutti_progress_end(p);
        fputs(e->text, stdout);
        break;
    default: break;
    }
    if (!p->open) fflush(stdout);
}

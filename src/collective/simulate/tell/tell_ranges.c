/* SPDX-License-Identifier: Apache-2.0 */
/* tell_ranges.c: prints which algorithm is best from which size on, and draws times over sizes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../../base/clock.h"
#include "../../../base/text/json.h"
#include "../../../metrics/chart/chart.h"
#include "tell_choice.h"

static void tell_json(const tutti_range *r, int64_t first, int64_t last, tutti_strbuf *out)
{
    tutti_json j = {.out = out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "algorithm", r->algorithm);
    tutti_json_int(&j, "first_bytes", first);
    tutti_json_int(&j, "last_bytes", last);
    tutti_json_real(&j, "first_s", r->first_s);
    tutti_json_real(&j, "last_s", r->last_s);
    tutti_json_close(&j, '}');
    tutti_strbuf_puts(out, "\n");
}

void tutti_tell_ranges(const tutti_ranges *ranges, int64_t nrows, bool json, tutti_strbuf *out)
{
    if (!json)
        tutti_strbuf_printf(out, "%14s %14s  %-36s %13s %13s\n", "from bytes", "to bytes", "algorithm", "predicted",
                            "to");
    for (int i = 0; i < ranges->nranges; i++) {
        const tutti_range *r = &ranges->ranges[i];
        int64_t first = r->first * TUTTI_ELEMENT_BYTES / nrows, last = r->last * TUTTI_ELEMENT_BYTES / nrows;
        if (json)
            tell_json(r, first, last, out);
        else
            tutti_strbuf_printf(out, "%14lld %14lld  %-36s %13s %13s\n", (long long)first, (long long)last,
                                r->algorithm, tutti_time_words(r->first_s).text, tutti_time_words(r->last_s).text);
    }
    if (json) return;
    if (*ranges->skipped)
        tutti_strbuf_printf(out, "\nleft out, too many steps (--all takes them): %s\n", ranges->skipped);
    tutti_strbuf_printf(
        out,
        "\nBorders are within 1/256. Not in the model: packets, congestion control, other users of the machine.\n");
}

/* ---- the picture ---- */

enum { MOST_SIZES = 32, MOST_CURVES = 64 };

typedef struct {
    double bytes[MOST_SIZES];
    int chosen[MOST_SIZES], nsizes, ncurves;
    char name[MOST_CURVES][TUTTI_ALGORITHM_TEXT]; /* name of a row, without parameters */
    double seconds[MOST_CURVES][MOST_SIZES];
} curves;

static int curve_of(curves *c, const char *algorithm)
{
    const int length = (int)strcspn(algorithm, ",");
    int k = 0;
    while (k < c->ncurves && (strncmp(c->name[k], algorithm, (size_t)length) != 0 || c->name[k][length])) k++;
    if (k < c->ncurves || k == MOST_CURVES) return k;
    c->ncurves++;
    snprintf(c->name[k], sizeof c->name[k], "%.*s", length, algorithm);
    for (int i = 0; i < MOST_SIZES; i++) c->seconds[k][i] = (double)NAN;
    return k;
}

static void take_choice(curves *c, int size, const tutti_choice *choice)
{
    c->chosen[size] = -1;
    for (int i = 0; i < choice->ncandidates; i++) {
        const tutti_candidate *a = &choice->candidates[i];
        const int k = a->can ? curve_of(c, a->algorithm) : MOST_CURVES;
        if (k == MOST_CURVES) continue;
        c->seconds[k][size] = fmin(c->seconds[k][size], a->sim.seconds);
        if (i == choice->best) c->chosen[size] = k;
    }
}

static void draw(const curves *c, const char *title, double at, tutti_strbuf *svg)
{
    tutti_times_curve of[MOST_CURVES];
    for (int k = 0; k < c->ncurves; k++) of[k] = (tutti_times_curve){c->name[k], c->seconds[k]};
    tutti_times_chart_svg(&(tutti_times_chart){title, c->bytes, c->nsizes, of, c->ncurves, c->chosen, at}, svg);
}

tutti_status tutti_tell_times_svg(const tutti_tell_times *times, tutti_strbuf *svg, tutti_failure *err)
{
    curves *c = tutti_alloc(sizeof *c);
    tutti_choice *choice = tutti_alloc(sizeof *choice);
    const tutti_compile_request *q = times->q;
    const int64_t nrows = q->collective == TUTTI_ALL_TO_ALL ? q->nranks : 1;
    char title[120];
    for (int64_t bytes = TUTTI_ELEMENT_BYTES; c->nsizes < MOST_SIZES; bytes *= 4) {
        if (bytes > times->most) bytes = times->most;
        tutti_choose_by(times->policy, times->most_steps, q, bytes * nrows / TUTTI_ELEMENT_BYTES, times->t, choice);
        c->bytes[c->nsizes] = (double)bytes;
        take_choice(c, c->nsizes++, choice);
        if (bytes >= times->most) break;
    }
    snprintf(title, sizeof title, "%s over %d ranks, %.80s", tutti_collective_name(q->collective), q->nranks,
             times->topology);
    tutti_status st = TUTTI_OK;
    if (c->ncurves)
        draw(c, title, (double)times->at, svg);
    else
        st = tutti_fail(err, TUTTI_ERR_USAGE, "no algorithm can do this, so there is nothing to draw");
    free(choice), free(c);
    return st;
}

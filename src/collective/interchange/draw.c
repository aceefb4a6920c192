/* SPDX-License-Identifier: Apache-2.0 */
/* draw.c: draws a schedule as a picture. Each stage is a column and each rank a line; the steps of a stage are drawn
 * between two thin lines. A message is drawn once, at the rank that moves the data. */
#include "draw.h"

#include <math.h>
#include <stdio.h>

#include "../../base/hash.h"
#include "../../metrics/chart/chart.h"

enum {
    LEFT = 70,
    TOP = 74,
    ROW = 46,
    COLUMN = 84,
    EDGE = 14,
    FOOT = 76,
    HEAD_LENGTH = 7,
    MIDDLES = 96,
    WIDEST = 20000
};

typedef struct {
    tutti_strbuf *out;
    const tutti_part *part;
    int32_t nstages;
} picture;

static double x_of(int32_t stage)
{
    return LEFT + (double)stage * COLUMN;
}

static double y_of(int32_t rank)
{
    return TOP + (double)rank * ROW;
}

/* Colours run from blue to red over the vector, through green and yellow; grey means all of it. */
static void colour_of(const tutti_slice *s, char out[24])
{
    if (s->count == s->of) {
        snprintf(out, 24, "#555");
        return;
    }
    double middle = ((double)s->first + 0.5 * s->count) / s->of;
    snprintf(out, 24, "hsl(%.0f,75%%,%.0f%%)", 225 - 225 * middle, 44 - 8 * sin(3.14159 * middle));
}

/* the part of a stage's column in which an arrow is drawn: in halves, reads are in the first and writes in the
 * second */
typedef enum { WHOLE, FIRST_HALF, SECOND_HALF } span;

/* Draws an arrow from this rank to another; without a colour it is a signal, thin and grey. */
static void arrow(const picture *p, int32_t stage, span where, int32_t from, int32_t to, const char *colour)
{
    const bool signal = !colour;
    if (signal) colour = "#aaa";
    double middle = x_of(stage) + 0.5 * COLUMN;
    double x0 = where == SECOND_HALF ? middle + 5 : x_of(stage) + EDGE;
    double x1 = where == FIRST_HALF ? middle - 5 : x_of(stage + 1) - EDGE, y0 = y_of(from), y1 = y_of(to);
    double length = hypot(x1 - x0, y1 - y0), ux = (x1 - x0) / length, uy = (y1 - y0) / length;
    double bx = x1 - HEAD_LENGTH * ux, by = y1 - HEAD_LENGTH * uy, w = signal ? 2.2 : 3.4;
    tutti_strbuf_printf(p->out,
                        "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"%s\" stroke-width=\"%s\"%s/>"
                        "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fZ\" fill=\"%s\"/>\n",
                        x0, y0, bx, by, colour, signal ? "0.8" : "1.8", signal ? " stroke-dasharray=\"3 2\"" : "", x1,
                        y1, bx - w * uy, by + w * ux, bx + w * uy, by - w * ux, colour);
}

/* Draws the mark of a sum or copy. k: number of marks that are already at this place. */
static void mark(const picture *p, const tutti_step *s, int k)
{
    const tutti_slice *what = &p->part->slices[s->first_out];
    char colour[24];
    colour_of(what, colour);
    bool between = false; /* true if the step both reads and writes memory of other ranks */
    for (int32_t i = 0; i < s->nins + s->nouts; i++) {
        int32_t slice = i < s->nins ? s->first_in + i : s->first_out + i - s->nins;
        between = between || p->part->slices[slice].rank != p->part->rank;
    }
    double x = x_of(s->stage + 1) - (between ? 0.5 * COLUMN : 4) - 7.0 * (k % 4),
           y = y_of(p->part->rank) - 9.0 * (k / 4 % 2);
    if (s->kind == TUTTI_STEP_REDUCE)
        tutti_strbuf_printf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" stroke=\"#fff\"/>\n", x, y,
                            colour);
    else
        tutti_strbuf_printf(p->out,
                            "<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\" fill=\"%s\" stroke=\"#fff\"/>\n",
                            x - 3, y - 3, colour);
}

/* Draws arrows from the ranks whose memory the step reads, or to those whose memory it writes. */
static void remote(const picture *p, const tutti_step *s)
{
    for (int32_t k = 0; k < s->nins + s->nouts; k++) {
        bool in = k < s->nins;
        const tutti_slice *slice = &p->part->slices[in ? s->first_in + k : s->first_out + k - s->nins];
        char colour[24];
        if (slice->rank == p->part->rank) continue;
        colour_of(slice, colour);
        arrow(p, s->stage,
              s->kind == TUTTI_STEP_PUT ? WHOLE
              : in                      ? FIRST_HALF
                                        : SECOND_HALF,
              in ? slice->rank : p->part->rank, in ? p->part->rank : slice->rank, colour);
    }
}

static void messages(const picture *p)
{
    for (int32_t i = 0; i < p->part->nsteps; i++) {
        const tutti_step *s = &p->part->steps[i];
        char colour[24];
        if (s->kind == TUTTI_STEP_SIGNAL) arrow(p, s->stage, WHOLE, p->part->rank, s->peer, NULL);
        if (s->kind == TUTTI_STEP_SEND) {
            colour_of(&p->part->slices[s->first_in], colour);
            arrow(p, s->stage, WHOLE, p->part->rank, s->peer, colour);
        }
        if (s->kind == TUTTI_STEP_REDUCE || s->kind == TUTTI_STEP_COPY || s->kind == TUTTI_STEP_PUT) remote(p, s);
    }
}

static void marks(const picture *p)
{
    int32_t stage = -1;
    for (int32_t i = 0, k = 0; i < p->part->nsteps; i++) {
        const tutti_step *s = &p->part->steps[i];
        if (s->kind != TUTTI_STEP_REDUCE && s->kind != TUTTI_STEP_COPY) continue;
        k = s->stage == stage ? k + 1 : 0;
        stage = s->stage;
        mark(p, s, k);
    }
}

static void frame(const picture *p, int32_t nranks)
{
    char words[32];
    for (int32_t r = 0; r < nranks; r++) {
        tutti_strbuf_printf(p->out, "<path class=\"grid\" d=\"M%d %.1fH%.1f\"/>\n", LEFT, y_of(r), x_of(p->nstages));
        snprintf(words, sizeof words, "rank %d", r);
        tutti_svg_text(LEFT - 10, y_of(r) + 4, "text-anchor=\"end\"", words, p->out);
    }
    for (int32_t s = 0; s <= p->nstages; s++)
        tutti_strbuf_printf(p->out, "<path class=\"grid\" d=\"M%.1f %dV%.1f\"/>\n", x_of(s), TOP - 16,
                            y_of(nranks - 1) + 12);
    for (int32_t s = 0; s < p->nstages; s++) {
        snprintf(words, sizeof words, "%d", s);
        tutti_svg_text(x_of(s) + 0.5 * COLUMN, TOP - 22, "text-anchor=\"middle\" class=\"quiet\"", words, p->out);
    }
    tutti_svg_text(LEFT - 10, TOP - 22, "text-anchor=\"end\" class=\"quiet\"", "stage", p->out);
}

static void legend(const picture *p, const tutti_schedule_header *h)
{
    double y = y_of(h->nranks - 1) + 34;
    for (int i = 0; i < MIDDLES; i++) {
        char colour[24];
        colour_of(&(tutti_slice){.first = i, .count = 1, .of = MIDDLES}, colour);
        tutti_strbuf_printf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"1.6\" height=\"9\" fill=\"%s\"/>",
                            LEFT + 1.5 * i, y - 8, colour);
    }
    tutti_svg_text(LEFT + 1.5 * MIDDLES + 8, y, "", "from the first to the last element; dots add, squares copy",
                   p->out);
    tutti_strbuf_printf(p->out, "<rect x=\"%d\" y=\"%.1f\" width=\"10\" height=\"9\" fill=\"#555\"/>", LEFT, y + 8);
    tutti_svg_text(LEFT + 18, y + 16, "", "the whole vector", p->out);
    if (h->wire != TUTTI_WIRE_TWO_SIDED)
        tutti_svg_text(LEFT, y + 32, "class=\"quiet\"",
                       "dashed: signals; other arrows: data that is read or written there", p->out);
}

static void title(const picture *p, const tutti_schedule *s)
{
    const tutti_schedule_header *h = tutti_schedule_head(s);
    char words[200], hash[17];
    tutti_hash_text(tutti_schedule_hash(s), hash);
    snprintf(words, sizeof words, "%s %s, %d ranks (%s%s)", h->algorithm, tutti_collective_name(h->collective),
             h->nranks, tutti_wire_class_name(h->wire), h->in_place ? ", in place" : "");
    tutti_svg_text(LEFT, 22, "class=\"title\"", words, p->out);
    snprintf(words, sizeof words, "hash %s", hash);
    tutti_svg_text(LEFT, 38, "class=\"quiet\"", words, p->out);
}

tutti_status tutti_schedule_draw(const tutti_schedule *s, tutti_strbuf *out, tutti_failure *err)
{
    const tutti_schedule_header *h = tutti_schedule_head(s);
    tutti_part part;
    picture p = {.out = out, .part = &part, .nstages = 1};
    if (h->nranks > TUTTI_DRAW_MOST_RANKS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%d ranks: a picture holds at most %d", h->nranks,
                          TUTTI_DRAW_MOST_RANKS);
    for (int32_t r = 0; r < h->nranks; r++) {
        tutti_schedule_part(s, r, &part);
        for (int32_t i = 0; i < part.nsteps; i++)
            if (part.steps[i].stage >= p.nstages) p.nstages = part.steps[i].stage + 1;
        tutti_part_release(&part);
    }
    if (p.nstages > WIDEST / COLUMN)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%d stages: a picture holds at most %d", p.nstages, WIDEST / COLUMN);
    int width = LEFT + p.nstages * COLUMN + 30;
    tutti_svg_begin(width < 640 ? 640 : width, TOP + (h->nranks - 1) * ROW + FOOT, out);
    title(&p, s);
    frame(&p, h->nranks);
    for (int pass = 0; pass < 2; pass++) /* draws arrows in the first pass and marks over them in the second */
        for (int32_t r = 0; r < h->nranks; r++) {
            tutti_schedule_part(s, r, &part);
            if (pass)
                marks(&p);
            else
                messages(&p);
            tutti_part_release(&part);
        }
    legend(&p, h);
    tutti_svg_end(out);
    return TUTTI_OK;
}

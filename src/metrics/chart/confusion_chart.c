/* SPDX-License-Identifier: Apache-2.0 */
/* confusion_chart.c: draws the confusion matrix: a cell's darkness is its share of the row's samples, with that share
 * in hundredths. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chart.h"
#include "confusion_impl.h"

enum {
    LETTER = 7,
    MOST_LETTERS = 14,
    AXIS = 26,
    HEAD = 46,
    FOOT = 40,
    LEAST_WIDTH = 380,
    RIGHT_COLOUR = 0,
    WRONG_COLOUR = 1
};

typedef struct {
    const tutti_confusion *c;
    tutti_confusion_shown shown;
    int cell, ncolumns, left, top, width, height;
} picture;

/* Shortens a name to its first letters, without cutting a UTF-8 character. */
static void shorten(const char *text, char out[MOST_LETTERS * 4 + 4])
{
    size_t n = 0;
    int letters = 0;
    for (; text[n] && n < MOST_LETTERS * 4; n++) {
        const bool begins = ((unsigned char)text[n] & 0xc0) != 0x80;
        if (begins && letters++ == MOST_LETTERS) break;
    }
    memcpy(out, text, n);
    out[n] = '\0';
}

static int letters_of(const char *text)
{
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void name_of(const picture *p, int column, char out[MOST_LETTERS * 4 + 4])
{
    tutti_strbuf name = {0};
    if (column == p->shown.n)
        tutti_strbuf_puts(&name, "others");
    else
        tutti_confusion_name(p->c, p->shown.class_number[column], &name);
    shorten(name.text, out);
    tutti_strbuf_release(&name);
}

static void lay_out(const tutti_confusion *c, picture *p)
{
    char name[MOST_LETTERS * 4 + 4];
    int most = 1;
    *p = (picture){.c = c};
    tutti_confusion_choose(c, &p->shown);
    p->ncolumns = p->shown.n + !p->shown.all;
    for (int j = 0; j < p->ncolumns; j++) {
        name_of(p, j, name);
        if (letters_of(name) > most) most = letters_of(name);
    }
    p->cell = p->shown.n <= 12 ? 28 : 22;
    p->left = AXIS + most * LETTER + 8;
    p->top = HEAD + AXIS + (most > 2 ? most * LETTER : 12) + 4;
    p->width = p->left + p->ncolumns * p->cell + 12;
    if (p->width < LEAST_WIDTH) p->width = LEAST_WIDTH;
    p->height = p->top + p->shown.n * p->cell + FOOT;
}

/* Writes a percentage: one digit after the point below 10, and near 100, so that 100 is written only for all
 * samples. */
static void share_words(int64_t n, int64_t of, char out[16])
{
    const double percent = 100 * (double)n / (double)of;
    const bool fine = percent < 9.95 || (percent >= 99.5 && n < of);
    if (percent < 0.05)
        snprintf(out, 16, "&lt;.1");
    else
        snprintf(out, 16, fine ? "%.1f" : "%.0f", fine && n < of ? fmin(percent, 99.9) : percent);
}

static void draw_cell(const picture *p, int row, int column, int64_t n, tutti_strbuf *out)
{
    const int label = p->shown.class_number[row];
    const bool right = column < p->shown.n && p->shown.class_number[column] == label;
    const double share = p->c->seen[label] ? (double)n / (double)p->c->seen[label] : 0;
    const int x = p->left + column * p->cell, y = p->top + row * p->cell;
    char from[MOST_LETTERS * 4 + 4], to[MOST_LETTERS * 4 + 4], words[16];
    if (!n) return;
    name_of(p, row, from);
    name_of(p, column, to);
    tutti_strbuf_puts(out, "<g><title>");
    tutti_svg_escape(from, out);
    tutti_strbuf_puts(out, " taken for ");
    tutti_svg_escape(to, out);
    tutti_strbuf_printf(out,
                        ": %lld of %lld</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" "
                        "fill-opacity=\"%.2f\"/>\n",
                        (long long)n, (long long)p->c->seen[label], x, y, p->cell, p->cell,
                        tutti_svg_colour(right ? RIGHT_COLOUR : WRONG_COLOUR), 0.08 + 0.92 * share);
    share_words(n, p->c->seen[label], words);
    tutti_strbuf_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" font-size=\"%d\"%s>%s</text></g>\n",
                        x + p->cell / 2.0, y + p->cell / 2 + 4, p->cell > 24 ? 11 : 9,
                        share > 0.72 ? " fill=\"#fff\"" : "", words);
}

static void draw_names(const picture *p, tutti_strbuf *out)
{
    char name[MOST_LETTERS * 4 + 4], turned[80];
    for (int j = 0; j < p->ncolumns; j++) {
        const double x = p->left + (j + 0.5) * p->cell;
        name_of(p, j, name);
        if (letters_of(name) <= 2) {
            tutti_svg_text(x, p->top - 6, "text-anchor=\"middle\"", name, out);
            continue;
        }
        snprintf(turned, sizeof turned, "transform=\"rotate(-90 %.1f %d)\"", x + 4, p->top - 6);
        tutti_svg_text(x + 4, p->top - 6, turned, name, out);
    }
    for (int i = 0; i < p->shown.n; i++) {
        name_of(p, i, name);
        tutti_svg_text(p->left - 6, p->top + (i + 0.5) * p->cell + 4, "text-anchor=\"end\"", name, out);
    }
}

static void draw_grid(const picture *p, tutti_strbuf *out)
{
    const int right = p->left + p->ncolumns * p->cell, bottom = p->top + p->shown.n * p->cell;
    for (int i = 0; i <= p->shown.n; i++)
        tutti_strbuf_printf(out, "<path class=\"grid\" d=\"M%d %dH%d\"/>\n", p->left, p->top + i * p->cell, right);
    for (int j = 0; j <= p->ncolumns; j++)
        tutti_strbuf_printf(out, "<path class=\"grid\" d=\"M%d %dV%d\"/>\n", p->left + j * p->cell, p->top, bottom);
}

static void draw_words(const picture *p, tutti_strbuf *out)
{
    int64_t seen = 0, right = 0;
    char title[96], turned[80];
    const double middle = p->left + p->ncolumns * p->cell / 2.0, half = p->top + p->shown.n * p->cell / 2.0;
    for (int k = 0; k < p->c->nclasses; k++) seen += p->c->seen[k], right += p->c->right[k];
    snprintf(title, sizeof title, "accuracy %.4f of %lld samples", seen ? (double)right / (double)seen : 0,
             (long long)seen);
    tutti_svg_text(12, 20, "class=\"title\" font-size=\"14\"", title, out);
    if (p->shown.all)
        snprintf(title, sizeof title, "%d classes", p->c->nclasses);
    else
        snprintf(title, sizeof title, "the %d of %d classes with the most frequent mistakes", p->shown.n,
                 p->c->nclasses);
    tutti_svg_text(12, 38, "class=\"quiet\"", title, out);
    tutti_svg_text(middle, HEAD + 12, "text-anchor=\"middle\"", "prediction", out);
    snprintf(turned, sizeof turned, "text-anchor=\"middle\" transform=\"rotate(-90 16 %.1f)\"", half);
    tutti_svg_text(16, half, turned, "label", out);
    tutti_svg_text(12, p->height - 14, "class=\"quiet\" font-size=\"11\"",
                   "in a cell: per cent of the row's samples; blue is right", out);
}

void tutti_confusion_svg(const tutti_confusion *c, tutti_strbuf *out)
{
    picture p;
    lay_out(c, &p);
    tutti_svg_begin(p.width, p.height, out);
    draw_words(&p, out);
    for (int i = 0; i < p.shown.n; i++) {
        const int label = p.shown.class_number[i];
        for (int j = 0; j < p.shown.n; j++)
            draw_cell(&p, i, j, c->count[(int64_t)label * c->nclasses + p.shown.class_number[j]], out);
        if (!p.shown.all) draw_cell(&p, i, p.shown.n, tutti_confusion_others(c, &p.shown, label), out);
    }
    draw_grid(&p, out);
    draw_names(&p, out);
    tutti_svg_end(out);
}

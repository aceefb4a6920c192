/* SPDX-License-Identifier: Apache-2.0 */
/* confusion.c: counts a confusion matrix (for each class, which classes its samples are predicted as) and prints its
 * two tables. confusion_chart.c draws the picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "confusion_impl.h"

void tutti_confusion_add(tutti_confusion *c, int label, int predicted)
{
    c->seen[label]++;
    c->right[label] += label == predicted;
    if (c->count) c->count[(int64_t)label * c->nclasses + predicted]++;
}

/* ---- which classes are shown ---- */

typedef struct {
    int class_number;
    int64_t seen, right;
} ranked;

static double accuracy_of(const ranked *r)
{
    return (double)r->right / (double)r->seen;
}

static int worse_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    const double p = accuracy_of(x), q = accuracy_of(y);
    return p != q ? (p > q) - (p < q) : (x->class_number > y->class_number) - (x->class_number < y->class_number);
}

/* Returns the classes that have samples, the worst first; the caller frees the array. */
static ranked *rank(const tutti_confusion *c, int *n)
{
    ranked *r = tutti_alloc(sizeof *r * ((size_t)c->nclasses + 1));
    *n = 0;
    for (int k = 0; k < c->nclasses; k++)
        if (c->seen[k]) r[(*n)++] = (ranked){k, c->seen[k], c->right[k]};
    qsort(r, (size_t)*n, sizeof *r, worse_first);
    return r;
}

typedef struct {
    int label, predicted;
    int64_t n;
} mistake;

static int most_first(const void *a, const void *b)
{
    const mistake *x = a, *y = b;
    if (x->n != y->n) return (x->n < y->n) - (x->n > y->n);
    if (x->label != y->label) return (x->label > y->label) - (x->label < y->label);
    return (x->predicted > y->predicted) - (x->predicted < y->predicted);
}

/* Returns the mistakes, the most frequent first; the caller frees the array. */
static mistake *find_mistakes(const tutti_confusion *c, int64_t *n)
{
    mistake *m = NULL;
    int64_t room = 0;
    *n = 0;
    for (int label = 0; label < c->nclasses; label++)
        for (int predicted = 0; predicted < c->nclasses; predicted++) {
            const int64_t count = c->count[(int64_t)label * c->nclasses + predicted];
            if (!count || label == predicted) continue;
            if (*n == room) m = tutti_realloc(m, sizeof *m * (size_t)(room = room ? room * 2 : 64));
            m[(*n)++] = (mistake){label, predicted, count};
        }
    if (*n) qsort(m, (size_t)*n, sizeof *m, most_first);
    return m;
}

static int by_number(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void show_class(tutti_confusion_shown *s, int class_number)
{
    for (int i = 0; i < s->n; i++)
        if (s->class_number[i] == class_number) return;
    if (s->n < TUTTI_CONFUSION_WORST) s->class_number[s->n++] = class_number;
}

/* Chooses the classes to show. If there are many, it takes the classes of the most frequent mistakes, because the worst
 * classes alone would seldom be mistaken for each other. */
void tutti_confusion_choose(const tutti_confusion *c, tutti_confusion_shown *out)
{
    int64_t n;
    *out = (tutti_confusion_shown){.all = c->nclasses <= TUTTI_CONFUSION_ALL};
    if (out->all) {
        for (int k = 0; k < c->nclasses; k++) out->class_number[out->n++] = k;
        return;
    }
    mistake *m = find_mistakes(c, &n);
    for (int64_t i = 0; i < n && out->n < TUTTI_CONFUSION_WORST; i++) {
        show_class(out, m[i].label);
        show_class(out, m[i].predicted);
    }
    free(m);
    qsort(out->class_number, (size_t)out->n, sizeof *out->class_number, by_number);
}

int64_t tutti_confusion_others(const tutti_confusion *c, const tutti_confusion_shown *shown, int label)
{
    int64_t left = c->seen[label];
    for (int j = 0; j < shown->n; j++) left -= c->count[(int64_t)label * c->nclasses + shown->class_number[j]];
    return left;
}

/* Appends the name of a class. Characters that a terminal or an XML reader would take for a command become '?'. */
void tutti_confusion_name(const tutti_confusion *c, int class_number, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "%d", class_number);
    if (class_number >= c->nnames) return;
    const size_t begin = out->length;
    tutti_strbuf_printf(out, " %s", c->name[class_number]);
    for (size_t i = begin; i < out->length; i++)
        if ((unsigned char)out->text[i] < ' ' || out->text[i] == 0x7f) out->text[i] = '?';
}

/* ---- tables ---- */

static int widest_name(const tutti_confusion *c, const int *numbers, int n)
{
    int most = 0;
    for (int i = 0; i < n; i++) {
        tutti_strbuf name = {0};
        tutti_confusion_name(c, numbers[i], &name);
        if ((int)name.length > most) most = (int)name.length;
        tutti_strbuf_release(&name);
    }
    return most;
}

static void add_name(const tutti_confusion *c, int class_number, int width, tutti_strbuf *out)
{
    tutti_strbuf name = {0};
    tutti_confusion_name(c, class_number, &name);
    tutti_strbuf_printf(out, "  %-*s", width, name.text);
    tutti_strbuf_release(&name);
}

void tutti_confusion_accuracy(const tutti_confusion *c, tutti_strbuf *out)
{
    int n, numbers[TUTTI_CONFUSION_ALL];
    ranked *r = rank(c, &n);
    const int shown = c->nclasses <= TUTTI_CONFUSION_ALL ? n : n < TUTTI_CONFUSION_WORST ? n : TUTTI_CONFUSION_WORST;
    for (int i = 0; i < shown; i++) numbers[i] = r[i].class_number;
    const int width = widest_name(c, numbers, shown) < 5 ? 5 : widest_name(c, numbers, shown);
    if (shown < n)
        tutti_strbuf_printf(out, "accuracy by class: the worst %d of %d\n", shown, n);
    else
        tutti_strbuf_puts(out, "accuracy by class, the worst first\n");
    tutti_strbuf_printf(out, "  %-*s  samples  right  accuracy\n", width, "class");
    for (int i = 0; i < shown; i++) {
        add_name(c, r[i].class_number, width, out);
        tutti_strbuf_printf(out, "  %7lld  %5lld    %.4f\n", (long long)r[i].seen, (long long)r[i].right,
                            accuracy_of(&r[i]));
    }
    if (n < c->nclasses)
        tutti_strbuf_printf(out, "  %d of %d classes have no test samples\n", c->nclasses - n, c->nclasses);
    free(r);
}

static int digits_of(int64_t n)
{
    char text[24];
    return snprintf(text, sizeof text, "%lld", (long long)n);
}

/* Returns the width of the widest number. */
static int cell_width(const tutti_confusion *c, const tutti_confusion_shown *shown)
{
    int width = shown->all ? 2 : 6; /* the column "others" needs six characters */
    for (int i = 0; i < shown->n; i++) {
        const int own = digits_of(c->seen[shown->class_number[i]]), number = digits_of(shown->class_number[i]);
        width = own > width ? own : width;
        width = number > width ? number : width;
    }
    return width;
}

void tutti_confusion_text(const tutti_confusion *c, tutti_strbuf *out)
{
    tutti_confusion_shown shown;
    tutti_confusion_choose(c, &shown);
    const int width = widest_name(c, shown.class_number, shown.n), cell = cell_width(c, &shown);
    tutti_strbuf_puts(out, "confusion: rows are labels, columns predictions");
    if (!shown.all)
        tutti_strbuf_printf(out, "; the %d of %d classes with the most frequent mistakes", shown.n, c->nclasses);
    tutti_strbuf_printf(out, "\n  %-*s", width, "");
    for (int j = 0; j < shown.n; j++) tutti_strbuf_printf(out, " %*d", cell, shown.class_number[j]);
    tutti_strbuf_puts(out, shown.all ? "\n" : " others\n");
    for (int i = 0; i < shown.n; i++) {
        const int label = shown.class_number[i];
        add_name(c, label, width, out);
        for (int j = 0; j < shown.n; j++)
            tutti_strbuf_printf(out, " %*lld", cell,
                                (long long)c->count[(int64_t)label * c->nclasses + shown.class_number[j]]);
        if (!shown.all) tutti_strbuf_printf(out, " %6lld", (long long)tutti_confusion_others(c, &shown, label));
        tutti_strbuf_puts(out, "\n");
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* svm_model_read.c: reads a model in LIBSVM's format. LIBSVM itself accepts a file that was cut anywhere and predicts
 * nonsense.
 *
 * A last line without '\n' was cut. Counts of the header are compared with what the rest of the file can hold before
 * memory is asked for: a false header costs nothing. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/text/strbuf.h"
#include "../data/svm_text.h"

enum { CLASSES_MOST = 46340 /* most classes: with more, the number of pairs would not fit an int */ };

typedef struct {
    const char *name;
    const char *next, *end; /* next byte to read of the text, and its end */
    int64_t line;           /* number of the current line, from 1 */
    const char *line_end;   /* end of the current line: its '\n' */
    bool lenient;
    bool cut;   /* the current line is the last and has no '\n'; only a lenient reader reads it */
    char *tail; /* copy of the cut last line with a '\n' */
    unsigned seen;
    tutti_svm_model model;
    tutti_failure *err;
} reader;

__attribute__((format(printf, 2, 3))) static tutti_status refuse(reader *r, const char *format, ...)
{
    va_list args;
    tutti_strbuf words = {0};
    va_start(args, format);
    tutti_strbuf_vprintf(&words, format, args);
    va_end(args);
    tutti_status st = tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %lld: %s", r->name, (long long)r->line, words.text);
    tutti_strbuf_release(&words);
    return st;
}

/* Returns the next line, which ends in '\n'. NULL with TUTTI_OK: there is none. */
static tutti_status next_line(reader *r, const char **line)
{
    *line = NULL;
    if (r->next == r->end) return TUTTI_OK;
    r->line++;
    const size_t rest = (size_t)(r->end - r->next);
    const char *newline = memchr(r->next, '\n', rest);
    if (newline) {
        *line = r->next;
        r->line_end = newline;
        r->next = newline + 1;
        return TUTTI_OK;
    }
    if (!r->lenient) return refuse(r, "the file was cut: it ends in the middle of this line");
    r->tail = tutti_alloc(rest + 1);
    memcpy(r->tail, r->next, rest);
    r->tail[rest] = '\n';
    *line = r->tail;
    r->line_end = r->tail + rest;
    r->next = r->end;
    r->cut = true;
    return TUTTI_OK;
}

/* --- reading the header --- */

static int64_t npairs_of(const reader *r)
{
    return (int64_t)r->model.nclasses * (r->model.nclasses - 1) / 2;
}

/* Checks that there are n words from p to the end of the line. */
static tutti_status want_words(reader *r, const char *key, const char *p, int64_t n)
{
    int64_t found = 0;
    for (p = tutti_svm_skip_blanks(p); !tutti_svm_at_end(p); p = tutti_svm_skip_blanks(p), found++)
        while (!tutti_svm_at_gap(p)) p++;
    if (found == n) return TUTTI_OK;
    return refuse(r, "'%s' has %lld numbers, %lld are wanted", key, (long long)found, (long long)n);
}

static tutti_status take_number(reader *r, const char *key, const char **p, double *out)
{
    *p = tutti_svm_skip_blanks(*p);
    const char *after = tutti_svm_number(*p, out);
    if (!after || !tutti_svm_at_gap(after) || (!isfinite(*out) && !r->lenient))
        return refuse(r, "'%s' of '%s' is not a finite number", tutti_svm_word_at(*p).text, key);
    *p = after;
    return TUTTI_OK;
}

static tutti_status take_whole(reader *r, const char *key, const char **p, int32_t least, int32_t *out)
{
    *p = tutti_svm_skip_blanks(*p);
    const char *after = tutti_svm_whole(*p, out);
    if (!after || !tutti_svm_at_gap(after) || *out < least)
        return refuse(r, "'%s' of '%s' is not a whole number within %d .. %d", tutti_svm_word_at(*p).text, key, least,
                      INT32_MAX);
    *p = after;
    return TUTTI_OK;
}

static tutti_status one_number(reader *r, const char *key, const char *p, double *out)
{
    tutti_status st = want_words(r, key, p, 1);
    return st ? st : take_number(r, key, &p, out);
}

static tutti_status one_whole(reader *r, const char *key, const char *p, int32_t least, int32_t *out)
{
    tutti_status st = want_words(r, key, p, 1);
    return st ? st : take_whole(r, key, &p, least, out);
}

/* Reads a number for each pair of classes. It counts the words first, so that memory follows the text's length. */
static tutti_status pair_numbers(reader *r, const char *key, const char *p, double **out)
{
    const int64_t n = npairs_of(r);
    tutti_status st = want_words(r, key, p, n);
    if (st) return st;
    *out = tutti_alloc((size_t)(n ? n : 1) * sizeof **out);
    for (int64_t i = 0; !st && i < n; i++) st = take_number(r, key, &p, &(*out)[i]);
    return st;
}

static tutti_status read_svm_type(reader *r, const char *key, const char *p)
{
    const tutti_svm_word word = tutti_svm_word_at(tutti_svm_skip_blanks(p));
    if (strcmp(word.text, "c_svc") == 0) return want_words(r, key, p, 1);
    return refuse(r, "svm_type '%s': only c_svc (classification) is read", word.text);
}

static tutti_status read_kernel_type(reader *r, const char *key, const char *p)
{
    const tutti_svm_word word = tutti_svm_word_at(tutti_svm_skip_blanks(p));
    for (tutti_svm_kernel_type t = 0; t < TUTTI_SVM_NKERNELS; t++)
        if (strcmp(word.text, tutti_svm_kernel_name(t)) == 0) {
            r->model.kernel.type = t;
            return want_words(r, key, p, 1);
        }
    return refuse(r, "kernel_type '%s' is none of linear, polynomial, rbf, sigmoid, precomputed", word.text);
}

static tutti_status read_degree(reader *r, const char *key, const char *p)
{
    return one_whole(r, key, p, 0, &r->model.kernel.degree);
}

static tutti_status read_gamma(reader *r, const char *key, const char *p)
{
    tutti_status st = one_number(r, key, p, &r->model.kernel.gamma);
    if (!st && r->model.kernel.gamma < 0) return refuse(r, "gamma must not be negative");
    return st;
}

static tutti_status read_coef0(reader *r, const char *key, const char *p)
{
    return one_number(r, key, p, &r->model.kernel.coef0);
}

static tutti_status read_nr_class(reader *r, const char *key, const char *p)
{
    tutti_status st = one_whole(r, key, p, 1, &r->model.nclasses);
    if (!st && r->model.nclasses > CLASSES_MOST)
        return refuse(r, "nr_class is %d, and more than %d are not read", r->model.nclasses, CLASSES_MOST);
    return st;
}

static tutti_status read_total_sv(reader *r, const char *key, const char *p)
{
    int32_t total = 0;
    tutti_status st = one_whole(r, key, p, 0, &total);
    r->model.nsv = total;
    return st;
}

static tutti_status read_rho(reader *r, const char *key, const char *p)
{
    return pair_numbers(r, key, p, &r->model.rho);
}

static tutti_status read_prob_a(reader *r, const char *key, const char *p)
{
    return pair_numbers(r, key, p, &r->model.prob_a);
}

static tutti_status read_prob_b(reader *r, const char *key, const char *p)
{
    return pair_numbers(r, key, p, &r->model.prob_b);
}

static tutti_status read_label(reader *r, const char *key, const char *p)
{
    const int n = r->model.nclasses;
    tutti_status st = want_words(r, key, p, n);
    if (st) return st;
    r->model.label = tutti_alloc((size_t)n * sizeof *r->model.label);
    for (int c = 0; !st && c < n; c++) st = take_whole(r, key, &p, INT32_MIN, &r->model.label[c]);
    return st;
}

static tutti_status read_nr_sv(reader *r, const char *key, const char *p)
{
    const int n = r->model.nclasses;
    tutti_status st = want_words(r, key, p, n);
    if (st) return st;
    r->model.nsv_of = tutti_alloc((size_t)n * sizeof *r->model.nsv_of);
    for (int c = 0; !st && c < n; c++) {
        int32_t of_class = 0;
        st = take_whole(r, key, &p, 0, &of_class);
        r->model.nsv_of[c] = of_class;
    }
    return st;
}

enum { NEEDS_CLASSES = 1, WANTED = 2, WANTED_BY_POLY = 4, WANTED_BY_RBF = 8, WANTED_BY_SIGMOID = 16 };

static const struct {
    const char *key;
    int flags;
    tutti_status (*read)(reader *r, const char *key, const char *p);
} KEYS[] = {
    {"svm_type", WANTED, read_svm_type},
    {"kernel_type", WANTED, read_kernel_type},
    {"degree", WANTED_BY_POLY, read_degree},
    {"gamma", WANTED_BY_POLY | WANTED_BY_RBF | WANTED_BY_SIGMOID, read_gamma},
    {"coef0", WANTED_BY_POLY | WANTED_BY_SIGMOID, read_coef0},
    {"nr_class", WANTED, read_nr_class},
    {"total_sv", WANTED, read_total_sv},
    {"rho", WANTED | NEEDS_CLASSES, read_rho},
    {"label", WANTED | NEEDS_CLASSES, read_label},
    {"probA", NEEDS_CLASSES, read_prob_a},
    {"probB", NEEDS_CLASSES, read_prob_b},
    {"nr_sv", WANTED | NEEDS_CLASSES, read_nr_sv},
};
enum { NKEYS = sizeof KEYS / sizeof *KEYS };

static tutti_status read_key(reader *r, const char *line)
{
    const tutti_svm_word word = tutti_svm_word_at(line);
    for (int k = 0; k < NKEYS; k++) {
        if (strcmp(word.text, KEYS[k].key) != 0) continue;
        if (r->seen >> k & 1) return refuse(r, "'%s' is there for the second time", word.text);
        if ((KEYS[k].flags & NEEDS_CLASSES) && !r->model.nclasses)
            return refuse(r, "'%s' comes before nr_class", word.text);
        r->seen |= 1u << k;
        return KEYS[k].read(r, word.text, line + strlen(word.text));
    }
    return refuse(r, "'%s' is not a key of a c_svc model", word.text);
}

/* Reduces the classes' numbers of support vectors until they add up to nsv. */
static void cut_classes(tutti_svm_model *m)
{
    int64_t left = m->nsv;
    for (int c = 0; c < m->nclasses; c++) {
        if (m->nsv_of[c] > left) m->nsv_of[c] = left;
        left -= m->nsv_of[c];
    }
}

/* Checks that everything the kernel needs is there, and that the counts fit together. */
static tutti_status check_header(reader *r)
{
    const tutti_svm_model *m = &r->model;
    static const int by_kernel[TUTTI_SVM_NKERNELS] = {
        [TUTTI_SVM_POLY] = WANTED_BY_POLY, [TUTTI_SVM_RBF] = WANTED_BY_RBF, [TUTTI_SVM_SIGMOID] = WANTED_BY_SIGMOID};
    const int wanted = WANTED | by_kernel[m->kernel.type];
    for (int k = 0; k < NKEYS; k++)
        if ((KEYS[k].flags & wanted) && !(r->seen >> k & 1))
            return refuse(r, "the support vectors begin here, and there was no '%s'", KEYS[k].key);
    if (!m->prob_a != !m->prob_b) return refuse(r, "of probA and probB only one is there");
    int64_t sum = 0;
    for (int c = 0; c < m->nclasses; c++) {
        sum += m->nsv_of[c];
        for (int b = 0; b < c; b++)
            if (m->label[b] == m->label[c]) return refuse(r, "two classes have the label %d", m->label[c]);
    }
    if (sum != m->nsv)
        return refuse(r, "the numbers of nr_sv add up to %lld, total_sv is %lld", (long long)sum, (long long)m->nsv);
    const int64_t least = m->nclasses > 1 ? 2 * ((int64_t)m->nclasses - 1) : 1; /* least bytes of a line: "0 0\n" */
    const int64_t room = (r->end - r->next + 1) / least;
    if (m->nsv > room && !r->lenient)
        return refuse(r, "total_sv is %lld, and the rest of the file is too short for it", (long long)m->nsv);
    if (m->nsv > room) r->model.nsv = room;
    cut_classes(&r->model);
    return TUTTI_OK;
}

static tutti_status read_header(reader *r)
{
    for (;;) {
        const char *line;
        tutti_status st = next_line(r, &line);
        if (st) return st;
        if (!line) {
            r->line++;
            return refuse(r, "the file was cut: the line 'SV' is wanted before the end");
        }
        if (strcmp(tutti_svm_word_at(line).text, "SV") == 0) {
            st = want_words(r, "SV", line + 2, 0);
            return st ? st : check_header(r);
        }
        st = read_key(r, line);
        if (st) return st;
    }
}

/* --- reading support vectors --- */

/* True if the current row is 0:NUMBER. */
static bool is_number_of_sample(const tutti_svm_growing *g)
{
    const int64_t first = g->data.start[g->data.nrows];
    if (g->nentries != first + 1 || g->data.index[first] != 0) return false;
    const double number = g->data.value[first];
    return number >= 1 && number <= INT32_MAX && number == trunc(number);
}

static tutti_status read_vector(reader *r, const char *line, int64_t v, tutti_svm_growing *rows)
{
    const tutti_svm_reading how = {
        .lenient = r->lenient, .precomputed = r->model.kernel.type == TUTTI_SVM_PRECOMPUTED, .unlabelled = true};
    const char *p = line;
    tutti_status st = TUTTI_OK;
    for (int c = 0; !st && c + 1 < r->model.nclasses; c++)
        st = take_number(r, "a coefficient", &p, &r->model.coef[c * r->model.nsv + v]);
    if (st) return st;
    tutti_failure words = {0};
    st = tutti_svm_growing_reserve(rows, r->line_end - p + 1, &words);
    if (!st) st = tutti_svm_growing_entries(rows, p, &how, &words);
    if (st == TUTTI_ERR_DATA && r->cut) st = TUTTI_OK; /* the file is cut: the lines that were read are used */
    if (st) return tutti_fail(r->err, st, "%s: line %lld: %s", r->name, (long long)r->line, words.text);
    if (memchr(p, '#', (size_t)(r->line_end - p))) return refuse(r, "a '#': a model has no comments");
    if (how.precomputed && !is_number_of_sample(rows))
        return refuse(r, "a support vector of a precomputed kernel is 0:NUMBER, the number of a sample");
    tutti_svm_growing_end_row(rows, 0);
    return TUTTI_OK;
}

/* Keeps the first n of the promised support vectors. */
static void keep(tutti_svm_model *m, int64_t n)
{
    for (int c = 1; c + 1 < m->nclasses; c++)
        memmove(&m->coef[c * n], &m->coef[c * m->nsv], (size_t)n * sizeof *m->coef);
    m->nsv = n;
    cut_classes(m);
}

static tutti_status read_vectors(reader *r, tutti_svm_growing *rows)
{
    tutti_svm_model *m = &r->model;
    const int64_t ncoefs = (m->nclasses - 1) * m->nsv;
    m->coef = tutti_alloc((size_t)(ncoefs ? ncoefs : 1) * sizeof *m->coef);
    tutti_status st = tutti_svm_growing_reserve(rows, 0, r->err);
    for (int64_t v = 0; !st && v < m->nsv; v++) {
        const char *line;
        st = next_line(r, &line);
        if (!st && line) {
            st = read_vector(r, line, v, rows);
            if (st != TUTTI_ERR_DATA || !r->cut) continue;
            st = TUTTI_OK; /* the cut last line is not used */
        } else if (!st && !r->lenient) {
            r->line++;
            return refuse(r, "the file was cut: it has %lld support vectors, %lld are promised", (long long)v,
                          (long long)m->nsv);
        }
        break;
    }
    if (!st && rows->data.nrows < m->nsv) keep(m, rows->data.nrows);
    if (!st && r->next != r->end && !r->lenient) {
        r->line++;
        return refuse(r, "there is more in the file than the %lld support vectors of total_sv", (long long)m->nsv);
    }
    return st;
}

tutti_status tutti_svm_model_parse(const char *name, const char *text, size_t nbytes, bool lenient,
                                   tutti_svm_model *out, tutti_failure *err)
{
    reader r = {.name = name, .next = text, .end = text + nbytes, .lenient = lenient, .err = err};
    tutti_svm_growing rows = {0};
    tutti_status st = read_header(&r);
    if (!st) st = read_vectors(&r, &rows);
    free(r.tail);
    if (st) {
        tutti_svm_data_release(&rows.data);
        tutti_svm_model_release(&r.model);
        return st;
    }
    r.model.sv = tutti_svm_growing_finish(&rows);
    *out = r.model;
    return TUTTI_OK;
}

tutti_status tutti_svm_model_read(const char *path, bool lenient, tutti_svm_model *out, tutti_failure *err)
{
    char *text;
    size_t nbytes;
    tutti_status st = tutti_file_read(path, SIZE_MAX / 4, TUTTI_ERR_DATA, &text, &nbytes, err);
    if (st) return st;
    st = tutti_svm_model_parse(path, text, nbytes, lenient, out, err);
    free(text);
    return st;
}

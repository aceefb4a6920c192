/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c: the set `csv`: PATH/train.csv and PATH/test.csv, plain or .gz, a line for each sample: the label and the
 * numbers.
 *
 * The file is read in pieces, so that memory holds only the numbers. Cells may be quoted; numbers use a point whatever
 * the locale is. A cell that is not a finite number is named by line and column. */
#include <dirent.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/host/memory.h"
#include "../../base/text/strbuf.h"
#include "../dataset_impl.h"
#include "../gunzip.h"
#include "numbers.h"

enum { PIECE = 1 << 16, MAX_LINE = 1 << 26, MAX_CELL = 64, FIRST_ROOM = 1024 };

typedef struct {
    const tutti_dataset_config *config;
    tutti_gunzip *file;
    const char *path;
    char *piece; /* bytes that were read from the file; those at [at, n) are not parsed yet */
    int64_t at, n;
    tutti_strbuf text; /* text of the current line */
    int64_t line;      /* number of the current line, from 1 */
    int64_t width;     /* number of numbers in a sample; 0: not known yet */
    int64_t room;      /* number of samples for which the memory has room */
    locale_t plain;
    tutti_dataset *d;
    tutti_failure *err;
} table;

static tutti_status refuse(const table *t, int64_t column, const char *what, const char *remedy)
{
    return tutti_fail(t->err, TUTTI_ERR_DATA, "%s: line %" PRId64 ", column %" PRId64 ": %s: %s", t->path, t->line,
                      column, what, remedy);
}

/* ---- reading lines ---- */

/* Reads the next line without its newline; *there is false at the end of the file. */
static tutti_status next_line(table *t, bool *there)
{
    t->text.length = 0;
    *there = false;
    for (;;) {
        if (t->at == t->n) {
            t->at = 0;
            tutti_status st = tutti_gunzip_read(t->file, t->piece, PIECE, &t->n, t->err);
            if (st) {
                tutti_fail_at(t->err, "%s: line %" PRId64, t->path, t->line + 1);
                return st;
            }
            if (!t->n) break;
        }
        const char *from = t->piece + t->at, *end = memchr(from, '\n', (size_t)(t->n - t->at));
        const int64_t length = end ? end - from : t->n - t->at;
        tutti_strbuf_add(&t->text, from, (size_t)length);
        t->at += length + (end != NULL);
        *there = true;
        if (end) break;
        if (t->text.length > MAX_LINE)
            return tutti_fail(t->err, TUTTI_ERR_DATA, "%s: line %" PRId64 ": longer than %d bytes: no table in text",
                              t->path, t->line + 1, MAX_LINE);
    }
    t->line += *there;
    if (t->text.length && t->text.text[t->text.length - 1] == '\r') t->text.text[--t->text.length] = '\0';
    if (*there && strlen(t->text.text) != t->text.length)
        return tutti_fail(t->err, TUTTI_ERR_DATA, "%s: line %" PRId64 ": a byte 0: no text", t->path, t->line);
    return TUTTI_OK;
}

/* ---- reading cells ---- */

/* Reads the cell at *at into `cell`, without the quotes and spaces around it. *at moves behind the comma, or becomes
 * NULL at the end of the line. cell: room for MAX_CELL bytes. Returns false if the quotes do not end, or if the text is
 * too long for a number. */
static bool next_cell(const char **at, char *cell)
{
    const char *from = *at + strspn(*at, " \t");
    const bool quoted = *from == '"';
    from += quoted;
    const size_t length = quoted ? strcspn(from, "\"") : strcspn(from, ",");
    const char *rest = from + length;
    if (quoted && *rest != '"') {
        *at = NULL;
        snprintf(cell, MAX_CELL, "%.*s", MAX_CELL - 1, from - 1);
        return false;
    }
    rest += quoted;
    if (quoted) rest += strspn(rest, " \t");
    *at = *rest == ',' ? rest + 1 : NULL;
    snprintf(cell, MAX_CELL, "%.*s", (int)(length < MAX_CELL ? length : MAX_CELL - 1), from);
    for (size_t n = strlen(cell); n && strchr(" \t", cell[n - 1]);) cell[--n] = '\0';
    return length < MAX_CELL && (*rest == ',' || !*rest);
}

static bool is_number(const table *t, const char *cell, double *value)
{
    char *end;
    *value = strtod_l(cell, &end, t->plain);
    return *cell && !*end;
}

static tutti_status bad_cell(const table *t, int64_t column, const char *cell)
{
    char what[MAX_CELL + 32];
    const bool other = column == 1 && strpbrk(t->text.text, ";\t") && !strchr(t->text.text, ',');
    snprintf(what, sizeof what, *cell ? "'%s' is not a finite number" : "an empty cell", cell);
    return refuse(t, column, what,
                  other ? "cells are separated by commas"
                        : "fill it in or leave the line out; words become numbers by pandas.factorize");
}

static tutti_status take_label(table *t, int64_t column, double value, int64_t row)
{
    char what[64];
    snprintf(what, sizeof what, "label %g", value);
    if (value < 0 || value > TUTTI_MAX_LABEL || value != floor(value))
        return refuse(t, column, what, "labels are whole numbers from 0 on (data.label says which column it is)");
    t->d->labels[row] = (int32_t)value;
    return TUTTI_OK;
}

static tutti_status check_width(table *t, int64_t ncells)
{
    if (ncells < 2)
        return refuse(t, 1, "one cell alone", "a line has a label and numbers, separated by commas, not ';' or tabs");
    if (!t->width) t->width = ncells - 1;
    if (t->width == ncells - 1) return TUTTI_OK;
    char what[96];
    snprintf(what, sizeof what, "%" PRId64 " cells, the lines before it have %" PRId64, ncells, t->width + 1);
    return refuse(t, ncells, what, "every sample has as many numbers");
}

static int64_t count_cells(const char *text)
{
    int64_t n = 1;
    for (; *text; text++) n += *text == ',';
    return n;
}

/* Makes room for one more sample. */
static tutti_status grow(table *t)
{
    tutti_dataset *d = t->d;
    if (d->count < t->room) return TUTTI_OK;
    t->room = t->room ? t->room * 2 : FIRST_ROOM;
    tutti_status st =
        tutti_memory_check(t->room * (t->width + 1) * 4, t->path, "use fewer (data.train_samples)", t->err);
    if (st) return st;
    d->numbers = tutti_realloc(d->numbers, (size_t)(t->room * t->width) * sizeof *d->numbers);
    d->labels = tutti_realloc(d->labels, (size_t)t->room * sizeof *d->labels);
    return TUTTI_OK;
}

static tutti_status take_line(table *t)
{
    const char *at = t->text.text;
    const int64_t ncells = count_cells(at);
    char cell[MAX_CELL];
    tutti_status st = check_width(t, ncells);
    if (!st) st = grow(t);
    float *out = st ? NULL : t->d->numbers + t->d->count * t->width;
    for (int64_t column = 1; at && !st; column++) {
        double value;
        const bool whole = next_cell(&at, cell);
        const bool is_label = column == (t->config->label_last ? ncells : 1);
        if (!whole)
            return refuse(t, column, "no number: too long, or quotes with more behind them", "a cell is one number");
        if (!is_number(t, cell, &value) || !isfinite((float)value)) return bad_cell(t, column, cell);
        if (is_label)
            st = take_label(t, column, value, t->d->count);
        else
            *out++ = (float)value;
    }
    t->d->count += !st;
    return st;
}

/* ---- the line of column names ---- */

/* Sets *is to true if the line has column names: none of its cells is a number. A line that mixes names and numbers is
 * a failure, because it is neither a header nor a sample. */
static tutti_status is_header(table *t, bool *is)
{
    const char *at = t->text.text;
    char cell[MAX_CELL];
    int64_t nnumbers = 0, nwords = 0, first = 0;
    *is = t->config->header == TUTTI_HEADER_YES;
    for (int64_t column = 1; at && t->config->header == TUTTI_HEADER_AUTO; column++) {
        double value;
        const bool number = next_cell(&at, cell) && is_number(t, cell, &value);
        nnumbers += number;
        nwords += !number;
        if (!number && !first) first = column;
    }
    if (!nwords || nwords + nnumbers == 1) return TUTTI_OK;
    if (nnumbers)
        return refuse(t, first, "a first line of numbers and words",
                      "names of columns (data.header: yes), or a bad cell");
    *is = true;
    return TUTTI_OK;
}

static tutti_status read_lines(table *t, int64_t wanted)
{
    bool there, is = false;
    tutti_status st = next_line(t, &there);
    /* skips a byte order mark in front of the first line */
    if (!st && there && !strncmp(t->text.text, "\xef\xbb\xbf", 3)) {
        memmove(t->text.text, t->text.text + 3, t->text.length - 2);
        t->text.length -= 3;
    }
    if (!st && there) st = is_header(t, &is);
    if (!st && is) st = next_line(t, &there);
    for (; there && !st && (!wanted || t->d->count < wanted); st = st ? st : next_line(t, &there))
        if (t->text.text[strspn(t->text.text, " \t")]) st = take_line(t);
    if (!st && !t->d->count) st = tutti_fail(t->err, TUTTI_ERR_DATA, "%s: no sample in it", t->path);
    return st;
}

/* ---- finding the file and opening the set ---- */

/* Returns the length of the prefix of a name PREFIX + "SPLIT.csv" or "SPLIT.csv.gz"; the prefix is NAME_, NAME- or
 * nothing. -1: the name has another form. */
static int prefix_of(const char *name, const char *split)
{
    static const char *const endings[] = {".csv", ".csv.gz"};
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(name), m = strlen(split) + strlen(endings[i]);
        if (n < m || strcmp(name + n - strlen(endings[i]), endings[i]) != 0) continue;
        if (strncmp(name + n - m, split, strlen(split)) != 0) continue;
        if (n == m || strchr("-_", name[n - m - 1])) return (int)(n - m);
    }
    return -1;
}

static int by_length(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    const size_t n = strlen(x), m = strlen(y);
    return n != m ? (n > m) - (n < m) : strcmp(x, y);
}

/* Returns the path of the file of a split; the caller frees it. A plain file is preferred to a packed one, and a file
 * without a prefix to files with one. */
static char *find_table(const char *folder, const char *split, tutti_failure *err)
{
    tutti_names files = {0};
    tutti_strbuf path = {0};
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (prefix_of(e->d_name, split) >= 0) tutti_names_add(&files, e->d_name);
    if (dir) closedir(dir);
    if (files.n) qsort(files.name, (size_t)files.n, sizeof *files.name, by_length);
    const char *first = files.n ? files.name[0] : "", *other = NULL;
    const int length = files.n ? prefix_of(first, split) : 0;
    for (int64_t i = 1; i < files.n && length > 0 && !other; i++)
        if (prefix_of(files.name[i], split) != length || strncmp(files.name[i], first, (size_t)length) != 0)
            other = files.name[i];
    if (!files.n)
        tutti_fail(err, TUTTI_ERR_DATA, "%s: no file %s.csv in it (nor NAME_%s.csv, nor with .gz)", folder, split,
                   split);
    else if (other)
        tutti_fail(err, TUTTI_ERR_DATA, "%s: %s and %s: put the one that is meant into a folder of its own", folder,
                   first, other);
    else
        tutti_strbuf_printf(&path, "%s/%s", folder, first);
    tutti_names_release(&files);
    return path.length ? tutti_strbuf_detach(&path) : NULL;
}

static void say_row(const void *file, int64_t i, tutti_strbuf *words)
{
    (void)file;
    tutti_strbuf_printf(words, "sample %" PRId64, i);
}

static tutti_status read_table(table *t, tutti_split split)
{
    const bool train = split == TUTTI_SPLIT_TRAIN;
    tutti_status st = read_lines(t, train ? t->config->train_samples : t->config->test_samples);
    t->d->shape = (tutti_shape){.ndims = 1, .dim = {t->width}};
    if (!st) st = tutti_dataset_take(t->config, split, t->path, t->d->count, &t->d->count, t->err);
    if (!st) st = tutti_numbers_reshape(t->config, t->path, &t->d->shape, t->err);
    if (!st) st = tutti_dataset_count_labels(t->config, &(tutti_label_source){t->path, NULL, say_row}, t->d, t->err);
    if (!st) tutti_numbers_note(t->config, t->d);
    return st;
}

static tutti_status open_csv(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                             tutti_failure *err)
{
    char *path = find_table(config->path, split == TUTTI_SPLIT_TRAIN ? "train" : "test", err);
    if (!path) return TUTTI_ERR_DATA;
    table t = {.config = config, .path = path, .d = d, .err = err};
    tutti_status st = tutti_gunzip_open(path, &t.file, err);
    if (st) {
        tutti_fail_at(err, "%s", path);
    } else {
        t.piece = tutti_alloc(PIECE);
        t.plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
        st = read_table(&t, split);
        freelocale(t.plain);
        tutti_gunzip_close(t.file);
    }
    tutti_strbuf_release(&t.text);
    free(t.piece);
    free(path);
    return st;
}

const tutti_dataset_row tutti_dataset_csv = {
    .name = "csv",
    .help = "tables of numbers in the folder data.path: train.csv, test.csv, a line a sample, one column its label",
    .mean = {0},
    .std = {1},
    .files = "train.csv, test.csv, plain or .gz",
    .reshaped = true,
    .labelled = true,
    .tabled = true,
    .open = open_csv,
};

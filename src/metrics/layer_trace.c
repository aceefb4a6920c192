/* SPDX-License-Identifier: Apache-2.0 */
/* layer_trace.c: prints and reads layers.txt, the layer trace with six columns. A reader that guesses could give a
 * prediction wrong numbers, so anything that is not exactly a trace is refused. */
#include "trace.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/file.h"

enum { NCOLUMNS = 6, MOST_COLUMNS = 8, MAX_LAYERS = 10000, MAX_TRACE_BYTES = 1 << 26, MAX_WORD = 256 };

static const char *const columns[MOST_COLUMNS] = {"Id", "Name", "Forward", "Backward", "Comm", "Size", "Read", "Copy"};
static const double MAX_US = 1e12; /* greatest time that is accepted: eleven days, in microseconds */
static const int64_t MAX_SIZE = 1LL << 50;

static double to_ns(double us)
{
    return round(1e3 * us) / 1e3;
}

void tutti_layer_trace_print(const tutti_layer_cost *layers, int nlayers, tutti_strbuf *out)
{
    for (int c = 0; c < NCOLUMNS; c++) tutti_strbuf_printf(out, "%s%c", columns[c], c < NCOLUMNS - 1 ? '\t' : '\n');
    for (int l = 0; l < nlayers; l++) {
        const double us[] = {layers[l].forward_us, layers[l].backward_us, layers[l].comm_us};
        tutti_strbuf_printf(out, "%d\t%s\t", l, layers[l].name);
        for (int c = 0; c < 3; c++) {
            tutti_strbuf_add_real(out, to_ns(us[c]));
            tutti_strbuf_puts(out, "\t");
        }
        tutti_strbuf_printf(out, "%lld\n", (long long)layers[l].size_bytes);
    }
}

static const char update_key[] = "update_s_per_element", load_key[] = "load_s_per_sample", spread_key[] = "step_spread";

static void print_rate(const char *key, double seconds, tutti_strbuf *out)
{
    if (isnan(seconds)) return;
    tutti_strbuf_printf(out, "# %s ", key);
    tutti_strbuf_add_real(out, seconds);
    tutti_strbuf_puts(out, "\n");
}

void tutti_layer_trace_print_rates(double update_s_per_element, double load_s_per_sample, tutti_strbuf *out)
{
    print_rate(update_key, update_s_per_element, out);
    print_rate(load_key, load_s_per_sample, out);
}

void tutti_layer_trace_print_spread(const tutti_step_spread *spread, tutti_strbuf *out)
{
    if (!spread->n) return;
    tutti_strbuf_printf(out, "# %s", spread_key);
    for (int i = 0; i < spread->n; i++) {
        tutti_strbuf_puts(out, " ");
        tutti_strbuf_add_real(out, round(1e5 * spread->ratio[i]) / 1e5);
    }
    tutti_strbuf_puts(out, "\n");
}

/* ---- reading ---- */

typedef struct {
    const char *name;
    int line, ncolumns;
    int which[MOST_COLUMNS]; /* indices into `columns`, as the header lists them */
    char word[MOST_COLUMNS][MAX_WORD];
    tutti_failure *err;
} reader;

static tutti_status fail_column(const reader *r, int column, const char *why)
{
    return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: %s: '%s' %s", r->name, r->line, columns[r->which[column]],
                      r->word[column], why);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Splits a line into as many words as the header has; the header itself may have six to eight. */
static tutti_status split(reader *r, const char *line, const char *end)
{
    const int most = r->line > 1 ? r->ncolumns : MOST_COLUMNS, least = r->line > 1 ? r->ncolumns : NCOLUMNS;
    int n = 0;
    for (const char *at = line;; n++) {
        while (at < end && is_blank(*at)) at++;
        const char *begin = at;
        while (at < end && !is_blank(*at)) at++;
        if (at == begin) break;
        if (n == most)
            return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: more than %d columns", r->name, r->line, most);
        if (at - begin >= MAX_WORD || memchr(begin, '\0', (size_t)(at - begin)))
            return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: %s: longer than %d bytes, or binary", r->name,
                              r->line, columns[r->which[n]], MAX_WORD - 1);
        memcpy(r->word[n], begin, (size_t)(at - begin));
        r->word[n][at - begin] = '\0';
    }
    if (n < least)
        return tutti_fail(r->err, TUTTI_ERR_DATA,
                          "%s: line %d: %s is missing: a line has the columns Id Name Forward Backward Comm Size%s",
                          r->name, r->line, columns[r->which[n]], n < NCOLUMNS ? "" : ", and those of the header");
    r->ncolumns = n;
    return TUTTI_OK;
}

/* Reads a whole number; accepts only digits: no sign, no blanks, no overflow. */
static bool read_whole(const char *word, int64_t most, int64_t *out)
{
    int64_t value = 0;
    if (!*word) return false;
    for (; *word; word++) {
        if (*word < '0' || *word > '9') return false;
        value = 10 * value + (*word - '0');
        if (value > most) return false;
    }
    *out = value;
    return true;
}

static tutti_status read_time(const reader *r, int column, double *out)
{
    char *end;
    const char *word = r->word[column];
    errno = 0;
    const double us = strtod(word, &end);
    const bool decimal = strspn(word, "0123456789.eE+-") == strlen(word);
    if (*end || !decimal || !(us >= 0 && us <= MAX_US)) return fail_column(r, column, "is no time in microseconds");
    *out = us;
    return TUTTI_OK;
}

/* Reads the six columns, then Read and Copy if they exist, in their order. */
static tutti_status read_header(reader *r)
{
    int at = 0;
    for (int c = 0; c < r->ncolumns; c++, at++) {
        while (at >= NCOLUMNS && at < MOST_COLUMNS - 1 && strcmp(r->word[c], columns[at]) != 0) at++;
        r->which[c] = at < MOST_COLUMNS ? at : MOST_COLUMNS - 1;
        if (at >= MOST_COLUMNS || strcmp(r->word[c], columns[at]) != 0)
            return fail_column(r, c, "stands in its place in the header");
    }
    return TUTTI_OK;
}

static tutti_status read_optional(const reader *r, tutti_layer_trace *t)
{
    tutti_status st = TUTTI_OK;
    for (int c = NCOLUMNS; c < r->ncolumns && !st; c++) {
        double us = 0;
        st = read_time(r, c, &us);
        *(r->which[c] == NCOLUMNS ? &t->read_us : &t->copy_us) += us;
    }
    return st;
}

static tutti_status read_row(const reader *r, tutti_layer_trace *t)
{
    int64_t id;
    tutti_layer_cost *l = &t->layers[t->nlayers];
    if (!read_whole(r->word[0], MAX_LAYERS, &id) || id != t->nlayers)
        return fail_column(r, 0, "is not the number of lines between it and the header");
    for (int i = 0; i < t->nlayers; i++)
        if (!strcmp(t->layers[i].name, r->word[1])) return fail_column(r, 1, "is the name of a layer above too");
    tutti_status st = read_time(r, 2, &l->forward_us);
    if (!st) st = read_time(r, 3, &l->backward_us);
    if (!st) st = read_time(r, 4, &l->comm_us);
    if (!st && !read_whole(r->word[5], MAX_SIZE, &l->size_bytes)) st = fail_column(r, 5, "is not a number of bytes");
    if (!st) st = read_optional(r, t);
    l->name = tutti_arena_strdup(&t->arena, r->word[1]);
    t->nlayers += !st;
    return st;
}

static tutti_status fail_spread(const reader *r, int value, const char *word, const char *why)
{
    return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: %s: value %d: '%s' %s", r->name, r->line, spread_key, value,
                      word, why);
}

/* Reads the ratios that follow the key step_spread. */
static tutti_status read_spread(const reader *r, const char *at, const char *end, tutti_step_spread *out)
{
    if (out->n)
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: %s is said above, too", r->name, r->line, spread_key);
    for (;; out->n++) {
        char word[MAX_WORD] = "", *stop;
        while (at < end && is_blank(*at)) at++;
        const char *begin = at;
        while (at < end && !is_blank(*at)) at++;
        const size_t length = (size_t)(at - begin);
        if (!length) break;
        memcpy(word, begin, length < sizeof word ? length : sizeof word - 1);
        const double ratio = strtod(word, &stop);
        if (strspn(word, "0123456789.eE+-") != length || *stop ||
            !(ratio >= TUTTI_SPREAD_LEAST_RATIO && ratio <= TUTTI_SPREAD_MOST_RATIO))
            return fail_spread(r, out->n + 1, word, "is not a ratio of 1e-5 to 1e5");
        if (out->n == TUTTI_SPREAD_MOST)
            return fail_spread(r, out->n + 1, word, "is one more than the 33 there may be");
        if (out->n && ratio < out->ratio[out->n - 1])
            return fail_spread(r, out->n + 1, word, "is less than the one before it");
        out->ratio[out->n] = ratio;
    }
    if (out->n < 2) return fail_spread(r, out->n + 1, "", "is missing: there are at least two");
    return TUTTI_OK;
}

/* Reads "# key seconds", or the spread; all other lines with # are for people. */
static tutti_status read_note(const reader *r, const char *line, const char *end, tutti_layer_trace *t)
{
    char text[MAX_WORD], key[MAX_WORD] = "", rest[MAX_WORD] = "";
    const size_t n = (size_t)(end - line) < sizeof text ? (size_t)(end - line) : sizeof text - 1;
    memcpy(text, line, n);
    text[n] = '\0';
    char *stop = rest;
    char more[2];
    const bool whole = (size_t)(end - line) == n && !memchr(text, '\0', n),
               pair = sscanf(text, "# %255s %255s %1s", key, rest, more) == 2 && whole;
    if (!strcmp(key, spread_key))
        return read_spread(r, line + (strstr(text, key) - text) + strlen(key), end, &t->spread);
    if (!strcmp(key, "rule") && pair && strlen(rest) < sizeof t->rule) memcpy(t->rule, rest, strlen(rest) + 1);
    double *to = !strcmp(key, update_key) ? &t->update_s_per_element
                 : !strcmp(key, load_key) ? &t->load_s_per_sample
                                          : NULL;
    if (!to) return TUTTI_OK;
    errno = 0;
    const double seconds = strtod(rest, &stop);
    if (!pair || *stop || strspn(rest, "0123456789.eE+-") != strlen(rest) || !(seconds >= 0 && seconds <= 1))
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: %s: '%s' is no time of 0 to 1 seconds", r->name,
                          r->line, key, rest);
    if (!isnan(*to))
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: %s is said above, too", r->name, r->line, key);
    *to = seconds;
    return TUTTI_OK;
}

static int count_lines(const char *text, size_t nbytes)
{
    int n = 1;
    for (size_t i = 0; i < nbytes && n <= MAX_LAYERS + 1; i++) n += text[i] == '\n';
    return n;
}

static tutti_status read_lines(reader *r, const char *text, size_t nbytes, tutti_layer_trace *t)
{
    const char *end = text + nbytes, *next;
    tutti_status st = TUTTI_OK;
    for (const char *line = text; line < end && !st; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        if (!next) next = end;
        r->line++;
        if (r->line > 1 && *line == '#') {
            st = read_note(r, line, next, t);
            continue;
        }
        st = split(r, line, next);
        if (!st) st = r->line == 1 ? read_header(r) : read_row(r, t);
    }
    if (!st && !t->nlayers) st = tutti_fail(r->err, TUTTI_ERR_DATA, "%s: no layer in it", r->name);
    return st;
}

tutti_status tutti_layer_trace_parse(const char *name, const char *text, size_t nbytes, tutti_layer_trace *out,
                                     tutti_failure *err)
{
    const int nlines = count_lines(text, nbytes);
    if (nlines > MAX_LAYERS) return tutti_fail(err, TUTTI_ERR_DATA, "%s: more than %d layers", name, MAX_LAYERS);
    tutti_layer_trace t = {.update_s_per_element = (double)NAN, .load_s_per_sample = (double)NAN};
    t.layers = TUTTI_ARENA_NEW(&t.arena, tutti_layer_cost, nlines);
    reader *r = tutti_alloc(sizeof *r);
    r->name = name;
    r->err = err;
    for (int c = 0; c < MOST_COLUMNS; c++) r->which[c] = c;
    tutti_status st = read_lines(r, text, nbytes, &t);
    free(r);
    if (st)
        tutti_layer_trace_release(&t);
    else
        *out = t;
    return st;
}

bool tutti_layer_trace_is(const char *path)
{
    char head[64] = "", second[8] = "";
    int fd;
    if (tutti_file_open(path, TUTTI_ERR_DATA, &fd, NULL)) return false;
    const bool is_there = pread(fd, head, sizeof head - 1, 0) > 0; /* 0 bytes from a pipe or a device, which pread does
                                                                    * not read */
    close(fd);
    return is_there && sscanf(head, "Id%*[ \t]%7[^ \t\r\n]", second) == 1 && !strcmp(second, "Name");
}

tutti_status tutti_layer_trace_read(const char *path, tutti_layer_trace *out, tutti_failure *err)
{
    char *text;
    size_t nbytes;
    tutti_status st = tutti_file_read(path, MAX_TRACE_BYTES, TUTTI_ERR_DATA, &text, &nbytes, err);
    if (st) return st;
    st = tutti_layer_trace_parse(path, text, nbytes, out, err);
    free(text);
    return st;
}

void tutti_layer_trace_release(tutti_layer_trace *t)
{
    tutti_arena_release(&t->arena);
    *t = (tutti_layer_trace){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ddl_rows.c: reads the published rows, and says which do not go together. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "ddl_table.h"

enum { HEAD_COLUMNS = 4, MAX_COLUMNS = 5 + TUTTI_DDL_COUNTS, MAX_ROWS = 4096, MAX_BYTES = 1 << 22, MAX_CELL = 128 };
static const char *const heads[HEAD_COLUMNS] = {"DNN", "BS", "CONNECTION", "METHOD"};

typedef struct {
    const char *name;
    int line, ncells, capacity;
    bool has_head;
    char cell[MAX_COLUMNS][MAX_CELL]; /* without blanks around */
    tutti_ddl_rows *rows;
    tutti_failure *err;
} reader;

static tutti_status fail_row(const reader *r, const char *what, const char *cell)
{
    return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: '%.60s' %s", r->name, r->line, cell, what);
}

/* Cells between bars; what stands behind the last bar but blanks is refused. */
static tutti_status split(reader *r, const char *line, const char *end)
{
    r->ncells = 0;
    while (end > line && isspace((unsigned char)end[-1])) end--;
    while (line < end && isspace((unsigned char)*line)) line++;
    if (line == end || *line != '|' || end[-1] != '|' || end - line < 2)
        return tutti_fail(r->err, TUTTI_ERR_DATA,
                          "%s: line %d: no row of a table: | DNN | BS | CONNECTION | METHOD | "
                          "1 GPU | 4 GPUs | ... |",
                          r->name, r->line);
    for (const char *at = line + 1; at < end; at++) {
        const char *bar = memchr(at, '|', (size_t)(end - at)), *last = bar, *first = at;
        while (first < last && isspace((unsigned char)*first)) first++;
        while (last > first && isspace((unsigned char)last[-1])) last--;
        if (r->ncells == MAX_COLUMNS)
            return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: more than %d columns", r->name, r->line,
                              MAX_COLUMNS);
        if (last - first >= MAX_CELL || memchr(first, '\0', (size_t)(last - first)))
            return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: column %d is longer than %d bytes, or binary",
                              r->name, r->line, r->ncells + 1, MAX_CELL - 1);
        memcpy(r->cell[r->ncells], first, (size_t)(last - first));
        r->cell[r->ncells++][last - first] = '\0';
        at = bar;
    }
    return TUTTI_OK;
}

/* A number that is written in digits, and where it ends. */
static bool read_number(const char *text, double *out, const char **end)
{
    char *stop;
    errno = 0;
    if (!isdigit((unsigned char)*text) || text[strspn(text, "0123456789")] == 'x') return false;
    *out = strtod(text, &stop);
    *end = stop;
    return *out >= 0 && *out <= 1e12;
}

/* "1 GPU", "32 GPUs" */
static tutti_status read_count(const reader *r, const char *cell, int *out)
{
    double count = 0;
    const char *end = cell;
    if (!read_number(cell, &count, &end) || (strcmp(end, " GPU") != 0 && strcmp(end, " GPUs") != 0) || count < 1 ||
        count > 1e6 || count != floor(count))
        return fail_row(r, "is no column of GPUs: '1 GPU', '4 GPUs'", cell);
    *out = (int)count;
    return TUTTI_OK;
}

static tutti_status read_head(reader *r)
{
    tutti_ddl_rows *rows = r->rows;
    int one = 0;
    tutti_status st = TUTTI_OK;
    for (int c = 0; c < HEAD_COLUMNS; c++)
        if (c >= r->ncells || strcmp(r->cell[c], heads[c]) != 0)
            return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: column %d of the head is not %s", r->name, r->line,
                              c + 1, heads[c]);
    if (r->ncells < HEAD_COLUMNS + 2)
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: wants the columns 1 GPU and at least one more", r->name,
                          r->line);
    st = read_count(r, r->cell[HEAD_COLUMNS], &one);
    if (!st && one != 1) st = fail_row(r, "stands where the figures of 1 GPU are wanted", r->cell[HEAD_COLUMNS]);
    for (int c = HEAD_COLUMNS + 1, before = 1; c < r->ncells && !st; c++, before = rows->gpus[rows->ncounts - 1]) {
        st = read_count(r, r->cell[c], &rows->gpus[rows->ncounts++]);
        if (!st && rows->gpus[rows->ncounts - 1] <= before)
            st = fail_row(r, "is not more than the column before", r->cell[c]);
    }
    r->has_head = true;
    return st;
}

static bool is_ruler(const reader *r)
{
    for (int c = 0; c < r->ncells; c++)
        if (!r->cell[c][0] || r->cell[c][strspn(r->cell[c], "-:")]) return false;
    return true;
}

/* "925.020 +- 4.42", "253.1", or nothing */
static tutti_status read_figure(const reader *r, const char *cell, double *figure, double *spread)
{
    const char *end = cell;
    *figure = NAN, *spread = 0;
    if (!*cell || !strcmp(cell, "-")) return TUTTI_OK;
    bool is_figure = read_number(cell, figure, &end) && *figure >= 1e-3;
    if (is_figure && !strncmp(end, " +- ", 4)) is_figure = read_number(end + 4, spread, &end);
    return is_figure && !*end ? TUTTI_OK : fail_row(r, "is no figure: samples/s, or 'samples/s +- deviation'", cell);
}

static tutti_status read_row(reader *r)
{
    tutti_ddl_rows *rows = r->rows;
    double batch = 0, unused;
    const char *end = "";
    if (r->ncells < HEAD_COLUMNS + 1 || r->ncells > HEAD_COLUMNS + 1 + rows->ncounts)
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: %d columns where the head has %d", r->name, r->line,
                          r->ncells, HEAD_COLUMNS + 1 + rows->ncounts);
    for (int c = 0; c < HEAD_COLUMNS; c++)
        if (!r->cell[c][0])
            return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: %s is missing", r->name, r->line, heads[c]);
    if (!read_number(r->cell[1], &batch, &end) || *end || batch < 1 || batch > 1e5 || batch != floor(batch))
        return fail_row(r, "is no batch", r->cell[1]);
    if (rows->nrows == MAX_ROWS) return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: more than %d rows", r->name, MAX_ROWS);
    tutti_ddl_row row = {.model = tutti_arena_strdup(&rows->arena, r->cell[0]),
                         .connection = tutti_arena_strdup(&rows->arena, r->cell[2]),
                         .method = tutti_arena_strdup(&rows->arena, r->cell[3]),
                         .line = r->line,
                         .batch = (int)batch};
    tutti_status st = read_figure(r, r->cell[HEAD_COLUMNS], &row.one, &unused);
    if (!st && isnan(row.one)) st = fail_row(r, "has no figure of 1 GPU", row.method);
    for (int c = 0; c < rows->ncounts && !st; c++) {
        const int at = HEAD_COLUMNS + 1 + c;
        st = read_figure(r, at < r->ncells ? r->cell[at] : "", &row.measured[c], &row.spread[c]);
    }
    if (st) return st;
    rows->rows = tutti_grow(rows->rows, rows->nrows, &r->capacity, sizeof *rows->rows);
    rows->rows[rows->nrows++] = row;
    return TUTTI_OK;
}

static tutti_status read_lines(reader *r, const char *text, size_t nbytes)
{
    const char *end = text + nbytes, *next;
    tutti_status st = TUTTI_OK;
    for (const char *line = text; line < end && !st; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        if (!next) next = end;
        r->line++;
        const char *at = line;
        while (at < next && isspace((unsigned char)*at)) at++;
        if (at == next || (!r->has_head && *at != '|')) continue; /* words above the table */
        st = split(r, line, next);
        if (!st && !r->has_head)
            st = read_head(r);
        else if (!st && !is_ruler(r))
            st = read_row(r);
    }
    if (!st && !r->rows->nrows)
        st = tutti_fail(r->err, TUTTI_ERR_DATA, "%s: no row of measured figures in it", r->name);
    return st;
}

tutti_status tutti_ddl_rows_parse(const char *name, const char *text, size_t nbytes, tutti_ddl_rows *out,
                                  tutti_failure *err)
{
    tutti_ddl_rows rows = {0};
    reader *r = tutti_alloc(sizeof *r);
    r->name = name, r->rows = &rows, r->err = err;
    const tutti_status st = read_lines(r, text, nbytes);
    free(r);
    if (st)
        tutti_ddl_rows_release(&rows);
    else
        *out = rows;
    return st;
}

tutti_status tutti_ddl_rows_read(const char *path, tutti_ddl_rows *out, tutti_failure *err)
{
    char *text;
    size_t nbytes;
    tutti_status st = tutti_file_read(path, MAX_BYTES, TUTTI_ERR_DATA, &text, &nbytes, err);
    if (st) return st;
    st = tutti_ddl_rows_parse(path, text, nbytes, out, err);
    free(text);
    return st;
}

void tutti_ddl_rows_release(tutti_ddl_rows *r)
{
    free(r->rows);
    tutti_arena_release(&r->arena);
    *r = (tutti_ddl_rows){0};
}

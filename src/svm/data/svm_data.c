/* SPDX-License-Identifier: Apache-2.0 */
/* svm_data.c: turns lines of LIBSVM's files, "label index:value ...", into rows, and lets all ranks agree on errors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "svm_data_impl.h"

static tutti_status read_label(const char **p, const tutti_svm_reading *how, double *label, tutti_failure *err)
{
    const tutti_svm_word word = tutti_svm_word_at(*p);
    const char *after = tutti_svm_number(*p, label);
    if (!after || !tutti_svm_at_gap(after))
        return tutti_fail(err, TUTTI_ERR_DATA, "the label '%s' is not a number", word.text);
    *p = after;
    if (how->unlabelled) return TUTTI_OK;
    const double whole = trunc(*label);
    if (!(whole >= INT32_MIN && whole <= INT32_MAX))
        return tutti_fail(err, TUTTI_ERR_DATA, "the label '%s' is not within %d .. %d", word.text, INT32_MIN,
                          INT32_MAX);
    if (whole != *label && !how->lenient)
        return tutti_fail(err, TUTTI_ERR_DATA, "the label '%s' is not a whole number (--lenient cuts it)", word.text);
    *label = whole + 0.0; /* adding 0 turns -0 into 0 */
    return TUTTI_OK;
}

/* Writes into err which program unpacks the file, if its first bytes are those of a packed file: public data sets often
 * are. */
static void say_if_packed(const char *line, int64_t nbytes, tutti_failure *err)
{
    static const struct {
        const char *bytes;
        int n;
        const char *is, *unpack;
    } kinds[] = {
        {"\x1f\x8b", 2, "packed by gzip", "gunzip -k"},
        {"BZh", 3, "packed by bzip2", "bunzip2 -k"},
        {"\xfd"
         "7zXZ",
         5, "packed by xz", "unxz -k"},
        {"\x28\xb5\x2f\xfd", 4, "packed by zstd", "unzstd"},
        {"PK\3\4", 4, "packed by zip", "unzip"},
        {"\xef\xbb\xbf", 3, "marked as UTF-8 by three bytes at its beginning", "sed -i '1s/^...//'"},
        {"\xff\xfe", 2, "UTF-16", "iconv -f UTF-16 -t ASCII"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (nbytes >= kinds[i].n && !memcmp(line, kinds[i].bytes, (size_t)kinds[i].n)) {
            tutti_fail(err, TUTTI_ERR_DATA, "the file is %s, and plain text is wanted: %s does it", kinds[i].is,
                       kinds[i].unpack);
            return;
        }
}

/* Checks that the row being built begins with 0:number. */
static tutti_status check_precomputed(const tutti_svm_growing *g, const tutti_svm_reading *how, tutti_failure *err)
{
    const int64_t first = g->data.start[g->data.nrows];
    if (first == g->nentries || g->data.index[first] != 0)
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "a row of a precomputed kernel begins with 0:NUMBER, the sample's number");
    const double number = g->data.value[first];
    if (!how->unlabelled && !(number >= 1 && number <= INT32_MAX && number == trunc(number)))
        return tutti_fail(err, TUTTI_ERR_DATA, "0:%.9g: the number of a sample is a whole number from 1", number);
    return TUTTI_OK;
}

tutti_status tutti_svm_scan_line(tutti_svm_scan *scan, const char *line, int64_t nbytes, tutti_failure *err)
{
    tutti_svm_growing *g = &scan->rows;
    scan->lines++;
    const char *p = tutti_svm_skip_blanks(line);
    if (tutti_svm_at_end(p)) {
        if (!scan->blank) scan->blank = scan->lines;
        return TUTTI_OK;
    }
    if (*p == '#') return TUTTI_OK;
    double label;
    scan->bad = scan->blank ? scan->blank : scan->lines;
    if (scan->blank) return tutti_fail(err, TUTTI_ERR_DATA, "the line is empty");
    tutti_status st = read_label(&p, scan->how, &label, err);
    if (st && scan->lines == 1) say_if_packed(line, nbytes, err);
    if (!st && g->data.nrows == INT32_MAX)
        st = tutti_fail(err, TUTTI_ERR_DATA, "a rank holds %d rows at most: use more ranks", INT32_MAX);
    if (!st) st = tutti_svm_growing_reserve(g, nbytes, err);
    if (!st) st = tutti_svm_growing_entries(g, p, scan->how, err);
    if (!st && scan->how->precomputed) st = check_precomputed(g, scan->how, err);
    if (st) return st;
    tutti_svm_growing_end_row(g, label);
    scan->bad = 0;
    return TUTTI_OK;
}

/* --- agreeing on the first error of the file --- */

enum { OF_THE_WHOLE = -1 }; /* in place of a line's number: the message names no line and no rank */

tutti_svm_report tutti_svm_report_of(const tutti_svm_scan *scan, tutti_status st, const tutti_failure *err)
{
    tutti_svm_report r = {.status = st,
                          .lines = scan->lines,
                          .rows = scan->rows.data.nrows,
                          .blank = scan->blank,
                          .bad = scan->bad,
                          .width = scan->rows.data.width};
    if (st) memcpy(r.words, err->text, sizeof r.words);
    return r;
}

static tutti_status fail_in_line(const char *name, int64_t line, int64_t status, const char *words, tutti_failure *err)
{
    return tutti_fail(err, (tutti_status)status, "%s: line %lld: %s", name, (long long)line, words);
}

/* Finds the first error of the file and its line, from the reports of all parts in order. */
static tutti_status settle(const char *name, const tutti_svm_report *reports, int nparts, bool lenient,
                           tutti_failure *err)
{
    int64_t rows = 0, lines = 0, blank = 0;
    for (int i = 0; i < nparts; i++) {
        const tutti_svm_report *r = &reports[i];
        if (blank && (r->rows || r->bad)) return fail_in_line(name, blank, TUTTI_ERR_DATA, "the line is empty", err);
        if (r->bad == OF_THE_WHOLE) return tutti_fail(err, (tutti_status)r->status, "%s: %s", name, r->words);
        if (r->bad) return fail_in_line(name, lines + r->bad, r->status, r->words, err);
        if (r->status && nparts > 1)
            return tutti_fail(err, (tutti_status)r->status, "%s: rank %d: %s", name, i, r->words);
        if (r->status) return tutti_fail(err, (tutti_status)r->status, "%s: %s", name, r->words);
        if (r->file_bytes != reports[0].file_bytes)
            return tutti_fail(err, TUTTI_ERR_DATA,
                              "%s: has %lld bytes for rank 0 and %lld for rank %d: give all ranks the same file", name,
                              (long long)reports[0].file_bytes, (long long)r->file_bytes, i);
        if (r->blank && !blank) blank = lines + r->blank;
        rows += r->rows, lines += r->lines;
    }
    if (blank && !lenient)
        return fail_in_line(name, blank, TUTTI_ERR_DATA,
                            "the line is empty, at the end of the file: remove it (--lenient takes it)", err);
    if (!rows && !lenient) return fail_in_line(name, 1, TUTTI_ERR_DATA, "the file is empty", err);
    return TUTTI_OK;
}

/* For precomputed rows: reports the first row whose number is not one of the columns 1 .. width. */
static void check_numbers(const tutti_svm_data *rows, int64_t first, int32_t width, tutti_svm_report *part)
{
    for (int64_t i = 0; i < rows->nrows; i++) {
        const double number = rows->value[rows->start[i]];
        if (number <= width) continue;
        part->bad = OF_THE_WHOLE;
        part->status = TUTTI_ERR_DATA;
        snprintf(part->words, sizeof part->words, "row %lld: 0:%.9g: the rows of this file have columns 1 to %d only",
                 (long long)(first + i + 1), number, width);
        return;
    }
}

/* Sends every rank's report to all ranks. */
static tutti_status exchange(tutti_comm *comm, const tutti_svm_report *own, tutti_svm_report *all, tutti_failure *err)
{
    if (comm && tutti_comm_size(comm) > 1)
        return tutti_comm_all_gather(comm, own, all, (int64_t)sizeof *own, TUTTI_U8, err);
    *all = *own;
    return TUTTI_OK;
}

tutti_status tutti_svm_data_agree(tutti_comm *comm, const char *name, tutti_svm_scan *scan, tutti_svm_report *own,
                                  tutti_svm_data *out, tutti_failure *err)
{
    const tutti_svm_reading *how = scan->how;
    const int rank = comm ? tutti_comm_rank(comm) : 0, nranks = comm ? tutti_comm_size(comm) : 1;
    tutti_svm_report *all = tutti_alloc((size_t)nranks * sizeof *all);
    tutti_status st = exchange(comm, own, all, err);
    if (!st) st = settle(name, all, nranks, how->lenient, err);
    int64_t first = 0, total = 0, width = 0;
    for (int r = 0; !st && r < nranks; r++) {
        if (r < rank) first += all[r].rows;
        total += all[r].rows;
        if (all[r].width > width) width = all[r].width;
    }
    if (!st && how->precomputed && !how->unlabelled) {
        check_numbers(&scan->rows.data, first, (int32_t)width, own);
        st = exchange(comm, own, all, err);
        if (!st) st = settle(name, all, nranks, how->lenient, err);
    }
    free(all);
    if (st) {
        tutti_svm_data_release(&scan->rows.data);
        return st;
    }
    *out = tutti_svm_growing_finish(&scan->rows);
    out->first = first, out->total = total, out->width = (int32_t)width;
    return TUTTI_OK;
}

/* --- reading a text in memory --- */

/* Scans the last line, which no '\n' ends. */
static tutti_status scan_rest(tutti_svm_scan *scan, const char *line, size_t nbytes, tutti_failure *err)
{
    char *copy = tutti_alloc(nbytes + 1);
    memcpy(copy, line, nbytes);
    copy[nbytes] = '\n';
    tutti_status st = tutti_svm_scan_line(scan, copy, (int64_t)nbytes + 1, err);
    free(copy);
    return st;
}

tutti_status tutti_svm_data_parse(const char *name, const char *text, size_t nbytes, const tutti_svm_reading *how,
                                  tutti_svm_data *out, tutti_failure *err)
{
    tutti_svm_scan scan = {.how = how};
    tutti_failure words = {0};
    tutti_status st = tutti_svm_growing_reserve(&scan.rows, 0, &words);
    for (const char *end = text + nbytes; !st && text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *next = newline ? newline + 1 : end;
        st = newline ? tutti_svm_scan_line(&scan, text, next - text, &words)
                     : scan_rest(&scan, text, (size_t)(end - text), &words);
        text = next;
    }
    tutti_svm_report report = tutti_svm_report_of(&scan, st, &words);
    return tutti_svm_data_agree(NULL, name, &scan, &report, out, err);
}

void tutti_svm_data_release(tutti_svm_data *data)
{
    if (!data) return;
    free(data->start);
    free(data->index);
    free(data->value);
    free(data->label);
    *data = (tutti_svm_data){0};
}

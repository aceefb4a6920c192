/* SPDX-License-Identifier: Apache-2.0 */
/* svm_flags.c: reads LIBSVM's letters and our long flags. */
#include "svm_flags.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/host/cores.h"

static const tutti_svm_letter *letter_row(const tutti_svm_letter *letters, int nletters, char letter)
{
    for (int i = 0; i < nletters; i++)
        if (letters[i].letter == letter) return &letters[i];
    return NULL;
}

static bool takes_next(const char *text, const tutti_flag *flags, int nflags)
{
    for (int i = 0; i < nflags; i++)
        if (!strcmp(flags[i].name, text + 2)) return flags[i].argument != NULL;
    return false;
}

/* Takes a flag of one letter. text: the letter as given, "-c" or "-w-1"; only w has a suffix. */
static tutti_status take_letter(const char *text, const tutti_svm_letter *letters, int nletters, const char *next,
                                tutti_svm_words *out, bool *used, tutti_failure *err)
{
    const tutti_svm_letter *row = letter_row(letters, nletters, text[1]);
    if (!row || (text[1] != 'w' && text[2]))
        return tutti_fail(err, TUTTI_ERR_USAGE, "unknown flag '%s'; --help lists the flags", text);
    if (row->argument && !next) return tutti_fail(err, TUTTI_ERR_USAGE, "%s needs a value: %s", text, row->argument);
    if (out->n == TUTTI_SVM_MOST_WEIGHTS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "more than %d flags", TUTTI_SVM_MOST_WEIGHTS);
    out->given[out->n].letter = text[1];
    out->given[out->n].suffix = text + 2;
    out->given[out->n++].value = row->argument ? next : "";
    *used = row->argument != NULL;
    return TUTTI_OK;
}

tutti_status tutti_svm_words_split(int argc, char **argv, const tutti_svm_letter *letters, int nletters,
                                   const tutti_flag *flags, int nflags, tutti_svm_words *out, tutti_failure *err)
{
    char **others = tutti_alloc((size_t)(argc + 1) * sizeof *others);
    int n = 1;
    tutti_status st = TUTTI_OK;
    others[0] = argv[0];
    out->n = 0;
    for (int a = 1; a < argc && !st; a++) {
        const char *text = argv[a], *next = a + 1 < argc ? argv[a + 1] : NULL;
        bool used = false;
        if (text[0] == '-' && text[1] == '-') {
            others[n++] = argv[a];
            used = next && takes_next(text, flags, nflags);
            if (used) others[n++] = argv[a + 1];
        } else if (text[0] == '-' && text[1]) {
            st = take_letter(text, letters, nletters, next, out, &used, err);
        } else {
            others[n++] = argv[a];
        }
        a += used;
    }
    if (!st) st = tutti_cli_parse(n, others, flags, nflags, &out->long_ones, err);
    free(others);
    return st;
}

void tutti_svm_words_help(const char *usage, const char *about, const tutti_svm_letter *letters, int nletters,
                          const tutti_flag *flags, int nflags)
{
    tutti_cli_help(stdout, usage, about, flags, nflags);
    printf("\nas in LIBSVM:\n");
    for (int i = 0; i < nletters; i++) {
        char left[32];
        snprintf(left, sizeof left, "-%c%s%s", letters[i].letter, letters[i].letter == 'w' ? "" : " ",
                 letters[i].argument ? letters[i].argument : "");
        printf("  %-20s %s\n", left, letters[i].help);
    }
}

tutti_status tutti_svm_letter_real(char letter, const char *text, double *out, tutti_failure *err)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value))
        return tutti_fail(err, TUTTI_ERR_USAGE, "-%c: '%s' is not a number", letter, text);
    *out = value;
    return TUTTI_OK;
}

tutti_status tutti_svm_letter_whole(char letter, const char *text, long lo, long hi, long *out, tutti_failure *err)
{
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || *end || errno)
        return tutti_fail(err, TUTTI_ERR_USAGE, "-%c: '%s' is not a whole number", letter, text);
    if (value < lo || value > hi)
        return tutti_fail(err, TUTTI_ERR_USAGE, "-%c: %ld is outside %ld .. %ld", letter, value, lo, hi);
    *out = value;
    return TUTTI_OK;
}

tutti_status tutti_svm_threads(const tutti_flags *f, int *out, tutti_failure *err)
{
    long n;
    const tutti_status st = tutti_cli_int(f, "threads", (tutti_cli_range){1, 1024}, 0, &n, err);
    if (!st) *out = (int)n;
    return st;
}

int tutti_svm_threads_share(int nranks, int ncores)
{
    const int own = tutti_cores_usable(), share = ncores / nranks;
    const int n = share < own ? share : own;
    return n < 1 ? 1 : n;
}

void tutti_svm_warn_of_cancelling(const char *command, double error)
{
    if (error < 1e-3) return;
    fprintf(
        stderr,
        "tutti %s: warning: the precision of doubles does not suffice: kernel values lie between 0 and 1, and these "
        "may be off by "
        "%.1g, since values far from 0 cancel: subtract each column's mean and scale (svm-scale), or take a smaller "
        "-g\n",
        command, error);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cli.c: parses command lines by tables of flags, prints help, and runs a command. */
#include "cli.h"

#include <ctype.h>
#include <string.h>

#include "../base/file.h"
#include "../base/text/options.h"

enum { MAX_FLAGS = 48, MAX_VALUES = 64, MAX_REST = 1024 };

int tutti_cli_fail(const char *command, const tutti_failure *err)
{
    fprintf(stderr, "tutti %s: %s\n", command, err->text);
    return err->status;
}

static int flag_index(const tutti_flag *flags, int nflags, const char *name, size_t length)
{
    for (int i = 0; i < nflags; i++)
        if (strlen(flags[i].name) == length && !strncmp(flags[i].name, name, length)) return i;
    return -1;
}

/* Flags that have a letter, too. */
static const struct {
    const char *name, *letter;
} letters[] = {{"out", "-o"}, {"follow", "-f"}};
enum { NLETTERS = sizeof letters / sizeof *letters };

/* Returns the name of the flag that an argument calls by its letter; NULL: it calls none of the table so. */
static const char *name_of_letter(const tutti_flag *flags, int nflags, const char *text)
{
    for (int i = 0; i < NLETTERS; i++)
        if (!strcmp(text, letters[i].letter) &&
            flag_index(flags, nflags, letters[i].name, strlen(letters[i].name)) >= 0)
            return letters[i].name;
    return NULL;
}

static tutti_status unknown_flag(const tutti_flag *flags, int nflags, const char *text, tutti_failure *err)
{
    const char *known[MAX_FLAGS];
    char name[64];
    size_t length = strcspn(text, "=");
    for (int i = 0; i < nflags; i++) known[i] = flags[i].name;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), text);
    const char *nearest = tutti_options_nearest(name, known, nflags);
    if (nearest) return tutti_fail(err, TUTTI_ERR_USAGE, "unknown flag '--%s'; did you mean '--%s'?", name, nearest);
    return tutti_fail(err, TUTTI_ERR_USAGE, "unknown flag '--%s'; --help lists the flags", name);
}

static tutti_status take_value(tutti_flags *out, int i, const char *value, tutti_failure *err)
{
    if (out->count[i] && !(out->flags[i].is & TUTTI_FLAG_MANY))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s is given twice", out->flags[i].name);
    if (out->count[i] == MAX_VALUES)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s stands there more than %d times", out->flags[i].name, MAX_VALUES);
    out->value[i][out->count[i]++] = value;
    return TUTTI_OK;
}

/* Returns true if the argument after a flag is its value. */
static bool takes_next(const tutti_flag *flag, const char *next)
{
    if (!(flag->is & TUTTI_FLAG_OPTIONAL)) return true;
    const char *ending = strchr(flag->argument, '.');
    const size_t n = strcspn(ending, "]"), length = next ? strlen(next) : 0;
    return length > n && !strncmp(next + length - n, ending, n);
}

tutti_status tutti_cli_parse(int argc, char **argv, const tutti_flag *flags, int nflags, tutti_flags *out,
                             tutti_failure *err)
{
    memset(out, 0, sizeof *out);
    out->flags = flags;
    out->nflags = nflags;
    bool only_rest = false;
    for (int a = 1; a < argc; a++) {
        const char *text = argv[a];
        if (!only_rest && !strcmp(text, "--")) {
            only_rest = true;
        } else if (!only_rest && (!strcmp(text, "--help") || !strcmp(text, "-h"))) {
            out->help = true;
        } else if (only_rest || text[0] != '-' || !text[1] || isdigit((unsigned char)text[1])) {
            if (out->nrest == MAX_REST)
                return tutti_fail(err, TUTTI_ERR_USAGE,
                                  "more than %d arguments, of which '%s' is the next; where "
                                  "files are wanted a folder of them may do",
                                  MAX_REST, text);
            out->rest[out->nrest++] = text;
        } else {
            const char *by_letter = name_of_letter(flags, nflags, text);
            const char *name = by_letter ? by_letter : text[1] == '-' ? text + 2 : text + 1;
            size_t length = strcspn(name, "=");
            int i = flag_index(flags, nflags, name, length);
            if (i < 0 || (text[1] != '-' && !by_letter)) return unknown_flag(flags, nflags, name, err);
            const char *value = name[length] == '=' ? name + length + 1 : NULL;
            if (!flags[i].argument && value)
                return tutti_fail(err, TUTTI_ERR_USAGE, "--%s takes no value", flags[i].name);
            const bool wants = flags[i].argument && !value && takes_next(&flags[i], a + 1 < argc ? argv[a + 1] : NULL);
            if (wants && a + 1 == argc)
                return tutti_fail(err, TUTTI_ERR_USAGE, "--%s needs a value: %s", flags[i].name, flags[i].argument);
            if (wants) value = argv[++a];
            tutti_status st = take_value(out, i, value || flags[i].argument ? value : "", err);
            if (st != TUTTI_OK) return st;
        }
    }
    return TUTTI_OK;
}

int tutti_cli_row(const tutti_flags *f, const char *name)
{
    return flag_index(f->flags, f->nflags, name, strlen(name));
}

const char *tutti_cli_value(const tutti_flags *f, const char *name, const char *otherwise)
{
    int i = tutti_cli_row(f, name);
    return i >= 0 && f->count[i] ? f->value[i][0] : otherwise;
}

bool tutti_cli_has(const tutti_flags *f, const char *name)
{
    int i = tutti_cli_row(f, name);
    return i >= 0 && f->count[i] > 0;
}

const char *tutti_cli_first(const tutti_flags *f, const char *const *names)
{
    while (*names && !tutti_cli_has(f, *names)) names++;
    return *names;
}

void tutti_cli_help(FILE *to, const char *usage, const char *about, const tutti_flag *flags, int nflags)
{
    fprintf(to, "usage: %s\n\n%s\n", usage, about);
    if (nflags) fprintf(to, "\n");
    for (int i = 0; i < nflags; i++) {
        char left[64];
        const char *letter = NULL;
        for (int k = 0; k < NLETTERS && !letter; k++)
            if (!strcmp(flags[i].name, letters[k].name)) letter = letters[k].letter;
        snprintf(left, sizeof left, "--%s%s%s %s", flags[i].name, letter ? ", " : "", letter ? letter : "",
                 flags[i].argument ? flags[i].argument : "");
        fprintf(to, "  %-26s %s\n", left, flags[i].help);
    }
    fprintf(to, "  %-26s %s\n", "--help", "this text");
}

int tutti_cli_run(const tutti_cli_form *form, int argc, char **argv)
{
    tutti_flags f;
    tutti_failure err = {0};
    tutti_status st = tutti_cli_parse(argc, argv, form->flags, form->nflags, &f, &err);
    if (!st && f.help) {
        tutti_cli_help(stdout, form->usage, form->about, form->flags, form->nflags);
        return 0;
    }
    if (!st && !form->any_arguments && f.nrest != (form->wanted != NULL))
        st = form->wanted ? tutti_fail(&err, TUTTI_ERR_USAGE, "%s", form->wanted)
                          : tutti_fail(&err, TUTTI_ERR_USAGE, "unexpected argument '%s'", f.rest[0]);
    if (!st) st = tutti_cli_check_flags(&f, &err);
    if (!st) st = tutti_cli_try_flags(&f, &err);
    if (!st) st = form->run(&f, &err);
    return st ? tutti_cli_fail(form->name, &err) : 0;
}

tutti_status tutti_cli_write(const char *path, const char *text, tutti_failure *err)
{
    if (path) return tutti_file_write_atomic(path, text, strlen(text), err);
    if (fputs(text, stdout) < 0 || fflush(stdout))
        return tutti_fail(err, TUTTI_ERR_FAILED, "standard output cannot be written");
    return TUTTI_OK;
}

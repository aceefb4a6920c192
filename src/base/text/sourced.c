/* SPDX-License-Identifier: Apache-2.0 */
/* sourced.c: reads files of figures with their sources, and numbers with units. */
#include "sourced.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "strbuf.h"

enum { MAX_LINES = 4096 };
static const char blanks[] = " \t\r";

static const char *const provenances[] = {"read", "measured", "derived", "fitted", "assumed", "given"};
enum { NPROVENANCES = sizeof provenances / sizeof provenances[0] };

static char *skip(char *text)
{
    return text + strspn(text, blanks);
}

/* Returns the word at *at, ends it with '\0', and moves *at behind it. */
static char *take_word(char **at)
{
    char *word = skip(*at), *end = word + strcspn(word, blanks);
    *at = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static void cut_end(char *text)
{
    size_t n = strlen(text);
    while (n && strchr(blanks, text[n - 1])) text[--n] = '\0';
}

static const char *known_provenance(const char *word)
{
    for (int i = 0; i < NPROVENANCES; i++)
        if (strcmp(provenances[i], word) == 0) return provenances[i];
    return NULL;
}

/* Parses one line that is neither empty nor a comment. */
static tutti_status line_take(const char *name, int number, char *text, tutti_sourced_line *out, tutti_failure *err)
{
    char *at = text, *key = take_word(&at);
    const size_t length = strlen(key);
    *out = (tutti_sourced_line){.line = number, .key = key};
    if (length > 1 && key[length - 1] == ':') {
        key[length - 1] = '\0';
        out->value = skip(at);
        if (!*out->value)
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: no words behind '%s:'", name, number, key);
        return TUTTI_OK;
    }
    out->value = take_word(&at);
    char *from = take_word(&at);
    const size_t n = strlen(from);
    if (n && from[n - 1] == ':') from[n - 1] = '\0';
    out->from = n ? known_provenance(from) : NULL;
    out->words = skip(at);
    if (!out->from || n == strlen(from) || !*out->words)
        return tutti_fail(
            err, TUTTI_ERR_DATA,
            "%s: line %d: wanted '%.40s VALUE read: SOURCE', with read, measured, derived, fitted, assumed or given "
            "and words behind the colon, or '%.40s: TEXT'",
            name, number, key, key);
    return TUTTI_OK;
}

tutti_status tutti_sourced_parse(const char *name, const char *text, tutti_sourced *out, tutti_failure *err)
{
    tutti_sourced s = {.name = NULL};
    tutti_status st = TUTTI_OK;
    int nlines = 1;
    for (const char *c = text; *c; c++) nlines += *c == '\n';
    if (nlines > MAX_LINES)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: %d lines; at most %d are read", name, nlines, MAX_LINES);
    s.name = tutti_arena_strdup(&s.arena, name);
    s.lines = TUTTI_ARENA_NEW(&s.arena, tutti_sourced_line, nlines);
    char *copy = tutti_arena_strdup(&s.arena, text), *next = copy;
    for (int number = 1; next && !st; number++) {
        char *line = skip(next), *end = strchr(next, '\n');
        next = end ? end + 1 : NULL;
        if (end) *end = '\0';
        cut_end(line);
        if (!*line || *line == '#') continue;
        tutti_sourced_line taken;
        st = line_take(name, number, line, &taken, err);
        const tutti_sourced_line *before = st ? NULL : tutti_sourced_get(&s, taken.key);
        if (before)
            st = tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: '%s' is given in line %d already", name, number,
                            taken.key, before->line);
        if (!st) s.lines[s.n++] = taken;
    }
    if (st)
        tutti_arena_release(&s.arena);
    else
        *out = s;
    return st;
}

void tutti_sourced_release(tutti_sourced *s)
{
    tutti_arena_release(&s->arena);
    *s = (tutti_sourced){0};
}

const tutti_sourced_line *tutti_sourced_get(const tutti_sourced *s, const char *key)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->lines[i].key, key) == 0) return &s->lines[i];
    return NULL;
}

/* Returns the factor that a prefix of a unit stands for, such as 1000 for k; 0: the letter is no prefix. */
static double factor_of(char letter)
{
    static const struct {
        char letter;
        double factor;
    } known[] = {{'k', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}, {'m', 1e-3}, {'u', 1e-6}, {'n', 1e-9}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].letter == letter) return known[i].factor;
    return 0;
}

static const double MOST_FIGURE = 1e30, MOST_SECONDS = 1e6; /* larger values are refused, because no machine has them */

tutti_status tutti_sourced_number(const tutti_sourced *s, const tutti_sourced_line *line, const char *unit, double *out,
                                  tutti_failure *err)
{
    char *end;
    const double number = strtod(line->value, &end);
    double factor = 1;
    const bool is_hex = end - line->value > 1 && (line->value[1] == 'x' || line->value[1] == 'X');
    const bool is_number = end != line->value && isfinite(number) && number >= 0 && !is_hex;
    if (*unit && *end && strcmp(end, unit) != 0 && (factor = factor_of(*end)) > 0) end++;
    if (!is_number || factor == 0 || (*end && strcmp(end, unit) != 0) || !isfinite(number * factor))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: %s is '%.40s'; wanted a number of 0 or more%s%s", s->name,
                          line->line, line->key, line->value, *unit ? " such as 2.5G" : "", unit);
    const double most = strcmp(unit, "s") ? MOST_FIGURE : MOST_SECONDS;
    if (number * factor > most)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: %s is '%.40s', more than %g %s", s->name, line->line,
                          line->key, line->value, most, unit);
    *out = number * factor;
    return TUTTI_OK;
}

const char *tutti_embedded_find(const tutti_embedded_text *table, const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0) return table->text;
    return NULL;
}

char *tutti_embedded_names(const tutti_embedded_text *table)
{
    tutti_strbuf names = {0};
    for (int i = 0; table[i].name; i++) tutti_strbuf_printf(&names, "%s%s", i ? ", " : "", table[i].name);
    return tutti_strbuf_detach(&names);
}

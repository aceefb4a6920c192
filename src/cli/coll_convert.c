/* SPDX-License-Identifier: Apache-2.0 */
/* coll_convert.c: `tutti coll convert FILE|ALGORITHM --to FORMAT`: one row a format. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "../base/options.h"
#include "../collective/interchange/draw.h"
#include "coll.h"

static const tutti_flag flags[] = {
    {"to", "FORMAT", "msccl (XML), text, svg", false},
    {"out", "F", "write it to file F (also: -o F)", false},
    TUTTI_COLL_SCHEDULE_FLAGS,
};
enum { NFLAGS = sizeof flags / sizeof flags[0] };

static tutti_status to_text(const tutti_schedule *s, char **out, tutti_failure *err)
{
    enum { MOST_RANKS = 4096 };
    int32_t nranks = tutti_schedule_head(s)->nranks;
    if (nranks > MOST_RANKS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%d ranks: the text form holds at most %d", nranks, MOST_RANKS);
    *out = tutti_schedule_print(s);
    return TUTTI_OK;
}

static tutti_status to_svg(const tutti_schedule *s, char **out, tutti_failure *err)
{
    tutti_strbuf picture = {0};
    tutti_status st = tutti_schedule_draw(s, &picture, err);
    int32_t nranks = tutti_schedule_head(s)->nranks;
    if (st == TUTTI_OK && nranks > TUTTI_DRAW_READABLE)
        fprintf(stderr, "tutti coll convert: %d ranks: pictures are hard to read beyond %d\n", nranks,
                TUTTI_DRAW_READABLE);
    if (st == TUTTI_OK)
        *out = tutti_strbuf_detach(&picture);
    else
        tutti_strbuf_release(&picture);
    return st;
}

static const struct {
    const char *name;
    tutti_status (*write)(const tutti_schedule *s, char **out, tutti_failure *err);
} formats[] = {{"msccl", tutti_msccl_export}, {"text", to_text}, {"svg", to_svg}};
enum { NFORMATS = sizeof formats / sizeof formats[0] };

static tutti_status find_format(const char *name, int *out, tutti_failure *err)
{
    const char *known[NFORMATS];
    if (!name) return tutti_fail(err, TUTTI_ERR_USAGE, "--to FORMAT is missing: msccl, text or svg");
    for (*out = 0; *out < NFORMATS; ++*out) {
        known[*out] = formats[*out].name;
        if (!strcmp(name, known[*out])) return TUTTI_OK;
    }
    const char *nearest = tutti_options_nearest(name, known, NFORMATS);
    return tutti_fail(err, TUTTI_ERR_USAGE, "--to %s: there are msccl, text and svg%s%s%s", name,
                      nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static tutti_status convert(const char *what, const tutti_flags *f, tutti_failure *err)
{
    int format = 0;
    tutti_coll_schedule s;
    char *text = NULL;
    const char *path = tutti_cli_value(f, "out", NULL);
    tutti_status st = find_format(tutti_cli_value(f, "to", NULL), &format, err);
    if (st == TUTTI_OK) st = tutti_coll_open(what, f, &s, err);
    if (st != TUTTI_OK) return st;
    st = formats[format].write(s.schedule, &text, err);
    if (st == TUTTI_OK && path) st = tutti_file_write_atomic(path, text, strlen(text), err);
    if (st == TUTTI_OK && !path && (fputs(text, stdout) < 0 || fflush(stdout)))
        st = tutti_fail(err, TUTTI_ERR_FAILED, "standard output cannot be written");
    free(text);
    tutti_coll_close(&s);
    return st;
}

int tutti_coll_convert(int argc, char **argv)
{
    tutti_flags f;
    tutti_failure err = {0};
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-o")) argv[i] = "--out";
    tutti_status st = tutti_cli_parse(argc, argv, flags, NFLAGS, &f, &err);
    if (st == TUTTI_OK && f.help) {
        tutti_cli_help(stdout, "tutti coll convert FILE|ALGORITHM --to FORMAT [options]",
                       "Writes a schedule in another form: an XML program of MSCCL (or why there is none), our text\n"
                       "form, or a picture with ranks down and stages across. FILE is our text form or MSCCL XML; an\n"
                       "algorithm needs --ranks. Nothing is proved here: 'tutti coll check' does that.",
                       flags, NFLAGS);
        return 0;
    }
    if (st == TUTTI_OK && f.nrest != 1)
        st = tutti_fail(&err, TUTTI_ERR_USAGE, "one file or algorithm is wanted: tutti coll convert FILE|ALGORITHM");
    if (st == TUTTI_OK) st = convert(f.rest[0], &f, &err);
    return st == TUTTI_OK ? 0 : tutti_cli_fail("coll convert", &err);
}

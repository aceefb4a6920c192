/* SPDX-License-Identifier: Apache-2.0 */
/* coll_convert.c: `tutti coll convert FILE|ALGORITHM --to FORMAT`: one row a format. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/options.h"
#include "../collective/interchange/draw.h"
#include "coll.h"

static const tutti_flag flags[] = {
    {"to", "FORMAT", "msccl (XML), text, svg", 0},
    {"out", "F", "write it to file F", TUTTI_FLAG_WRITES},
    TUTTI_COLL_SCHEDULE_FLAGS,
};
enum { NFLAGS = sizeof flags / sizeof flags[0] };

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
} formats[] = {{"msccl", tutti_msccl_export}, {"text", tutti_coll_text}, {"svg", to_svg}};
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

static tutti_status convert(const tutti_flags *f, tutti_failure *err)
{
    int format = 0;
    tutti_coll_schedule s;
    char *text = NULL;
    tutti_status st = find_format(tutti_cli_value(f, "to", NULL), &format, err);
    if (st == TUTTI_OK) st = tutti_coll_open(f->rest[0], f, &s, err);
    if (st != TUTTI_OK) return st;
    st = formats[format].write(s.schedule, &text, err);
    if (st == TUTTI_OK) st = tutti_cli_write(tutti_cli_value(f, "out", NULL), text, err);
    free(text);
    tutti_coll_close(&s);
    return st;
}

int tutti_coll_convert(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "coll convert",
        .usage = "tutti coll convert FILE|ALGORITHM --to FORMAT [options]",
        .about = "Writes a schedule in another form: an XML program of MSCCL (or why there is none), our text\n"
                 "form, or a picture with ranks down and stages across. FILE is our text form or MSCCL XML; an\n"
                 "algorithm needs --ranks. Nothing is proved here: 'tutti coll check' does that.",
        .flags = flags,
        .nflags = NFLAGS,
        .wanted = "one file or algorithm is wanted: tutti coll convert FILE|ALGORITHM",
        .run = convert,
    };
    return tutti_cli_run(&form, argc, argv);
}

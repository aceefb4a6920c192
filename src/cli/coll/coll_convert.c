/* SPDX-License-Identifier: Apache-2.0 */
/* coll_convert.c: `tutti coll convert FILE|ALGORITHM --to FORMAT`: each format is a row. A format needs only the
 * schedule, or also the size of the vector; it is one text, or a folder of files, one for each rank. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/text/options.h"
#include "../../collective/interchange/draw.h"
#include "../../collective/interchange/exports.h"
#include "coll.h"

static const tutti_flag flags[] = {
    {"to", "FORMAT", "msccl (XML), text, svg; for simulators: goal (LogGOPSim), smpi (SimGrid), chakra (ASTRA-sim)", 0},
    {"out", "F", "write it to file F; smpi and chakra: into folder F, a file a rank",
     TUTTI_FLAG_WRITES | TUTTI_FLAG_FOLDER},
    {"bytes", "B", "goal, smpi, chakra: size of the vector on each rank: 4096, 64KiB, 102MB", 0},
    {"add", "RATE", "goal, chakra: bytes that a rank adds in a second: 10GB (default, assumed)", 0},
    TUTTI_COLL_SCHEDULE_FLAGS,
};

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

typedef struct {
    const char *name;
    tutti_status (*write)(const tutti_schedule *s, char **out, tutti_failure *err);
    tutti_status (*write_sized)(const tutti_schedule *s, const tutti_export_options *o, char **out, tutti_failure *err);
    tutti_status (*write_folder)(const tutti_schedule *s, const tutti_export_options *o, const char *folder,
                                 tutti_failure *err);
} format;
static const format formats[] = {{.name = "msccl", .write = tutti_msccl_export},
                                 {.name = "text", .write = tutti_coll_text},
                                 {.name = "svg", .write = to_svg},
                                 {.name = "goal", .write_sized = tutti_export_goal},
                                 {.name = "smpi", .write_folder = tutti_export_smpi},
                                 {.name = "chakra", .write_folder = tutti_export_chakra}};
enum { NFORMATS = sizeof formats / sizeof formats[0] };

static tutti_status find_format(const char *name, const format **out, tutti_failure *err)
{
    const char *known[NFORMATS];
    if (!name)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--to FORMAT is missing: msccl, text, svg, goal, smpi or chakra");
    for (int i = 0; i < NFORMATS; i++) {
        *out = &formats[i];
        known[i] = formats[i].name;
        if (!strcmp(name, known[i])) return TUTTI_OK;
    }
    const char *nearest = tutti_options_nearest(name, known, NFORMATS);
    return tutti_fail(err, TUTTI_ERR_USAGE, "--to %s: there are msccl, text, svg, goal, smpi and chakra%s%s%s", name,
                      nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* Reads the options of formats that need a size; other formats refuse them. */
static tutti_status read_options(const tutti_flags *f, const format *to, tutti_export_options *o, tutti_failure *err)
{
    long long bytes = 0, add = 0;
    const bool sized = to->write_sized || to->write_folder;
    if (!sized && (tutti_cli_has(f, "bytes") || tutti_cli_has(f, "add")))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--bytes and --add are for goal, smpi and chakra; %s is for any size",
                          to->name);
    if (sized && !tutti_cli_has(f, "bytes"))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "--bytes is missing: %s is for one size of the vector (try --bytes 1MB)", to->name);
    if (to->write_folder && !tutti_cli_has(f, "out"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--out is missing: %s is a folder with a file a rank", to->name);
    if (!sized) return TUTTI_OK;
    tutti_status st = tutti_cli_bytes("--bytes", tutti_cli_value(f, "bytes", NULL), &bytes, err);
    if (st == TUTTI_OK) st = tutti_cli_bytes("--add", tutti_cli_value(f, "add", "10GB"), &add, err);
    if (st == TUTTI_OK && add <= 0) st = tutti_fail(err, TUTTI_ERR_USAGE, "--add: more than nothing is wanted");
    *o = (tutti_export_options){.n = bytes / 4, .add_bytes_per_s = (double)add};
    return st;
}

static tutti_status write_as(const format *to, const tutti_schedule *s, const tutti_flags *f, tutti_failure *err)
{
    char *text = NULL;
    tutti_export_options o = {0};
    const tutti_output file = {.what = "--out", .path = tutti_cli_value(f, "out", NULL), .written = true};
    tutti_status st = read_options(f, to, &o, err);
    if (st == TUTTI_OK && !to->write_folder) st = tutti_outputs_try(&file, 1, err);
    if (st != TUTTI_OK) return st;
    if (to->write_folder) return to->write_folder(s, &o, tutti_cli_value(f, "out", NULL), err);
    st = to->write ? to->write(s, &text, err) : to->write_sized(s, &o, &text, err);
    if (st == TUTTI_OK) st = tutti_cli_write(tutti_cli_value(f, "out", NULL), text, err);
    free(text);
    return st;
}

static tutti_status convert(const tutti_flags *f, tutti_failure *err)
{
    const format *to;
    tutti_coll_schedule s;
    tutti_status st = find_format(tutti_cli_value(f, "to", NULL), &to, err);
    if (st == TUTTI_OK) st = tutti_coll_open(f->rest[0], f, &s, err);
    if (st != TUTTI_OK) return st;
    st = write_as(to, s.schedule, f, err);
    tutti_coll_close(&s);
    return st;
}

int tutti_coll_convert(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "coll convert",
        .usage = "tutti coll convert FILE|ALGORITHM --to FORMAT [options]",
        .about = "Writes a schedule in another form: an XML program of MSCCL (or why there is none), our text\n"
                 "form, a picture with ranks down and stages across, or, for one size, what other simulators\n"
                 "read. FILE is our text form or MSCCL XML; an algorithm needs --ranks. Nothing is proved here:\n"
                 "'tutti coll check' does that.",
        TUTTI_CLI_FLAGS(flags),
        .wanted = "one file or algorithm is wanted: tutti coll convert FILE|ALGORITHM",
        .run = convert,
    };
    return tutti_cli_run(&form, argc, argv);
}

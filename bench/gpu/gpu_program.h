/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_program.h: what the benchmarks of a card share as programs: options by a table of fields, and the file of their
 * JSON lines. Threads: one. */
#ifndef TUTTI_BENCH_GPU_PROGRAM_H
#define TUTTI_BENCH_GPU_PROGRAM_H

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/text/json.h"
#include "base/text/options.h"

/* Fills `out` with the defaults of the table, then with what argv says: `--key value`, and `--key` alone for what is
 * true or false. Texts lie in the arena. TUTTI_ERR_USAGE: argv says something else; stderr has the words and the table,
 * and the arena is released. */
static inline tutti_status gpu_read_options(const tutti_field_table *table, int argc, char **argv, tutti_arena *arena,
                                            void *out)
{
    enum { MOST = 16 };
    struct option longs[MOST + 1] = {0};
    tutti_failure err = {0};
    int field = 0;
    for (int i = 0; i < table->nfields && i < MOST; i++)
        longs[i] = (struct option){table->fields[i].key, table->fields[i].kind != TUTTI_FIELD_BOOL, NULL, 0};
    const tutti_options_into into = {table, arena, out};
    tutti_status st = tutti_options_read(&into, argv[0], NULL, NULL, 0, &err);
    for (int opt; !st && (opt = getopt_long(argc, argv, "", longs, &field)) != -1;)
        st = opt ? TUTTI_ERR_USAGE /* getopt has said why */
                 : tutti_options_set(&into, "option", table->fields[field].key, optarg ? optarg : "true", &err);
    if (!st && optind < argc) st = tutti_fail(&err, TUTTI_ERR_USAGE, "'%s' is no option", argv[optind]);
    if (!st) return TUTTI_OK;
    tutti_strbuf help = {0};
    tutti_options_help(table, &help);
    if (err.text[0]) fprintf(stderr, "%s: %s\n", argv[0], err.text);
    fprintf(stderr, "usage: %s [--NAME VALUE | --SWITCH]...; names and defaults:\n%s", argv[0], help.text);
    tutti_strbuf_release(&help);
    tutti_arena_release(arena);
    return st;
}

/* Opens the file for JSON lines: "-" is standard output; *out is NULL where path is. */
static inline tutti_status gpu_open_lines(const char *path, FILE **out, tutti_failure *err)
{
    *out = !path ? NULL : strcmp(path, "-") ? fopen(path, "w") : stdout;
    return path && !*out ? tutti_fail(err, TUTTI_ERR_USAGE, "cannot write %s", path) : TUTTI_OK;
}

/* Ends the object that `line` holds and writes it as a line; the text is released. */
static inline void gpu_write_line(FILE *lines, tutti_json *line)
{
    tutti_json_close(line, '}');
    fprintf(lines, "%s\n", line->out->text);
    fflush(lines);
    tutti_strbuf_release(line->out);
}

static inline void gpu_close_lines(FILE *lines)
{
    if (lines && lines != stdout) fclose(lines);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tell_choice.h: prints what the chooser and the engines found: words, table, JSON, picture. Threads: any (pure
 * functions). */
#ifndef TUTTI_TELL_CHOICE_H
#define TUTTI_TELL_CHOICE_H

#include "../../../base/text/strbuf.h"
#include "../choose/choose.h"

/* Writes the question: the collective, the sizes in words, ranks and policy, the topology, and how many of its figures
 * are measured. */
void tutti_tell_question(const tutti_compile_request *q, const tutti_policy *policy, const tutti_topology *t,
                         const char *sizes, tutti_strbuf *out);
/* Writes all candidates, the choice with its reason, and its distance to the bounds. */
void tutti_tell_choice(const tutti_choice *choice, bool json, tutti_strbuf *out);
/* Writes a line with the name of each column, the first one under `name`. */
void tutti_tell_heads(const char *name, int width, tutti_strbuf *out);
/* Writes the columns of a row, without the end of its line: predicted, latency, transfer, local, at least, rounds,
 * messages, busiest. */
void tutti_tell_row(const char *name, int width, const tutti_simulation *s, tutti_strbuf *out);

/* Reads "all", or names joined by commas; bit i of *engines = engine i. TUTTI_ERR_USAGE lists the engines. */
tutti_status tutti_tell_read_engines(const char *text, unsigned *engines, tutti_failure *err);
/* Writes a table with reasons for empty places, or one JSON object for each algorithm and engine. */
void tutti_tell_engines(const tutti_engine_row *rows, int nrows, unsigned engines, bool json, tutti_strbuf *out);

/* Writes a table, or one JSON object per range. nrows: number of ranks that share the elements (all-to-all), else 1;
 * bytes are those of one rank. */
void tutti_tell_ranges(const tutti_ranges *ranges, int64_t nrows, bool json, tutti_strbuf *out);

typedef struct {
    const tutti_policy *policy;
    int64_t most_steps; /* limit of a schedule's steps, as for tutti_choose_by */
    const tutti_compile_request *q;
    int64_t most, at; /* bytes of a rank: `most` is the largest size, `at` a size to mark, 0 = none */
    const tutti_topology *t;
    const char *topology; /* the topology in words */
} tutti_tell_times;

/* Draws the times of all rows of the table over sizes from 4 bytes on; each row is a curve of its best variant at each
 * size. Cost: each schedule once for each power of 4. TUTTI_ERR_USAGE: no algorithm can do this. */
tutti_status tutti_tell_times_svg(const tutti_tell_times *times, tutti_strbuf *svg, tutti_failure *err);

/* A program of MSCCL or a schedule in text form. */
typedef struct {
    const char *path;
    const tutti_schedule *schedule;
    int64_t bytes; /* bytes of one rank */
    const tutti_topology *t;
    int64_t most_steps; /* limit of steps, as for tutti_choose_by, for the algorithms that are listed beside the
                         * program */
    bool json;
} tutti_tell_program;
/* Writes the times of the program. TUTTI_ERR_USAGE: it does not fit the topology; TUTTI_ERR_DATA: it has more stages
 * than can be timed. */
tutti_status tutti_tell_file(const tutti_tell_program *program, tutti_strbuf *out, tutti_failure *err);

#endif

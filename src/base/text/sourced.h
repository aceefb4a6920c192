/* SPDX-License-Identifier: Apache-2.0 */
/* sourced.h: files of numbers that say where each number is from.
 *
 * A number is one line, "KEY VALUE PROVENANCE: WORDS"; a text is one line, "KEY: WORDS":
 *
 *   about: a card of 2017
 *   memory 900GB/s read: the vendor's data sheet
 *   launch 5us assumed: nobody measured it
 *
 * PROVENANCE is read, measured, derived (computed from what the words name), fitted, assumed or given; words (the
 * source, or the reason) must follow it. A line that begins with '#' is a comment. A key may occur once. Files that
 * come with the program are embedded by the build as rows of a table (cmake/embed_texts.cmake). Threads: any may read
 * what was parsed. */
#ifndef TUTTI_BASE_SOURCED_H
#define TUTTI_BASE_SOURCED_H

#include <stddef.h>

#include "../arena.h"
#include "tutti/failure.h"

typedef struct {
    int line; /* number of the line in the file, from 1 */
    const char *key;
    const char *value; /* for a text: its words; for a number: the number with its unit */
    const char *from;  /* where the figure comes from, such as "read"; NULL: the line is a text */
    const char *words; /* the source of the figure, or the reason for it; NULL: the line is a text */
} tutti_sourced_line;

typedef struct {
    const char *name; /* name of the file, for messages */
    tutti_sourced_line *lines;
    int n;
    tutti_arena arena;
} tutti_sourced;

/* Parses a text of the format described at the top of this file. TUTTI_ERR_DATA names the line. */
tutti_status tutti_sourced_parse(const char *name, const char *text, tutti_sourced *out, tutti_failure *err);
void tutti_sourced_release(tutti_sourced *s);
/* Returns the line with a key, or NULL. */
const tutti_sourced_line *tutti_sourced_get(const tutti_sourced *s, const char *key);
/* Reads the number of a line, in `unit`: "15.7TFLOP/s", "4e-6s", "900GB/s" for the units "FLOP/s", "s", "B/s". The
 * number must be finite and >= 0. A prefix k, M, G, T or m, u, n may stand before the unit. unit "" = a plain number.
 * The text may leave out the unit itself. TUTTI_ERR_DATA with file and line. */
tutti_status tutti_sourced_number(const tutti_sourced *s, const tutti_sourced_line *line, const char *unit, double *out,
                                  tutti_failure *err);

/* A text that is built into the program. */
typedef struct {
    const char *name, *text;
} tutti_embedded_text;
/* Returns the text of that name from a table that ends with a row of NULLs, or NULL. */
const char *tutti_embedded_find(const tutti_embedded_text *table, const char *name);
/* Returns all names, separated by ", ". The caller frees the text. */
char *tutti_embedded_names(const tutti_embedded_text *table);

#endif

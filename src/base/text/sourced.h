/* SPDX-License-Identifier: Apache-2.0 */
/* sourced.h: files of figures that say where each figure is from.
 *
 * One line a figure, "KEY VALUE PROVENANCE: WORDS", and one a text, "KEY: WORDS":
 *
 *   about: a card of 2017
 *   memory 900GB/s read: the vendor's data sheet
 *   launch 5us assumed: nobody measured it
 *
 * PROVENANCE is read, measured, derived (computed from what the words name), fitted, assumed or given, and words (the
 * source, or why) must follow it. '#' begins a line that is a comment. A key stands once. Files that come with the
 * program are embedded by the build (cmake/embed_texts.cmake) as rows of a table. Threads: frozen after parse. */
#ifndef TUTTI_BASE_SOURCED_H
#define TUTTI_BASE_SOURCED_H

#include <stddef.h>

#include "../arena.h"
#include "tutti/failure.h"

typedef struct {
    int line; /* in the file, from 1 */
    const char *key;
    const char *value; /* of a text: the words */
    const char *from;  /* "read"; NULL: it is a text */
    const char *words; /* the source, or why; NULL: it is a text */
} tutti_sourced_line;

typedef struct {
    const char *name; /* of the file, for failures */
    tutti_sourced_line *lines;
    int n;
    tutti_arena arena;
} tutti_sourced;

/* TUTTI_ERR_DATA names the line. */
tutti_status tutti_sourced_parse(const char *name, const char *text, tutti_sourced *out, tutti_failure *err);
void tutti_sourced_release(tutti_sourced *s);
/* The line with a key, or NULL. */
const tutti_sourced_line *tutti_sourced_get(const tutti_sourced *s, const char *key);
/* "15.7TFLOP/s", "4e-6s", "900GB/s" for the units "FLOP/s", "s", "B/s": a finite number >= 0, k, M, G, T or m, u, n,
 * the unit; "" = a plain number. The unit itself may be left out. TUTTI_ERR_DATA with file and line. */
tutti_status tutti_sourced_number(const tutti_sourced *s, const tutti_sourced_line *line, const char *unit, double *out,
                                  tutti_failure *err);

/* A text of the program's own. */
typedef struct {
    const char *name, *text;
} tutti_embedded_text;
/* The text of that name in a table that ends with a row of NULLs, or NULL. */
const char *tutti_embedded_find(const tutti_embedded_text *table, const char *name);
/* All names, with ", " between. The caller frees the text. */
char *tutti_embedded_names(const tutti_embedded_text *table);

#endif

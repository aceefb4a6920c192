/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: one table of fields defines YAML, --set, --help and the printed form of a struct.
 *
 * A row of the table, a field, names its key ("optimiser.lr"; dots are nesting in YAML), how its text is read, its
 * default, its help and its place in the struct. Strings are const char *, owned by the arena that is given at parsing.
 * If a key is unknown, the message names the nearest known key (tutti_options_nearest). If a type or a range is wrong,
 * it names file and line. If a group has a key `name` or `from`, a single value for the group means that key ("method:
 * x" is "method.name: x", "init: x" is "init.from: x"). Threads: any may read a table; one at a time parses into a
 * target. */
#ifndef TUTTI_BASE_OPTIONS_H
#define TUTTI_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../arena.h"
#include "strbuf.h"
#include "tutti/failure.h"
#include "yaml.h"

typedef enum {
    TUTTI_FIELD_INT,    /* int64_t or uint64_t, from lo to hi */
    TUTTI_FIELD_SMALL,  /* int, from lo to hi */
    TUTTI_FIELD_BYTES,  /* int64_t number of bytes, from lo to hi: "64", "4KB", "1MiB" */
    TUTTI_FIELD_REAL,   /* double, from lo to hi */
    TUTTI_FIELD_BOOL,   /* bool */
    TUTTI_FIELD_TEXT,   /* const char * */
    TUTTI_FIELD_CHOICE, /* int or an enum: index into the '|'-separated list `choices` */
    TUTTI_FIELD_EITHER, /* bool: true for the second of the two `choices` */
    TUTTI_FIELD_REALS,  /* tutti_reals: YAML list of numbers */
    TUTTI_FIELD_TEXTS,  /* tutti_texts: YAML list of texts, or a single text; in --set a,b */
    TUTTI_FIELD_PAIRS,  /* tutti_texts, key and value alternate: YAML map of texts; in --set a=b,c=d */
} tutti_field_kind;

typedef struct {
    double *values;
    int n;
} tutti_reals;

typedef struct {
    const char **values; /* values are never NULL */
    int n;
} tutti_texts;

typedef struct {
    const char *key; /* key with dots: "optimiser.lr" */
    tutti_field_kind kind;
    size_t offset; /* offset of the field in the struct */
    /* default as text; NULL = the user must give a value; "" for a TEXT field = no value (stored as NULL) */
    const char *initial;
    const char *choices; /* "none|step|poly" for CHOICE and EITHER, else NULL */
    double lo, hi;       /* smallest and largest number that is allowed; lo > hi = no limits */
    const char *help;    /* one line: meaning and unit */
} tutti_field;

typedef struct {
    const tutti_field *fields;
    int nfields;
} tutti_field_table;

/* Where values are stored: the struct of the table, and the arena that owns its texts. */
typedef struct {
    const tutti_field_table *table;
    tutti_arena *arena;
    void *target;
} tutti_options_into;
/* Fills the target with defaults, then with the values of the YAML map `root` of file `name`. Required fields must be
 * given. overrides: texts "key=value" from --set, applied last; their failures say "--set key=value". */
tutti_status tutti_options_read(const tutti_options_into *into, const char *name, const tutti_yaml_node *root,
                                const char *const *overrides, int noverrides, tutti_failure *err);
/* Sets one field from text. where: text at the beginning of an error message. */
tutti_status tutti_options_set(const tutti_options_into *into, const char *where, const char *key, const char *value,
                               tutti_failure *err);
/* Returns true if the field has its default. */
bool tutti_options_is_initial(const tutti_field *field, const void *target);
/* Copies the value of one field, stored at `from`, to the field's place in the struct `target`. */
void tutti_options_give(const tutti_field *field, const void *from, void *target);
/* Prints every field of the struct as YAML (nested by dots), in table order. Reading it back gives the same struct. */
void tutti_options_print(const tutti_field_table *table, const void *target, tutti_strbuf *out);
/* Prints one line for each field for --help: key, default, help. */
void tutti_options_help(const tutti_field_table *table, tutti_strbuf *out);
/* True if the text begins with a number; leading blanks, which strtol skips, do not count. */
bool tutti_options_is_number(const char *text);
/* Returns the known word nearest to `word`, or NULL if none is near. Near means: the edits (a letter left out, added,
 * changed, or two swapped) are at most a third of the letters of the longer word, at least one and at most three; or
 * the known word begins with `word`, which has at least three letters. */
const char *tutti_options_nearest(const char *word, const char *const *known, int nknown);
/* Prints one text in quotes, as an item of a list. */
void tutti_option_print_text(const char *text, tutti_strbuf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* text_impl.h: what the files of the reader of docs/schedule-format.md share.
 *
 * The text may be anything: every number has a range, every name is looked up, memory grows only with the text. What a
 * schedule must be beyond its shape is the checker's business.
 *
 * Threads: owner. */
#ifndef TUTTI_SCHEDULE_TEXT_IMPL_H
#define TUTTI_SCHEDULE_TEXT_IMPL_H

#include "part_builder.h"

enum {
    TUTTI_TEXT_MAX_RANKS = 4096,
    TUTTI_TEXT_MAX_STEPS = 4 << 20, /* all ranks together */
    TUTTI_TEXT_MAX_NUMBER = 1 << 20 /* channels, stages, fractions, leaves */
};

/* ---- tokens of one line (text_lex.c): words, and ( and ) by themselves; # begins a comment ---- */
typedef struct {
    const char *file, *at, *end; /* end: of the line */
    int line;
    const char *word; /* the token in hand, not terminated */
    size_t length;    /* 0 = the line is over */
    tutti_failure *err;
} tutti_lexer;

void tutti_lex_next(tutti_lexer *x);
bool tutti_lex_is(const tutti_lexer *x, const char *word);
/* Goes on if the token is `word`. */
bool tutti_lex_accept(tutti_lexer *x, const char *word);
tutti_status tutti_lex_expect(tutti_lexer *x, const char *word);
/* "file: line 7: ... , not 'token'". */
tutti_status tutti_lex_fail(const tutti_lexer *x, const char *wanted);
tutti_status tutti_lex_number(tutti_lexer *x, const char *what, int32_t lo, int32_t hi, int32_t *out);
/* A token out of a list; *out is its index. */
tutti_status tutti_lex_choice(tutti_lexer *x, const char *what, const char *const *words, int n, int *out);
/* "3/8", "3+2/8": first, count, of. */
tutti_status tutti_lex_fraction(tutti_lexer *x, const char *text, size_t length, tutti_slice *out);

/* ---- the file (text_parse.c) ---- */
typedef struct {
    char name[16];
    int32_t buffer;
} tutti_text_name;

typedef struct {
    tutti_part_builder builder;
    tutti_text_name *names; /* sorted */
    bool seen;
} tutti_text_rank;

typedef struct {
    tutti_schedule_header head;
    int32_t *host_of; /* what head.host_of points to */
    tutti_text_rank *ranks;
    int64_t nsteps;
    int32_t *open; /* of expressions: what each open parenthesis holds so far */
    int32_t open_capacity;
} tutti_text;

/* One step line after its number (text_steps.c); the step goes to rank's builder. */
tutti_status tutti_text_step(tutti_text *t, int32_t rank, tutti_lexer *x);
/* Notes at both ends of every message where the other end lies (text_match.c). */
void tutti_text_match(tutti_text *t);

#endif

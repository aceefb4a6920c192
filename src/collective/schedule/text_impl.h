/* SPDX-License-Identifier: Apache-2.0 */
/* text_impl.h: declarations that the files of the reader of docs/schedule-format.md share.
 *
 * The text may be anything: every number has a range, every name is looked up, and memory grows only with the text. The
 * checker decides whether the schedule is right.
 *
 * Threads: one at a time. */
#ifndef TUTTI_SCHEDULE_TEXT_IMPL_H
#define TUTTI_SCHEDULE_TEXT_IMPL_H

#include "part_builder.h"

enum {
    TUTTI_TEXT_MAX_RANKS = 4096,
    TUTTI_TEXT_MAX_STEPS = 4 << 20, /* most steps of all ranks together */
    TUTTI_TEXT_MAX_NUMBER = 1 << 20 /* largest number of a channel, stage, denominator or leaf */
};

/* ---- tokens of one line (text_lex.c): words, and ( and ) as tokens of their own; # begins a comment ---- */
typedef struct {
    const char *file, *at, *end; /* file: its name; at: the next character; end: the end of the line */
    int line;
    const char *word; /* current token, without a '\0' behind it */
    size_t length;    /* letters of the current token; 0 = the line has ended */
    tutti_failure *err;
} tutti_lexer;

void tutti_lex_next(tutti_lexer *x);
bool tutti_lex_is(const tutti_lexer *x, const char *word);
/* Moves past the token and returns true if it is `word`. */
bool tutti_lex_accept(tutti_lexer *x, const char *word);
tutti_status tutti_lex_expect(tutti_lexer *x, const char *word);
/* Fails with "file: line 7: ... , not 'token'". */
tutti_status tutti_lex_fail(const tutti_lexer *x, const char *wanted);
tutti_status tutti_lex_number(tutti_lexer *x, const char *what, int32_t lo, int32_t hi, int32_t *out);
/* Reads a token that is one of the n words; *out is its index. */
tutti_status tutti_lex_choice(tutti_lexer *x, const char *what, const char *const *words, int n, int *out);
/* Reads "3/8" (first, of; count is 1) or "3+2/8" (first, count, of). */
tutti_status tutti_lex_fraction(tutti_lexer *x, const char *text, size_t length, tutti_slice *out);

/* ---- the file (text_parse.c) ---- */
typedef struct {
    char name[16];
    int32_t buffer;
} tutti_text_name;

typedef struct {
    tutti_part_builder builder;
    tutti_text_name *names; /* names of buffers, sorted */
    bool seen;
} tutti_text_rank;

typedef struct {
    tutti_schedule_header head;
    int32_t *host_of; /* the array that head.host_of points to */
    tutti_text_rank *ranks;
    int64_t nsteps;
    int32_t *open; /* for expressions: number of operands so far in each open parenthesis */
    int32_t open_capacity;
} tutti_text;

/* Reads one step line after its number (text_steps.c) and adds the step to the rank's builder. */
tutti_status tutti_text_step(tutti_text *t, int32_t rank, tutti_lexer *x);
/* Notes at both ends of every message the slice of the other end (text_match.c). */
void tutti_text_match(tutti_text *t);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* text_parse.c: parses the text form of a schedule, in two passes: header and buffers of all ranks, then the steps. The
 * schedule keeps the parts. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "schedule_impl.h"
#include "text_impl.h"

enum { MAX_BANKS = 64 };

static void destroy_text(void *state)
{
    tutti_text *t = state;
    for (int32_t r = 0; t->ranks && r < t->head.nranks; r++) {
        free(t->ranks[r].names);
        tutti_part_abandon(&t->ranks[r].builder);
    }
    free(t->ranks);
    free(t->host_of);
    free(t->open);
    free(t);
}

static void kept_part(const tutti_schedule_header *head, const void *state, int32_t rank, tutti_part_builder *b)
{
    const tutti_text *t = state;
    (void)head;
    tutti_part_copy(b, &t->ranks[rank].builder);
}

/* ---- header ---- */

/* Reads a name. more: characters that are allowed in it besides letters, digits and those of every name. */
static tutti_status read_name(tutti_lexer *x, const char *more, char *out, size_t size)
{
    bool ok = x->length > 0 && x->length < size && x->word[0] >= 'a' && x->word[0] <= 'z';
    for (size_t i = 0; ok && i < x->length; i++) {
        char c = x->word[i];
        ok = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || (c && strchr(more, c));
    }
    if (!ok) return tutti_lex_fail(x, "a name (a-z, then a-z, 0-9, - or _; not longer than the format says) is wanted");
    memset(out, 0, size);
    memcpy(out, x->word, x->length);
    tutti_lex_next(x);
    return TUTTI_OK;
}

/* Reads the host of each rank, after `wire mixed`. */
static tutti_status read_hosts(tutti_text *t, tutti_lexer *x)
{
    const int32_t n = t->head.nranks;
    tutti_status st = TUTTI_OK;
    t->host_of = tutti_alloc(sizeof *t->host_of * (size_t)n);
    for (int32_t r = 0; r < n && st == TUTTI_OK; r++)
        st = tutti_lex_number(x, "the host of each rank,", 0, n - 1, &t->host_of[r]);
    t->head.host_of = t->host_of;
    return st;
}

static tutti_status read_collective(tutti_lexer *x, tutti_collective *out)
{
    const char *names[TUTTI_NCOLLECTIVES];
    int i = 0;
    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++) names[c] = tutti_collective_name((tutti_collective)c);
    tutti_status st = tutti_lex_choice(x, "a collective", names, TUTTI_NCOLLECTIVES, &i);
    *out = (tutti_collective)i;
    return st;
}

static tutti_status read_header_value(tutti_text *t, tutti_lexer *x, int key)
{
    static const char *const wires[] = {"two-sided", "mapped", "one-sided", "mixed"};
    static const char *const classes[] = {"per-slice", "fixed", "canonical"};
    static const char *const answers[] = {"no", "yes"};
    enum { NCLASSES = sizeof classes / sizeof *classes };
    static_assert(sizeof wires / sizeof *wires == TUTTI_NWIRE_CLASSES, "a word for each, in their order");
    static_assert(NCLASSES == TUTTI_DETERMINISM_CANONICAL + 1, "a word for each, in their order");
    tutti_schedule_header *h = &t->head;
    int i = 0;
    tutti_status st = TUTTI_OK;
    switch (key) {
    case 0: return read_name(x, ",=", h->algorithm, sizeof h->algorithm);
    case 1: return read_collective(x, &h->collective);
    case 2: return tutti_lex_number(x, "a number of ranks", 1, TUTTI_TEXT_MAX_RANKS, &h->nranks);
    case 3: return tutti_lex_number(x, "a root", 0, h->nranks - 1, &h->root);
    case 4:
        st = tutti_lex_number(x, "a number of slots", 0, TUTTI_TEXT_MAX_NUMBER, &h->slots);
        if (st == TUTTI_OK && (h->slots & (h->slots - 1)))
            st = tutti_fail(x->err, TUTTI_ERR_DATA, "%s: line %d: slots are 0 or a power of two, not %d", x->file,
                            x->line, h->slots);
        return st;
    case 5:
        st = tutti_lex_choice(x, "an answer", answers, 2, &i);
        h->in_place = i;
        return st;
    case 6:
        st = tutti_lex_choice(x, "a wire class", wires, TUTTI_NWIRE_CLASSES, &i);
        h->wire = (tutti_wire_class)i;
        return st == TUTTI_OK && h->wire == TUTTI_WIRE_MIXED ? read_hosts(t, x) : st;
    default:
        st = tutti_lex_choice(x, "a class of sums", classes, NCLASSES, &i);
        h->determinism = (tutti_determinism)i;
        return st;
    }
}

/* The header's lines, in this order; all are required. */
static const char *const header_keys[] = {"algorithm", "collective", "ranks", "root",
                                          "slots",     "in-place",   "wire",  "determinism"};
enum { NHEADER = sizeof header_keys / sizeof header_keys[0] };

static tutti_status read_header_line(tutti_text *t, tutti_lexer *x, int nread)
{
    if (nread == 0) {
        tutti_status st = tutti_lex_expect(x, "tutti-schedule");
        return st == TUTTI_OK ? tutti_lex_expect(x, "1") : st;
    }
    tutti_status st = tutti_lex_expect(x, header_keys[nread - 1]);
    if (st == TUTTI_OK) st = read_header_value(t, x, nread - 1);
    if (st == TUTTI_OK && nread == NHEADER) {
        t->ranks = tutti_alloc(sizeof *t->ranks * (size_t)t->head.nranks);
        for (int32_t r = 0; r < t->head.nranks; r++) tutti_part_begin(&t->ranks[r].builder, r);
    }
    return st;
}

/* Reads the line `room N`, which may follow the header. */
static tutti_status read_room(tutti_text *t, tutti_lexer *x)
{
    if (t->head.wire != TUTTI_WIRE_TWO_SIDED)
        return tutti_fail(x->err, TUTTI_ERR_DATA, "%s: line %d: a wire that is %s has no messages, so no room for them",
                          x->file, x->line, tutti_wire_class_name(t->head.wire));
    return tutti_lex_number(x, "a number of messages", 1, TUTTI_TEXT_MAX_NUMBER, &t->head.room);
}

/* ---- ranks and buffers ---- */

static tutti_status read_leaves(tutti_lexer *x, tutti_buffer *b)
{
    const char *plus = memchr(x->word, '+', x->length);
    tutti_lexer first = *x;
    if (plus) first.length = (size_t)(plus - x->word);
    tutti_status st = tutti_lex_number(&first, "leaves such as 3 or 3+2", 0, TUTTI_TEXT_MAX_NUMBER, &b->leaf);
    b->nleaves = 1;
    if (st != TUTTI_OK || !plus) {
        if (st == TUTTI_OK) tutti_lex_next(x);
        return st;
    }
    x->length -= (size_t)(plus + 1 - x->word);
    x->word = plus + 1;
    return tutti_lex_number(x, "a number of leaves", 1, TUTTI_TEXT_MAX_NUMBER, &b->nleaves);
}

static tutti_status read_buffer_clauses(tutti_lexer *x, tutti_buffer *b)
{
    static const char *const clauses[] = {"ordinal", "banks", "window", "leaves"};
    tutti_status st = TUTTI_OK;
    while (x->length && st == TUTTI_OK) {
        int i = 0;
        st = tutti_lex_choice(x, "what a buffer has", clauses, b->role == TUTTI_BUFFER_IN ? 4 : 3, &i);
        if (st != TUTTI_OK) return st;
        if (i == 0) st = tutti_lex_number(x, "an ordinal", 0, TUTTI_TEXT_MAX_NUMBER, &b->ordinal);
        if (i == 1) st = tutti_lex_number(x, "a number of banks", 1, MAX_BANKS, &b->banks);
        if (i == 3) st = read_leaves(x, b);
        if (i == 2) {
            st = tutti_lex_fraction(x, x->word, x->length, &b->window);
            if (st == TUTTI_OK) tutti_lex_next(x);
        }
    }
    return st;
}

static tutti_status read_buffer(tutti_text *t, int32_t rank, tutti_lexer *x)
{
    static const char *const roles[] = {"in", "out", "scratch"};
    enum { NROLES = sizeof roles / sizeof *roles };
    static_assert(NROLES == TUTTI_BUFFER_SCRATCH + 1, "a word for each, in their order");
    tutti_part_builder *builder = &t->ranks[rank].builder;
    tutti_buffer b = {.banks = 1, .window = {rank, builder->part.nbuffers, 0, 1, 1}};
    int role = 0;
    tutti_status st = read_name(x, "", b.name, sizeof b.name);
    if (st == TUTTI_OK) st = tutti_lex_choice(x, "a role", roles, NROLES, &role);
    b.role = (tutti_buffer_role)role;
    if (st == TUTTI_OK) st = read_buffer_clauses(x, &b);
    if (st == TUTTI_OK && b.role == TUTTI_BUFFER_IN && !b.nleaves) st = tutti_lex_fail(x, "'leaves' is wanted");
    if (st == TUTTI_OK) tutti_part_buffer(builder, &b);
    return st;
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const tutti_text_name *)x)->name, ((const tutti_text_name *)y)->name);
}

static tutti_status sort_names(const char *file, tutti_text *t, tutti_failure *err)
{
    for (int32_t r = 0; r < t->head.nranks; r++) {
        tutti_text_rank *rank = &t->ranks[r];
        int32_t n = rank->builder.part.nbuffers;
        if (!rank->seen)
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: rank %d of %d is missing", file, r, t->head.nranks);
        rank->seen = false; /* forgets that the rank was seen, because the second pass reads all lines again */
        rank->names = tutti_alloc(sizeof *rank->names * ((size_t)n + 1));
        for (int32_t i = 0; i < n; i++) {
            memcpy(rank->names[i].name, rank->builder.part.buffers[i].name, sizeof rank->names[i].name);
            rank->names[i].buffer = i;
        }
        if (n) qsort(rank->names, (size_t)n, sizeof *rank->names, by_name);
        for (int32_t i = 1; i < n; i++)
            if (!by_name(&rank->names[i - 1], &rank->names[i]))
                return tutti_fail(err, TUTTI_ERR_DATA, "%s: rank %d has two buffers named %s", file, r,
                                  rank->names[i].name);
    }
    return TUTTI_OK;
}

/* ---- the lines of the file ---- */

static tutti_status read_rank(tutti_text *t, tutti_lexer *x, int32_t *rank)
{
    tutti_status st = tutti_lex_number(x, "a rank", 0, t->head.nranks - 1, rank);
    if (st != TUTTI_OK) return st;
    if (t->ranks[*rank].seen)
        return tutti_fail(x->err, TUTTI_ERR_DATA, "%s: line %d: rank %d is given twice", x->file, x->line, *rank);
    t->ranks[*rank].seen = true;
    return TUTTI_OK;
}

static tutti_status read_numbered_step(tutti_text *t, int32_t rank, tutti_lexer *x)
{
    int32_t number, next = t->ranks[rank].builder.part.nsteps;
    tutti_status st = tutti_lex_number(x, "'rank', 'buffer' or the number of the next step,", next, next, &number);
    if (st != TUTTI_OK) return st;
    if (++t->nsteps > TUTTI_TEXT_MAX_STEPS)
        return tutti_fail(x->err, TUTTI_ERR_DATA, "%s: line %d: more than %d steps", x->file, x->line,
                          TUTTI_TEXT_MAX_STEPS);
    return tutti_text_step(t, rank, x);
}

/* Reads one line in one of the two passes. */
static tutti_status read_line(tutti_text *t, tutti_lexer *x, int nread, bool steps, int32_t *rank)
{
    if (nread <= NHEADER) return steps ? TUTTI_OK : read_header_line(t, x, nread);
    tutti_status st;
    if (tutti_lex_accept(x, "rank")) {
        st = read_rank(t, x, rank);
    } else if (nread == NHEADER + 1 && tutti_lex_accept(x, "room")) {
        if (steps) return TUTTI_OK;
        st = read_room(t, x);
    } else if (*rank < 0) {
        return tutti_lex_fail(x, "'rank' is wanted");
    } else if (tutti_lex_accept(x, "buffer")) {
        if (steps) return TUTTI_OK;
        st = read_buffer(t, *rank, x);
    } else {
        return steps ? read_numbered_step(t, *rank, x) : TUTTI_OK;
    }
    return st == TUTTI_OK && x->length ? tutti_lex_fail(x, "the end of the line is wanted") : st;
}

static tutti_status read_all(tutti_text *t, tutti_lexer x, const char *end, bool steps)
{
    int32_t rank = -1;
    int nread = 0;
    for (const char *at = x.at; at < end; x.line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        x.at = at, x.end = newline ? newline : end;
        at = newline ? newline + 1 : end;
        tutti_lex_next(&x);
        if (!x.length) continue;
        tutti_status st = read_line(t, &x, nread, steps, &rank);
        if (st != TUTTI_OK) return st;
        if (!steps && nread <= NHEADER && x.length) return tutti_lex_fail(&x, "the end of the line is wanted");
        nread++;
    }
    if (nread > NHEADER) return TUTTI_OK;
    return tutti_fail(x.err, TUTTI_ERR_DATA, "%s: line %d: the file ends before '%s'", x.file, x.line,
                      nread ? header_keys[nread - 1] : "tutti-schedule 1");
}

static tutti_status check_deps(const tutti_text *t, const char *file, tutti_failure *err)
{
    for (int32_t r = 0; r < t->head.nranks; r++) {
        const tutti_part *p = &t->ranks[r].builder.part;
        for (int32_t i = 0; i < p->ndeps; i++)
            if (p->deps[i] >= p->nsteps)
                return tutti_fail(err, TUTTI_ERR_DATA, "%s: rank %d: a step is after step %d, but there are %d", file,
                                  r, p->deps[i], p->nsteps);
    }
    return TUTTI_OK;
}

tutti_status tutti_schedule_parse(const char *name, const char *text, size_t nbytes, tutti_schedule **out,
                                  tutti_failure *err)
{
    static const tutti_schedule_ops ops = {kept_part, destroy_text};
    tutti_text *t = tutti_alloc(sizeof *t);
    t->open_capacity = 64;
    t->open = tutti_alloc(sizeof *t->open * (size_t)t->open_capacity);
    tutti_lexer x = {.file = name, .at = text, .line = 1, .err = err};
    const char *end = text + nbytes;
    tutti_status st = read_all(t, x, end, false);
    if (st == TUTTI_OK) st = sort_names(name, t, err);
    if (st == TUTTI_OK) st = read_all(t, x, end, true);
    if (st == TUTTI_OK) st = check_deps(t, name, err);
    if (st != TUTTI_OK) {
        destroy_text(t);
        return st;
    }
    if (t->head.wire == TUTTI_WIRE_TWO_SIDED) tutti_text_match(t);
    *out = tutti_schedule_create(&t->head, &ops, t);
    return TUTTI_OK;
}

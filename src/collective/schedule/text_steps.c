/* SPDX-License-Identifier: Apache-2.0 */
/* text_steps.c: parses one line of a schedule's text as one step.
 *
 *   seq Q stage S KIND ... [after STEP ...] [needs ready free] [hint pull no-ack]
 *
 * A sum is written with one pair of parentheses for each addition; the number of ) after an input is its folds. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "text_impl.h"

enum { MAX_SEQUENCES = 1 << 14 };

static int by_name(const void *key, const void *element)
{
    return strcmp(key, ((const tutti_text_name *)element)->name);
}

/* Reads [rankN:]name[[fraction]]. */
static tutti_status read_slice(tutti_text *t, int32_t rank, tutti_lexer *x, tutti_slice *out)
{
    const char *text = x->word, *end = x->word + x->length;
    const char *colon = memchr(text, ':', x->length);
    *out = (tutti_slice){rank, -1, 0, 1, 1};
    if (colon) {
        int64_t number = 0;
        bool ok = colon - text > 4 && colon - text < 10 && !memcmp(text, "rank", 4);
        for (const char *c = text + 4; ok && c < colon; c++) {
            ok = *c >= '0' && *c <= '9';
            number = number * 10 + (*c - '0');
        }
        if (!ok || number >= t->head.nranks)
            return tutti_lex_fail(x, "rankN:buffer with a rank of this schedule is wanted");
        if (number != rank && t->head.wire == TUTTI_WIRE_TWO_SIDED)
            return tutti_lex_fail(x, "a buffer of this rank (a two-sided schedule has no others) is wanted");
        out->rank = (int32_t)number;
        text = colon + 1;
    }
    const char *bracket = memchr(text, '[', (size_t)(end - text));
    size_t length = (size_t)((bracket ? bracket : end) - text);
    char name[16] = "";
    if (length < sizeof name) memcpy(name, text, length);
    const tutti_text_rank *owner = &t->ranks[out->rank];
    const tutti_text_name *found =
        length && length < sizeof name && owner->builder.part.nbuffers
            ? bsearch(name, owner->names, (size_t)owner->builder.part.nbuffers, sizeof *owner->names, by_name)
            : NULL;
    if (!found) return tutti_lex_fail(x, "a buffer of that rank is wanted");
    out->buffer = found->buffer;
    if (bracket) {
        if (end[-1] != ']' || end - bracket < 3) return tutti_lex_fail(x, "a slice such as out[3/8] is wanted");
        tutti_status st = tutti_lex_fraction(x, bracket + 1, (size_t)(end - bracket - 2), out);
        if (st != TUTTI_OK) return st;
    }
    tutti_lex_next(x);
    return TUTTI_OK;
}

static tutti_status add_input(tutti_text *t, int32_t rank, tutti_lexer *x)
{
    tutti_slice slice;
    tutti_status st = read_slice(t, rank, x, &slice);
    if (st == TUTTI_OK) tutti_part_in(&t->ranks[rank].builder, slice);
    return st;
}

/* Reads outputs, which come first in the text but last in the part: they are kept until the inputs are known. */
static tutti_status read_outputs(tutti_text *t, int32_t rank, tutti_lexer *x, tutti_slice **outs, int32_t *n)
{
    int32_t capacity = 0;
    do {
        tutti_slice slice;
        tutti_status st = read_slice(t, rank, x, &slice);
        if (st != TUTTI_OK) return st;
        *outs = tutti_grow(*outs, *n, &capacity, sizeof **outs);
        (*outs)[(*n)++] = slice;
    } while (x->length && !tutti_lex_is(x, "<-"));
    return tutti_lex_expect(x, "<-");
}

static bool clause(const tutti_lexer *x)
{
    return !x->length || tutti_lex_is(x, "after") || tutti_lex_is(x, "needs") || tutti_lex_is(x, "hint");
}

/* Counts one more operand in the open parenthesis number `depth` (0 = the whole line). */
static bool one_more(tutti_text *t, int32_t depth)
{
    return ++t->open[depth] <= (depth ? 2 : 1);
}

static tutti_status read_sum(tutti_text *t, int32_t rank, tutti_lexer *x)
{
    tutti_part_builder *b = &t->ranks[rank].builder;
    const char *wanted = "a sum of two values in each pair of parentheses is wanted";
    int32_t depth = 0;
    bool after_input = false;
    t->open[0] = 0;
    while (!clause(x)) {
        if (tutti_lex_is(x, "(")) {
            t->open = tutti_grow(t->open, depth + 1, &t->open_capacity, sizeof *t->open);
            t->open[++depth] = 0;
        } else if (tutti_lex_is(x, ")")) {
            if (!after_input || !depth || t->open[depth] != 2 || !one_more(t, --depth))
                return tutti_lex_fail(x, wanted);
            uint8_t *folds = &b->part.folds[b->part.nfolds - 1];
            if (++*folds > 100) return tutti_lex_fail(x, "fewer than 100 ) in a row are wanted");
        } else {
            tutti_slice slice;
            if (!one_more(t, depth)) return tutti_lex_fail(x, wanted);
            tutti_status st = read_slice(t, rank, x, &slice);
            if (st != TUTTI_OK) return st;
            tutti_part_fold(b, slice, 0);
            after_input = true;
            continue;
        }
        after_input = after_input && !tutti_lex_is(x, "(");
        tutti_lex_next(x);
    }
    return depth == 0 && t->open[0] == 1 ? TUTTI_OK : tutti_lex_fail(x, wanted);
}

static tutti_status read_moves(tutti_text *t, int32_t rank, tutti_lexer *x, tutti_step_kind kind)
{
    tutti_part_builder *b = &t->ranks[rank].builder;
    tutti_slice *outs = NULL;
    int32_t nouts = 0;
    tutti_status st = read_outputs(t, rank, x, &outs, &nouts);
    if (st == TUTTI_OK) st = kind == TUTTI_STEP_REDUCE ? read_sum(t, rank, x) : add_input(t, rank, x);
    for (int32_t i = 0; i < nouts && st == TUTTI_OK; i++) tutti_part_out(b, outs[i]);
    free(outs);
    return st;
}

static tutti_status read_peer(tutti_text *t, int32_t rank, tutti_lexer *x, const char *preposition)
{
    tutti_part *p = &t->ranks[rank].builder.part;
    tutti_step *s = &p->steps[p->nsteps - 1];
    tutti_status st = tutti_lex_expect(x, preposition);
    if (st == TUTTI_OK) st = tutti_lex_number(x, "a rank", 0, t->head.nranks - 1, &s->peer);
    if (st == TUTTI_OK) st = tutti_lex_expect(x, "channel");
    if (st == TUTTI_OK) st = tutti_lex_number(x, "a channel", 0, TUTTI_TEXT_MAX_NUMBER, &s->channel);
    return st;
}

static tutti_status read_kind(tutti_text *t, int32_t rank, tutti_lexer *x, tutti_step_kind kind)
{
    tutti_status st = TUTTI_OK;
    tutti_slice slice;
    switch (kind) {
    case TUTTI_STEP_SEND: st = add_input(t, rank, x); break;
    case TUTTI_STEP_RECV:
        st = read_slice(t, rank, x, &slice);
        if (st == TUTTI_OK) tutti_part_out(&t->ranks[rank].builder, slice);
        break;
    case TUTTI_STEP_PUT:
    case TUTTI_STEP_REDUCE:
    case TUTTI_STEP_COPY: st = read_moves(t, rank, x, kind); break;
    case TUTTI_STEP_SIGNAL:
    case TUTTI_STEP_WAIT:
    case TUTTI_STEP_NOP:
    case TUTTI_NSTEP_KINDS: break;
    }
    if (st != TUTTI_OK) return st;
    if (kind == TUTTI_STEP_SEND || kind == TUTTI_STEP_PUT || kind == TUTTI_STEP_SIGNAL)
        return read_peer(t, rank, x, "to");
    if (kind == TUTTI_STEP_RECV || kind == TUTTI_STEP_WAIT) return read_peer(t, rank, x, "from");
    return TUTTI_OK;
}

static tutti_status read_flags(tutti_lexer *x, const char *first, const char *second, uint32_t *out)
{
    const char *const words[] = {first, second};
    while (!clause(x)) {
        int i;
        tutti_status st = tutti_lex_choice(x, "a condition or hint", words, 2, &i);
        if (st != TUTTI_OK) return st;
        *out |= 1u << i;
    }
    return TUTTI_OK;
}

static tutti_status read_clauses(tutti_text *t, int32_t rank, tutti_lexer *x)
{
    tutti_part_builder *b = &t->ranks[rank].builder;
    tutti_step *s = &b->part.steps[b->part.nsteps - 1];
    tutti_status st = TUTTI_OK;
    if (tutti_lex_accept(x, "after"))
        while (!clause(x) && st == TUTTI_OK) {
            int32_t dep = 0;
            st = tutti_lex_number(x, "a step", 0, TUTTI_TEXT_MAX_STEPS, &dep);
            if (st == TUTTI_OK) tutti_part_dep(b, dep);
        }
    if (st == TUTTI_OK && tutti_lex_accept(x, "needs")) st = read_flags(x, "ready", "free", &s->when);
    if (st == TUTTI_OK && tutti_lex_accept(x, "hint")) st = read_flags(x, "pull", "no-ack", &s->hint);
    if (st != TUTTI_OK || !x->length) return st;
    return tutti_lex_fail(x, "'after', 'needs', 'hint' (in this order) or the end of the line is wanted");
}

tutti_status tutti_text_step(tutti_text *t, int32_t rank, tutti_lexer *x)
{
    static const char *const kinds[] = {"nop", "send", "recv", "put", "signal", "wait", "reduce", "copy"};
    static_assert(sizeof kinds / sizeof *kinds == TUTTI_NSTEP_KINDS, "a word for each, in their order");
    tutti_step step = tutti_local_step(TUTTI_STEP_NOP, 0, 0, 0);
    int kind = 0;
    tutti_status st = tutti_lex_expect(x, "seq");
    if (st == TUTTI_OK) st = tutti_lex_number(x, "a sequence", 0, MAX_SEQUENCES - 1, &step.sequence);
    if (st == TUTTI_OK) st = tutti_lex_expect(x, "stage");
    if (st == TUTTI_OK) st = tutti_lex_number(x, "a stage", 0, TUTTI_TEXT_MAX_NUMBER, &step.stage);
    if (st == TUTTI_OK) st = tutti_lex_choice(x, "a kind of step", kinds, TUTTI_NSTEP_KINDS, &kind);
    if (st != TUTTI_OK) return st;
    step.kind = (tutti_step_kind)kind;
    tutti_part_step(&t->ranks[rank].builder, &step);
    st = read_kind(t, rank, x, step.kind);
    return st == TUTTI_OK ? read_clauses(t, rank, x) : st;
}

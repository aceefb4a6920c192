/* SPDX-License-Identifier: Apache-2.0 */
/* check_shape.c: checks one part by itself, before anything is replayed. Numbers must be in range, each kind of step
 * must have its fields, and slices must lie inside windows. The wire class must allow the kinds of steps and the remote
 * slices.
 *
 * Parts may come from files, so every index is checked here before it is used anywhere else. */
#include "check_impl.h"

enum { MAX_BANKS = 64, MAX_SEQUENCES = 1 << 14, MAX_STAGES = 1 << 24 };

static tutti_status slice_fits(tutti_checker *c, const tutti_slice *s, const char *what)
{
    if (s->of < 1 || s->first < 0 || s->count < 0 || s->first > s->of - s->count)
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "%s %d+%d/%d is not a part of the vector", what, s->first, s->count,
                          s->of);
    return tutti_grid_mark(&c->grid, s, c->err);
}

static tutti_status buffer_shape(tutti_checker *c, const tutti_buffer *b)
{
    bool known = b->role == TUTTI_BUFFER_IN || b->role == TUTTI_BUFFER_OUT || b->role == TUTTI_BUFFER_SCRATCH;
    if (!known || b->ordinal < 0) return tutti_fail(c->err, TUTTI_ERR_FAILED, "unknown role or negative ordinal");
    if (b->banks < 1 || b->banks > MAX_BANKS || (b->banks > 1 && b->role != TUTTI_BUFFER_SCRATCH))
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "%d banks; only scratch may have more than one, at most %d",
                          b->banks, MAX_BANKS);
    int32_t nouts = c->head->collective == TUTTI_ALL_TO_ALL ? c->head->nranks : 1;
    if (b->role == TUTTI_BUFFER_OUT && b->ordinal >= nouts)
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "buffer `out` of ordinal %d: %s has %d", b->ordinal,
                          tutti_collective_name(c->head->collective), nouts);
    if (b->role == TUTTI_BUFFER_IN && (b->leaf < 0 || b->nleaves < 1))
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "an input holds at least one leaf, not %d+%d", b->leaf, b->nleaves);
    return slice_fits(c, &b->window, "window");
}

static tutti_status buffers_shape(tutti_checker *c, const tutti_part *p)
{
    bool ascending = true; /* true while ordinals of each role ascend, as compilers number them: then no ordinal can
                            * occur twice */
    int32_t last[3] = {-1, -1, -1};
    for (int32_t i = 0; i < p->nbuffers; i++) {
        const tutti_buffer *b = &p->buffers[i];
        tutti_status st = buffer_shape(c, b);
        if (st == TUTTI_OK) {
            ascending = ascending && b->ordinal > last[b->role];
            last[b->role] = b->ordinal;
        }
        /* buffers of scratch need no test, because they have no ordinals */
        bool unique = !ascending && b->role != TUTTI_BUFFER_SCRATCH;
        for (int32_t k = 0; unique && k < i && st == TUTTI_OK; k++)
            if (p->buffers[k].role == b->role && p->buffers[k].ordinal == b->ordinal)
                st = tutti_fail(c->err, TUTTI_ERR_FAILED, "same role and ordinal as buffer %d", k);
        if (st != TUTTI_OK) return tutti_fail_at(c->err, "rank %d: buffer %d", p->rank, i);
    }
    return TUTTI_OK;
}

typedef struct {
    int min_in, max_in, min_out, max_out;
    bool peer;
    unsigned classes; /* bit set of tutti_wire_class: the classes that allow this kind of step */
} kind_rule;
enum {
    TWO = 1 << TUTTI_WIRE_TWO_SIDED,
    MAPPED = 1 << TUTTI_WIRE_MAPPED,
    ONE = 1 << TUTTI_WIRE_ONE_SIDED,
    MIXED = 1 << TUTTI_WIRE_MIXED,
    LOWERED = MAPPED | ONE | MIXED,
    ANY = TWO | LOWERED,
    MANY = INT16_MAX
};
static const kind_rule rules[TUTTI_NSTEP_KINDS] = {
    [TUTTI_STEP_NOP] = {0, 0, 0, 0, false, ANY},          [TUTTI_STEP_SEND] = {1, 1, 0, 0, true, TWO},
    [TUTTI_STEP_RECV] = {0, 0, 1, 1, true, TWO},          [TUTTI_STEP_PUT] = {1, 1, 1, 1, true, ONE | MIXED},
    [TUTTI_STEP_SIGNAL] = {0, 0, 0, 0, true, LOWERED},    [TUTTI_STEP_WAIT] = {0, 0, 0, 0, true, LOWERED},
    [TUTTI_STEP_REDUCE] = {1, MANY, 1, MANY, false, ANY}, [TUTTI_STEP_COPY] = {1, 1, 1, MANY, false, ANY},
};

static bool ranges_fit(const tutti_part *p, const tutti_step *s)
{
    bool ins = s->nins >= 0 && s->nins <= p->nslices &&
               (!s->nins || (s->first_in >= 0 && s->first_in <= p->nslices - s->nins));
    bool outs = s->nouts >= 0 && s->nouts <= p->nslices &&
                (!s->nouts || (s->first_out >= 0 && s->first_out <= p->nslices - s->nouts));
    bool deps = s->ndeps >= 0 && s->ndeps <= p->ndeps &&
                (!s->ndeps || (s->first_dep >= 0 && s->first_dep <= p->ndeps - s->ndeps));
    bool folds = s->kind != TUTTI_STEP_REDUCE ||
                 (ins && s->nins <= p->nfolds && s->first_fold >= 0 && s->first_fold <= p->nfolds - s->nins);
    return ins && outs && deps && folds;
}

static tutti_status step_fields(tutti_checker *c, const tutti_part *p, const tutti_step *s)
{
    if ((unsigned)s->kind >= TUTTI_NSTEP_KINDS)
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "unknown kind %d", (int)s->kind);
    const kind_rule *rule = &rules[s->kind];
    if (!(rule->classes & 1u << c->head->wire))
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "%s is not a step of a schedule for the wire class %s",
                          tutti_step_kind_name(s->kind), tutti_wire_class_name(c->head->wire));
    if (!ranges_fit(p, s))
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "points outside of the part's slices, deps or folds");
    if (s->nins < rule->min_in || s->nins > rule->max_in || s->nouts < rule->min_out || s->nouts > rule->max_out)
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "%s with %d inputs and %d outputs", tutti_step_kind_name(s->kind),
                          s->nins, s->nouts);
    if (rule->peer && (s->peer < 0 || s->peer >= c->head->nranks || s->peer == p->rank || s->channel < 0))
        return tutti_fail(c->err, TUTTI_ERR_FAILED,
                          "peer %d on channel %d: peers are the other ranks, channels count from 0", s->peer,
                          s->channel);
    if (s->sequence < 0 || s->sequence >= MAX_SEQUENCES || s->stage < 0 || s->stage >= MAX_STAGES)
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "sequence %d, stage %d", s->sequence, s->stage);
    if (s->when & ~(unsigned)(TUTTI_WHEN_READY | TUTTI_WHEN_FREE))
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "unknown condition %#x", s->when);
    return TUTTI_OK;
}

/* Checks that the folds of a reduce leave exactly one value. */
static tutti_status step_folds(tutti_checker *c, const tutti_part *p, const tutti_step *s)
{
    if (s->kind != TUTTI_STEP_REDUCE) return TUTTI_OK;
    int32_t depth = 0;
    for (int32_t i = 0; i < s->nins; i++) {
        depth += 1 - p->folds[s->first_fold + i];
        if (depth < 1)
            return tutti_fail(c->err, TUTTI_ERR_FAILED, "folds more values than there are after input %d", i);
    }
    if (depth == 1) return TUTTI_OK;
    return tutti_fail(c->err, TUTTI_ERR_FAILED, "the sum leaves %d values instead of one", depth);
}

static tutti_status step_deps(tutti_checker *c, const tutti_part *p, const tutti_step *s, int32_t index)
{
    for (int32_t i = 0; i < s->ndeps; i++) {
        int32_t d = p->deps[s->first_dep + i];
        if (d < 0 || d >= p->nsteps)
            return tutti_fail(c->err, TUTTI_ERR_FAILED, "depends on step %d of %d", d, p->nsteps);
        if (d >= index && p->steps[d].sequence == s->sequence)
            return tutti_fail(c->err, TUTTI_ERR_FAILED, "depends on step %d, which comes later in its own sequence", d);
        if (p->steps[d].stage > s->stage)
            return tutti_fail(c->err, TUTTI_ERR_FAILED, "is of stage %d but depends on step %d of stage %d", s->stage,
                              d, p->steps[d].stage);
    }
    return TUTTI_OK;
}

static bool same_interval(const tutti_slice *a, const tutti_slice *b)
{
    return (int64_t)a->first * b->of == (int64_t)b->first * a->of &&
           (int64_t)a->count * b->of == (int64_t)b->count * a->of;
}

/* Checks a step's slices. All must name the same elements of the index space: only then are their lengths equal for
 * every n. */
static tutti_status step_slices(tutti_checker *c, const tutti_part *p, const tutti_step *s)
{
    int32_t n = s->nins + s->nouts;
    for (int32_t i = 0; i < n; i++) {
        bool input = i < s->nins;
        const tutti_slice *slice = &p->slices[input ? s->first_in + i : s->first_out + i - s->nins];
        const tutti_slice *other = &p->slices[s->nins ? s->first_in : s->first_out];
        tutti_status st = slice_fits(c, slice, input ? "input" : "output");
        if (st != TUTTI_OK) return st;
        if (slice->rank < 0 || slice->rank >= c->head->nranks || slice->buffer < 0)
            return tutti_fail(c->err, TUTTI_ERR_FAILED, "slice in buffer %d of rank %d", slice->buffer, slice->rank);
        bool remote_is_legal = tutti_check_is_mapped(c->head, p->rank, slice->rank) ||
                               (s->kind == TUTTI_STEP_PUT && !input) || (c->source->inputs_are_symbols && input);
        if (slice->rank != p->rank && !remote_is_legal)
            return tutti_fail(c->err, TUTTI_ERR_FAILED,
                              "touches memory of rank %d, which the wire class %s does not allow", slice->rank,
                              tutti_wire_class_name(c->head->wire));
        if (s->kind == TUTTI_STEP_PUT && !input && slice->rank != s->peer)
            return tutti_fail(c->err, TUTTI_ERR_FAILED, "puts to rank %d but signals to rank %d", slice->rank, s->peer);
        if (!same_interval(slice, other))
            return tutti_fail(c->err, TUTTI_ERR_FAILED,
                              "slices %d+%d/%d and %d+%d/%d are different elements: their lengths differ for some n",
                              other->first, other->count, other->of, slice->first, slice->count, slice->of);
    }
    return TUTTI_OK;
}

tutti_status tutti_check_part_shape(tutti_checker *c, const tutti_part *p)
{
    tutti_status st = buffers_shape(c, p);
    for (int32_t i = 0; i < p->nsteps && st == TUTTI_OK; i++) {
        const tutti_step *s = &p->steps[i];
        st = step_fields(c, p, s);
        if (st == TUTTI_OK) st = step_folds(c, p, s);
        if (st == TUTTI_OK) st = step_deps(c, p, s, i);
        if (st == TUTTI_OK) st = step_slices(c, p, s);
        if (st != TUTTI_OK) tutti_fail_at(c->err, "rank %d: step %d", p->rank, i);
    }
    return st;
}

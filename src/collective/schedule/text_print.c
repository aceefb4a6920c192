/* SPDX-License-Identifier: Apache-2.0 */
/* text_print.c: prints a schedule in its text form (docs/schedule-format.md).
 *
 * A slice of another rank is printed with that rank's name for the buffer. So the names of all ranks' buffers are
 * gathered first, if slices may be remote; parts are generated one at a time. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/text/strbuf.h"
#include "schedule_impl.h"

typedef struct {
    tutti_strbuf out;
    const tutti_part *part;
    char (**names)[16]; /* names of the buffers of each rank; NULL: no slices are remote */
    int32_t *nnames;
    int32_t *opens; /* for one sum: number of ( before each input */
    int32_t *starts;
    int32_t capacity;
} printer;

static void print_fraction(tutti_strbuf *out, const tutti_slice *s)
{
    if (s->count == 1)
        tutti_strbuf_printf(out, "%d/%d", s->first, s->of);
    else
        tutti_strbuf_printf(out, "%d+%d/%d", s->first, s->count, s->of);
}

static bool is_whole(const tutti_slice *s)
{
    return s->first == 0 && s->count == 1 && s->of == 1;
}

static void print_slice(printer *p, const tutti_slice *s)
{
    const char *name = "?"; /* the buffer does not exist: the checker and the parser refuse such a schedule with a
                             * message */
    if (s->rank == p->part->rank) {
        if (s->buffer >= 0 && s->buffer < p->part->nbuffers) name = p->part->buffers[s->buffer].name;
    } else {
        tutti_strbuf_printf(&p->out, "rank%d:", s->rank);
        if (p->names && s->buffer >= 0 && s->buffer < p->nnames[s->rank]) name = p->names[s->rank][s->buffer];
    }
    tutti_strbuf_printf(&p->out, "%.16s", name);
    if (is_whole(s)) return;
    tutti_strbuf_puts(&p->out, "[");
    print_fraction(&p->out, s);
    tutti_strbuf_puts(&p->out, "]");
}

static void print_slices(printer *p, int32_t first, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        tutti_strbuf_puts(&p->out, " ");
        print_slice(p, &p->part->slices[first + i]);
    }
}

/* Turns a postfix sum into parentheses. A fold adds the two topmost values; its opening parenthesis is printed before
 * the first input of the older of the two. */
static void print_sum(printer *p, const tutti_step *s)
{
    if (s->nins > p->capacity) {
        p->capacity = s->nins;
        p->opens = tutti_realloc(p->opens, sizeof *p->opens * (size_t)p->capacity);
        p->starts = tutti_realloc(p->starts, sizeof *p->starts * (size_t)p->capacity);
    }
    const uint8_t *folds = p->part->folds + s->first_fold;
    int32_t depth = 0;
    for (int32_t i = 0; i < s->nins; i++) {
        p->opens[i] = 0;
        p->starts[depth++] = i;
        for (int f = 0; f < folds[i] && depth > 1; f++) p->opens[p->starts[--depth - 1]]++;
    }
    for (int32_t i = 0; i < s->nins; i++) {
        tutti_strbuf_puts(&p->out, " ");
        for (int32_t k = 0; k < p->opens[i]; k++) tutti_strbuf_puts(&p->out, "(");
        print_slice(p, &p->part->slices[s->first_in + i]);
        for (int f = 0; f < folds[i]; f++) tutti_strbuf_puts(&p->out, ")");
    }
}

static void print_kind(printer *p, const tutti_step *s)
{
    bool gives = s->kind == TUTTI_STEP_SEND || s->kind == TUTTI_STEP_PUT || s->kind == TUTTI_STEP_SIGNAL;
    tutti_strbuf_puts(&p->out, tutti_step_kind_name(s->kind));
    if (s->kind == TUTTI_STEP_SEND) print_slices(p, s->first_in, s->nins);
    if (s->nouts) print_slices(p, s->first_out, s->nouts);
    if (s->kind == TUTTI_STEP_REDUCE || s->kind == TUTTI_STEP_COPY || s->kind == TUTTI_STEP_PUT) {
        tutti_strbuf_puts(&p->out, " <-");
        if (s->kind == TUTTI_STEP_REDUCE)
            print_sum(p, s);
        else
            print_slices(p, s->first_in, s->nins);
    }
    if (s->peer >= 0) tutti_strbuf_printf(&p->out, " %s %d channel %d", gives ? "to" : "from", s->peer, s->channel);
}

static void print_step(printer *p, int32_t i)
{
    const tutti_step *s = &p->part->steps[i];
    tutti_strbuf_printf(&p->out, "%5d seq %d stage %d ", i, s->sequence, s->stage);
    print_kind(p, s);
    if (s->ndeps) tutti_strbuf_puts(&p->out, " after");
    for (int32_t k = 0; k < s->ndeps; k++) tutti_strbuf_printf(&p->out, " %d", p->part->deps[s->first_dep + k]);
    if (s->when) tutti_strbuf_puts(&p->out, " needs");
    if (s->when & TUTTI_WHEN_READY) tutti_strbuf_puts(&p->out, " ready");
    if (s->when & TUTTI_WHEN_FREE) tutti_strbuf_puts(&p->out, " free");
    if (s->hint) tutti_strbuf_puts(&p->out, " hint");
    if (s->hint & TUTTI_HINT_PULL) tutti_strbuf_puts(&p->out, " pull");
    if (s->hint & TUTTI_HINT_NO_ACK) tutti_strbuf_puts(&p->out, " no-ack");
    tutti_strbuf_puts(&p->out, "\n");
}

static void print_buffer(tutti_strbuf *out, const tutti_buffer *b)
{
    static const char *const roles[] = {"in", "out", "scratch"};
    static_assert(sizeof roles / sizeof *roles == TUTTI_BUFFER_SCRATCH + 1, "a word for each, in their order");
    tutti_strbuf_printf(out, "  buffer %.16s %s", b->name, roles[b->role]);
    if (b->ordinal) tutti_strbuf_printf(out, " ordinal %d", b->ordinal);
    if (b->banks != 1) tutti_strbuf_printf(out, " banks %d", b->banks);
    if (!is_whole(&b->window)) {
        tutti_strbuf_puts(out, " window ");
        print_fraction(out, &b->window);
    }
    if (b->role == TUTTI_BUFFER_IN && b->nleaves == 1) tutti_strbuf_printf(out, " leaves %d", b->leaf);
    if (b->role == TUTTI_BUFFER_IN && b->nleaves != 1) tutti_strbuf_printf(out, " leaves %d+%d", b->leaf, b->nleaves);
    tutti_strbuf_puts(out, "\n");
}

static void gather_names(printer *p, const tutti_schedule *s)
{
    int32_t n = tutti_schedule_head(s)->nranks;
    p->names = tutti_alloc(sizeof *p->names * (size_t)n);
    p->nnames = tutti_alloc(sizeof *p->nnames * (size_t)n);
    for (int32_t r = 0; r < n; r++) {
        tutti_part part;
        tutti_schedule_part(s, r, &part);
        p->nnames[r] = part.nbuffers;
        p->names[r] = tutti_alloc(sizeof *p->names[r] * (size_t)part.nbuffers);
        for (int32_t i = 0; i < part.nbuffers; i++) memcpy(p->names[r][i], part.buffers[i].name, sizeof p->names[r][i]);
        tutti_part_release(&part);
    }
}

char *tutti_schedule_print(const tutti_schedule *s)
{
    const tutti_schedule_header *h = tutti_schedule_head(s);
    printer p = {0};
    if (h->wire != TUTTI_WIRE_TWO_SIDED) gather_names(&p, s);
    tutti_strbuf_printf(&p.out, "tutti-schedule 1\nalgorithm %s\ncollective %s\nranks %d\nroot %d\nslots %d\n",
                        h->algorithm, tutti_collective_name(h->collective), h->nranks, h->root, h->slots);
    tutti_strbuf_printf(&p.out, "in-place %s\nwire %s", h->in_place ? "yes" : "no", tutti_wire_class_name(h->wire));
    for (int32_t r = 0; h->host_of && r < h->nranks; r++) tutti_strbuf_printf(&p.out, " %d", h->host_of[r]);
    tutti_strbuf_printf(&p.out, "\ndeterminism %s\n", tutti_determinism_name(h->determinism));
    if (h->room) tutti_strbuf_printf(&p.out, "room %d\n", h->room);
    for (int32_t r = 0; r < h->nranks; r++) {
        tutti_part part;
        tutti_schedule_part(s, r, &part);
        p.part = &part;
        tutti_strbuf_printf(&p.out, "\nrank %d\n", r);
        for (int32_t i = 0; i < part.nbuffers; i++) print_buffer(&p.out, &part.buffers[i]);
        for (int32_t i = 0; i < part.nsteps; i++) print_step(&p, i);
        tutti_part_release(&part);
    }
    for (int32_t r = 0; p.names && r < h->nranks; r++) free(p.names[r]);
    free(p.names);
    free(p.nnames);
    free(p.opens);
    free(p.starts);
    return tutti_strbuf_detach(&p.out);
}

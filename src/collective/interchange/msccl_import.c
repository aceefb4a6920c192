/* SPDX-License-Identifier: Apache-2.0 */
/* msccl_import.c: turns an MSCCL program into a schedule, by way of the schedule's text form.
 *
 * A step moves a run of chunks. It is cut where its chunks are not neighbours in the vector or in a buffer at either
 * end, because a slice of a schedule is one interval. Steps are numbered in a first pass, so that a step may wait for a
 * later line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../schedule/part_source.h"
#include "msccl_rooms.h"

typedef struct {
    tutti_msccl *m;
    msccl_rooms *rooms; /* for each GPU: the schedule's buffers that represent its memory */
    tutti_strbuf *text; /* the schedule's text so far; NULL: the first pass, which only numbers the steps */
    int32_t gpu, block, nsteps;
    int32_t *temporary; /* for each block: the first of its buffers for data that is received and not stored at once;
                         * one more entry ends them */
} writer;

/* Returns true if chunks i - 1 and i are neighbours at that place. */
static bool joined_at(const writer *w, int32_t gpu, msccl_place at, const msccl_step *s, int32_t i)
{
    const msccl_rooms *r = &w->rooms[gpu];
    return msccl_room_of(r, msccl_at(at, i - 1), s->position[i - 1]) ==
           msccl_room_of(r, msccl_at(at, i), s->position[i]);
}

static bool joined(const msccl_step *s, int32_t i)
{
    return s->position[i] == s->position[i - 1] + 1;
}

static bool joined_where_sent(const writer *w, int32_t gpu, const msccl_step *s, int32_t i)
{
    if (!s || i >= s->count) return true;
    if (s->type == MSCCL_RRS) return joined(s, i);
    return joined(s, i) && joined_at(w, gpu, s->type == MSCCL_SEND ? s->src : s->dst, s, i);
}

static bool joined_where_received(const writer *w, int32_t gpu, const msccl_step *s, int32_t i)
{
    if (!s || i >= s->count) return true;
    bool stores = s->type == MSCCL_RECV || s->type == MSCCL_RCS;
    return joined(s, i) && (!stores || joined_at(w, gpu, s->dst, s, i));
}

typedef enum { RECEIVES, SENDS, WORKS } part_of_step;

static int32_t run_end(const writer *w, const msccl_step *s, part_of_step part, int32_t begin)
{
    const msccl_block *b = &w->m->gpus[w->gpu].blocks[w->block];
    unsigned does = msccl_does[s->type];
    for (int32_t i = begin + 1; i < s->count; i++) {
        bool on = joined(s, i);
        if (part == RECEIVES)
            on = on && joined_where_received(w, w->gpu, s, i) && joined_where_sent(w, b->recv, s->from, i);
        if (part == SENDS) on = on && joined_where_sent(w, w->gpu, s, i) && joined_where_received(w, b->send, s->to, i);
        if (part == WORKS && does & MSCCL_READS) on = on && joined_at(w, w->gpu, s->src, s, i);
        if (part == WORKS && does & MSCCL_WRITES) on = on && joined_at(w, w->gpu, s->dst, s, i);
        if (!on) return i;
    }
    return s->count;
}

/* ---- lines of the text form ---- */

static void say(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(writer *w, const char *format, ...)
{
    va_list args;
    if (!w->text) return;
    va_start(args, format);
    tutti_strbuf_vprintf(w->text, format, args);
    va_end(args);
}

static void say_slice(writer *w, int32_t room, int32_t first, int32_t count)
{
    say(w, " %s[%d", w->rooms[w->gpu].rooms[room].name, first);
    if (count != 1) say(w, "+%d", count);
    say(w, "/%d]", w->m->of);
}

/* Writes the step's chunks [i, end), a run of neighbours, as a slice of the memory at the place `at`. */
static void say_run(writer *w, const msccl_step *s, msccl_place at, int32_t i, int32_t end)
{
    int32_t room = w->text ? msccl_room_of(&w->rooms[w->gpu], msccl_at(at, i), s->position[i]) : 0;
    say_slice(w, room, s->position[i], end - i);
}

static void begin_line(writer *w, int32_t step, int32_t stage)
{
    msccl_rank *r = &w->m->ranks[w->gpu];
    r->origin = tutti_grow(r->origin, r->nsteps, &r->capacity, 2 * sizeof *r->origin);
    if (w->text) {
        r->origin[2 * r->nsteps] = w->block;
        r->origin[2 * r->nsteps + 1] = step;
        r->nsteps++;
    }
    say(w, "    %d seq %d stage %d ", w->nsteps, w->block, stage);
}

/* Ends a line of the text form. is_first: it is the first line of that step of the program. */
static void end_line(writer *w, int32_t step, bool is_first)
{
    const msccl_gpu *g = &w->m->gpus[w->gpu];
    msccl_step *s = &g->blocks[w->block].steps[step];
    if (is_first && s->block >= 0) say(w, " after %d", g->blocks[s->block].steps[s->step].last);
    if (is_first && step == 0) say(w, " needs ready free");
    say(w, "\n");
    s->last = w->nsteps++;
}

/* ---- steps ---- */

/* Returns the buffer that holds the run of chunks from i on between its arrival and its use. */
static int32_t temporary_of(writer *w, const msccl_step *s, int32_t i, int32_t *begin)
{
    int32_t first = i, end = i + 1;
    while (first > 0 && joined(s, first)) first--;
    while (end < s->count && joined(s, end)) end++;
    *begin = first;
    msccl_rooms *r = &w->rooms[w->gpu];
    int32_t rooms = w->temporary[w->block], rooms_end = w->text ? w->temporary[w->block + 1] : r->nrooms;
    for (int32_t k = rooms; k < rooms_end; k++)
        if (r->rooms[k].first == s->position[first] && r->rooms[k].count == end - first) return k;
    msccl_room room = {.role = "scratch",
                       .first = s->position[first],
                       .count = end - first,
                       .of = w->m->of,
                       .lies_in = {.rank = -1, .of = 1}};
    snprintf(room.name, sizeof room.name, "t%dn%d", w->block, rooms_end - rooms);
    return msccl_rooms_add(r, &room);
}

static void say_temporary(writer *w, const msccl_step *s, int32_t i, int32_t end)
{
    int32_t begin, room = temporary_of(w, s, i, &begin);
    say_slice(w, room, s->position[i], end - i);
}

static void receive(writer *w, int32_t step, const msccl_step *s, const msccl_block *b)
{
    bool stores = s->type == MSCCL_RECV || s->type == MSCCL_RCS;
    for (int32_t i = 0, end; i < s->count; i = end) {
        end = run_end(w, s, RECEIVES, i);
        begin_line(w, step, s->stage_in);
        say(w, "recv");
        if (stores)
            say_run(w, s, s->dst, i, end);
        else
            say_temporary(w, s, i, end);
        say(w, " from %d channel %d", b->recv, b->channel);
        end_line(w, step, i == 0);
    }
}

static void send(writer *w, int32_t step, const msccl_step *s, const msccl_block *b)
{
    for (int32_t i = 0, end; i < s->count; i = end) {
        end = run_end(w, s, SENDS, i);
        begin_line(w, step, s->stage);
        say(w, "send");
        if (s->type == MSCCL_RRS)
            say_temporary(w, s, i, end);
        else
            say_run(w, s, s->type == MSCCL_SEND ? s->src : s->dst, i, end);
        say(w, " to %d channel %d", b->send, b->channel);
        end_line(w, step, i == 0 && s->type == MSCCL_SEND);
    }
}

/* rrc, rrs, rrcs: adds the received data to the local operand, which the interpreter takes from src. */
static void add_received(writer *w, int32_t step, const msccl_step *s)
{
    for (int32_t i = 0, end; i < s->count; i = end) {
        end = run_end(w, s, WORKS, i);
        begin_line(w, step, s->stage_in);
        say(w, "reduce");
        if (s->type == MSCCL_RRS)
            say_temporary(w, s, i, end);
        else
            say_run(w, s, s->dst, i, end);
        say(w, " <- (");
        say_temporary(w, s, i, end);
        say_run(w, s, s->src, i, end);
        say(w, ")");
        end_line(w, step, false);
    }
}

static bool goes_on(const msccl_step *s, const msccl_step *next)
{
    return next->type == MSCCL_REDUCE && next->block < 0 && !s->awaited && next->count == s->count &&
           next->dst.buffer == s->dst.buffer && next->dst.offset == s->dst.offset &&
           !memcmp(next->position, s->position, sizeof *s->position * (size_t)s->count);
}

/* Turns consecutive `re` steps with one destination into one sum; returns the last of these steps. */
static int32_t reduce(writer *w, int32_t step, const msccl_block *b)
{
    enum { MOST = 16 };
    const msccl_step *s = &b->steps[step];
    int32_t last = step;
    while (last + 1 < b->nsteps && last - step + 1 < MOST && goes_on(&b->steps[last], &b->steps[last + 1])) last++;
    for (int32_t i = 0, end; i < s->count; i = end) {
        end = run_end(w, s, WORKS, i);
        for (int32_t k = step + 1; k <= last; k++) {
            int32_t other = run_end(w, &b->steps[k], WORKS, i);
            if (other < end) end = other;
        }
        begin_line(w, step, b->steps[last].stage);
        say(w, "reduce");
        say_run(w, s, s->dst, i, end);
        say(w, " <- ");
        for (int32_t k = step; k <= last; k++) say(w, "(");
        say_run(w, s, s->dst, i, end);
        for (int32_t k = step; k <= last; k++) {
            say_run(w, s, b->steps[k].src, i, end);
            say(w, ")");
        }
        end_line(w, step, i == 0);
    }
    for (int32_t k = step + 1; k <= last; k++) b->steps[k].last = s->last;
    return last;
}

static void copy(writer *w, int32_t step, const msccl_step *s)
{
    for (int32_t i = 0, end; i < s->count; i = end) {
        end = run_end(w, s, WORKS, i);
        begin_line(w, step, s->stage);
        say(w, "copy");
        say_run(w, s, s->dst, i, end);
        say(w, " <-");
        say_run(w, s, s->src, i, end);
        end_line(w, step, i == 0);
    }
}

static void write_block(writer *w)
{
    const msccl_block *b = &w->m->gpus[w->gpu].blocks[w->block];
    for (int32_t i = 0; i < b->nsteps; i++) {
        msccl_step *s = &b->steps[i];
        unsigned does = msccl_does[s->type];
        if (!s->count) {
            begin_line(w, i, s->stage);
            say(w, "nop");
            end_line(w, i, true);
            continue;
        }
        if (does & MSCCL_TAKES) receive(w, i, s, b);
        if (does & MSCCL_TAKES && does & MSCCL_READS) add_received(w, i, s);
        if (does & MSCCL_GIVES) send(w, i, s, b);
        if (s->type == MSCCL_COPY) copy(w, i, s);
        if (s->type == MSCCL_REDUCE) i = reduce(w, i, b);
    }
}

static void write_blocks(writer *w)
{
    w->nsteps = 0;
    for (w->block = 0; w->block < w->m->gpus[w->gpu].nblocks; w->block++) {
        if (!w->text) w->temporary[w->block] = w->rooms[w->gpu].nrooms;
        write_block(w);
    }
    if (!w->text) w->temporary[w->block] = w->rooms[w->gpu].nrooms;
}

static void write_rooms(writer *w)
{
    const msccl_rooms *r = &w->rooms[w->gpu];
    msccl_rank *rank = &w->m->ranks[w->gpu];
    rank->lies_in = tutti_alloc(sizeof *rank->lies_in * ((size_t)r->nrooms + 1));
    rank->nbuffers = r->nrooms;
    say(w, "\nrank %d\n", w->gpu);
    for (int32_t i = 0; i < r->nrooms; i++) {
        const msccl_room *room = &r->rooms[i];
        rank->lies_in[i] = room->lies_in;
        say(w, "  buffer %s %s", room->name, room->role);
        if (room->ordinal) say(w, " ordinal %d", room->ordinal);
        if (room->of > 1 && room->count == 1) say(w, " window %d/%d", room->first, room->of);
        if (room->of > 1 && room->count != 1) say(w, " window %d+%d/%d", room->first, room->count, room->of);
        if (!strcmp(room->role, "in")) say(w, " leaves %d", w->gpu);
        say(w, "\n");
    }
}

/* Writes the text of one GPU. The numbering pass makes the buffers for received data, so buffers are written after
 * it. */
static void write_gpu(writer *w, tutti_strbuf *text)
{
    w->text = NULL;
    w->temporary = tutti_alloc(sizeof *w->temporary * ((size_t)w->m->gpus[w->gpu].nblocks + 1));
    write_blocks(w);
    w->text = text;
    write_rooms(w);
    write_blocks(w);
    free(w->temporary);
}

static void write_head(const tutti_msccl *m, tutti_strbuf *text)
{
    char name[TUTTI_ALGORITHM_TEXT];
    size_t n = 0;
    for (const char *at = m->name; *at && n + 1 < sizeof name; at++) {
        char c = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
        bool letter = c >= 'a' && c <= 'z', plain = letter || (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (n || letter) name[n++] = plain ? c : '-';
    }
    name[n] = '\0';
    tutti_strbuf_printf(text,
                        "tutti-schedule 1\nalgorithm %s\ncollective %s\nranks %d\nroot %d\nslots 0\nin-place %s\n"
                        "wire two-sided\ndeterminism per-slice\nroom %d\n",
                        n ? name : "unnamed", tutti_collective_name(m->collective), m->ngpus,
                        tutti_collective_has_root(m->collective) ? m->root : 0, m->in_place ? "yes" : "no",
                        tutti_msccl_room(m));
}

tutti_status msccl_make_schedule(tutti_msccl *m, tutti_failure *err)
{
    tutti_strbuf text = {0};
    writer w = {.m = m};
    w.rooms = TUTTI_ARENA_NEW(&m->arena, msccl_rooms, m->ngpus);
    m->ranks = TUTTI_ARENA_NEW(&m->arena, msccl_rank, m->ngpus);
    for (int32_t r = 0; r < m->ngpus; r++) msccl_rooms_make(m, r, &w.rooms[r]);
    write_head(m, &text);
    for (w.gpu = 0; w.gpu < m->ngpus; w.gpu++) write_gpu(&w, &text);
    for (int32_t r = 0; r < m->ngpus; r++) msccl_rooms_release(&w.rooms[r]);
    tutti_status st = tutti_schedule_parse("its schedule", text.text, text.length, &m->schedule, err);
    tutti_strbuf_release(&text);
    return st;
}

/* ---- a step in words, for the checker ---- */

void msccl_describe_step(const void *owner, int32_t rank, int32_t step, char *out, size_t size)
{
    const tutti_msccl *m = owner;
    const msccl_rank *r = &m->ranks[rank];
    int32_t block = r->origin[2 * step], index = r->origin[2 * step + 1];
    const msccl_block *b = &m->gpus[rank].blocks[block];
    const msccl_step *s = &b->steps[index];
    unsigned does = msccl_does[s->type];
    int n = snprintf(out, size, "gpu %d tb %d step %d (%s", rank, block, index, msccl_type_names[s->type]);
    if (n > 0 && (size_t)n < size && does & MSCCL_READS)
        n += snprintf(out + n, size - (size_t)n, " %c[%d]", "ios"[s->src.buffer], s -> src.offset);
    if (n > 0 && (size_t)n < size && does & MSCCL_WRITES)
        n += snprintf(out + n, size - (size_t)n, " -> %c[%d]", "ios"[s->dst.buffer], s -> dst.offset);
    if (n > 0 && (size_t)n < size && does & MSCCL_TAKES)
        n += snprintf(out + n, size - (size_t)n, " from gpu %d", b->recv);
    if (n > 0 && (size_t)n < size && does & MSCCL_GIVES)
        n += snprintf(out + n, size - (size_t)n, " to gpu %d", b->send);
    if (n > 0 && (size_t)n < size) snprintf(out + n, size - (size_t)n, ", line %d)", s->line);
}

bool msccl_lies_in(const void *owner, int32_t rank, int32_t buffer, tutti_slice *where)
{
    const tutti_msccl *m = owner;
    *where = m->ranks[rank].lies_in[buffer];
    return where->rank >= 0;
}

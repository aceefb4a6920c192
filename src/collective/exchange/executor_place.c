/* SPDX-License-Identifier: Apache-2.0 */
/* executor_place.c: places the buffers of an exchange. A buffer lies in a region, in the exchange's own scratch, or,
 * for plain memory, at an address that the next aim (executor_plain.c) sets.
 *
 * A place holds the whole index space of an input or output, even if a rank stores only a window of it, because the
 * same place serves several schedules in place (reduce-scatter, then all-gather). Scratch and window places hold
 * windows only. */
#include <string.h>

#include "executor_impl.h"

static int64_t window_first(const tutti_buffer *b, const tutti_vector *v)
{
    return tutti_vector_point(v, b->window.first, b->window.of);
}

static size_t window_bytes(const tutti_buffer *b, const tutti_vector *v)
{
    const tutti_slice *w = &b->window;
    return (size_t)(tutti_vector_point(v, w->first + w->count, w->of) - window_first(b, v)) *
           tutti_buffer_element(v, b);
}

/* Returns the bytes of one bank. In plain memory the vector may become shorter later, and floor(f*n) may then make a
 * window one element longer. */
static size_t bank_bytes(const tutti_buffer *b, const tutti_vector *v, bool plain)
{
    return (window_bytes(b, v) + (plain ? v->bytes : 0) + TUTTI_LINE - 1) / TUTTI_LINE * TUTTI_LINE;
}

static size_t counters_bytes(int nmembers, int32_t nchannels)
{
    return TUTTI_LINE * (TUTTI_OWN_LINES + (size_t)nmembers * (size_t)nchannels);
}

size_t tutti_exchange_own_bytes(const tutti_part *part, int nmembers, int32_t nchannels, const tutti_vector *v,
                                bool plain)
{
    size_t bytes = counters_bytes(nmembers, nchannels);
    for (int32_t i = 0; i < part->nbuffers; i++)
        if (part->buffers[i].role == TUTTI_BUFFER_SCRATCH)
            bytes += bank_bytes(&part->buffers[i], v, plain) * (size_t)part->buffers[i].banks;
    return bytes + tutti_buffers_bytes(part->nbuffers);
}

size_t tutti_buffers_bytes(int32_t nbuffers)
{
    return ((size_t)nbuffers * sizeof(tutti_buffer) + TUTTI_LINE - 1) / TUTTI_LINE * TUTTI_LINE;
}

int32_t tutti_part_channels(const tutti_part *part)
{
    int32_t channels = 0;
    for (int32_t i = 0; i < part->nsteps; i++)
        if (part->steps[i].channel >= channels) channels = part->steps[i].channel + 1;
    return channels;
}

char *tutti_binder_memory(const tutti_binder *b, const tutti_region *region, int32_t member, tutti_wire **wire)
{
    const int rank = b->x->members[member];
    *wire = tutti_group_is_near(b->x->group, rank) ? NULL : b->x->group->wire;
    return *wire ? (char *)(uintptr_t)tutti_region_far(region, rank) : tutti_region_base(region, rank);
}

static void place_scratch(const tutti_binder *b, int32_t member, const tutti_buffer *buffer, size_t *scratch,
                          tutti_buffer_place *out)
{
    tutti_wire *wire;
    char *base = tutti_binder_memory(b, b->x->region, member, &wire) + b->x->at[member];
    size_t each = bank_bytes(buffer, &b->x->vector, b->binding.plain);
    *out = (tutti_buffer_place){
        .base = base + *scratch, .stride = each, .banks = buffer->banks, .bytes_left = each, .wire = wire};
    *scratch += each * (size_t)buffer->banks;
}

static bool is_input(const tutti_binder *b, const tutti_buffer *buffer)
{
    return buffer->role == TUTTI_BUFFER_IN || (tutti_schedule_head(b->schedule)->in_place && !b->binding.moves);
}

static tutti_status place_in_region(const tutti_binder *b, int32_t member, const tutti_buffer *buffer,
                                    tutti_buffer_place *out)
{
    const int rank = b->x->members[member];
    const int32_t ordinal = buffer->role == TUTTI_BUFFER_IN ? buffer->ordinal : 0;
    if (is_input(b, buffer) && ordinal >= b->binding.nin)
        return tutti_fail(b->err, TUTTI_ERR_USAGE, "exchange '%s': rank %d has input %d, the binding gives only %d",
                          b->x->name, rank, ordinal, b->binding.nin);
    const tutti_place *place = is_input(b, buffer) ? &b->binding.in[ordinal] : &b->binding.out;
    const size_t offset = place->offset + out->before;
    if (!place->region || offset % tutti_element_alignment(b->x->type, b->x->op) ||
        offset > tutti_region_bytes(place->region, rank))
        return tutti_fail(b->err, TUTTI_ERR_USAGE, "exchange '%s': no place for buffer %s of rank %d", b->x->name,
                          buffer->name, rank);
    out->base = tutti_binder_memory(b, place->region, member, &out->wire) + offset;
    out->bytes_left = tutti_region_bytes(place->region, rank) - offset;
    return TUTTI_OK;
}

/* Computes which elements of the vector the memory of this buffer begins with. packed: bytes of earlier output buffers,
 * which lie one behind the other; the bytes of this buffer are added. */
static void lay_window(const tutti_binder *b, const tutti_buffer *buffer, size_t *packed, tutti_buffer_place *out)
{
    const tutti_vector *v = &b->x->vector;
    const bool is_in = is_input(b, buffer), scratch = buffer->role == TUTTI_BUFFER_SCRATCH;
    const bool window = is_in ? b->binding.in_window : b->binding.out_window;
    if (!scratch && !window) return;
    out->origin = window_first(buffer, v);
    if (scratch || is_in) return;
    out->before = *packed;
    *packed += window_bytes(buffer, v);
}

/* Places the buffers of a member. A buffer without a place is refused only if a step uses it: banks 0 marks it. */
static void place_buffers(tutti_binder *b, int32_t member, const tutti_buffer *buffers, int32_t n)
{
    tutti_rank_places *r = &b->ranks[member];
    size_t scratch = counters_bytes(b->x->nmembers, b->x->nchannels), packed = 0;
    r->places = TUTTI_ARENA_NEW(&b->x->arena, tutti_buffer_place, n + 1);
    r->nbuffers = n;
    for (int32_t i = 0; i < n; i++) {
        tutti_buffer_place *place = &r->places[i];
        const bool own_scratch = buffers[i].role == TUTTI_BUFFER_SCRATCH;
        if (own_scratch)
            place_scratch(b, member, &buffers[i], &scratch, place);
        else
            *place = (tutti_buffer_place){.banks = 1, .bytes_left = SIZE_MAX, .plain = b->binding.plain};
        lay_window(b, &buffers[i], &packed, place);
        place->each = tutti_buffer_element(&b->x->vector, &buffers[i]);
        place->is_scratch = own_scratch;
        if (!own_scratch && !place->plain && place_in_region(b, member, &buffers[i], place)) place->banks = 0;
    }
    if (!b->binding.plain || !n) return;
    r->buffers = TUTTI_ARENA_NEW(&b->x->arena, tutti_buffer, n);
    memcpy(r->buffers, buffers, sizeof *buffers * (size_t)n);
}

/* The buffers of a near member are read from its list in shared memory. Those of a far member are found by making its
 * part, which costs time for each of its steps. */
void tutti_binder_need(tutti_binder *b, int32_t member)
{
    tutti_part part;
    if (b->ranks[member].places) return;
    const tutti_buffer *shown = tutti_exchange_buffers(b->x, member);
    if (shown) {
        place_buffers(b, member, shown, b->x->nbuffers[member]);
        return;
    }
    tutti_schedule_part(b->schedule, member, &part);
    place_buffers(b, member, part.buffers, part.nbuffers);
    tutti_part_release(&part);
}

void tutti_binder_lay_again(tutti_binder *b)
{
    for (int32_t member = 0; member < b->x->nmembers; member++) {
        const tutti_rank_places *r = &b->ranks[member];
        size_t packed = 0;
        for (int32_t i = 0; r->places && i < r->nbuffers; i++) lay_window(b, &r->buffers[i], &packed, &r->places[i]);
    }
}

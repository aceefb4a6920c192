/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_lists.c: lists the elements of a value that are not zero. If channels of a position lie side by side (channels
 * last, blocks), they are listed directly from memory. A row of a row-major value is first transposed in scratch. */
#include "sparse_conv.h"

/* Returns how many of `most` channels from `channel` on can be copied as one view: the channels of one block, or all
 * channels if each is a plane. */
static int64_t together(const tutti_lane_place *p, int64_t channel, int64_t most)
{
    return p->at.block == 1 ? most : tutti_sparse_min(most, p->at.block - (p->channel + channel) % p->at.block);
}

static tutti_lane_view part_view(const tutti_lane_place *p, const tutti_sparse_part *part, int64_t c)
{
    tutti_lane_view v = tutti_lane_view_of(p, part->sample, part->channel + c, part->position);
    v.step[1] *= part->step;
    return v;
}

/* Copies a part of a value to a view in scratch, or back. */
static void copy_part(const tutti_lane_place *value, const tutti_sparse_part *part, const tutti_lane_view *lanes,
                      bool gives)
{
    for (int64_t c = 0, n; c < part->nchannels; c += n) {
        const tutti_lane_view there = part_view(value, part, c);
        tutti_lane_view here = *lanes;
        n = together(value, part->channel + c, part->nchannels - c);
        here.at += c * lanes->step[0];
        tutti_lane_here()->copy(gives ? &here : &there, gives ? &there : &here, n, part->npositions, false);
    }
}

void tutti_sparse_take(const tutti_lane_place *from, const tutti_sparse_part *part, const tutti_lane_view *to)
{
    copy_part(from, part, to, false);
}

void tutti_sparse_give(const tutti_lane_view *from, const tutti_lane_place *to, const tutti_sparse_part *part)
{
    copy_part(to, part, from, true);
}

/* Sets the list loop's input to the channels of a row: in the value itself, or transposed into the buffer. */
static void find_row(const tutti_lane_place *from, const tutti_sparse_part *row, float *buffer,
                     tutti_sparse_list_call *call)
{
    const tutti_blocks *b = &from->at;
    const bool whole = b->nblocks == 1, aligned = (from->channel + row->channel) % b->block == 0;
    call->channels = call->segment = row->nchannels;
    if (b->block > 1 && (whole || aligned)) {
        call->from = (const float *)from->memory + part_view(from, row, 0).at;
        call->position_step = b->block;
        call->segment_step = b->block_step;
        if (!whole) call->segment = b->block;
        return;
    }
    const tutti_lane_view to = {.memory = buffer, .type = TUTTI_F32, .step = {1, row->nchannels}};
    tutti_sparse_take(from, row, &to);
    call->from = buffer;
    call->position_step = row->nchannels;
}

void tutti_sparse_list_rows(const tutti_sparse_state *s, const tutti_lane_place *from, const tutti_sparse_cut *cut,
                            const tutti_sparse_tile *rows, const tutti_sparse_list *to, float *buffer)
{
    const int64_t width = from->at.width;
    tutti_sparse_list_call call = {.positions = width, .apart = cut->size, .to = *to};
    for (int64_t i = 0; i < rows->samples; i++)
        for (int64_t y = rows->row; y < rows->row + rows->rows; y++)
            for (int64_t b = 0; b < cut->n; b++, call.to.start += width + 1) {
                const tutti_sparse_part row = {.sample = rows->sample + i,
                                               .channel = b * cut->size,
                                               .nchannels = tutti_sparse_block(cut, b),
                                               .position = y * width,
                                               .npositions = width,
                                               .step = 1};
                find_row(from, &row, buffer, &call);
                call.n = s->loops->list(&call);
            }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* memory_order.c: the memory orders of activations (row-major, channels last, blocks) by name, and their blocks. */
#include "memory_order.h"

#include <string.h>

static const struct {
    const char *name;
    int64_t block; /* channels of a block; 0 means all channels */
} orders[TUTTI_NORDERS] = {{"none", 0}, {"nchw", 1}, {"nchw8c", 8}, {"nchw16c", 16}, {"nchw32c", 32}, {"nhwc", 0}};

const char *tutti_order_name(tutti_order order)
{
    return (unsigned)order < TUTTI_NORDERS ? orders[order].name : "none";
}

bool tutti_order_find(const char *name, tutti_order *out)
{
    for (int i = TUTTI_ORDER_NONE + 1; i < TUTTI_NORDERS; i++)
        if (strcmp(orders[i].name, name) == 0) {
            *out = (tutti_order)i;
            return true;
        }
    return false;
}

int64_t tutti_value_elements(const tutti_value *v)
{
    return (int64_t)(v->bytes / tutti_dtype_bytes(v->dtype));
}

static tutti_blocks blocks_in(tutti_order order, const tutti_shape *s)
{
    const bool planes = s->ndims == 4;
    tutti_blocks b = {
        .batch = s->ndims ? s->dim[0] : 1, .height = planes ? s->dim[2] : 1, .width = planes ? s->dim[3] : 1};
    b.plane = b.height * b.width;
    b.channels = planes ? s->dim[1] : tutti_shape_count(s) / b.batch;
    b.block = orders[order].block;
    if (b.block == 0 || (b.plane == 1 && b.block == 1)) b.block = b.channels;
    b.nblocks = (b.channels + b.block - 1) / b.block;
    b.block_step = b.plane * b.block;
    b.sample_step = b.nblocks * b.block_step;
    return b;
}

void tutti_order_apply(tutti_order order, tutti_value *v, tutti_layout *layout)
{
    const tutti_blocks b = blocks_in(order, &v->shape);
    v->bytes = (size_t)(b.batch * b.sample_step) * tutti_dtype_bytes(v->dtype);
    v->layout = NULL;
    if (order == TUTTI_ORDER_NCHW || v->shape.ndims != 4) return;
    const bool blocked = order != TUTTI_ORDER_NHWC;
    *layout = (tutti_layout){.stride = {b.sample_step, blocked ? b.block_step : 1, b.width * b.block, b.block},
                             .padded = {b.batch, blocked ? b.nblocks * b.block : b.channels, b.height, b.width},
                             .ninner = blocked,
                             .inner_block = {blocked ? b.block : 0},
                             .inner_dim = {blocked}};
    v->layout = layout;
}

/* True if both layouts put every element at the same place. Strides of dims of size 1 make no difference. */
static bool same_layout(const tutti_layout *x, const tutti_layout *y)
{
    bool same = x->ninner == y->ninner;
    for (int d = 0; d < TUTTI_MAX_DIMS && same; d++)
        same = x->padded[d] == y->padded[d] && (x->padded[d] <= 1 || x->stride[d] == y->stride[d]);
    for (int i = 0; i < x->ninner && same; i++)
        same = x->inner_block[i] == y->inner_block[i] && x->inner_dim[i] == y->inner_dim[i];
    return same;
}

tutti_order tutti_order_of(const tutti_value *v)
{
    if (!v->layout) return TUTTI_ORDER_NCHW;
    if (v->shape.ndims != 4 || v->layout->view.ndims) return TUTTI_ORDER_NONE;
    for (int i = TUTTI_ORDER_NCHW8C; i < TUTTI_NORDERS; i++) {
        tutti_value tried = *v;
        tutti_layout layout;
        tutti_order_apply((tutti_order)i, &tried, &layout);
        if (tried.bytes == v->bytes && same_layout(tried.layout, v->layout)) return (tutti_order)i;
    }
    return TUTTI_ORDER_NONE;
}

bool tutti_order_same(const tutti_value *a, const tutti_value *b)
{
    if (!a->layout || !b->layout) return a->layout == b->layout;
    return tutti_shape_equal(&a->shape, &b->shape) && same_layout(a->layout, b->layout);
}

bool tutti_blocks_of(const tutti_value *v, tutti_blocks *out)
{
    const tutti_order order = tutti_order_of(v);
    if (order == TUTTI_ORDER_NONE) return false;
    *out = blocks_in(order, &v->shape);
    return true;
}

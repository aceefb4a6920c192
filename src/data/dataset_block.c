/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_block.c: a set of bytes as one block without addresses: header, samples, labels. The same program writes and reads it. */
#include <string.h>

#include "dataset_impl.h"

enum { LINE = 64 };

typedef struct {
    char magic[8];
    int64_t count, nstored, nclasses;
    tutti_shape shape;
} block_header;
_Static_assert(sizeof(block_header) <= 2 * LINE, "samples begin at the third line");

static const char magic[8] = "tuttiset";

static size_t pixel_bytes(const tutti_shape *shape, int64_t nstored)
{
    return (size_t)(tutti_shape_count(shape) * nstored);
}

static size_t labels_at(const tutti_shape *shape, int64_t nstored)
{
    return (2 * LINE + pixel_bytes(shape, nstored) + LINE - 1) / LINE * LINE;
}

size_t tutti_dataset_block_bytes(const tutti_dataset *d)
{
    return d->pixels ? labels_at(&d->shape, d->nstored) + (size_t)d->nstored * sizeof *d->labels : 0;
}

void tutti_dataset_block_write(const tutti_dataset *d, void *block)
{
    block_header h = {.count = d->count, .nstored = d->nstored, .nclasses = d->nclasses, .shape = d->shape};
    memcpy(h.magic, magic, sizeof magic);
    memcpy(block, &h, sizeof h);
    memcpy((char *)block + 2 * LINE, d->pixels, pixel_bytes(&d->shape, d->nstored));
    memcpy((char *)block + labels_at(&d->shape, d->nstored), d->labels, (size_t)d->nstored * sizeof *d->labels);
}

static tutti_status take_block(tutti_dataset *d, const void *block, size_t nbytes, tutti_failure *err)
{
    block_header h;
    if (nbytes < sizeof h) return tutti_fail(err, TUTTI_ERR_DATA, "data: a block of %zu bytes is no set", nbytes);
    memcpy(&h, block, sizeof h);
    d->shape = h.shape, d->count = h.count, d->nstored = h.nstored, d->nclasses = (int)h.nclasses;
    d->in_block = true;
    d->pixels = (uint8_t *)(uintptr_t)block + 2 * LINE;
    if (memcmp(h.magic, magic, sizeof magic) || tutti_dataset_block_bytes(d) != nbytes)
        return tutti_fail(err, TUTTI_ERR_DATA, "data: a block of %zu bytes that is no set", nbytes);
    d->labels = (int32_t *)((uintptr_t)block + labels_at(&d->shape, d->nstored));
    return TUTTI_OK;
}

tutti_status tutti_dataset_open_block(const tutti_dataset_config *config, tutti_split split, const void *block,
                                      size_t nbytes, tutti_dataset **out, tutti_failure *err)
{
    tutti_dataset *d;
    tutti_status st = tutti_dataset_begin(config, &d, err);
    if (st) return st;
    st = take_block(d, block, nbytes, err);
    if (!st) st = tutti_dataset_complete(config, split, d, err);
    if (st)
        tutti_dataset_destroy(d);
    else
        *out = d;
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_block.c: writes a set into memory that ranks share, and opens it there. A set of bytes or floats becomes one
 * block without addresses: header, samples, labels. Only processes of one program write and read it, so it has no
 * version. */
#include <string.h>

#include "dataset_impl.h"

enum { LINE = 64 };

typedef struct {
    char magic[8];
    int64_t count, nstored, nclasses, holds_numbers;
    tutti_shape shape;
    char notes[TUTTI_MAX_NOTES], largest_at[TUTTI_MAX_NOTES];
} block_header;
enum { HEAD = 20 * LINE };
_Static_assert(sizeof(block_header) <= HEAD, "samples begin behind it");

static const char magic[8] = "tuttiset";

static size_t sample_bytes(const tutti_dataset *d)
{
    return (size_t)(tutti_shape_count(&d->shape) * d->nstored) * (d->numbers ? sizeof *d->numbers : 1);
}

static size_t labels_at(const tutti_dataset *d)
{
    return (HEAD + sample_bytes(d) + LINE - 1) / LINE * LINE;
}

size_t tutti_dataset_block_bytes(const tutti_dataset *d)
{
    return d->pixels || d->numbers ? labels_at(d) + (size_t)d->nstored * sizeof *d->labels : 0;
}

void tutti_dataset_block_write(const tutti_dataset *d, void *block)
{
    block_header h = {.count = d->count,
                      .nstored = d->nstored,
                      .nclasses = d->nclasses,
                      .holds_numbers = d->numbers != NULL,
                      .shape = d->shape};
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.notes, d->notes, sizeof h.notes);
    memcpy(h.largest_at, d->largest_at, sizeof h.largest_at);
    memcpy(block, &h, sizeof h);
    memcpy((char *)block + HEAD, d->numbers ? (const void *)d->numbers : d->pixels, sample_bytes(d));
    memcpy((char *)block + labels_at(d), d->labels, (size_t)d->nstored * sizeof *d->labels);
}

static tutti_status take_block(tutti_dataset *d, const void *block, size_t nbytes, tutti_failure *err)
{
    block_header h;
    if (nbytes < sizeof h) return tutti_fail(err, TUTTI_ERR_DATA, "data: a block of %zu bytes is not a set", nbytes);
    memcpy(&h, block, sizeof h);
    d->shape = h.shape, d->count = h.count, d->nstored = h.nstored, d->nclasses = (int)h.nclasses;
    memcpy(d->notes, h.notes, sizeof h.notes);
    memcpy(d->largest_at, h.largest_at, sizeof h.largest_at);
    d->in_block = true;
    if (h.holds_numbers)
        d->numbers = (float *)((uintptr_t)block + HEAD);
    else
        d->pixels = (uint8_t *)(uintptr_t)block + HEAD;
    if (memcmp(h.magic, magic, sizeof magic) || tutti_dataset_block_bytes(d) != nbytes)
        return tutti_fail(err, TUTTI_ERR_DATA, "data: a block of %zu bytes that is not a set", nbytes);
    d->labels = (int32_t *)((uintptr_t)block + labels_at(d));
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

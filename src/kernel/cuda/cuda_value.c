/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_value.c: fills, copies and converts whole values in a card's memory. */
#include "cuda_value.h"

#include <stdlib.h>

#include "cuda_rows.h"

/* These repeat the declarations of value.cu. */
enum {
    TILE = 32,
    TILE_ROWS = 8,
    /* matrices with at most this number of rows or columns are not moved in tiles, because they would leave a tile
     * nearly empty */
    FEW = 8
};

typedef struct {
    const void *in[TUTTI_MAX_SUM_PARTS];
    void *out;
    int64_t n;
    int32_t ninputs, out_type;
} parts_of_sum;

static tutti_status make(tutti_cuda *c, void **out, tutti_failure *err)
{
    tutti_cuda_values *f = tutti_alloc(sizeof *f);
    const tutti_cuda_wanted wanted[] = {{"value_sum", &f->sum},
                                        {"value_convert", &f->convert},
                                        {"value_transpose", &f->transpose},
                                        {"value_transpose_few", &f->transpose_few},
                                        {"value_zeros", &f->zeros}};
    const tutti_status st =
        tutti_cuda_find_all(c, tutti_kernel_texts, "value", wanted, sizeof wanted / sizeof *wanted, err);
    *out = f;
    if (st) free(f);
    return st;
}

static const tutti_cuda_kept keeping = {"values", make, free};

tutti_status tutti_cuda_values_of(tutti_cuda *c, const tutti_cuda_values **out, tutti_failure *err)
{
    void *kept = NULL;
    const tutti_status st = tutti_cuda_keep(c, &keeping, &kept, err);
    *out = kept;
    return st;
}

bool tutti_cuda_reads(const tutti_value *v)
{
    const bool is_real = v->dtype == TUTTI_F32 || v->dtype == TUTTI_BF16 || v->dtype == TUTTI_F16;
    tutti_blocks b;
    return is_real && (!v->layout || (tutti_blocks_of(v, &b) && b.block == b.channels));
}

bool tutti_cuda_is_nhwc(const tutti_value *v)
{
    tutti_blocks b;
    return v->layout && tutti_blocks_of(v, &b) && b.channels > 1 && b.plane > 1;
}

static tutti_cuda_grid cover(int64_t n)
{
    return tutti_cuda_cover(n, TUTTI_CUDA_THREADS, TUTTI_CUDA_EACH);
}

static void transpose(tutti_cuda *c, const tutti_cuda_values *f, tutti_cuda_place from, tutti_cuda_place to)
{
    const bool from_nhwc = tutti_cuda_is_nhwc(from.value);
    tutti_blocks b;
    tutti_blocks_of(from_nhwc ? from.value : to.value, &b);
    int64_t rows = from_nhwc ? b.plane : b.channels, columns = from_nhwc ? b.channels : b.plane;
    int64_t n = b.batch * rows * columns;
    int32_t type = (int32_t)from.value->dtype, to_type = (int32_t)to.value->dtype;
    void *const args[] = {&from.memory, &type, &to.memory, &to_type, &rows, &columns, &n};
    if (rows <= FEW || columns <= FEW) {
        tutti_cuda_run(c, f->transpose_few, tutti_cuda_cover(n, TUTTI_CUDA_THREADS, 1), args);
        return;
    }
    const int64_t tiles = b.batch * ((rows + TILE - 1) / TILE) * ((columns + TILE - 1) / TILE);
    tutti_cuda_run(c, f->transpose, (tutti_cuda_grid){{(uint32_t)tiles}, {TILE, TILE_ROWS}, 0}, args);
}

void tutti_cuda_value_move(tutti_cuda *c, const tutti_cuda_values *f, tutti_cuda_place from, tutti_cuda_place to)
{
    int64_t n = tutti_value_elements(to.value);
    int32_t type = (int32_t)from.value->dtype, to_type = (int32_t)to.value->dtype;
    if (from.memory == to.memory || !n) return;
    if (tutti_cuda_is_nhwc(from.value) != tutti_cuda_is_nhwc(to.value))
        transpose(c, f, from, to);
    else if (type == to_type)
        tutti_cuda_move(c, to.memory, from.memory, to.value->bytes);
    else
        tutti_cuda_run(c, f->convert, cover(n), (void *[]){&from.memory, &type, &to.memory, &to_type, &n});
}

void tutti_cuda_value_to_plain(tutti_cuda *c, const tutti_cuda_values *f, const tutti_value *v, const void *from,
                               float *plain)
{
    const tutti_value rows = tutti_value_plain(&v->shape);
    tutti_cuda_value_move(c, f, (tutti_cuda_place){v, (void *)(uintptr_t)from}, (tutti_cuda_place){&rows, plain});
}

void tutti_cuda_value_from_plain(tutti_cuda *c, const tutti_cuda_values *f, const tutti_value *v, const float *plain,
                                 void *to)
{
    const tutti_value rows = tutti_value_plain(&v->shape);
    tutti_cuda_value_move(c, f, (tutti_cuda_place){&rows, (void *)(uintptr_t)plain}, (tutti_cuda_place){v, to});
}

void tutti_cuda_value_sum(tutti_cuda *c, const tutti_cuda_values *f, const tutti_value *v, const void *const *parts,
                          int n, void *out)
{
    parts_of_sum s = {.out = out, .n = tutti_value_elements(v), .ninputs = n, .out_type = (int32_t)v->dtype};
    for (int i = 0; i < n; i++) s.in[i] = parts[i];
    tutti_cuda_run(c, f->sum, cover(s.n), (void *[]){&s});
}

void tutti_cuda_value_zeros(tutti_cuda *c, const tutti_cuda_values *f, const tutti_value *v, const void *memory,
                            int64_t *zeros)
{
    int64_t n = tutti_value_elements(v);
    int32_t type = (int32_t)v->dtype;
    tutti_cuda_run(c, f->zeros, cover(n), (void *[]){&memory, &type, &n, &zeros});
}

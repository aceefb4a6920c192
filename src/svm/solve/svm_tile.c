/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile.c: computes kernel values of a tile of rows: gives features their slots and writes sources into them. */
#include "svm_tile.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "svm_tile_impl.h"

enum { LEAST_BITS = 8 };

TUTTI_ISA_TABLE(tutti_svm_tile_row, tutti_svm_tile_f32);
TUTTI_ISA_TABLE(tutti_svm_tile_row, tutti_svm_tile_f64);

static const tutti_svm_tile_row *row_here(tutti_svm_precision precision)
{
    return tutti_svm_tile_row_of(precision, tutti_isa_here());
}

static size_t number_bytes(const tutti_svm_tile *tile)
{
    return tile->row->precision == TUTTI_SVM_F32 ? sizeof(float) : sizeof(double);
}

static size_t slot_bytes(const tutti_svm_tile *tile)
{
    return (size_t)tile->row->lanes * number_bytes(tile);
}

/* Returns zeros that begin on a cache line, or NULL if there is no memory. *memory is to be freed. */
static void *lines(size_t nbytes, void **memory)
{
    *memory = calloc(1, nbytes + TUTTI_SVM_LINE);
    if (!*memory) return NULL;
    return (char *)*memory + (TUTTI_SVM_LINE - (uintptr_t)*memory % TUTTI_SVM_LINE) % TUTTI_SVM_LINE;
}

static void clear_table(tutti_svm_tile *tile)
{
    for (int64_t i = 0; i < (int64_t)1 << tile->bits; i++) tile->table[i] = (tutti_svm_place){-1, 0};
}

tutti_status tutti_svm_tile_create(const tutti_svm_kernel *kernel, tutti_svm_precision precision, int32_t width,
                                   tutti_svm_tile **out, tutti_failure *err)
{
    assert(precision != TUTTI_SVM_AUTO);
    if (kernel->degree < 0 || !(kernel->gamma >= 0) || !isfinite(kernel->gamma) || !isfinite(kernel->coef0))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "a kernel of degree %d, gamma %g, coef0 %g: degree and gamma are 0 or more, all are finite",
                          kernel->degree, kernel->gamma, kernel->coef0);
    tutti_svm_tile *tile = tutti_alloc(sizeof *tile);
    tile->row = row_here(precision);
    tile->kernel = *kernel;
    if (width >= TUTTI_SVM_NARROW) {
        tile->bits = LEAST_BITS;
        tile->table = tutti_alloc(sizeof *tile->table << tile->bits);
        clear_table(tile);
    }
    tile->nslots = tile->table ? 1 : (int64_t)width + 1;
    tile->room = tile->nslots;
    tile->dense = lines((size_t)tile->room * slot_bytes(tile), &tile->dense_memory);
    tile->square = lines(slot_bytes(tile), &tile->square_memory);
    if (tile->dense && tile->square) {
        *out = tile;
        return TUTTI_OK;
    }
    const double mb = 1e-6 * (double)tile->room * (double)slot_bytes(tile);
    tutti_svm_tile_destroy(tile);
    return tutti_fail(err, TUTTI_ERR_FAILED, "no memory for %.1f MB: %d features in each of the vectors of a tile", mb,
                      width);
}

void tutti_svm_tile_destroy(tutti_svm_tile *tile)
{
    if (!tile) return;
    free(tile->dense_memory);
    free(tile->square_memory);
    free(tile->table);
    free(tile->set);
    free(tile);
}

int tutti_svm_tile_lanes(const tutti_svm_tile *tile)
{
    return tile->row->lanes;
}

/* Returns the place of the feature, or the free place where it belongs. */
static tutti_svm_place *place_of(tutti_svm_tile *tile, int32_t feature)
{
    const uint32_t mask = ((uint32_t)1 << tile->bits) - 1;
    uint32_t h = tutti_svm_home(tile, feature);
    while (tile->table[h].feature >= 0 && tile->table[h].feature != feature) h = (h + 1) & mask;
    return &tile->table[h];
}

static void grow_table(tutti_svm_tile *tile)
{
    tutti_svm_place *old = tile->table;
    const int64_t nold = (int64_t)1 << tile->bits;
    tile->bits++;
    tile->table = tutti_alloc(sizeof *tile->table << tile->bits);
    clear_table(tile);
    for (int64_t i = 0; i < nold; i++)
        if (old[i].feature >= 0) *place_of(tile, old[i].feature) = old[i];
    free(old);
}

/* Adds a slot of zeros. */
static void add_slot(tutti_svm_tile *tile)
{
    if (tile->nslots == tile->room) {
        const size_t bytes = slot_bytes(tile);
        void *old_memory = tile->dense_memory;
        const void *old = tile->dense;
        tile->room *= 2;
        tile->dense = lines((size_t)tile->room * bytes, &tile->dense_memory);
        if (!tile->dense) tutti_no_memory((size_t)tile->room * bytes);
        memcpy(tile->dense, old, (size_t)tile->nslots * bytes);
        free(old_memory);
    }
    tile->nslots++;
}

static int64_t slot_for(tutti_svm_tile *tile, int32_t feature)
{
    if (!tile->table) return feature;
    tutti_svm_place *place = place_of(tile, feature);
    if (place->feature < 0) {
        if (4 * tile->nslots >= (int64_t)1 << tile->bits) {
            grow_table(tile);
            place = place_of(tile, feature);
        }
        *place = (tutti_svm_place){feature, (int32_t)tile->nslots};
        add_slot(tile);
    }
    return place->slot;
}

static void put_number(const tutti_svm_tile *tile, void *to, int64_t at, double value)
{
    if (tile->row->precision == TUTTI_SVM_F32)
        ((float *)to)[at] = (float)value;
    else
        ((double *)to)[at] = value;
}

/* Clears the numbers of the last sources: one by one, or the whole array if that is less work. */
static void clear_sources(tutti_svm_tile *tile)
{
    if (tile->nset > tile->nslots)
        memset(tile->dense, 0, (size_t)tile->nslots * slot_bytes(tile));
    else
        for (int64_t i = 0; i < tile->nset; i++) put_number(tile, tile->dense, tile->set[i], 0);
    memset(tile->square, 0, slot_bytes(tile));
    tile->nset = 0;
    if (!tile->table) return;
    if (tile->nslots > 1) clear_table(tile);
    tile->nslots = 1;
}

static void put_source(tutti_svm_tile *tile, const tutti_svm_rows *rows, int64_t row, int c)
{
    for (int64_t e = rows->start[row]; e < rows->start[row + 1]; e++) {
        if (tile->nset == tile->set_room) {
            tile->set_room = tile->set_room ? 2 * tile->set_room : 1024;
            tile->set = tutti_realloc(tile->set, (size_t)tile->set_room * sizeof *tile->set);
        }
        const int64_t at = slot_for(tile, rows->index[e]) * tile->row->lanes + c;
        tile->set[tile->nset++] = at;
        put_number(tile, tile->dense, at, rows->value[e]);
    }
    put_number(tile, tile->square, c, rows->square[row]);
}

void tutti_svm_tile_fill(tutti_svm_tile *tile, const tutti_svm_rows *rows, const int32_t *which, int64_t first, int n)
{
    assert(n >= 0 && n <= tile->row->lanes);
    clear_sources(tile);
    for (int c = 0; c < n; c++) put_source(tile, rows, which ? which[c] : first + c, c);
    tile->n = n;
    /* targets go strip by strip only if slots are half full: else finding the ends of the strips costs more than it
     * saves */
    tile->strips = !tile->table && tile->nslots > 2 * TUTTI_SVM_STRIP && 2 * tile->nset >= n * tile->nslots;
}

void tutti_svm_tile_sum(const tutti_svm_tile *tile, const tutti_svm_targets *targets, const double *weight, double *sum)
{
    double all[TUTTI_SVM_F32_LANES] = {0};
    memcpy(all, weight, (size_t)tile->n * sizeof *all);
    tile->row->sum(tile, targets, all, sum);
}

void tutti_svm_tile_values(const tutti_svm_tile *tile, const tutti_svm_targets *targets, void *out, int64_t stride)
{
    tile->row->values(tile, targets, out, stride);
}

void tutti_svm_kept_sum(tutti_svm_precision precision, const tutti_svm_kept *kept, const double *weight, double *sum)
{
    row_here(precision)->kept_sum(kept, weight, sum);
}

double tutti_svm_tile_diagonal(const tutti_svm_tile *tile, const tutti_svm_rows *rows, int64_t row)
{
    const int64_t start = rows->start[row];
    if (tile->kernel.type != TUTTI_SVM_PRECOMPUTED)
        return tile->row->diagonal(tile, tile->row->square(rows->value + start, rows->start[row + 1] - start));
    for (int64_t e = start + 1; e < rows->start[row + 1]; e++)
        if (rows->index[e] == (int32_t)rows->value[start])
            return tile->row->precision == TUTTI_SVM_F32 ? (double)(float)rows->value[e] : rows->value[e];
    return 0;
}

/* Estimates the error of a kernel value: `off`, the error of u'v, |u|^2 and |v|^2, times the slope of the kernel, plus
 * the kernel's own rounding. In a long sum, rounding errors have both signs and grow only with the root of its length;
 * so `off` is taken as four roundings of the whole sum. */
static double error_of(const tutti_svm_kernel *kernel, double unit, double largest_square)
{
    const double off = 4 * unit * largest_square, base = kernel->gamma * largest_square + fabs(kernel->coef0);
    switch (kernel->type) {
    case TUTTI_SVM_RBF: return kernel->gamma * off;
    case TUTTI_SVM_SIGMOID: return kernel->gamma * off + fabs(kernel->coef0) * unit;
    case TUTTI_SVM_POLY: return kernel->degree * pow(base, kernel->degree - 1) * (kernel->gamma * off + base * unit);
    default: return off;
    }
}

tutti_svm_precision tutti_svm_precision_for(const tutti_svm_kernel *kernel, double eps, double largest_square)
{
    const double error = error_of(kernel, ldexp(1, -24), largest_square);
    return eps >= 1e-5 && error <= 1e-6 ? TUTTI_SVM_F32 : TUTTI_SVM_F64; /* f64 also if error is NaN */
}

double tutti_svm_kernel_error(const tutti_svm_kernel *kernel, const tutti_svm_data *data)
{
    if (kernel->type != TUTTI_SVM_RBF && kernel->type != TUTTI_SVM_SIGMOID) return 0;
    tutti_svm_kernel known = *kernel;
    if (known.gamma == 0 && data->width > 0) known.gamma = 1.0 / data->width;
    double largest = 0;
    for (int64_t i = 0; i < data->nrows; i++) {
        double square = 0;
        for (int64_t e = data->start[i]; e < data->start[i + 1]; e++) square += data->value[e] * data->value[e];
        if (square > largest) largest = square;
    }
    return error_of(&known, ldexp(1, -53), largest);
}

void tutti_svm_rows_measure(const tutti_svm_data *data, double *square, float *value32)
{
    const tutti_svm_tile_row *row = row_here(value32 ? TUTTI_SVM_F32 : TUTTI_SVM_F64);
    for (int64_t i = 0; i < data->nrows; i++)
        square[i] = row->square(data->value + data->start[i], data->start[i + 1] - data->start[i]);
    for (int64_t e = 0; value32 && e < data->start[data->nrows]; e++) value32[e] = (float)data->value[e];
}

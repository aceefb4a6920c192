/* SPDX-License-Identifier: Apache-2.0 */
/* svm_travel.c: sends rows of some ranks to all ranks. A rank that is alone copies its rows, too: with rows side by
 * side, the kernel matrix of a set takes three fifths of the time that it takes from rows scattered over all of the
 * data.
 *
 * One all-gather with counts: a rank's packet is the squares, then the values in the tile's type, then the indices of
 * its rows, each part padded to 8 bytes. How many entries each row has follows from a count in front of them. */
#include <stdlib.h>
#include <string.h>

#include "svm_context.h"

static int64_t padded(int64_t nbytes)
{
    return (nbytes + 7) / 8 * 8;
}

/* Returns the bytes of a packet, which holds lengths, squares, values and indices of rows. */
static int64_t packet_bytes(const tutti_svm_context *e, int64_t nrows, int64_t entries)
{
    return nrows * 16 + padded(entries * (int64_t)e->value_bytes) + padded(entries * 4);
}

int64_t tutti_svm_row_entries(const tutti_svm_context *e, int64_t row)
{
    return e->data->start[row + 1] - e->data->start[row];
}

static void pack(const tutti_svm_context *e, const int32_t *row, int64_t n, int64_t entries, char *out)
{
    const tutti_svm_rows *r = &e->sources;
    const size_t vb = e->value_bytes;
    int64_t *length = (int64_t *)(void *)out;
    double *square = (double *)(void *)(out + n * 8);
    char *value = out + n * 16, *index = value + padded(entries * (int64_t)vb);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = r->start[row[i]], many = r->start[row[i] + 1] - at;
        length[i] = many, square[i] = r->square[row[i]];
        const void *from = e->precision == TUTTI_SVM_F32 ? (const void *)(r->value32 + at) : r->value + at;
        memcpy(value, from, vb * (size_t)many);
        memcpy(index, r->index + at, 4 * (size_t)many);
        value += vb * (size_t)many, index += 4 * many;
    }
}

/* Makes room for this number of rows and entries in all. */
static void make_room(const tutti_svm_context *e, tutti_svm_store *s, int64_t n, int64_t entries)
{
    const int64_t *old = s->start.at;
    int64_t *start = tutti_svm_buffer_of(&s->start, sizeof *start * (size_t)(n + 1));
    if (!old) start[0] = 0;
    tutti_svm_buffer_of(&s->index, sizeof(int32_t) * (size_t)entries);
    tutti_svm_buffer_of(&s->value, sizeof(double) * (size_t)entries);
    if (e->precision == TUTTI_SVM_F32) tutti_svm_buffer_of(&s->value32, sizeof(float) * (size_t)entries);
    tutti_svm_buffer_of(&s->square, sizeof(double) * (size_t)n);
}

static void append_values(const tutti_svm_context *e, tutti_svm_store *s, const void *values, int64_t at, int64_t n)
{
    double *value = (double *)s->value.at + at;
    if (e->precision == TUTTI_SVM_F64) {
        memcpy(value, values, sizeof *value * (size_t)n);
        return;
    }
    float *value32 = (float *)s->value32.at + at;
    memcpy(value32, values, sizeof *value32 * (size_t)n);
    for (int64_t i = 0; i < n; i++) value[i] = value32[i];
}

static void append(const tutti_svm_context *e, tutti_svm_store *s, const char *packet, int64_t n, int64_t entries)
{
    const int64_t *length = (const int64_t *)(const void *)packet;
    const char *value = packet + n * 16, *index = value + padded(entries * (int64_t)e->value_bytes);
    int64_t *start = s->start.at;
    const int64_t at = start[s->n];
    memcpy((double *)s->square.at + s->n, packet + n * 8, sizeof(double) * (size_t)n);
    memcpy((int32_t *)s->index.at + at, index, sizeof(int32_t) * (size_t)entries);
    append_values(e, s, value, at, entries);
    for (int64_t i = 0; i < n; i++) start[s->n + i + 1] = start[s->n + i] + length[i];
    s->n += n;
}

tutti_status tutti_svm_travel(tutti_svm_context *e, tutti_svm_store *store, const int32_t *row, int64_t n,
                              tutti_failure *err)
{
    const int64_t *rows_of = e->nrows_of, *entries_of = e->entries_of;
    int64_t nbytes = 0, nrows = 0, entries = 0;
    for (int r = 0; r < e->nranks; r++) {
        e->bytes_of[r] = packet_bytes(e, rows_of[r], entries_of[r]);
        nbytes += e->bytes_of[r], nrows += rows_of[r], entries += entries_of[r];
    }
    make_room(e, store, store->n + nrows, entries + (store->n ? ((int64_t *)store->start.at)[store->n] : 0));
    if (nrows == 0) return TUTTI_OK;
    e->account.row_bytes += tutti_svm_row_bytes(e, nrows, entries);
    char *packet = tutti_svm_buffer_of(&e->packet, (size_t)e->bytes_of[e->rank] + 8);
    char *arrivals = e->nranks > 1 ? tutti_svm_buffer_of(&e->arrivals, (size_t)nbytes) : packet;
    pack(e, row, n, entries_of[e->rank], packet);
    const tutti_call call = {.collective = TUTTI_ALL_GATHER,
                             .in = packet,
                             .out = arrivals,
                             .count = e->bytes_of[e->rank],
                             .counts = e->bytes_of,
                             .type = TUTTI_U8};
    const tutti_status st = e->nranks > 1 ? tutti_comm_run(e->comm, &call, err) : TUTTI_OK;
    for (int r = 0; r < e->nranks && !st; arrivals += e->bytes_of[r++])
        append(e, store, arrivals, rows_of[r], entries_of[r]);
    if (e->nranks > 1)
        tutti_svm_charge_moving(&e->account, nbytes);
    else
        tutti_svm_charge(&e->account, TUTTI_SVM_MOVING);
    return st;
}

static void move_down(void *array, size_t bytes, int64_t to, int64_t from, int64_t n)
{
    memmove((char *)array + (size_t)to * bytes, (char *)array + (size_t)from * bytes, (size_t)n * bytes);
}

void tutti_svm_store_keep(tutti_svm_store *s, int32_t *kept)
{
    int64_t n = 0, to = 0, *start = s->start.at;
    for (int64_t i = 0; i < s->n; i++) {
        if (kept[i] < 0) continue;
        const int64_t from = start[i], many = start[i + 1] - from;
        move_down(s->value.at, sizeof(double), to, from, many);
        if (s->value32.at) move_down(s->value32.at, sizeof(float), to, from, many);
        move_down(s->index.at, sizeof(int32_t), to, from, many);
        move_down(s->square.at, sizeof(double), n, i, 1);
        start[n] = to, to += many;
        kept[i] = (int32_t)n++;
    }
    if (s->n) start[n] = to;
    s->n = n;
}

tutti_svm_rows tutti_svm_store_sources(const tutti_svm_store *s)
{
    return (tutti_svm_rows){s->start.at, s->index.at, s->value.at, s->value32.at, s->square.at};
}

tutti_svm_rows tutti_svm_store_targets(const tutti_svm_context *e, tutti_svm_store *s)
{
    if (!e->precomputed) return tutti_svm_store_sources(s);
    const int64_t *start = s->start.at;
    int64_t *first = tutti_svm_buffer_of(&s->unit_start, sizeof *first * (size_t)(s->n + 1));
    int32_t *number = tutti_svm_buffer_of(&s->unit_index, sizeof *number * (size_t)s->n);
    double *one = tutti_svm_buffer_of(&s->unit_value, sizeof *one * (size_t)s->n);
    float *one32 = tutti_svm_buffer_of(&s->unit_value32, sizeof *one32 * (size_t)s->n);
    for (int64_t i = 0; i < s->n; i++) {
        first[i] = i, one[i] = 1, one32[i] = 1;
        number[i] = (int32_t)((double *)s->value.at)[start[i]];
    }
    first[s->n] = s->n;
    return (tutti_svm_rows){first, number, one, one32, one};
}

void tutti_svm_store_release(tutti_svm_store *s)
{
    tutti_svm_buffer *all[] = {&s->start,      &s->index,      &s->value,      &s->value32,     &s->square,
                               &s->unit_start, &s->unit_index, &s->unit_value, &s->unit_value32};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->at);
    *s = (tutti_svm_store){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c: reads samples of any set for one thread. Bytes become floats here; sets that hold no bytes have a read
 * function of their own. A sample that cannot be read ends the run. If bad samples are skipped, the next good sample in
 * the order of the set replaces the bad one, changed by the random numbers of the bad one. This depends only on the
 * files, so it is the same on any rank. */
#include <stdlib.h>

#include "../base/arena.h"
#include "dataset_impl.h"

struct tutti_reader {
    const tutti_dataset *data;
    void *own; /* the state that the set's reader_open returned, for a set that has `read` */
    int64_t nreplaced;
    tutti_failure why; /* why the latest replaced sample could not be read */
};

tutti_reader *tutti_reader_create(const tutti_dataset *d)
{
    tutti_reader *r = tutti_alloc(sizeof *r);
    r->data = d;
    r->own = d->row->read ? d->row->reader_open(d) : NULL;
    return r;
}

void tutti_reader_destroy(tutti_reader *r)
{
    if (!r) return;
    if (r->own) r->data->row->reader_close(r->own);
    free(r);
}

/* Returns the number of the stored sample that is sample `index` of the `count` samples in use. The used samples are
 * spread over the `nstored` stored ones, so that no class is left out. */
static int64_t stored_at(const tutti_dataset *d, int64_t index)
{
    return index * d->nstored / d->count;
}

static tutti_status read_or_replace(tutti_reader *r, tutti_pass pass, int64_t index, float *sample, int32_t *label,
                                    tutti_failure *err)
{
    const tutti_dataset *d = r->data;
    for (int64_t k = 0; k < d->count; k++) {
        const int64_t stored = stored_at(d, (index + k) % d->count);
        tutti_failure why;
        const tutti_status st = d->row->read(d, r->own, pass, index, stored, sample, &why);
        *label = d->row->label(d, stored);
        if (!st) return TUTTI_OK;
        if (!d->skip_bad || st != TUTTI_ERR_DATA) return tutti_fail(err, st, "%s", why.text);
        if (k > 0) continue;
        r->nreplaced++;
        r->why = why;
    }
    return tutti_fail(err, TUTTI_ERR_DATA, "%s; and no other sample of the set can be read", r->why.text);
}

tutti_status tutti_reader_read(tutti_reader *r, tutti_pass pass, int64_t index, float *sample, int32_t *label,
                               tutti_failure *err)
{
    if (r->own) return read_or_replace(r, pass, index, sample, label, err);
    tutti_bytes_read(r->data, pass, index, sample);
    *label = r->data->labels[index % r->data->nstored];
    return TUTTI_OK;
}

int64_t tutti_reader_nreplaced(const tutti_reader *r, const char **why)
{
    *why = r->why.text;
    return r->nreplaced;
}

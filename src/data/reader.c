/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c: one thread's way to the samples of any set. */
#include <stdlib.h>

#include "../base/arena.h"
#include "dataset_impl.h"

struct tutti_reader {
    const tutti_dataset *data;
};

tutti_reader *tutti_reader_create(const tutti_dataset *d)
{
    tutti_reader *r = tutti_alloc(sizeof *r);
    r->data = d;
    return r;
}

void tutti_reader_destroy(tutti_reader *r)
{
    free(r);
}

tutti_status tutti_reader_read(tutti_reader *r, tutti_pass pass, int64_t index, float *sample, int32_t *label,
                               tutti_failure *err)
{
    (void)err;
    tutti_bytes_read(r->data, pass, index, sample);
    *label = r->data->labels[index % r->data->nstored];
    return TUTTI_OK;
}

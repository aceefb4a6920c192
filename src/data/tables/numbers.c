/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.c: shapes and notes that the sets of numbers, csv and npy, share. */
#include "numbers.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* if an input is larger, a note tells the user, because networks work best with inputs near 1 */
static const float LARGE = 10;

tutti_status tutti_numbers_reshape(const tutti_dataset_config *config, const char *path, tutti_shape *shape,
                                   tutti_failure *err)
{
    char have[96], wanted[96];
    if (!config->shape.ndims) return TUTTI_OK;
    tutti_shape_text(shape, have);
    tutti_shape_text(&config->shape, wanted);
    if (tutti_shape_count(shape) != tutti_shape_count(&config->shape))
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: samples have %lld numbers, %s; data.shape %s has %lld", path,
                          (long long)tutti_shape_count(shape), have, wanted,
                          (long long)tutti_shape_count(&config->shape));
    *shape = config->shape;
    return TUTTI_OK;
}

void tutti_numbers_note(const tutti_dataset_config *config, tutti_dataset *d)
{
    char words[TUTTI_MAX_NOTES], shape[96];
    const int64_t count = d->count * tutti_shape_count(&d->shape);
    float largest = 0;
    for (int64_t i = 0; d->numbers && i < count; i++) largest = fmaxf(largest, fabsf(d->numbers[i]));
    tutti_shape_text(&d->shape, shape);
    snprintf(words, sizeof words, "%lld sample%s %s of %d class%s", (long long)d->count, d->count == 1 ? "" : "s",
             shape, d->nclasses, d->nclasses == 1 ? "" : "es");
    tutti_dataset_note(d, words);
    if (largest <= LARGE || config->mean.n || config->std.n) return;
    snprintf(words, sizeof words,
             "numbers reach %g and are taken as they are: 'mean' and 'std' of data bring them near 1", (double)largest);
    tutti_dataset_note(d, words);
}

bool tutti_numbers_has_ending(const char *folder, const char *ending)
{
    DIR *dir = opendir(folder);
    bool found = false;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e && !found; e = readdir(dir)) {
        const size_t n = strlen(e->d_name), m = strlen(ending);
        found = n > m && !strcmp(e->d_name + n - m, ending);
    }
    if (dir) closedir(dir);
    return found;
}

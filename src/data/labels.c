/* SPDX-License-Identifier: Apache-2.0 */
/* labels.c: turns the labels of files into class numbers, which count from 0. The largest label determines the number
 * of classes. */
#include <stdio.h>
#include <string.h>

#include "dataset_impl.h"

int tutti_dataset_first_label(const tutti_dataset *d)
{
    if (!d->labels || !d->nstored) return 0;
    int32_t first = d->labels[0];
    for (int64_t i = 1; i < d->nstored; i++) first = d->labels[i] < first ? d->labels[i] : first;
    return first;
}

const char *tutti_dataset_largest_label(const tutti_dataset *d)
{
    return d->largest_at;
}

void tutti_dataset_note(tutti_dataset *d, const char *words)
{
    const size_t n = strlen(d->notes);
    snprintf(d->notes + n, sizeof d->notes - n, "%s%s", n ? "; " : "", words);
}

static tutti_status refuse(const tutti_label_source *s, int64_t i, int32_t label, int64_t first, tutti_failure *err)
{
    tutti_strbuf at = {0};
    s->place(s->file, i, &at);
    tutti_status st =
        tutti_fail(err, TUTTI_ERR_DATA, "%s: %s: label %d, but data.first_label says that they begin at %lld", s->path,
                   at.text, label, (long long)first);
    tutti_strbuf_release(&at);
    return st;
}

tutti_status tutti_dataset_count_labels(const tutti_dataset_config *config, const tutti_label_source *s,
                                        tutti_dataset *d, tutti_failure *err)
{
    const int64_t first = config->first_label;
    int32_t least = INT32_MAX, most = 0;
    int64_t most_at = 0;
    for (int64_t i = 0; i < d->count; i++) {
        if (d->labels[i] < first) return refuse(s, i, d->labels[i], first, err);
        d->labels[i] -= (int32_t)first;
        least = d->labels[i] < least ? d->labels[i] : least;
        if (d->labels[i] > most) most = d->labels[i], most_at = i;
    }
    d->nclasses = most + 1;
    tutti_strbuf at = {0};
    s->place(s->file, most_at, &at);
    snprintf(d->largest_at, sizeof d->largest_at, "%s: %s: label %lld", s->path, at.text, (long long)most + first);
    tutti_strbuf_release(&at);
    if (!first && least == 1)
        tutti_dataset_note(d,
                           "label 0 never occurs: labels probably count from 1, which 'first_label: 1' of data says");
    return TUTTI_OK;
}

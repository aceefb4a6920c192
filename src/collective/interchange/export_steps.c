/* SPDX-License-Identifier: Apache-2.0 */
/* export_steps.c: lists the messages of a rank's part for the exports. The i-th message on a channel gets the tag i *
 * nchannels + channel, so matching by tags equals matching by channels. */
#include "export_steps.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"

enum { ELEMENT_BYTES = 4 };

tutti_status tutti_export_begin(const tutti_schedule *s, const char *format, int32_t *nchannels, tutti_failure *err)
{
    const tutti_schedule_header *head = tutti_schedule_head(s);
    if (head->wire != TUTTI_WIRE_TWO_SIDED)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "%s: a %s schedule has loads, stores and signals; the format has messages (leave --wire and --hosts out)",
            format, tutti_wire_class_name(head->wire));
    *nchannels = 1;
    for (int32_t rank = 0; rank < head->nranks; rank++) {
        tutti_part part;
        tutti_schedule_part(s, rank, &part);
        for (int32_t i = 0; i < part.nsteps; i++)
            if (part.steps[i].channel >= *nchannels) *nchannels = part.steps[i].channel + 1;
        tutti_part_release(&part);
    }
    return TUTTI_OK;
}

static int64_t slice_bytes(const tutti_slice *s, int64_t n)
{
    const int64_t begin = (int64_t)s->first * n / s->of, end = ((int64_t)s->first + s->count) * n / s->of;
    return (end - begin) * ELEMENT_BYTES;
}

static int64_t step_bytes(const tutti_part *part, const tutti_step *step, int64_t n)
{
    if (!(step->nins + step->nouts)) return 0;
    const int64_t bytes = slice_bytes(&part->slices[step->nins ? step->first_in : step->first_out], n);
    return step->kind == TUTTI_STEP_REDUCE ? bytes * (step->nins - 1) : bytes;
}

typedef struct {
    int32_t peer, channel, step;
} end_of;

static int by_channel(const void *left, const void *right)
{
    const end_of *a = left, *b = right;
    if (a->peer != b->peer) return a->peer < b->peer ? -1 : 1;
    if (a->channel != b->channel) return a->channel < b->channel ? -1 : 1;
    return (a->step > b->step) - (a->step < b->step);
}

static void tag_kind(tutti_export_part *p, tutti_step_kind kind, int32_t nchannels, end_of *ends)
{
    int32_t n = 0, ordinal = 0;
    for (int32_t i = 0; i < p->part.nsteps; i++) {
        const tutti_step *step = &p->part.steps[i];
        if (step->kind == kind) ends[n++] = (end_of){step->peer, step->channel, i};
    }
    if (n) qsort(ends, (size_t)n, sizeof *ends, by_channel);
    for (int32_t i = 0; i < n; i++) {
        const bool same = i && ends[i].peer == ends[i - 1].peer && ends[i].channel == ends[i - 1].channel;
        ordinal = same ? ordinal + 1 : 0;
        p->tag[ends[i].step] = ordinal * nchannels + ends[i].channel;
    }
}

static void find_previous(tutti_export_part *p)
{
    int32_t nsequences = 0;
    for (int32_t i = 0; i < p->part.nsteps; i++)
        if (p->part.steps[i].sequence >= nsequences) nsequences = p->part.steps[i].sequence + 1;
    int32_t *last = tutti_alloc(((size_t)nsequences + 1) * sizeof *last);
    for (int32_t s = 0; s < nsequences; s++) last[s] = -1;
    for (int32_t i = 0; i < p->part.nsteps; i++) {
        p->previous[i] = last[p->part.steps[i].sequence];
        last[p->part.steps[i].sequence] = i;
    }
    free(last);
}

void tutti_export_part_of(const tutti_schedule *s, int32_t rank, int64_t n, int32_t nchannels, tutti_export_part *out)
{
    tutti_schedule_part(s, rank, &out->part);
    const size_t nsteps = (size_t)out->part.nsteps + 1;
    end_of *ends = tutti_alloc(nsteps * sizeof *ends);
    out->bytes = tutti_alloc(nsteps * sizeof *out->bytes);
    out->tag = tutti_alloc(nsteps * sizeof *out->tag);
    out->previous = tutti_alloc(nsteps * sizeof *out->previous);
    for (int32_t i = 0; i < out->part.nsteps; i++) out->bytes[i] = step_bytes(&out->part, &out->part.steps[i], n);
    tag_kind(out, TUTTI_STEP_SEND, nchannels, ends);
    tag_kind(out, TUTTI_STEP_RECV, nchannels, ends);
    find_previous(out);
    free(ends);
}

void tutti_export_part_release(tutti_export_part *p)
{
    tutti_part_release(&p->part);
    free(p->bytes), free(p->tag), free(p->previous);
}

tutti_status tutti_export_write(const char *folder, const char *name, const tutti_strbuf *text, tutti_failure *err)
{
    char *path = tutti_file_in(folder, name);
    tutti_status st = tutti_file_make_dir(folder, err);
    if (st == TUTTI_OK) st = tutti_file_write_atomic(path, text->text, text->length, err);
    free(path);
    return st;
}

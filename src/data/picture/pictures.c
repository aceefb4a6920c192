/* SPDX-License-Identifier: Apache-2.0 */
/* pictures.c: turns picture files into samples for `tutti infer`, in the same way as the test samples of a set. */
#include "pictures.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/text/strbuf.h"
#include "../dataset_impl.h"
#include "../sets/image_folder.h"
#include "image.h"

enum { MAX_FILE = 1 << 28 };

struct tutti_pictures {
    tutti_dataset *set; /* the set as whose samples the pictures are read; it was opened without its own samples */
    void *reader;       /* reader, if the set has read_picture */
    tutti_image *image; /* decoder, if the set has no read_picture */
    uint8_t *bytes;     /* bytes of the current file */
    size_t room;
};

/* ---- opening a set without its samples ---- */

static tutti_status check_shape(const tutti_dataset *d, const tutti_dataset_config *config, tutti_failure *err)
{
    char text[96];
    const int64_t *dim = d->shape.dim;
    const bool square = d->shape.ndims == 3 && dim[0] == 3 && dim[1] == dim[2];
    tutti_shape_text(&d->shape, text);
    if (d->row->pictures && (!square || (config->size && config->size != dim[1])))
        return tutti_fail(err, TUTTI_ERR_USAGE, "the network reads samples of %s, the set %s has [3, size, size]", text,
                          d->row->name);
    if (d->shape.ndims == 3 && (dim[0] == 1 || dim[0] == 3) && dim[1] <= 65500 && dim[2] <= 65500) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "the network reads samples of %s, which are not pictures: those have one channel or three", text);
}

tutti_status tutti_pictures_create(const tutti_dataset_config *config, const tutti_shape *sample, tutti_pictures **out,
                                   tutti_failure *err)
{
    tutti_pictures *p = tutti_alloc(sizeof *p);
    tutti_status st = tutti_dataset_begin(config, &p->set, err);
    if (!st) {
        p->set->shape = *sample;
        st = check_shape(p->set, config, err);
    }
    if (!st) st = tutti_dataset_complete(config, TUTTI_SPLIT_TEST, p->set, err);
    if (!st && p->set->row->read_picture)
        p->reader = p->set->row->reader_open(p->set);
    else if (!st)
        p->image = tutti_image_create();
    if (st)
        tutti_pictures_destroy(p);
    else
        *out = p;
    return st;
}

void tutti_pictures_destroy(tutti_pictures *p)
{
    if (!p) return;
    if (p->reader) p->set->row->reader_close(p->reader);
    tutti_image_destroy(p->image);
    tutti_dataset_destroy(p->set);
    free(p->bytes);
    free(p);
}

/* ---- pictures for sets of bytes ---- */

/* Converts a pixel to grey as Pillow's "L" does, by the weights of ITU-R 601-2 in 65,536ths. Grey pixels do not
 * change. */
static uint8_t grey_of(const uint8_t *rgb)
{
    return (uint8_t)((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

/* Normalises pixels with the same arithmetic as the set's table of bytes, so that the result has the same bits. */
static void normalise(const tutti_dataset *d, const tutti_pixels *in, float *sample)
{
    const int64_t height = d->shape.dim[1], width = d->shape.dim[2];
    for (int c = 0; c < d->nchannels; c++)
        for (int64_t y = 0; y < height; y++)
            for (int64_t x = 0; x < width; x++) {
                const uint8_t *rgb = in->bytes + (y - in->y) * in->stride + (x - in->x) * 3;
                const uint8_t byte = d->nchannels == 1 ? grey_of(rgb) : rgb[c];
                *sample++ = (float)((byte / 255.0 - d->mean[c]) / d->std[c]);
            }
}

static tutti_status read_bytes(tutti_pictures *p, const char *path, float *sample, tutti_failure *err)
{
    const tutti_dataset *d = p->set;
    const int want_height = (int)d->shape.dim[1], want_width = (int)d->shape.dim[2];
    size_t nbytes;
    int size[2];
    tutti_pixels pixels;
    tutti_status st = tutti_image_file_read(path, MAX_FILE, &p->bytes, &p->room, &nbytes, err);
    if (!st) st = tutti_image_open(p->image, path, p->bytes, nbytes, size, err);
    if (st) return st;
    const int width = size[0], height = size[1];
    if (width != want_width || height != want_height)
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: %d x %d pixels; the set %s has %d x %d, and its network reads nothing else: resize it",
                          path, width, height, d->row->name, want_width, want_height);
    const tutti_view whole = {{0, width, 0, width, width}, {0, height, 0, height, height}};
    st = tutti_image_decode(p->image, &whole, &pixels, err);
    if (!st) normalise(d, &pixels, sample);
    return st;
}

tutti_status tutti_pictures_read(tutti_pictures *p, const char *path, float *sample, tutti_failure *err)
{
    return p->reader ? p->set->row->read_picture(p->set, p->reader, path, sample, err)
                     : read_bytes(p, path, sample, err);
}

/* ---- finding picture files ---- */

void tutti_names_add(tutti_names *l, const char *name)
{
    if (l->n == l->room) {
        l->room = l->room ? l->room * 2 : 64;
        l->name = tutti_realloc(l->name, sizeof *l->name * (size_t)l->room);
    }
    l->name[l->n++] = strdup(name);
}

void tutti_names_release(tutti_names *l)
{
    for (int64_t i = 0; i < l->n; i++) free(l->name[i]);
    free(l->name);
    *l = (tutti_names){0};
}

tutti_status tutti_pictures_find(const char *path, tutti_names *out, tutti_strbuf *words, tutti_failure *err)
{
    if (!tutti_file_is_folder(path)) {
        tutti_names_add(out, path);
        return TUTTI_OK;
    }
    const int64_t before = out->n;
    tutti_left_out left = {0};
    tutti_strbuf said = {0};
    tutti_status st = tutti_image_folder_walk(path, false, out, &left, err);
    tutti_left_out_say(&left, &said);
    if (!st && out->n == before)
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no .jpg, .jpeg or .png file in it or below it; %s", path, said.text);
    else if (!st && left.n)
        tutti_strbuf_printf(words, "%s: %s", path, said.text);
    tutti_strbuf_release(&said);
    return st;
}

/* ---- names of classes ---- */

tutti_status tutti_class_names(const tutti_dataset_config *config, tutti_names *out, tutti_failure *err)
{
    tutti_dataset *d;
    tutti_status st = tutti_dataset_begin(config, &d, err);
    if (st) return st;
    const tutti_dataset_row *row = d->row;
    for (int i = 0; row->class_names && row->class_names[i]; i++) tutti_names_add(out, row->class_names[i]);
    if (row->read_class_names) st = row->read_class_names(config, out, err);
    if (st) tutti_names_release(out);
    tutti_dataset_destroy(d);
    return st;
}

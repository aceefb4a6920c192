/* SPDX-License-Identifier: Apache-2.0 */
/* images.c: the set `images`: a folder of pictures, each decoded, cropped, resampled, mirrored and normalised when it
 * is read.
 *
 * Training samples: a random box with 8 to 100 % of the area and a ratio of sides of 3/4 to 4/3 is chosen, with up to
 * ten tries until it fits into the picture (Szegedy et al. 2015, as PyTorch's RandomResizedCrop). The box is cut out,
 * resampled, and mirrored with probability 1/2. Test samples: the short side becomes size * 256 / 224, and the middle
 * is taken. Random numbers are a function of (seed, epoch, sample). Memory holds only the names. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/hash.h"
#include "../../base/rng.h"
#include "../../base/text/strbuf.h"
#include "../dataset_impl.h"
#include "../picture/image.h"
#include "image_folder.h"

enum { DEFAULT_SIZE = 224, NTRIES = 10, DRAWS = 16, FLIP_DRAW = 15, MAX_FILE = 1 << 28 };

/* One thread's decoder and buffers. */
typedef struct {
    tutti_image *image;
    tutti_resampler *resampler;
    uint8_t *bytes; /* bytes of the current file */
    size_t room;
    tutti_strbuf path;
    float scale[3], shift[3];
} picture_reader;

static void note(const tutti_image_folder *f, char notes[TUTTI_MAX_NOTES])
{
    tutti_strbuf words = {0};
    tutti_strbuf_printf(&words, "%lld picture%s of %d class%s; ", (long long)f->nfiles, f->nfiles == 1 ? "" : "s",
                        f->nfound, f->nfound == 1 ? "" : "es");
    if (f->left.ntaken)
        tutti_strbuf_printf(&words, "%lld of them have another ending than what they hold; ",
                            (long long)f->left.ntaken);
    tutti_left_out_say(&f->left, &words);
    snprintf(notes, TUTTI_MAX_NOTES, "%s", words.text);
    tutti_strbuf_release(&words);
}

static tutti_status open_images(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                                tutti_failure *err)
{
    const int64_t size = config->size ? config->size : DEFAULT_SIZE;
    tutti_image_folder *folder = NULL;
    tutti_status st = tutti_image_folder_open(config->path, split == TUTTI_SPLIT_TRAIN, &folder, err);
    if (st) return st;
    d->own = folder;
    d->shape = (tutti_shape){.ndims = 3, .dim = {3, size, size}};
    d->nclasses = folder->nclasses;
    d->nstored = folder->nfiles;
    note(folder, d->notes);
    return tutti_dataset_take(config, split, config->path, folder->nfiles, &d->count, err);
}

static void close_images(tutti_dataset *d)
{
    tutti_image_folder_close(d->own);
}

static void *open_reader(const tutti_dataset *d)
{
    picture_reader *r = tutti_alloc(sizeof *r);
    r->image = tutti_image_create();
    r->resampler = tutti_resampler_create();
    for (int c = 0; c < 3; c++) {
        r->scale[c] = (float)(1 / (255 * d->std[c]));
        r->shift[c] = (float)(-d->mean[c] / d->std[c]);
    }
    return r;
}

static void close_reader(void *reader)
{
    picture_reader *r = reader;
    tutti_image_destroy(r->image);
    tutti_resampler_destroy(r->resampler);
    tutti_strbuf_release(&r->path);
    free(r->bytes);
    free(r);
}

/* ---- the part of a picture that is used ---- */

static double unit(uint32_t word)
{
    return word * 0x1p-32;
}

static tutti_axis axis_crop(int begin, int length, int out)
{
    return (tutti_axis){begin, begin + length, begin, begin + length, out};
}

/* Returns the box that is used if no drawn box fits: the largest one in the middle whose ratio of sides is allowed. */
static tutti_view view_fallback(int width, int height, int size)
{
    const int w = width * 3 > height * 4 ? (height * 4 + 1) / 3 : width;
    const int h = height * 3 > width * 4 ? (width * 4 + 1) / 3 : height;
    return (tutti_view){axis_crop((width - w) / 2, w, size), axis_crop((height - h) / 2, h, size)};
}

static tutti_view view_random(tutti_pass pass, int64_t index, int width, int height, int size)
{
    const double area = (double)width * height, narrowest = log(3.0 / 4.0), widest = log(4.0 / 3.0);
    for (uint64_t k = 0; k < NTRIES; k++) {
        const tutti_random4 r =
            tutti_random(pass.seed, TUTTI_STREAM_AUGMENT, (uint64_t)pass.epoch, (uint64_t)index * DRAWS + k);
        const double part = area * (0.08 + 0.92 * unit(r.word[0]));
        const double ratio = exp(narrowest + (widest - narrowest) * unit(r.word[1]));
        const int w = (int)lround(sqrt(part * ratio)), h = (int)lround(sqrt(part / ratio));
        if (w < 1 || h < 1 || w > width || h > height) continue;
        return (tutti_view){axis_crop((int)((uint64_t)r.word[2] * (uint64_t)(width - w + 1) >> 32), w, size),
                            axis_crop((int)((uint64_t)r.word[3] * (uint64_t)(height - h + 1) >> 32), h, size)};
    }
    return view_fallback(width, height, size);
}

/* Returns the axis for "resize, then crop": `length` pixels are resized to `resized` pixels, and the middle `size` of
 * these are taken. */
static tutti_axis axis_middle(int length, int64_t resized, int size)
{
    const double step = (double)length / (double)resized;
    const double first = (double)((resized - size + 1) / 2);
    return (tutti_axis){first * step, (first + size) * step, 0, length, size};
}

static tutti_view view_middle(int width, int height, int size)
{
    const int64_t side = ((int64_t)size * 256 + 112) / 224;
    const int64_t w = width <= height ? side : side * width / height,
                  h = width <= height ? side * height / width : side;
    return (tutti_view){axis_middle(width, w, size), axis_middle(height, h, size)};
}

static bool is_mirrored(const tutti_dataset *d, tutti_pass pass, int64_t index)
{
    if (!d->flip) return false;
    return tutti_random(pass.seed, TUTTI_STREAM_AUGMENT, (uint64_t)pass.epoch, (uint64_t)index * DRAWS + FLIP_DRAW)
               .word[0] >>
           31;
}

static tutti_status open_picture(picture_reader *r, const char *path, int size[2], tutti_failure *err)
{
    size_t nbytes;
    tutti_status st = tutti_image_file_read(path, MAX_FILE, &r->bytes, &r->room, &nbytes, err);
    return st ? st : tutti_image_open(r->image, path, r->bytes, nbytes, size, err);
}

static tutti_status read_sample(const tutti_dataset *d, void *reader, tutti_pass pass, int64_t index, int64_t stored,
                                float *sample, tutti_failure *err)
{
    picture_reader *r = reader;
    const int size = (int)d->shape.dim[1];
    int of[2];
    tutti_pixels pixels;
    tutti_image_folder_path(d->own, stored, &r->path);
    tutti_status st = open_picture(r, r->path.text, of, err);
    if (st) return st;
    const tutti_view view = d->crop ? view_random(pass, index, of[0], of[1], size) : view_middle(of[0], of[1], size);
    st = tutti_image_decode(r->image, &view, &pixels, err);
    if (!st) tutti_resample(r->resampler, &pixels, r->scale, r->shift, is_mirrored(d, pass, index), sample);
    return st;
}

static tutti_status read_picture(const tutti_dataset *d, void *reader, const char *path, float *sample,
                                 tutti_failure *err)
{
    picture_reader *r = reader;
    int of[2];
    tutti_pixels pixels;
    tutti_status st = open_picture(r, path, of, err);
    if (st) return st;
    const tutti_view view = view_middle(of[0], of[1], (int)d->shape.dim[1]);
    st = tutti_image_decode(r->image, &view, &pixels, err);
    if (!st) tutti_resample(r->resampler, &pixels, r->scale, r->shift, false, sample);
    return st;
}

static int32_t label_of(const tutti_dataset *d, int64_t stored)
{
    return ((const tutti_image_folder *)d->own)->labels[stored];
}

static void hash_stored(const tutti_dataset *d, int64_t stored, tutti_hasher *h)
{
    uint8_t *bytes = NULL;
    size_t room = 0, nbytes;
    tutti_strbuf path = {0};
    tutti_image_folder_path(d->own, stored, &path);
    if (!tutti_image_file_read(path.text, MAX_FILE, &bytes, &room, &nbytes, NULL)) tutti_hasher_add(h, bytes, nbytes);
    tutti_strbuf_release(&path);
    free(bytes);
}

static tutti_status read_class_names(const tutti_dataset_config *config, tutti_names *out, tutti_failure *err)
{
    return tutti_image_folder_classes(config->path, out, err);
}

const tutti_dataset_row tutti_dataset_images = {
    .name = "images",
    .help = "folders of JPEG and PNG files below data.path: train/CLASS, test/CLASS",
    .mean = {0.485, 0.456, 0.406},
    .std = {0.229, 0.224, 0.225},
    .files = "train/CLASS/*.jpg, .jpeg, .png, test/CLASS/... or val/CLASS/...",
    .pictures = true,
    .open = open_images,
    .close = close_images,
    .reader_open = open_reader,
    .reader_close = close_reader,
    .read = read_sample,
    .label = label_of,
    .hash_stored = hash_stored,
    .read_picture = read_picture,
    .read_class_names = read_class_names,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* image.c: tells JPEG from PNG by the first bytes, and what is too large to be believed. */
#include "image.h"

#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "image_impl.h"

tutti_image *tutti_image_create(void)
{
    tutti_image *im = tutti_alloc(sizeof *im);
    tutti_jpeg_init(im);
    return im;
}

void tutti_image_destroy(tutti_image *im)
{
    if (!im) return;
    tutti_jpeg_release(im);
    tutti_png_release(im);
    free(im->rows);
    free(im);
}

void tutti_image_reserve(tutti_image *im, int64_t width, int64_t height)
{
    const size_t need = (size_t)(width * height * 3) + TUTTI_IMAGE_SLACK;
    if (need <= im->room) return;
    free(im->rows);
    im->rows = tutti_alloc(need);
    im->room = need;
}

tutti_status tutti_image_open(tutti_image *im, const char *name, const uint8_t *bytes, size_t nbytes, int *width,
                              int *height, tutti_failure *err)
{
    static const uint8_t jpeg[3] = {0xff, 0xd8, 0xff}, png[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    im->name = name;
    im->bytes = bytes;
    im->nbytes = nbytes;
    im->at = 0;
    im->is_png = nbytes >= sizeof png && !memcmp(bytes, png, sizeof png);
    if (!im->is_png && (nbytes < sizeof jpeg || memcmp(bytes, jpeg, sizeof jpeg) != 0))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: byte 0: neither a JPEG nor a PNG file", name);
    tutti_status st = im->is_png ? tutti_png_open(im, err) : tutti_jpeg_open(im, err);
    if (st) return st;
    if ((int64_t)im->width * im->height > TUTTI_IMAGE_MAX_PIXELS)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: %d x %d pixels; at most %d in all", name, im->width, im->height,
                          TUTTI_IMAGE_MAX_PIXELS);
    *width = im->width;
    *height = im->height;
    return TUTTI_OK;
}

tutti_status tutti_image_decode(tutti_image *im, const tutti_view *view, tutti_pixels *out, tutti_failure *err)
{
    return im->is_png ? tutti_png_decode(im, view, out, err) : tutti_jpeg_decode(im, view, out, err);
}

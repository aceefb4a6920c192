/* SPDX-License-Identifier: Apache-2.0 */
/* image.c: opens and decodes pictures: recognises JPEG and PNG by the first bytes, and refuses pictures that are too
 * large. */
#include "image.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
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

static const uint8_t jpeg_head[3] = {0xff, 0xd8, 0xff}, png_head[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

static bool is_png(const uint8_t *bytes, size_t nbytes)
{
    return nbytes >= sizeof png_head && !memcmp(bytes, png_head, sizeof png_head);
}

bool tutti_image_is_known(const uint8_t *bytes, size_t nbytes)
{
    return is_png(bytes, nbytes) || (nbytes >= sizeof jpeg_head && !memcmp(bytes, jpeg_head, sizeof jpeg_head));
}

/* Recognises some other formats by the file's beginning and says what to do: "a WebP picture: convert it". */
static const char *say_format(const uint8_t *bytes, size_t nbytes)
{
    static const struct {
        size_t at;
        const char *head, *words;
    } formats[] = {{8, "WEBP", "this is a WebP picture: convert it to JPEG or PNG"},
                   {0, "GIF8", "this is a GIF picture: convert it to JPEG or PNG"},
                   {0, "BM", "this is a BMP picture: convert it to JPEG or PNG"},
                   {0, "II*", "this is a TIFF picture: convert it to JPEG or PNG"},
                   {0, "MM", "this is a TIFF picture: convert it to JPEG or PNG"},
                   {0, "P5", "this is a PGM picture: convert it to JPEG or PNG"},
                   {0, "P6", "this is a PPM picture: convert it to JPEG or PNG"},
                   {4, "ftyp", "this is a HEIC or AVIF picture: convert it to JPEG or PNG"},
                   {0, "<", "this is a page or a drawing in text, no picture of pixels"},
                   {0, "version https://git-lfs", "this only says where a file is kept: run 'git lfs pull'"}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const size_t n = strlen(formats[i].head);
        if (nbytes >= formats[i].at + n && !memcmp(bytes + formats[i].at, formats[i].head, n)) return formats[i].words;
    }
    return nbytes ? "" : "the file is empty";
}

tutti_status tutti_image_open(tutti_image *im, const char *name, const uint8_t *bytes, size_t nbytes, int size[2],
                              tutti_failure *err)
{
    im->name = name;
    im->bytes = bytes;
    im->nbytes = nbytes;
    im->at = 0;
    im->is_png = is_png(bytes, nbytes);
    if (!tutti_image_is_known(bytes, nbytes)) {
        const char *words = say_format(bytes, nbytes);
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: byte 0: neither a JPEG nor a PNG file%s%s", name,
                          *words ? "; " : "", words);
    }
    tutti_status st = im->is_png ? tutti_png_open(im, err) : tutti_jpeg_open(im, err);
    if (st) return st;
    if ((int64_t)im->width * im->height > TUTTI_IMAGE_MAX_PIXELS)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: %d x %d pixels; at most %d in all", name, im->width, im->height,
                          TUTTI_IMAGE_MAX_PIXELS);
    size[0] = im->width;
    size[1] = im->height;
    return TUTTI_OK;
}

tutti_status tutti_image_decode(tutti_image *im, const tutti_view *view, tutti_pixels *out, tutti_failure *err)
{
    return im->is_png ? tutti_png_decode(im, view, out, err) : tutti_jpeg_decode(im, view, out, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* image_png.c: decodes PNG through libpng, always the whole picture: 1 to 16 bits, grey, palette, colour, with or
 * without alpha or interlacing, become 8-bit RGB. Sixteen bits are rounded; alpha is dropped, not blended (as Pillow's
 * convert("RGB")); gamma is ignored. */
#include <stdlib.h>
#include <string.h>

#include "image_impl.h"

enum { SIGNATURE = 8, DEFLATE_MOST = 1032, CHUNK_MOST = 8 << 20, CHUNKS = 1000 };

static void leave(png_structp png, png_const_charp words)
{
    tutti_image *im = png_get_error_ptr(png);
    snprintf(im->png_words, sizeof im->png_words, "%s", words);
    longjmp(im->png_back, 1);
}

static void warned(png_structp png, png_const_charp words)
{
    (void)png;
    (void)words;
}

static void read_bytes(png_structp png, png_bytep into, size_t n)
{
    tutti_image *im = png_get_io_ptr(png);
    if (n > im->nbytes - im->at) png_error(png, "the file ends early");
    memcpy(into, im->bytes + im->at, n);
    im->at += n;
}

void tutti_png_release(tutti_image *im)
{
    if (im->png) png_destroy_read_struct(&im->png, &im->png_info, NULL);
    im->png = NULL;
    im->png_info = NULL;
}

static tutti_status refused(tutti_image *im, tutti_failure *err)
{
    tutti_png_release(im);
    return tutti_fail(err, TUTTI_ERR_DATA, "%s: byte %zu: %s", im->name, im->at, im->png_words);
}

tutti_status tutti_png_open(tutti_image *im, tutti_failure *err)
{
    tutti_png_release(im);
    if (setjmp(im->png_back)) return refused(im, err);
    im->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, im, leave, warned);
    im->png_info = im->png ? png_create_info_struct(im->png) : NULL;
    if (!im->png_info) {
        tutti_png_release(im);
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s: libpng has no memory", im->name);
    }
    png_set_user_limits(im->png, TUTTI_IMAGE_MAX_SIDE, TUTTI_IMAGE_MAX_SIDE);
    png_set_chunk_malloc_max(im->png, CHUNK_MOST);
    png_set_chunk_cache_max(im->png, CHUNKS);
    png_set_read_fn(im->png, im, read_bytes);
    png_read_info(im->png, im->png_info);
    im->width = (int)png_get_image_width(im->png, im->png_info);
    im->height = (int)png_get_image_height(im->png, im->png_info);
    const int64_t need = (int64_t)png_get_rowbytes(im->png, im->png_info) * im->height;
    if (need / DEFLATE_MOST > (int64_t)im->nbytes)
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: byte %d: the header promises %d x %d pixels; %zu bytes cannot hold them", im->name,
                          SIGNATURE + 8, im->width, im->height, im->nbytes);
    return TUTTI_OK;
}

/* Makes libpng leave the pixels of a palette picture as indices. libpng itself would silently turn an index beyond the
 * palette into black. */
static void make_numbers(tutti_image *im)
{
    png_set_packing(im->png);
}

/* Turns the palette indices, which lie at the beginning of each row, into colours. The loop goes from the last to the
 * first, so that no colour overwrites an index that is still needed. */
static void look_up(tutti_image *im, int64_t stride)
{
    png_colorp palette = NULL;
    int ncolours = 0;
    png_get_PLTE(im->png, im->png_info, &palette, &ncolours);
    for (int64_t y = 0; y < im->height; y++) {
        uint8_t *row = im->rows + y * stride;
        for (int64_t x = im->width - 1; x >= 0; x--) {
            const int number = row[x];
            if (number >= ncolours) png_error(im->png, "a pixel has a colour beyond the palette");
            row[3 * x] = palette[number].red;
            row[3 * x + 1] = palette[number].green;
            row[3 * x + 2] = palette[number].blue;
        }
    }
}

static void make_rgb(tutti_image *im)
{
    png_set_expand(im->png); /* grey pixels of fewer than 8 bits become bytes */
    png_set_scale_16(im->png);
    png_set_strip_alpha(im->png);
    png_set_gray_to_rgb(im->png);
}

tutti_status tutti_png_decode(tutti_image *im, const tutti_view *view, tutti_pixels *out, tutti_failure *err)
{
    const int64_t stride = (int64_t)im->width * 3;
    const bool numbers = png_get_color_type(im->png, im->png_info) == PNG_COLOR_TYPE_PALETTE;
    if (setjmp(im->png_back)) return refused(im, err);
    (numbers ? make_numbers : make_rgb)(im);
    const int npasses = png_set_interlace_handling(im->png);
    png_read_update_info(im->png, im->png_info);
    if ((int64_t)png_get_rowbytes(im->png, im->png_info) != (numbers ? im->width : stride))
        png_error(im->png, "rows are not RGB");
    tutti_image_reserve(im, im->width, im->height);
    for (int pass = 0; pass < npasses; pass++)
        for (int64_t y = 0; y < im->height; y++) png_read_row(im->png, im->rows + y * stride, NULL);
    png_read_end(im->png, NULL);
    if (numbers) look_up(im, stride);
    tutti_png_release(im);
    *out = (tutti_pixels){
        .bytes = im->rows, .stride = stride, .width = im->width, .height = im->height, .scale = 1, .view = *view};
    return TUTTI_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* image_jpeg.c: decodes JPEG through libjpeg-turbo, no more of it than a view needs.
 *
 * This file decodes fewer coefficients (1/2, 1/4, 1/8 of the size; libjpeg-turbo has no vector code for the other
 * eighths), fewer columns (jpeg_crop_scanline) and fewer rows (jpeg_skip_scanlines; rows below the box are not even
 * entropy-decoded). Chroma is interpolated over neighbouring pixels, so MARGIN more pixels are decoded on each side:
 * the box itself has the bytes of a full decode (a test compares them). A file that libjpeg-turbo calls corrupt is
 * refused; its other warnings (stray bytes between segments, odd markers) are ignored. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>

#include "image_impl.h"

enum {
    MARGIN = 4,
    MAX_SCANS = 200,
    /* largest number of pixels for each byte of the file: the densest encoding has one bit for a block of 64 pixels */
    PIXELS_A_BYTE = 512
};

static void leave(j_common_ptr c)
{
    tutti_jpeg_errors *e = (tutti_jpeg_errors *)(void *)c->err;
    c->err->format_message(c, e->words);
    longjmp(e->back, 1);
}

static void warned(j_common_ptr c, int level)
{
    if (level >= 0) return;
    switch (c->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC: leave(c); break;
    default: break;
    }
}

static void say_nothing(j_common_ptr c)
{
    (void)c;
}

/* Refuses a file with more than MAX_SCANS scans. A progressive file may have any number of scans, and each goes over
 * all blocks of pixels. */
static void scans_limit(j_common_ptr c)
{
    if (c->is_decompressor && ((j_decompress_ptr)c)->input_scan_number > MAX_SCANS) {
        c->err->msg_code = JERR_BAD_PROGRESSION;
        leave(c);
    }
}

void tutti_jpeg_init(tutti_image *im)
{
    im->jpeg.err = jpeg_std_error(&im->jpeg_errors.base);
    im->jpeg_errors.base.error_exit = leave;
    im->jpeg_errors.base.emit_message = warned;
    im->jpeg_errors.base.output_message = say_nothing;
    if (setjmp(im->jpeg_errors.back)) return; /* there is no memory for a decoder; opening a file will report that */
    jpeg_create_decompress(&im->jpeg);
    im->jpeg_progress.progress_monitor = scans_limit;
    im->jpeg.progress = &im->jpeg_progress;
}

void tutti_jpeg_release(tutti_image *im)
{
    jpeg_destroy_decompress(&im->jpeg);
}

static int64_t position(const tutti_image *im)
{
    return im->jpeg.src && im->jpeg.src->next_input_byte >= im->bytes &&
                   im->jpeg.src->next_input_byte <= im->bytes + im->nbytes
               ? im->jpeg.src->next_input_byte - im->bytes
               : (int64_t)im->nbytes;
}

static tutti_status refused(tutti_image *im, tutti_failure *err)
{
    tutti_status st =
        tutti_fail(err, TUTTI_ERR_DATA, "%s: byte %lld: %s", im->name, (long long)position(im), im->jpeg_errors.words);
    jpeg_abort_decompress(&im->jpeg);
    return st;
}

tutti_status tutti_jpeg_open(tutti_image *im, tutti_failure *err)
{
    struct jpeg_decompress_struct *j = &im->jpeg;
    if (setjmp(im->jpeg_errors.back)) return refused(im, err);
    jpeg_abort_decompress(j); /* drops the state that an earlier picture left */
    jpeg_mem_src(j, im->bytes, im->nbytes);
    jpeg_read_header(j, TRUE);
    im->width = (int)j->image_width;
    im->height = (int)j->image_height;
    if ((int64_t)im->width * im->height / PIXELS_A_BYTE > (int64_t)im->nbytes)
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: byte %lld: the header promises %d x %d pixels; %zu bytes cannot hold them", im->name,
                          (long long)position(im), im->width, im->height, im->nbytes);
    const bool four = j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK;
    j->out_color_space = four ? JCS_CMYK : JCS_RGB;
    return TUTTI_OK;
}

/* Converts an axis to pixels of the picture at 1 / scale of its size, whose pixel i comes from the pixels [i * scale,
 * (i + 1) * scale) of the whole picture. */
static void axis_shrink(tutti_axis *a, int scale)
{
    a->begin /= scale;
    a->end /= scale;
    a->lo /= scale;
    a->hi = (a->hi + scale - 1) / scale;
}

static int axis_scale(const tutti_axis *a)
{
    int scale = 8;
    while (scale > 1 && (a->end - a->begin) / scale < a->out) scale /= 2;
    return scale;
}

/* Finds the pixels [*first, *end) that the view uses along this axis. */
static void axis_cover(const tutti_axis *a, int *first, int *end)
{
    const double reach = tutti_resample_reach(a);
    *first = (int)floor(a->begin - reach);
    *end = (int)ceil(a->end + reach);
    if (*first < a->lo) *first = a->lo;
    if (*end > a->hi) *end = a->hi;
}

/* Returns a * b / 255, rounded as Pillow rounds it. */
static int product_of(int a, int b)
{
    const int t = a * b + 128;
    return ((t >> 8) + t) >> 8;
}

/* Converts the four inks of each pixel of a row to three colours, in place. Inks are always read as inverted, which is
 * how Adobe writes them. Files without Adobe's segment come from the same programs and have lost the segment; Pillow
 * and browsers read them as inverted too. */
static void row_from_cmyk(uint8_t *row, int width)
{
    const uint8_t *from = row;
    for (int x = 0; x < width; x++, from += 4)
        for (int c = 0, light = from[3]; c < 3; c++) *row++ = (uint8_t)(light - product_of(255 - from[c], light));
}

/* Reads rows [y, end), only the columns that jpeg_crop_scanline has selected. */
static void rows_read(tutti_image *im, int y, int end, int64_t stride)
{
    struct jpeg_decompress_struct *j = &im->jpeg;
    if (y > 0) jpeg_skip_scanlines(j, (JDIMENSION)y);
    uint8_t *row = im->rows;
    while ((int)j->output_scanline < end) {
        jpeg_read_scanlines(j, &row, 1);
        if (j->out_color_space == JCS_CMYK) row_from_cmyk(row, (int)j->output_width);
        row += stride;
    }
}

/* Returns false for a file that was cut off: no end-of-image marker follows the bytes that were read. */
static bool goes_on_to_its_end(const tutti_image *im)
{
    const uint8_t *first = im->bytes + position(im), *at = im->bytes + im->nbytes;
    if (first > im->bytes + 2) first -= 2; /* libjpeg may have read the two bytes of the marker already */
    for (at -= 2; at >= first; at--)
        if (at[0] == 0xff && at[1] == JPEG_EOI) return true;
    return im->jpeg.unread_marker == JPEG_EOI;
}

tutti_status tutti_jpeg_decode(tutti_image *im, const tutti_view *view, tutti_pixels *out, tutti_failure *err)
{
    struct jpeg_decompress_struct *j = &im->jpeg;
    const int sx = axis_scale(&view->x), sy = axis_scale(&view->y);
    *out = (tutti_pixels){.scale = sx < sy ? sx : sy, .view = *view};
    if (setjmp(im->jpeg_errors.back)) return refused(im, err);
    j->scale_num = 1;
    j->scale_denom = (unsigned)out->scale;
    jpeg_start_decompress(j);
    const int whole_width = (int)j->output_width;
    int x0, x1, y0, y1;
    axis_shrink(&out->view.x, out->scale);
    axis_shrink(&out->view.y, out->scale);
    axis_cover(&out->view.x, &x0, &x1);
    axis_cover(&out->view.y, &y0, &y1);
    x0 = x0 > MARGIN ? x0 - MARGIN : 0;
    x1 = x1 < whole_width - MARGIN ? x1 + MARGIN : whole_width;
    JDIMENSION first = (JDIMENSION)x0, width = (JDIMENSION)(x1 - x0);
    if (width < (JDIMENSION)whole_width) jpeg_crop_scanline(j, &first, &width);
    out->x = (int)first;
    out->y = y0;
    out->width = (int)width;
    out->height = y1 - y0;
    out->stride = (int64_t)width * (j->out_color_space == JCS_CMYK ? 4 : 3);
    tutti_image_reserve(im, (out->stride + 2) / 3, out->height);
    out->bytes = im->rows;
    rows_read(im, y0, y1, out->stride);
    const bool whole = goes_on_to_its_end(im);
    jpeg_abort_decompress(j);
    return whole ? TUTTI_OK
                 : tutti_fail(err, TUTTI_ERR_DATA, "%s: byte %zu: the file ends before its end-of-image marker",
                              im->name, im->nbytes);
}

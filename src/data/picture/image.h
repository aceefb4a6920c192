/* SPDX-License-Identifier: Apache-2.0 */
/* image.h: decodes JPEG and PNG files to RGB bytes and resamples a box of them to floats.
 *
 * A picture is opened (its header is read), then decoded for a view, which says what part of it becomes how many
 * pixels. A JPEG is decoded at 1/2, 1/4 or 1/8 of its size if that still has enough pixels for the view (by an inverse
 * DCT of some of the coefficients). The decoder computes only pixels around the view's box, and rows below the box are
 * not read. A file that is not a complete JPEG or PNG is TUTTI_ERR_DATA, with its name: a JPEG must reach an
 * end-of-image marker, a PNG's checksums must be right. Private to src/data. Threads: one at a time. */
#ifndef TUTTI_DATA_IMAGE_H
#define TUTTI_DATA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti/failure.h"

/* One axis of a view, in pixels of the file. The interval [begin, end) becomes `out` pixels. The resampling filter may
 * use only pixels of [lo, hi). [lo, hi) is the whole picture for "resize, then crop", and the interval itself for
 * "crop, then resize". */
typedef struct {
    double begin, end;
    int lo, hi, out;
} tutti_axis;
typedef struct {
    tutti_axis x, y;
} tutti_view;

/* The decoded pixels: rows of RGB bytes. They are the pixels [x, x + width) x [y, y + height) of the picture at 1/scale
 * of its size; `view` is the view in these pixels. `bytes` belongs to the image and has room for TUTTI_IMAGE_SLACK
 * bytes after the last row. */
enum { TUTTI_IMAGE_SLACK = 64 };
typedef struct {
    const uint8_t *bytes;
    int64_t stride;
    int x, y, width, height, scale;
    tutti_view view;
} tutti_pixels;

typedef struct tutti_image tutti_image;
tutti_image *tutti_image_create(void); /* makes a decoder with its buffers, which decodes one picture after another */
void tutti_image_destroy(tutti_image *im);
bool tutti_image_is_known(const uint8_t *bytes, size_t nbytes); /* true if the bytes begin like a JPEG or a PNG */
/* Opens a picture: reads its header. bytes must stay until the picture is decoded or another one is opened. name: for
 * messages. size: receives width and height. */
tutti_status tutti_image_open(tutti_image *im, const char *name, const uint8_t *bytes, size_t nbytes, int size[2],
                              tutti_failure *err);
/* Decodes the open picture; call once after each open. *out is valid until the next open. */
tutti_status tutti_image_decode(tutti_image *im, const tutti_view *view, tutti_pixels *out, tutti_failure *err);

/* A resampler uses a triangle filter that reaches as far as one pixel of the output or of the input, whichever is
 * larger (Pillow's BILINEAR). The resampler works along y, then along x. out: three planes of y.out x x.out floats,
 * byte * scale[c] + shift[c], mirrored left to right if `mirrored`. */
typedef struct tutti_resampler tutti_resampler;
tutti_resampler *tutti_resampler_create(void); /* makes a resampler with its buffers */
void tutti_resampler_destroy(tutti_resampler *r);
void tutti_resample(tutti_resampler *r, const tutti_pixels *in, const float scale[3], const float shift[3],
                    bool mirrored, float *out);
/* Returns how far the filter reaches beyond [begin, end), in input pixels. */
double tutti_resample_reach(const tutti_axis *axis);

#endif

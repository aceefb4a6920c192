/* SPDX-License-Identifier: Apache-2.0 */
/* image_impl.h: declarations that the decoders of JPEG and PNG share. Both libraries report errors by longjmp. So each
 * function that calls a library calls setjmp itself. Such a function keeps all its data in the image and owns no memory
 * during the call. */
#ifndef TUTTI_DATA_IMAGE_IMPL_H
#define TUTTI_DATA_IMAGE_IMPL_H

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>
#include <png.h>

#include "image.h"

enum { TUTTI_IMAGE_MAX_SIDE = 65500, TUTTI_IMAGE_MAX_PIXELS = 1 << 27 };

typedef struct {
    struct jpeg_error_mgr base;
    jmp_buf back;
    char words[JMSG_LENGTH_MAX];
} tutti_jpeg_errors;

struct tutti_image {
    const char *name;
    const uint8_t *bytes;
    size_t nbytes, at; /* nbytes: size of the file; at: number of its bytes that were read so far (PNG) */
    int width, height;
    bool is_png;
    uint8_t *rows; /* decoded pixels, grown as needed */
    size_t room;
    struct jpeg_decompress_struct jpeg;
    struct jpeg_progress_mgr jpeg_progress;
    tutti_jpeg_errors jpeg_errors;
    png_structp png;
    png_infop png_info;
    jmp_buf png_back;
    char png_words[128];
};

/* Makes room in im->rows for height rows of width RGB pixels, and for TUTTI_IMAGE_SLACK bytes. */
void tutti_image_reserve(tutti_image *im, int64_t width, int64_t height);

void tutti_jpeg_init(tutti_image *im);
void tutti_jpeg_release(tutti_image *im);
tutti_status tutti_jpeg_open(tutti_image *im, tutti_failure *err);
tutti_status tutti_jpeg_decode(tutti_image *im, const tutti_view *view, tutti_pixels *out, tutti_failure *err);

void tutti_png_release(tutti_image *im);
tutti_status tutti_png_open(tutti_image *im, tutti_failure *err);
tutti_status tutti_png_decode(tutti_image *im, const tutti_view *view, tutti_pixels *out, tutti_failure *err);

#endif

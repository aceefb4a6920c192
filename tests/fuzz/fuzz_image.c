/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_image.c: any bytes as a picture: opened, decoded for a view that the last bytes choose and resampled, or refused
 * with words; never more. What comes out lies within the levels of a byte. */
#include <stdint.h>
#include <stdlib.h>

#include "data/picture/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* A part of `length` pixels, in steps of 1/256. */
static tutti_axis axis_of(const uint8_t choice[3], int length)
{
    const double begin = length * choice[0] / 256.0, end = begin + (length - begin) * (choice[1] + 1) / 256.0;
    const int out = 1 + choice[2] % 40, lo = choice[2] & 64 ? (int)begin : 0;
    return (tutti_axis){begin, end, lo, length, out};
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const float one[3] = {1, 1, 1}, zero[3] = {0, 0, 0};
    static const uint8_t none[6] = {0, 255, 23, 0, 255, 23};
    const uint8_t *choice = n > 6 ? bytes + n - 6 : none;
    float out[3 * 40 * 40];
    int size[2];
    tutti_pixels pixels;
    tutti_failure err = {0};
    tutti_image *im = tutti_image_create();
    tutti_resampler *r = tutti_resampler_create();
    tutti_status status = tutti_image_open(im, "bytes", bytes, n, size, &err);
    if (!status) {
        const tutti_view view = {axis_of(choice, size[0]), axis_of(choice + 3, size[1])};
        status = tutti_image_decode(im, &view, &pixels, &err);
        if (!status) tutti_resample(r, &pixels, one, zero, choice[0] % 2, out);
        for (int i = 0; !status && i < 3 * view.x.out * view.y.out; i++)
            if (!(out[i] > -0.01f && out[i] < 255.01f)) abort();
    }
    if (status && !err.text[0]) abort();
    tutti_resampler_destroy(r);
    tutti_image_destroy(im);
    return 0;
}

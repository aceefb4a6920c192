/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: as Pillow decodes and resizes them (tests/golden/image), a part of a JPEG as in the whole, every form of
 * PNG, and nothing that is cut or not a picture. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

#include "base/file.h"
#include "base/rng.h"
#include "data/picture/image.h"

#define GOLDEN TUTTI_SOURCE_DIR "/tests/golden/image/"

static const float one[3] = {1, 1, 1}, zero[3] = {0, 0, 0};

static size_t file_read(const char *path, char **bytes)
{
    size_t n = 0;
    tutti_failure err = {0};
    if (tutti_file_read(path, 1 << 24, TUTTI_ERR_FAILED, bytes, &n, &err)) fail_msg("%s", err.text);
    return n;
}

/* Opens and decodes; the words of a failure go into err. */
static tutti_status decode(tutti_image *im, const void *bytes, size_t n, const tutti_view *view, tutti_pixels *out,
                           tutti_failure *err)
{
    int size[2];
    tutti_status status = tutti_image_open(im, "it", bytes, n, size, err);
    const tutti_view whole = {{0, size[0], 0, size[0], size[0]}, {0, size[1], 0, size[1], size[1]}};
    return status ? status : tutti_image_decode(im, view ? view : &whole, out, err);
}

/* ---- as Pillow ---- */

static void pictures_are_those_of_pillow(void **state)
{
    (void)state;
    tutti_image *im = tutti_image_create();
    tutti_resampler *r = tutti_resampler_create();
    FILE *f = fopen(GOLDEN "cases.txt", "r");
    char name[64], file[64], path[512], *bytes, *want;
    tutti_view v;
    int ncases = 0;
    assert_non_null(f);
    while (fscanf(f, "%63s %63s %d %d %lf %lf %d %d %d %lf %lf %d", name, file, &v.x.lo, &v.x.hi, &v.x.begin, &v.x.end,
                  &v.x.out, &v.y.lo, &v.y.hi, &v.y.begin, &v.y.end, &v.y.out) == 12) {
        snprintf(path, sizeof path, GOLDEN "%s", file);
        size_t n = file_read(path, &bytes), plane = (size_t)v.x.out * (size_t)v.y.out;
        snprintf(path, sizeof path, GOLDEN "%s.rgb", name);
        assert_int_equal(file_read(path, &want), 3 * plane);
        float *out = malloc(sizeof(float) * 3 * plane);
        tutti_pixels pixels;
        tutti_failure err = {0};
        if (decode(im, bytes, n, &v, &pixels, &err)) fail_msg("%s", err.text);
        tutti_resample(r, &pixels, one, zero, false, out);
        double worst = 0; /* Pillow rounds after each of two passes */
        for (size_t i = 0; i < 3 * plane; i++)
            worst = fmax(worst, fabs((double)out[i % 3 * plane + i / 3] - (unsigned char)want[i]));
        if (!(worst <= 1)) fail_msg("%s: %g levels away", name, worst);
        free(out);
        free(bytes);
        free(want);
        ncases++;
    }
    fclose(f);
    assert_int_equal(ncases, 22);
    tutti_resampler_destroy(r);
    tutti_image_destroy(im);
}

/* ---- JPEG in part ---- */

enum { WIDTH = 150, HEIGHT = 110 };

/* Quality 90; h, v: sampling factors of brightness. The bytes are the caller's. */
static size_t jpeg_make_by(int h, int v, bool grey, bool progressive, bool arithmetic, unsigned char **bytes)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned long n = 0;
    *bytes = NULL;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, bytes, &n);
    c.image_width = WIDTH;
    c.image_height = HEIGHT;
    c.input_components = grey ? 1 : 3;
    c.in_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 90, TRUE);
    c.comp_info[0].h_samp_factor = h;
    c.comp_info[0].v_samp_factor = v;
    if (progressive) jpeg_simple_progression(&c);
    c.arith_code = arithmetic;
    jpeg_start_compress(&c, TRUE);
    for (int y = 0; y < HEIGHT; y++) {
        unsigned char line[WIDTH * 3], *row = line;
        for (int i = 0; i < WIDTH * c.input_components; i++)
            line[i] =
                (unsigned char)(128 + 60 * sin(i / 19.0) * cos(y / 11.0) +
                                (double)(tutti_random(1, TUTTI_STREAM_TEST, (uint64_t)y, (uint64_t)i).word[0] >> 27));
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return n;
}

static size_t jpeg_make(int h, int v, bool grey, bool progressive, unsigned char **bytes)
{
    return jpeg_make_by(h, v, grey, progressive, false, bytes);
}

static const struct {
    int h, v;
    bool grey, progressive;
} forms[] = {{2, 2, false, false}, {2, 1, false, false}, {1, 1, false, false}, {1, 2, false, false},
             {4, 1, false, false}, {1, 1, true, false},  {2, 2, false, true}};
enum { NFORMS = sizeof forms / sizeof *forms };

/* Any box of at least eight pixels a side at 1/scale against the whole at 1/scale. */
static void compare_parts(tutti_image *im, const unsigned char *bytes, size_t n, int form, int scale)
{
    const tutti_view all = {{0, WIDTH, 0, WIDTH, WIDTH / scale}, {0, HEIGHT, 0, HEIGHT, HEIGHT / scale}};
    tutti_pixels p;
    tutti_failure err = {0};
    if (decode(im, bytes, n, &all, &p, &err)) fail_msg("%s", err.text);
    const int width = (WIDTH + scale - 1) / scale, height = (HEIGHT + scale - 1) / scale;
    assert_true(p.scale == scale && p.width == width && p.height == height && p.stride == 3 * width);
    uint8_t *whole = malloc((size_t)(width * height * 3));
    memcpy(whole, p.bytes, (size_t)(width * height * 3));
    for (uint64_t k = 0; k < 100; k++) {
        const tutti_random4 r = tutti_random(2, TUTTI_STREAM_TEST, (uint64_t)(form * 8 + scale), k);
        const int w = 8 + (int)(r.word[0] % (WIDTH - 7)), h = 8 + (int)(r.word[1] % (HEIGHT - 7));
        const int x = (int)(r.word[2] % (unsigned)(WIDTH - w + 1)), y = (int)(r.word[3] % (unsigned)(HEIGHT - h + 1));
        const tutti_view v = {{x, x + w, x, x + w, w / scale}, {y, y + h, y, y + h, h / scale}};
        if (decode(im, bytes, n, &v, &p, &err)) fail_msg("%s", err.text);
        const int left = p.view.x.lo, right = p.view.x.hi, top = p.view.y.lo, bottom = p.view.y.hi;
        assert_true(p.scale == scale && left * scale <= x && right * scale >= x + w && top * scale <= y);
        assert_true(p.x <= left && p.x + p.width >= right && p.y <= top && p.y + p.height >= bottom);
        for (int i = top; i < bottom; i++)
            if (memcmp(p.bytes + (i - p.y) * p.stride + (left - p.x) * 3, whole + (i * width + left) * 3,
                       (size_t)(right - left) * 3) != 0)
                fail_msg("form %d, 1/%d, box %d %d %d %d: row %d differs", form, scale, x, y, w, h, i);
    }
    free(whole);
}

static void the_part_of_a_jpeg_has_the_bytes_of_the_whole_at_every_scale(void **state)
{
    (void)state;
    tutti_image *im = tutti_image_create();
    for (int f = 0; f < NFORMS; f++) {
        unsigned char *bytes;
        size_t n = jpeg_make(forms[f].h, forms[f].v, forms[f].grey, forms[f].progressive, &bytes);
        for (int scale = 1; scale <= 8; scale *= 2) compare_parts(im, bytes, n, f, scale);
        free(bytes);
    }
    tutti_image_destroy(im);
}

static void an_arithmetic_coded_jpeg_has_the_pixels_of_the_huffman_coded_one(void **state)
{
    (void)state;
    const tutti_view all = {{0, WIDTH, 0, WIDTH, WIDTH}, {0, HEIGHT, 0, HEIGHT, HEIGHT}};
    tutti_image *im = tutti_image_create();
    uint8_t *whole = malloc(WIDTH * HEIGHT * 3);
    for (int f = 0; f < NFORMS; f++) {
        tutti_pixels p;
        tutti_failure err = {0};
        for (int arithmetic = 0; arithmetic < 2; arithmetic++) {
            unsigned char *bytes;
            size_t n = jpeg_make_by(forms[f].h, forms[f].v, forms[f].grey, forms[f].progressive, arithmetic, &bytes);
            if (decode(im, bytes, n, &all, &p, &err)) fail_msg("%s", err.text);
            if (!arithmetic) memcpy(whole, p.bytes, WIDTH * HEIGHT * 3);
            free(bytes);
        }
        assert_memory_equal(p.bytes, whole, WIDTH * HEIGHT * 3);
    }
    free(whole);
    tutti_image_destroy(im);
}

static void a_jpeg_is_decoded_at_the_smallest_scale_that_covers_the_view(void **state)
{
    static const struct {
        int out, scale;
    } cases[] = {{110, 1}, {56, 1}, {55, 2}, {28, 2}, {27, 4}, {14, 4}, {13, 8}, {1, 8}};
    (void)state;
    tutti_image *im = tutti_image_create();
    tutti_resampler *r = tutti_resampler_create();
    unsigned char *bytes;
    size_t n = jpeg_make(2, 2, false, false, &bytes);
    float *out = malloc(sizeof(float) * 3 * 110 * 110);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const int size = cases[k].out;
        const tutti_view v = {{20, 130, 20, 130, size}, {0, 110, 0, 110, size}};
        tutti_pixels p;
        assert_int_equal(decode(im, bytes, n, &v, &p, NULL), TUTTI_OK);
        assert_int_equal(p.scale, cases[k].scale);
        tutti_resample(r, &p, one, zero, false, out);
        for (int i = 0; i < 3 * size * size; i++) assert_true(out[i] > 30 && out[i] < 250);
    }
    free(out);
    free(bytes);
    tutti_resampler_destroy(r);
    tutti_image_destroy(im);
}

static void a_cut_jpeg_is_refused_wherever_it_is_cut(void **state)
{
    (void)state;
    tutti_image *im = tutti_image_create();
    for (int f = 0; f < NFORMS; f++) {
        unsigned char *bytes;
        size_t n = jpeg_make(forms[f].h, forms[f].v, forms[f].grey, forms[f].progressive, &bytes);
        const tutti_view corner = {{0, 20, 0, 20, 20}, {0, 20, 0, 20, 20}};
        for (size_t cut = 1; cut < n; cut += 1 + n / 100) {
            tutti_pixels p;
            tutti_failure err = {0};
            uint8_t *part = malloc(n - cut); /* of this size, so that reading beyond it is seen */
            memcpy(part, bytes, n - cut);
            assert_int_equal(decode(im, part, n - cut, cut % 2 ? NULL : &corner, &p, &err), TUTTI_ERR_DATA);
            assert_non_null(strstr(err.text, "it: byte "));
            free(part);
        }
        free(bytes);
    }
    tutti_image_destroy(im);
}

/* ---- PNG ---- */

typedef struct {
    unsigned char bytes[1 << 16];
    size_t n;
} memory_file;

static void memory_write(png_structp png, png_bytep bytes, size_t n)
{
    memory_file *f = png_get_io_ptr(png);
    assert_true(f->n + n <= sizeof f->bytes);
    memcpy(f->bytes + f->n, bytes, n);
    f->n += n;
}

static void memory_flush(png_structp png)
{
    (void)png;
}

enum { PNG_SIDE = 16 };

/* A diagonal ramp: sample (x, y) is (x + y) of 0..30, in the form's own range; palettes have it as a grey. */
static void png_make_of(int type, int depth, bool interlaced, int ncolours, memory_file *f)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_color palette[16];
    const int channels = type == PNG_COLOR_TYPE_RGB          ? 3
                         : type == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
                         : type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                             : 1;
    const bool alpha = type & PNG_COLOR_MASK_ALPHA;
    f->n = 0;
    png_set_write_fn(png, f, memory_write, memory_flush);
    png_set_IHDR(png, info, PNG_SIDE, PNG_SIDE, depth, type, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    for (int i = 0; i < 16; i++) palette[i] = (png_color){(png_byte)(i * 17), (png_byte)(i * 17), (png_byte)(i * 17)};
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, ncolours);
    png_set_check_for_invalid_index(png, -1);
    png_write_info(png, info);
    png_set_packing(png);
    const int npasses = png_set_interlace_handling(png);
    for (int pass = 0; pass < npasses; pass++)
        for (int y = 0; y < PNG_SIDE; y++) {
            unsigned char row[PNG_SIDE * 4 * 2], *at = row;
            for (int x = 0; x < PNG_SIDE; x++)
                for (int c = 0; c < channels; c++) {
                    const unsigned most = (1u << depth) - 1, level = (unsigned)(x + y) * most / 30;
                    const unsigned value = alpha && c == channels - 1 ? most / 2 : level;
                    if (depth == 16) *at++ = (unsigned char)(value >> 8);
                    *at++ = (unsigned char)value;
                }
            png_write_row(png, row);
        }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
}

static void png_make(int type, int depth, bool interlaced, memory_file *f)
{
    png_make_of(type, depth, interlaced, depth < 8 ? 1 << depth : 0, f);
}

static const struct {
    int type, depth;
} png_forms[] = {{PNG_COLOR_TYPE_GRAY, 1},       {PNG_COLOR_TYPE_GRAY, 2},      {PNG_COLOR_TYPE_GRAY, 4},
                 {PNG_COLOR_TYPE_GRAY, 8},       {PNG_COLOR_TYPE_GRAY, 16},     {PNG_COLOR_TYPE_PALETTE, 1},
                 {PNG_COLOR_TYPE_PALETTE, 4},    {PNG_COLOR_TYPE_RGB, 8},       {PNG_COLOR_TYPE_RGB, 16},
                 {PNG_COLOR_TYPE_GRAY_ALPHA, 8}, {PNG_COLOR_TYPE_RGB_ALPHA, 8}, {PNG_COLOR_TYPE_RGB_ALPHA, 16}};
enum { NPNG = sizeof png_forms / sizeof *png_forms };

static void every_form_of_png_becomes_rgb(void **state)
{
    (void)state;
    tutti_image *im = tutti_image_create();
    memory_file *f = malloc(sizeof *f);
    for (int k = 0; k < 2 * NPNG; k++) {
        const int type = png_forms[k / 2].type, depth = png_forms[k / 2].depth;
        png_make(type, depth, k % 2, f);
        tutti_pixels p;
        tutti_failure err = {0};
        if (decode(im, f->bytes, f->n, NULL, &p, &err)) fail_msg("%s", err.text);
        assert_true(p.width == PNG_SIDE && p.height == PNG_SIDE && p.stride == PNG_SIDE * 3);
        for (int i = 0; i < PNG_SIDE * PNG_SIDE * 3; i++) {
            const unsigned most = (1u << depth) - 1,
                           level = (unsigned)(i / 3 % PNG_SIDE + i / 3 / PNG_SIDE) * most / 30;
            const double want = type == PNG_COLOR_TYPE_PALETTE ? level * 17.0 : 255.0 * level / most;
            if (p.bytes[i] != (uint8_t)floor(want + 0.5))
                fail_msg("type %d, %d bits, byte %d: %d instead of %g", type, depth, i, p.bytes[i], want);
        }
    }
    free(f);
    tutti_image_destroy(im);
}

/* The ramp goes up to the last of 2 or 16 colours; libpng makes those beyond the palette black. */
static void a_pixel_beyond_the_palette_is_refused(void **state)
{
    (void)state;
    tutti_image *im = tutti_image_create();
    memory_file *f = malloc(sizeof *f);
    for (int k = 0; k < 8; k++) {
        const int depth = k & 1 ? 4 : 1, ncolours = (1 << depth) - (k >> 1 & 1);
        tutti_pixels p;
        tutti_failure err = {0};
        png_make_of(PNG_COLOR_TYPE_PALETTE, depth, k >> 2, ncolours, f);
        const bool fits = ncolours == 1 << depth;
        assert_int_equal(decode(im, f->bytes, f->n, NULL, &p, &err), fits ? TUTTI_OK : TUTTI_ERR_DATA);
        if (!fits) assert_non_null(strstr(err.text, "a pixel has a colour beyond the palette"));
    }
    free(f);
    tutti_image_destroy(im);
}

static void a_cut_or_changed_png_is_refused(void **state)
{
    (void)state;
    tutti_image *im = tutti_image_create();
    memory_file *f = malloc(sizeof *f);
    png_make(PNG_COLOR_TYPE_RGB, 8, false, f);
    tutti_pixels p;
    tutti_failure err = {0};
    for (size_t n = 0; n < f->n; n++) {
        uint8_t *part = malloc(n + 1);
        memcpy(part, f->bytes, n);
        assert_int_equal(decode(im, part, n, NULL, &p, &err), TUTTI_ERR_DATA);
        assert_non_null(strstr(err.text, "it: byte "));
        free(part);
    }
    for (size_t at = 0; at < f->n; at++) {
        f->bytes[at] ^= 4;
        assert_int_equal(decode(im, f->bytes, f->n, NULL, &p, &err), TUTTI_ERR_DATA);
        f->bytes[at] ^= 4;
    }
    assert_int_equal(decode(im, f->bytes, f->n, NULL, &p, &err), TUTTI_OK);
    free(f);
    tutti_image_destroy(im);
}

static void what_is_no_picture_or_cannot_be_true_is_refused(void **state)
{
    (void)state;
    tutti_image *im = tutti_image_create();
    unsigned char *bytes;
    size_t n = jpeg_make(2, 2, false, false, &bytes), at = 0;
    tutti_pixels p;
    tutti_failure err = {0};
    assert_int_equal(decode(im, "GIF89a..", 8, NULL, &p, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "neither a JPEG nor a PNG"));
    assert_int_equal(decode(im, "", 0, NULL, &p, &err), TUTTI_ERR_DATA);
    while (bytes[at] != 0xff || bytes[at + 1] != 0xc0) at++; /* the frame header: height and width at 5 */
    memset(bytes + at + 5, 0xf0, 4);
    assert_int_equal(decode(im, bytes, n, NULL, &p, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "61680 x 61680 pixels"));
    free(bytes);
    tutti_image_destroy(im);
}

/* ---- resampling ---- */

static void another_format_is_called_by_its_name(void **state)
{
    static const struct {
        const char *head, *words;
        size_t n;
    } cases[] = {{"RIFF\x10\0\0\0WEBPVP8 ", "a WebP picture", 16},
                 {"GIF89a\1\0\1\0", "a GIF picture", 10},
                 {"BM\x46\0\0\0", "a BMP picture", 6},
                 {"II*\0\10\0\0\0", "a TIFF picture", 8},
                 {"\0\0\0\x1c"
                  "ftypavif",
                  "a HEIC or AVIF picture", 12},
                 {"<!DOCTYPE html>", "a page", 15},
                 {"version https://git-lfs.github.com/spec/v1\n", "git lfs pull", 43},
                 {"", "the file is empty", 0}};
    (void)state;
    tutti_image *im = tutti_image_create();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int size[2];
        tutti_failure err = {0};
        assert_int_equal(tutti_image_open(im, "x.jpg", (const uint8_t *)cases[k].head, cases[k].n, size, &err),
                         TUTTI_ERR_DATA);
        assert_non_null(strstr(err.text, "x.jpg: byte 0: neither a JPEG nor a PNG file; "));
        assert_non_null(strstr(err.text, cases[k].words));
    }
    tutti_image_destroy(im);
}

static void a_view_of_the_same_size_has_the_bytes_and_mirrors_and_scales_them(void **state)
{
    (void)state;
    enum { W = 13, H = 7 };
    uint8_t bytes[W * H * 3 + TUTTI_IMAGE_SLACK];
    float out[3 * W * H], mirror[3 * W * H];
    const float scale[3] = {2, 0.5f, 1}, shift[3] = {-1, 3, 0.25f};
    for (int i = 0; i < W * H * 3; i++) bytes[i] = (uint8_t)(i * 37);
    const tutti_pixels p = {.bytes = bytes,
                            .stride = W * 3,
                            .width = W,
                            .height = H,
                            .scale = 1,
                            .view = {{0, W, 0, W, W}, {0, H, 0, H, H}}};
    tutti_resampler *r = tutti_resampler_create();
    tutti_resample(r, &p, scale, shift, false, out);
    tutti_resample(r, &p, scale, shift, true, mirror);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                const float want = (float)bytes[(y * W + x) * 3 + c] * scale[c] + shift[c];
                assert_true(out[(c * H + y) * W + x] == want);
                assert_true(mirror[(c * H + y) * W + W - 1 - x] == want);
            }
    tutti_resampler_destroy(r);
}

static void a_plain_picture_stays_plain_at_every_size(void **state)
{
    (void)state;
    enum { W = 40, H = 30 };
    uint8_t bytes[W * H * 3 + TUTTI_IMAGE_SLACK];
    float out[3 * 64 * 64];
    memset(bytes, 200, sizeof bytes);
    tutti_resampler *r = tutti_resampler_create();
    for (int size = 1; size <= 64; size++) {
        const tutti_pixels p = {.bytes = bytes,
                                .stride = W * 3,
                                .width = W,
                                .height = H,
                                .scale = 1,
                                .view = {{1.5, W - 2.25, 1, W - 1, size}, {0, H, 0, H, size}}};
        tutti_resample(r, &p, one, zero, size % 2, out);
        for (int i = 0; i < 3 * size * size; i++) assert_true(fabsf(out[i] - 200) < 1e-3f);
    }
    tutti_resampler_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_are_those_of_pillow),
        cmocka_unit_test(the_part_of_a_jpeg_has_the_bytes_of_the_whole_at_every_scale),
        cmocka_unit_test(an_arithmetic_coded_jpeg_has_the_pixels_of_the_huffman_coded_one),
        cmocka_unit_test(a_jpeg_is_decoded_at_the_smallest_scale_that_covers_the_view),
        cmocka_unit_test(a_cut_jpeg_is_refused_wherever_it_is_cut),
        cmocka_unit_test(every_form_of_png_becomes_rgb),
        cmocka_unit_test(a_pixel_beyond_the_palette_is_refused),
        cmocka_unit_test(a_cut_or_changed_png_is_refused),
        cmocka_unit_test(what_is_no_picture_or_cannot_be_true_is_refused),
        cmocka_unit_test(another_format_is_called_by_its_name),
        cmocka_unit_test(a_view_of_the_same_size_has_the_bytes_and_mirrors_and_scales_them),
        cmocka_unit_test(a_plain_picture_stays_plain_at_every_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

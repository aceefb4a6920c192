/* SPDX-License-Identifier: Apache-2.0 */
/* bench_jpeg.c: pictures a second on one thread: read, decoded, cropped, resized, normalised by the set `images`; or
 * only decoded, whole, by libjpeg-turbo. usage: bench_jpeg train|test|decode FOLDER (of train/ and test/) PASSES;
 * prints the best pass */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "base/clock.h"
#include "base/file.h"
#include "data/dataset.h"
#include "data/sets/image_folder.h"

static int fail(const char *words)
{
    fprintf(stderr, "bench_jpeg: %s\n", words);
    return 1;
}

static double rate_of_set(const tutti_dataset *d, int64_t epoch, float *sample, tutti_failure *err)
{
    tutti_reader *r = tutti_reader_create(d);
    const int64_t n = tutti_dataset_count(d);
    const double began = tutti_clock_s();
    tutti_status status = TUTTI_OK;
    int32_t label;
    for (int64_t i = 0; i < n && !status; i++)
        status = tutti_reader_read(r, (tutti_pass){1, epoch}, i, sample, &label, err);
    const double rate = (double)n / (tutti_clock_s() - began);
    tutti_reader_destroy(r);
    return status ? -1 : rate;
}

/* The whole picture at its full size, as jpeg_read_scanlines gives it. */
static void decode(const unsigned char *bytes, size_t n, uint8_t *row)
{
    struct jpeg_decompress_struct j;
    struct jpeg_error_mgr errors;
    j.err = jpeg_std_error(&errors); /* ends the program, with words */
    jpeg_create_decompress(&j);
    jpeg_mem_src(&j, bytes, n);
    jpeg_read_header(&j, TRUE);
    j.out_color_space = JCS_RGB;
    jpeg_start_decompress(&j);
    while (j.output_scanline < j.output_height) jpeg_read_scanlines(&j, &row, 1);
    jpeg_finish_decompress(&j);
    jpeg_destroy_decompress(&j);
}

static double rate_of_decoder(const tutti_image_folder *f, uint8_t *row, tutti_failure *err)
{
    tutti_strbuf path = {0};
    uint8_t *bytes = NULL;
    size_t room = 0, n;
    tutti_status status = TUTTI_OK;
    const double began = tutti_clock_s();
    for (int64_t i = 0; i < f->nfiles && !status; i++) {
        tutti_image_folder_path(f, i, &path);
        status = tutti_image_file_read(path.text, 1 << 28, &bytes, &room, &n, err);
        if (!status) decode(bytes, n, row);
    }
    const double rate = (double)f->nfiles / (tutti_clock_s() - began);
    tutti_strbuf_release(&path);
    free(bytes);
    return status ? -1 : rate;
}

int main(int argc, char **argv)
{
    if (argc != 4) return fail("usage: bench_jpeg train|test|decode FOLDER PASSES");
    const bool whole = !strcmp(argv[1], "decode");
    const tutti_split split = strcmp(argv[1], "test") ? TUTTI_SPLIT_TRAIN : TUTTI_SPLIT_TEST;
    const tutti_dataset_config config = {.set = "images", .path = argv[2]};
    const int npasses = (int)strtol(argv[3], NULL, 10);
    float *memory = calloc(3 * 224 * 224, sizeof *memory); /* a sample, or a row of up to 200,704 pixels */
    tutti_dataset *d = NULL;
    tutti_image_folder *f = NULL;
    tutti_failure err = {0};
    tutti_status status =
        whole ? tutti_image_folder_open(argv[2], true, &f, &err) : tutti_dataset_open(&config, split, &d, &err);
    double best = 0;
    for (int pass = 0; pass < npasses && !status; pass++) {
        const double rate = whole ? rate_of_decoder(f, (uint8_t *)memory, &err) : rate_of_set(d, pass, memory, &err);
        if (rate < 0) status = err.status;
        best = rate > best ? rate : best;
    }
    if (!status) printf("%.1f\n", best);
    tutti_dataset_destroy(d);
    tutti_image_folder_close(f);
    free(memory);
    return status ? fail(err.text) : 0;
}

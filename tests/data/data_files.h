/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of small files for tests of sets that read. */
#ifndef TUTTI_DATA_FILES_H
#define TUTTI_DATA_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include <png.h>

static inline int data_folder_make(void **state)
{
    char *folder = strdup("/tmp/tutti-data-XXXXXX");
    *state = folder;
    return mkdtemp(folder) ? 0 : -1;
}

static inline int data_folder_remove(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", (char *)*state);
    int rc = system(command);
    free(*state);
    return rc;
}

static inline void data_put(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* A pair of IDX files of n samples of 28 x 28. */
static inline void data_idx_put(const char *folder, const char *split, int n)
{
    const size_t npixels = (size_t)n * 28 * 28;
    const uint8_t image_head[16] = {0, 0, 8, 3, 0, 0, 0, (uint8_t)n, 0, 0, 0, 28, 0, 0, 0, 28};
    const uint8_t label_head[8] = {0, 0, 8, 1, 0, 0, 0, (uint8_t)n};
    uint8_t *bytes = malloc(16 + npixels);
    char name[64];
    memcpy(bytes, image_head, 16);
    for (size_t i = 0; i < npixels; i++) bytes[16 + i] = (uint8_t)(i * 7 + i / 784 * 31);
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", split);
    data_put(folder, name, bytes, 16 + npixels);
    memcpy(bytes, label_head, 8);
    for (int i = 0; i < n; i++) bytes[8 + i] = (uint8_t)(i % 10);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", split);
    data_put(folder, name, bytes, 8 + (size_t)n);
    free(bytes);
}

enum { CIFAR_RECORD = 3073 };

static inline const char *data_cifar_name(int file, char name[32])
{
    snprintf(name, 32, file < 5 ? "data_batch_%d.bin" : "test_batch.bin", file + 1);
    return name;
}

/* n records: label (record + file) % 10, bytes that no move or mirror maps to themselves. */
static inline void data_cifar_fill(uint8_t *bytes, int file, int n)
{
    for (int i = 0; i < n; i++, bytes += CIFAR_RECORD) {
        bytes[0] = (uint8_t)((i + file) % 10);
        for (int k = 0; k < 3072; k++) bytes[1 + k] = (uint8_t)(1 + (k * k * 31 + k * 7 + i * 13 + file) % 251);
    }
}

static inline void data_cifar_put(const char *folder, int file, int n)
{
    uint8_t *bytes = malloc((size_t)n * CIFAR_RECORD);
    char name[32];
    data_cifar_fill(bytes, file, n);
    data_put(folder, data_cifar_name(file, name), bytes, (size_t)n * CIFAR_RECORD);
    free(bytes);
}

/* An array of NumPy: type as in "<f4", shape as in "(12, 5)". */
static inline void data_npy_put(const char *folder, const char *name, const char *type, const char *shape,
                                const void *bytes, size_t n)
{
    char head[256];
    int length =
        snprintf(head + 10, sizeof head - 10, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    while ((10 + length + 1) % 64) head[10 + length++] = ' ';
    head[10 + length++] = '\n';
    memcpy(head, "\x93NUMPY\1\0", 8);
    head[8] = (char)(length & 255), head[9] = (char)(length >> 8);
    uint8_t *file = malloc(10 + (size_t)length + n);
    memcpy(file, head, 10 + (size_t)length);
    memcpy(file + 10 + length, bytes, n);
    data_put(folder, name, file, 10 + (size_t)length + n);
    free(file);
}

/* Splits of 12 samples: npy (12, 2, 6, 6) in f4, csv of 30 numbers, cifar100. */
static inline void data_tables_put(const char *folder)
{
    static const char *const splits[] = {"train", "test"};
    for (int s = 0; s < 2; s++) {
        float x[12 * 72];
        int64_t y[12];
        char name[64], text[12 * 30 * 8], *at = text;
        uint8_t *records = calloc(12, CIFAR_RECORD + 1);
        for (int i = 0; i < 12 * 72; i++) x[i] = (float)(i * i % 97) / 8 + (float)s;
        for (int i = 0; i < 12; i++) {
            y[i] = i % 5;
            at += sprintf(at, "%d", i % 4);
            for (int k = 0; k < 30; k++) at += sprintf(at, ",%g", 0.25 * (k * k * 7 % 31) + i + s);
            at += sprintf(at, "\n");
            records[i * (CIFAR_RECORD + 1)] = (uint8_t)(i % 20),
                                        records[i * (CIFAR_RECORD + 1) + 1] = (uint8_t)(i % 100);
            for (int k = 0; k < 3072; k++)
                records[i * (CIFAR_RECORD + 1) + 2 + k] = (uint8_t)(1 + (k * k * 31 + k * 7 + i) % 251);
        }
        snprintf(name, sizeof name, "%s_x.npy", splits[s]);
        data_npy_put(folder, name, "<f4", "(12, 2, 6, 6)", x, sizeof x);
        snprintf(name, sizeof name, "%s_y.npy", splits[s]);
        data_npy_put(folder, name, "<i8", "(12,)", y, sizeof y);
        snprintf(name, sizeof name, "%s.csv", splits[s]);
        data_put(folder, name, text, strlen(text));
        snprintf(name, sizeof name, "%s.bin", splits[s]);
        data_put(folder, name, records, 12 * (size_t)(CIFAR_RECORD + 1));
        free(records);
    }
}

/* train and test of two classes, n pictures of 21 x 18 noise in each. */
static inline void data_images_put(const char *folder, int n)
{
    static const char *const parts[] = {"train", "train/a", "train/b", "test", "test/a", "test/b"};
    uint8_t bytes[21 * 18 * 3];
    png_image image = {.version = PNG_IMAGE_VERSION, .width = 21, .height = 18, .format = PNG_FORMAT_RGB};
    char path[512];
    for (int part = 0; part < 6; part++) {
        snprintf(path, sizeof path, "%s/%s", folder, parts[part]);
        assert_int_equal(mkdir(path, 0700), 0);
        for (int i = 0; i < n && part % 3; i++) {
            for (int k = 0; k < (int)sizeof bytes; k++) bytes[k] = (uint8_t)(k * k * 31 + k * 7 + i * 13 + part);
            snprintf(path, sizeof path, "%s/%s/%d.png", folder, parts[part], i);
            assert_true(png_image_write_to_file(&image, path, 0, bytes, 0, NULL));
        }
    }
}

#endif

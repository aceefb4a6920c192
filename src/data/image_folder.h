/* SPDX-License-Identifier: Apache-2.0 */
/* image_folder.h: names and classes of the pictures of PATH/train/CLASS/ or PATH/test/CLASS/ (or PATH/val/CLASS/). Private to src/data.
 *
 * Classes are the folders of train, sorted by bytes; pictures are the files ending in .jpg, .jpeg or .png (either case), sorted by
 * class, then by name; what else lies there is not looked at. Memory: about 16 bytes and the name for each picture. Threads: frozen. */
#ifndef TUTTI_DATA_IMAGE_FOLDER_H
#define TUTTI_DATA_IMAGE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/strbuf.h"
#include "pictures.h"
#include "tutti/failure.h"

typedef struct {
    char *top;      /* PATH/train */
    char **classes; /* names, sorted */
    int nclasses;
    tutti_strbuf names; /* of files, each ended by '\0' */
    int64_t *name_at;   /* a picture: where its name begins */
    int32_t *labels;
    int64_t nfiles, room;
} tutti_image_folder;

/* TUTTI_ERR_DATA says what is missing and where it belongs: train, test or val, a class of the test set that train has not, a class
 * without a picture. */
tutti_status tutti_image_folder_open(const char *path, bool train, tutti_image_folder **out, tutti_failure *err);
void tutti_image_folder_close(tutti_image_folder *f); /* NULL is accepted */
/* Replaces what `path` holds. */
void tutti_image_folder_path(const tutti_image_folder *f, int64_t picture, tutti_strbuf *path);

/* Names in a folder, sorted: of its folders, or of its pictures. Hidden ones are passed over. */
tutti_status tutti_image_names_read(const char *path, bool folders, tutti_names *out, tutti_failure *err);
/* Names of the classes alone. */
tutti_status tutti_image_folder_classes(const char *path, tutti_names *out, tutti_failure *err);

/* Reads a whole file into *bytes, which grows as needed and is the caller's (free()). */
tutti_status tutti_image_file_read(const char *path, int64_t most, uint8_t **bytes, size_t *room, size_t *nbytes,
                                   tutti_failure *err);

#endif

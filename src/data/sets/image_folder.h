/* SPDX-License-Identifier: Apache-2.0 */
/* image_folder.h: names and classes of the pictures of PATH/train/CLASS/ or PATH/test/CLASS/ (or PATH/val/CLASS/).
 * Private to src/data.
 *
 * Classes are the folders of train, sorted by bytes. Pictures are the files in them and in the folders below, in the
 * order of torchvision's ImageFolder: sorted by class, then by folder, then by name. A file is a picture if it ends in
 * .jpg, .jpeg or .png (either case), or if it has another picture ending but holds a JPEG or PNG. Hidden files are
 * ignored, all other files are counted. Memory: about 16 bytes and the name for each picture. Threads: any may read
 * it. */
#ifndef TUTTI_DATA_IMAGE_FOLDER_H
#define TUTTI_DATA_IMAGE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/text/strbuf.h"
#include "../picture/pictures.h"
#include "tutti/failure.h"

/* Files that were left out because they are not readable pictures, counted by ending. Begin with all bytes zero. */
enum { TUTTI_LEFT_OUT_KINDS = 8, TUTTI_LEFT_OUT_ENDING = 16 };
typedef struct {
    struct {
        char ending[TUTTI_LEFT_OUT_ENDING]; /* an ending of files, such as ".webp", or a word for all further endings */
        int64_t n;
    } kind[TUTTI_LEFT_OUT_KINDS]; /* the last entry counts all further endings */
    int nkinds;
    int64_t n;        /* number of files left out, of all kinds */
    int64_t npicture; /* number of left-out files that are pictures of other formats, which can be converted */
    int64_t ntaken;   /* number of pictures that were taken although they have another ending */
} tutti_left_out;
/* Appends "3 files left out (.webp 2, .gif 1): convert them to JPEG or PNG", or "no file left out". */
void tutti_left_out_say(const tutti_left_out *l, tutti_strbuf *out);

typedef struct {
    char *top;      /* path of the folder with the classes, such as PATH/train */
    char **classes; /* names of the classes, sorted */
    int nclasses;
    tutti_strbuf names; /* names of the files, each ended by '\0' */
    int64_t *name_at;   /* for each picture: offset in `names` at which its name begins */
    int32_t *labels;
    int64_t nfiles, room;
    int nfound; /* number of classes that have a folder in top */
    tutti_left_out left;
} tutti_image_folder;

/* Opens a folder. TUTTI_ERR_DATA says what is missing and where it belongs: train, test or val; a class of the test set
 * that train lacks; a class without a picture. */
tutti_status tutti_image_folder_open(const char *path, bool train, tutti_image_folder **out, tutti_failure *err);
void tutti_image_folder_close(tutti_image_folder *f); /* f may be NULL */
/* Replaces the text of `path` by the path of a picture. */
void tutti_image_folder_path(const tutti_image_folder *f, int64_t picture, tutti_strbuf *path);

/* Adds the pictures of a folder and of the folders below it, sorted by folder, then by name. The names that are added
 * are paths that begin with `path`; with `bare` they do not contain `path`. A folder to which a link leads back is not
 * visited again. */
tutti_status tutti_image_folder_walk(const char *path, bool bare, tutti_names *out, tutti_left_out *left,
                                     tutti_failure *err);
/* Reads only the names of the classes. */
tutti_status tutti_image_folder_classes(const char *path, tutti_names *out, tutti_failure *err);

/* Reads a whole file of at most `most` bytes into *bytes, which grows as needed; the caller frees it. */
tutti_status tutti_image_file_read(const char *path, int64_t most, uint8_t **bytes, size_t *room, size_t *nbytes,
                                   tutti_failure *err);

#endif

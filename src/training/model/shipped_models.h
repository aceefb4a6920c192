/* SPDX-License-Identifier: Apache-2.0 */
/* shipped_models.h: networks that come with the program: the files of src/training/model/zoo, embedded by the build
 * (cmake/embed_models.cmake) as text in the format of docs/models.md, so that they are handled like anybody's and can be
 * copied and changed. Threads: constant. */
#ifndef TUTTI_SHIPPED_MODELS_H
#define TUTTI_SHIPPED_MODELS_H

typedef struct {
    const char *name, *text;
} tutti_shipped_model;

extern const tutti_shipped_model tutti_shipped_models[]; /* by name; ends with a row of NULLs */

#endif

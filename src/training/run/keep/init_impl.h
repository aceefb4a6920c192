/* SPDX-License-Identifier: Apache-2.0 */
/* init_impl.h: what the files of init share.
 *
 *   init_source.c  files -> a list of tensors      init_match.c  which of them is which parameter of the model
 *   init.c         finds the source, holds both, fills vectors, says what came of it */
#ifndef TUTTI_INIT_IMPL_H
#define TUTTI_INIT_IMPL_H

#include "checkpoint_impl.h"
#include "init.h"

typedef struct {
    const char *name;
    const tutti_safetensors *file;
    int at; /* in the file */
} tutti_init_tensor;

/* Tensors of one or several files. */
typedef struct {
    char **bytes;
    tutti_safetensors **files;
    int nfiles;
    tutti_init_tensor *tensors;
    int ntensors, nunlisted;      /* unlisted: that their index does not name, or in another file */
    const tutti_headway *headway; /* hears of files that are read from now on; NULL = nobody */
} tutti_init_source;

tutti_status tutti_init_source_read(const char *path, tutti_init_source *out, tutti_failure *err);
tutti_status tutti_init_source_read_index(const char *path, tutti_init_source *out, tutti_failure *err);
/* name: a vector's file, checked against the manifest. */
tutti_status tutti_init_source_read_checkpoint(const char *path, const char *name, tutti_init_source *out,
                                               tutti_failure *err);
void tutti_init_source_release(tutti_init_source *s);

enum { TUTTI_INIT_FRESH = -1 };

/* Which tensor each parameter is. */
typedef struct {
    int *tensor_of;                              /* a param: TUTTI_INIT_FRESH, or of the source */
    bool *is_stored;                             /* a param: it is of this vector */
    bool *is_taken;                              /* a tensor */
    int nstored, nloaded, nconverted, nnarrowed; /* the last two: from 16 bits, from 64 */
} tutti_init_match;

/* like: the weights' match, NULL = this is it: a state is taken only where the weights are. */
tutti_status tutti_init_match_make(const tutti_init_config *config, const tutti_init_wanted *wanted,
                                   const tutti_init_source *source, const tutti_init_match *like, tutti_init_match *out,
                                   tutti_failure *err);
void tutti_init_match_release(tutti_init_match *m);

#endif

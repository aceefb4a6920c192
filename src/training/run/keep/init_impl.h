/* SPDX-License-Identifier: Apache-2.0 */
/* init_impl.h: shared by the files of init.
 *
 *   init_source.c  files -> a list of tensors
 *   init_match.c   matches tensors with the model's parameters
 *   init.c         finds the source, holds both, fills vectors, reports what was loaded */
#ifndef TUTTI_INIT_IMPL_H
#define TUTTI_INIT_IMPL_H

#include "checkpoint_impl.h"
#include "init.h"

typedef struct {
    const char *name;
    const tutti_safetensors *file;
    int at; /* index of the tensor in the file */
} tutti_init_tensor;

/* Tensors of one or several files. */
typedef struct {
    char **bytes;
    tutti_safetensors **files;
    int nfiles;
    tutti_init_tensor *tensors;
    int ntensors, nunlisted;      /* nunlisted: number of tensors that their index does not name, or names in another
                                   * file */
    const tutti_headway *headway; /* receives progress reports about files that are read from now on; NULL = no
                                   * reports */
} tutti_init_source;

tutti_status tutti_init_source_read(const char *path, tutti_init_source *out, tutti_failure *err);
tutti_status tutti_init_source_read_index(const char *path, tutti_init_source *out, tutti_failure *err);
/* Reads one vector of a checkpoint. name: the file of the vector, which is checked against the manifest. */
tutti_status tutti_init_source_read_checkpoint(const char *path, const char *name, tutti_init_source *out,
                                               tutti_failure *err);
void tutti_init_source_release(tutti_init_source *s);

enum { TUTTI_INIT_FRESH = -1 };

/* Which tensor each parameter gets. */
typedef struct {
    int *tensor_of;                              /* per param: index of the source's tensor, or TUTTI_INIT_FRESH */
    bool *is_stored;                             /* per param: this vector (the weights, or a state) has elements for
                                                  * it */
    bool *is_taken;                              /* per tensor: true if a parameter gets its values */
    int nstored, nloaded, nconverted, nnarrowed; /* nconverted: loaded from 16 bits; nnarrowed: loaded from 64 bits */
} tutti_init_match;

/* like: the match of the weights, if a state is matched: a parameter's state is taken only if its weights are. NULL =
 * the weights are matched. */
tutti_status tutti_init_match_make(const tutti_init_config *config, const tutti_init_wanted *wanted,
                                   const tutti_init_source *source, const tutti_init_match *like, tutti_init_match *out,
                                   tutti_failure *err);
void tutti_init_match_release(tutti_init_match *m);

#endif

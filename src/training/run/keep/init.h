/* SPDX-License-Identifier: Apache-2.0 */
/* init.h: weights from elsewhere that a run begins at: a safetensors file, several of them under an index, a
 * checkpoint, or the newest checkpoint of a run's folder. Tensors are matched by name and shape. Parameters that the
 * source lacks keep their random initial values.
 *
 * If something does not fit, the failure is TUTTI_ERR_USAGE with the key to blame; damaged files are TUTTI_ERR_DATA.
 * Everything is checked before anything is written. Threads: one at a time, and any once open. Memory: holds the files
 * while it is open. */
#ifndef TUTTI_INIT_H
#define TUTTI_INIT_H

#include "../../../base/headway.h"
#include "../../../base/text/options.h"
#include "../../graph/graph.h"

/* The initial weights that a job asks for. */
typedef struct {
    const char *from; /* path of the source; NULL = all weights get random initial values */
    /* patterns (name_pattern.h) of the model's names that keep their random initial values */
    tutti_texts skip;
    /* a name in the source, then its name in the model, and so on: whole names, or the part before a dot; "" = no
     * part */
    tutti_texts map;
    bool takes_states;            /* true: takes the rule's states too */
    const tutti_headway *headway; /* receives progress reports of the reading, in bytes of the current file; NULL = no
                                   * reports */
    struct {                      /* where the job gave each key, such as "job.yaml: line 4: init.skip"; error messages
                                   * begin with this text */
        const char *from, *skip, *map, *state;
    } said;
} tutti_init_config;

/* The vectors to fill: the parameters without '@', and the rule's states. */
typedef struct {
    const tutti_param *params;
    int nparams;
    const char *const *states; /* names of the rule's states */
    int nstates;
} tutti_init_wanted;

typedef struct tutti_init tutti_init;

/* Finds and checks the source. `wanted`, and the texts of `config`, are borrowed until destroy. */
tutti_status tutti_init_open(const tutti_init_config *config, const tutti_init_wanted *wanted, tutti_init **out,
                             tutti_failure *err);
/* TUTTI_ERR_USAGE if the file has a format in which other programs save weights; the message has the command that
 * converts it. tutti_init_open calls it. */
tutti_status tutti_init_check_form(const char *path, tutti_failure *err);
/* Returns the path that was read: for a run's folder, the checkpoint. With this path as `from`, the same is read
 * again. */
const char *tutti_init_path(const tutti_init *i);
/* Returns lines about checkpoints that were skipped, or NULL. */
const char *tutti_init_notes(const tutti_init *i);
/* Writes the tensors that were found into a packed vector and leaves its other elements. offset: the place of each
 * parameter in the vector. vector: a state's name, NULL = the weights. */
void tutti_init_fill(const tutti_init *i, const char *vector, const int64_t *offset, float *values);
/* Returns the updates that the states have seen; 0 without states. */
int64_t tutti_init_updates(const tutti_init *i);
/* Returns a parameter that the source lacks although the job did not skip it; NULL = none. */
const char *tutti_init_missing(const tutti_init *i);
/* Returns a hash over the names and bytes of all tensors that are taken. */
uint64_t tutti_init_hash(const tutti_init *i);
/* Returns one line without newline, "init FILE: 58 of 60 tensors loaded, 2 fresh (fc.weight, fc.bias), ..."; the caller
 * frees it. */
char *tutti_init_summary(const tutti_init *i);
/* Returns a line for each tensor, each with `before` in front; the caller frees it. */
char *tutti_init_list(const tutti_init *i, const char *before);
void tutti_init_destroy(tutti_init *i); /* NULL is accepted */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* init.h: weights from elsewhere that a run begins at: a safetensors file, several of them under an index, a
 * checkpoint, or the newest one of a run's folder. Tensors are taken by name and shape; what the model has and they
 * have not stays as it is drawn.
 *
 * Whatever does not fit is TUTTI_ERR_USAGE with the key to blame, what is damaged TUTTI_ERR_DATA. Everything is checked
 * before anything is written. Threads: owner; frozen once open. Memory: the files, as long as it is open. */
#ifndef TUTTI_INIT_H
#define TUTTI_INIT_H

#include "../../../base/headway.h"
#include "../../../base/text/options.h"
#include "../../graph/graph.h"

/* What a job says. */
typedef struct {
    const char *from;             /* NULL: all weights are drawn */
    tutti_texts skip;             /* patterns (name_pattern.h) of names of the model, which stay as they are drawn */
    tutti_texts map;              /* theirs and ours by turns: whole names, or what stands before a dot; "" = nothing */
    bool takes_states;            /* of the rule, too */
    const tutti_headway *headway; /* hears how far the reading is, in bytes of the file at hand; NULL = nobody */
    struct {                      /* where these were said, to begin a refusal with: "job.yaml: line 4: init.skip" */
        const char *from, *skip, *map, *state;
    } said;
} tutti_init_config;

/* What there is to be filled: params without '@', and vectors beside them. */
typedef struct {
    const tutti_param *params;
    int nparams;
    const char *const *states; /* names of the rule's */
    int nstates;
} tutti_init_wanted;

typedef struct tutti_init tutti_init;

/* wanted, and the texts of config, are borrowed until destroy. */
tutti_status tutti_init_open(const tutti_init_config *config, const tutti_init_wanted *wanted, tutti_init **out,
                             tutti_failure *err);
/* Whether a file is what other programs save weights as: TUTTI_ERR_USAGE with the line that converts it. open asks by
 * itself. */
tutti_status tutti_init_check_form(const char *path, tutti_failure *err);
/* What was read in the end: of a run's folder the checkpoint. Given as `from`, it is read again. */
const char *tutti_init_path(const tutti_init *i);
/* Lines about checkpoints that were passed over, or NULL. */
const char *tutti_init_notes(const tutti_init *i);
/* Writes what was found into the packed vectors (offset: of a param), and leaves the rest. vector: a state's name, NULL
 * = the weights. */
void tutti_init_fill(const tutti_init *i, const char *vector, const int64_t *offset, float *values);
/* Updates that the states have seen; 0 without states. */
int64_t tutti_init_updates(const tutti_init *i);
/* A parameter that the source has not, though nobody has skipped it; NULL: there is none. */
const char *tutti_init_missing(const tutti_init *i);
/* Of the names and bytes of all that is taken. */
uint64_t tutti_init_hash(const tutti_init *i);
/* One line without an end, "init FILE: 58 of 60 tensors loaded, 2 fresh (fc.weight, fc.bias), ..."; the caller
 * frees. */
char *tutti_init_summary(const tutti_init *i);
/* A line a tensor, each begun with `before`; the caller frees. */
char *tutti_init_list(const tutti_init *i, const char *before);
void tutti_init_destroy(tutti_init *i); /* NULL is accepted */

#endif

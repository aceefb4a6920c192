/* SPDX-License-Identifier: Apache-2.0 */
/* svm_checkpoint_impl.h: the format of a checkpoint of an SVM training.
 *
 *   head      the words below
 *   identity  lines "name: value": data and options that the result depends on; zeros up to a whole word
 *   entries   problems solved so far, in the order in which a training solves them, each followed by alpha[n]; the
 *             entries of a sigmoid's folds are replaced by one entry of the sigmoid
 *   state     of the problem that is being solved, if there is one: svm_state.h by the samples' numbers
 *   checksum  of all before
 *
 * All are words of eight bytes in the machine's byte order; the magic number shows a file of the other byte order.
 * Values of samples are stored in the order of the samples' numbers in the problem (svm_state.h), so the file does not
 * depend on ranks.
 *
 * Pure. Threads: any. */
#ifndef TUTTI_SVM_CHECKPOINT_IMPL_H
#define TUTTI_SVM_CHECKPOINT_IMPL_H

#include "tutti/svm.h"

enum { TUTTI_SVM_CHECKPOINT_WORD = 8, TUTTI_SVM_CHECKPOINT_VERSION = 1 };
#define TUTTI_SVM_CHECKPOINT_MAGIC INT64_C(0x54504b435f4d5653) /* the bytes "SVM_CKPT" */

typedef struct {
    int64_t magic, version;
    int64_t identity_bytes; /* bytes of the identity, rounded up to whole words */
    int64_t nentries;
    int64_t solving; /* 1: the state of the problem that was being solved follows the entries; 0: there is none */
} tutti_svm_checkpoint_head;

typedef struct {
    int64_t n;   /* samples of the problem; 0 for a sigmoid */
    double a, b; /* parameters of the sigmoid */
    tutti_svm_pair_result result;
} tutti_svm_checkpoint_entry; /* in the file, alpha[n] follows it */

typedef struct {
    int64_t n, nmembers, next;
    int64_t round, iterations, since, delta, active, eliminated, reconstructed, kernel_rows, cached_rows, stalled;
    double lowered;
} tutti_svm_checkpoint_state; /* in the file, member[nmembers], alpha[n], gamma[n] follow; gamma of a dropped sample is
                               * NaN */

_Static_assert(sizeof(tutti_svm_checkpoint_head) == 5 * TUTTI_SVM_CHECKPOINT_WORD &&
                   sizeof(tutti_svm_checkpoint_entry) == 10 * TUTTI_SVM_CHECKPOINT_WORD &&
                   sizeof(tutti_svm_checkpoint_state) == 14 * TUTTI_SVM_CHECKPOINT_WORD,
               "whole words, no gaps");

/* A file that was checked; the fields point into its bytes. */
typedef struct {
    const char *identity;
    size_t identity_bytes; /* length without the zeros behind the identity */
    int64_t nentries;
    const tutti_svm_checkpoint_entry *entry;
    const tutti_svm_checkpoint_state *state; /* NULL if the file was saved between two problems */
    const int64_t *member;
    const double *alpha, *gamma;
} tutti_svm_checkpoint_view;

/* Checks and parses a file. bytes must be aligned as malloc() aligns. TUTTI_ERR_DATA if it is not whole or not
 * consistent. name: for failures. */
tutti_status tutti_svm_checkpoint_parse(const char *name, const char *bytes, size_t nbytes,
                                        tutti_svm_checkpoint_view *out, tutti_failure *err);

static inline const double *tutti_svm_checkpoint_alpha(const tutti_svm_checkpoint_entry *entry)
{
    return (const double *)(const void *)(entry + 1);
}

static inline const tutti_svm_checkpoint_entry *tutti_svm_checkpoint_next(const tutti_svm_checkpoint_entry *entry)
{
    return (const tutti_svm_checkpoint_entry *)(const void *)(tutti_svm_checkpoint_alpha(entry) + entry->n);
}

/* Compares identities. TUTTI_ERR_DATA names the first line that differs. */
tutti_status tutti_svm_checkpoint_compare(const char *name, const char *ours, const tutti_svm_checkpoint_view *file,
                                          tutti_failure *err);

#endif

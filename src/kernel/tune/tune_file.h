/* SPDX-License-Identifier: Apache-2.0 */
/* tune_file.h: tune files, measured on a processor: times of kernels' candidates, and trees that choose between ways of
 * a product.
 *
 *   tutti tuned kernels 1
 *   processor: AuthenticAMD 25.17.1 AMD EPYC
 *   caches: 32768 1048576 33554432
 *   isa: avx512
 *   library: oneDNN 3.2.0 (avx512_core_bf16)
 *   threads: 1
 *   entry dense 64x800:units=500 f32 forward tnn 0.000731
 *   tree nt f32 ways nt,tnn features log2_m,log2_n
 *   node 0 log2_m 5.5 1 2
 *   leaf 1 tnn
 *   leaf 2 nt
 *   checksum: 8a5edab282632443
 *
 * Words are apart by one blank and hold none; '#' begins a line that is a comment. The last line is the xxh3 of all
 * bytes before it. `tutti tune kernels` writes such files; docs/kernels.md. Threads: frozen once made. */
#ifndef TUTTI_TUNE_FILE_H
#define TUTTI_TUNE_FILE_H

#include "../../base/host/processor.h"
#include "../../base/text/strbuf.h"
#include "../choose/candidate.h"
#include "../choose/choice_tree.h"

enum { TUTTI_TUNE_TREES = 16, TUTTI_TUNE_MAX_BYTES = 1 << 22 };

/* Where times hold: a kernel's depends on all of it. */
typedef struct {
    tutti_processor processor;
    char isa[16];     /* as tutti_isa_name says */
    char library[96]; /* as tutti_kernel_engine_describe does; "none" where the build has none */
    int nthreads;     /* of a kernel */
} tutti_tune_place;
tutti_tune_place tutti_tune_here(int nthreads);

typedef struct {
    const char *name, *precision; /* "nt", "f32": what it chooses for */
    const char *way[TUTTI_TREE_WAYS], *feature[TUTTI_TREE_FEATURES];
    tutti_choice_tree tree;
} tutti_tune_tree;

typedef struct tutti_tune_file {
    tutti_tune_place place;
    tutti_tuned_entry *entries; /* sorted by their words, no two alike */
    int nentries;
    tutti_tune_tree tree[TUTTI_TUNE_TREES];
    int ntrees;
    uint64_t checksum; /* of its text: two files that say the same have the same */
    tutti_arena arena; /* holds the words */
} tutti_tune_file;

/* Building one: zero-initialise, fill in place, add, print. Words are copied; they must be as the file wants them (no
 * blanks, not empty). */
void tutti_tune_file_add(tutti_tune_file *f,
                         const tutti_tuned_entry *entry); /* in the place of one of the same words */
void tutti_tune_file_add_tree(tutti_tune_file *f, const tutti_tune_tree *tree); /* likewise */
/* The text, with checksum; sets f->checksum. */
void tutti_tune_file_print(tutti_tune_file *f, tutti_strbuf *out);
/* To a temporary name, fsync, rename. */
tutti_status tutti_tune_file_write(tutti_tune_file *f, const char *path, tutti_failure *err);
void tutti_tune_file_release(tutti_tune_file *f);

/* name: of the file, for failures. TUTTI_ERR_DATA: empty, of a newer version, damaged (its checksum is not that of its
 * bytes), or a line that says nothing. nbytes of text, a '\0' behind them. */
tutti_status tutti_tune_file_parse(const char *name, const char *text, size_t nbytes, tutti_tune_file *out,
                                   tutti_failure *err);
/* TUTTI_ERR_DATA: it was measured elsewhere: on another processor, with other instructions, another library or other
 * threads. */
tutti_status tutti_tune_file_check(const char *name, const tutti_tune_file *f, const tutti_tune_place *here,
                                   tutti_failure *err);
/* Reads, parses, checks. TUTTI_ERR_USAGE: there is no such file. Released by the caller. */
tutti_status tutti_tune_file_open(const char *path, const tutti_tune_place *here, tutti_tune_file *out,
                                  tutti_failure *err);

/* Of an entry with these words; 0: nobody has measured that. Cost: a binary search. */
double tutti_tune_file_seconds(const tutti_tune_file *f, const char *op, const char *shape, const char *precision,
                               const char *pass, const char *candidate);
/* The tree of this name and precision, or NULL. */
const tutti_tune_tree *tutti_tune_file_tree(const tutti_tune_file *f, const char *name, const char *precision);
/* As the chooser takes it (candidate.h); borrows f. */
tutti_tuned tutti_tune_file_tuned(const tutti_tune_file *f);
/* What a text ends with so that parse believes it: the line of its checksum. */
void tutti_tune_file_seal(tutti_strbuf *text);

#endif

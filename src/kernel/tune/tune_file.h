/* SPDX-License-Identifier: Apache-2.0 */
/* tune_file.h: tune files: times of kernels' candidates, measured on one processor, and decision trees that choose
 * between ways to compute a matrix product.
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
 * Words are separated by one blank and contain no blanks. A line that begins with '#' is a comment. The last line is
 * the xxh3 of all bytes before it. `tutti tune kernels` writes such files (docs/kernels.md). Threads: any may read a
 * file that is complete. */
#ifndef TUTTI_TUNE_FILE_H
#define TUTTI_TUNE_FILE_H

#include "../../base/host/processor.h"
#include "../../base/text/strbuf.h"
#include "../choose/candidate.h"
#include "../choose/choice_tree.h"

enum { TUTTI_TUNE_TREES = 16, TUTTI_TUNE_MAX_BYTES = 1 << 22 };

/* Where times were measured: processor, instruction set, library, number of threads. A kernel's time depends on all
 * four. */
typedef struct {
    tutti_processor processor;
    char isa[16];     /* name of the instruction set, as tutti_isa_name returns it */
    char library[96]; /* text about the library, as tutti_kernel_engine_describe has it; "none" if the build has none */
    int nthreads;     /* number of threads of a kernel */
} tutti_tune_place;
tutti_tune_place tutti_tune_here(int nthreads);

typedef struct {
    const char *name, *precision; /* name and precision of the product that the tree chooses for: "nt", "f32" */
    const char *way[TUTTI_TREE_WAYS], *feature[TUTTI_TREE_FEATURES];
    tutti_choice_tree tree;
} tutti_tune_tree;

typedef struct tutti_tune_file {
    tutti_tune_place place;
    tutti_tuned_entry *entries; /* sorted by op, shape, precision, pass, candidate; no two entries agree in all five */
    int nentries;
    tutti_tune_tree tree[TUTTI_TUNE_TREES];
    int ntrees;
    uint64_t checksum; /* checksum of the file's text */
    tutti_arena arena; /* memory of all texts */
} tutti_tune_file;

/* To build a file: zero-initialise it, set its place, add entries, print. Texts are copied. They must not be empty and
 * must not contain blanks. */
void tutti_tune_file_add(tutti_tune_file *f,
                         /* the new entry; it replaces an entry with the same five texts */
                         const tutti_tuned_entry *entry);
/* replaces a tree of the same name and precision */
void tutti_tune_file_add_tree(tutti_tune_file *f, const tutti_tune_tree *tree);
/* Prints the text with its checksum, and sets f->checksum. */
void tutti_tune_file_print(tutti_tune_file *f, tutti_strbuf *out);
/* Writes to a temporary name, calls fsync, and renames. */
tutti_status tutti_tune_file_write(tutti_tune_file *f, const char *path, tutti_failure *err);
void tutti_tune_file_release(tutti_tune_file *f);

/* Parses nbytes of text, which a '\0' follows. name: the file's name, for failures. TUTTI_ERR_DATA if the text is
 * empty, of a newer version, damaged (its checksum is wrong), or has a line that cannot be parsed. */
tutti_status tutti_tune_file_parse(const char *name, const char *text, size_t nbytes, tutti_tune_file *out,
                                   tutti_failure *err);
/* Returns TUTTI_ERR_DATA if the file was measured on another processor, with another instruction set or library, or
 * with another number of threads than `here`. */
tutti_status tutti_tune_file_check(const char *name, const tutti_tune_file *f, const tutti_tune_place *here,
                                   tutti_failure *err);
/* Reads, parses and checks a file. TUTTI_ERR_USAGE if it does not exist. The caller releases it. */
tutti_status tutti_tune_file_open(const char *path, const tutti_tune_place *here, tutti_tune_file *out,
                                  tutti_failure *err);

/* Returns the seconds of the entry with these texts, or 0 if the file has no such entry. Cost: a binary search. */
double tutti_tune_file_seconds(const tutti_tune_file *f, const char *op, const char *shape, const char *precision,
                               const char *pass, const char *candidate);
/* Returns the tree of this name and precision, or NULL. */
const tutti_tune_tree *tutti_tune_file_tree(const tutti_tune_file *f, const char *name, const char *precision);
/* Returns the file's entries in the form that the chooser takes (candidate.h). f must outlive the result. */
tutti_tuned tutti_tune_file_tuned(const tutti_tune_file *f);
/* Appends the line with the checksum. Parsing requires it as the last line. */
void tutti_tune_file_seal(tutti_strbuf *text);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* svm_pairs_rows_avx2.c: the table of rows where the vector instructions of x86-64 may exist. Its name makes CMake leave it
 * out elsewhere; svm_pairs_rows_portable.c stands in. */
#include "svm_pairs_impl.h"

const tutti_svm_pairs_row *const tutti_svm_pairs_rows[] = {
    &tutti_svm_pairs_avx512,
    &tutti_svm_pairs_avx2,
    &tutti_svm_pairs_generic,
};
const int tutti_svm_pairs_nrows = sizeof tutti_svm_pairs_rows / sizeof tutti_svm_pairs_rows[0];

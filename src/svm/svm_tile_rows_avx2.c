/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile_rows_avx2.c: the table of rows where the vector instructions of x86-64 may exist. Its name makes CMake leave it
 * out elsewhere; svm_tile_rows_portable.c stands in. */
#include "svm_tile_impl.h"

const tutti_svm_tile_row *const tutti_svm_tile_rows[] = {
    &tutti_svm_tile_f32_avx512, &tutti_svm_tile_f64_avx512,  &tutti_svm_tile_f32_avx2,
    &tutti_svm_tile_f64_avx2,   &tutti_svm_tile_f32_generic, &tutti_svm_tile_f64_generic,
};
const int tutti_svm_tile_nrows = sizeof tutti_svm_tile_rows / sizeof tutti_svm_tile_rows[0];

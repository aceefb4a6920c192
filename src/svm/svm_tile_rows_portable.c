/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile_rows_portable.c: the table of rows on processors without x86-64's vectors. */
#include "svm_tile_impl.h"

const tutti_svm_tile_row *const tutti_svm_tile_rows[] = {&tutti_svm_tile_f32_generic, &tutti_svm_tile_f64_generic};
const int tutti_svm_tile_nrows = sizeof tutti_svm_tile_rows / sizeof tutti_svm_tile_rows[0];

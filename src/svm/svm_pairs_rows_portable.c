/* SPDX-License-Identifier: Apache-2.0 */
/* svm_pairs_rows_portable.c: the table of rows on processors without x86-64's vectors. */
#include "svm_pairs_impl.h"

const tutti_svm_pairs_row *const tutti_svm_pairs_rows[] = {&tutti_svm_pairs_generic};
const int tutti_svm_pairs_nrows = sizeof tutti_svm_pairs_rows / sizeof tutti_svm_pairs_rows[0];

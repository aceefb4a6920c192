/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_rows_portable.c: the table of loops on processors without x86-64's vectors. */
#include "sparse_impl.h"

const tutti_sparse_loops *const tutti_sparse_rows[] = {&tutti_sparse_generic};
const int tutti_sparse_nrows = sizeof tutti_sparse_rows / sizeof tutti_sparse_rows[0];

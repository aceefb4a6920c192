/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_rows_avx2.c: the table of loops where the vector instructions of x86-64 may exist. Its name makes CMake leave it out elsewhere;
 * sparse_rows_portable.c stands in. */
#include "sparse_impl.h"

const tutti_sparse_loops *const tutti_sparse_rows[] = {&tutti_sparse_avx512, &tutti_sparse_avx2, &tutti_sparse_generic};
const int tutti_sparse_nrows = sizeof tutti_sparse_rows / sizeof tutti_sparse_rows[0];

/* SPDX-License-Identifier: Apache-2.0 */
/* update_rows_avx2.c: the table of rows where the vector instructions of x86-64 may exist. Its name makes CMake leave it out
 * elsewhere; update_rows_portable.c stands in. */
#include "update_impl.h"

const tutti_update_row *const tutti_update_rows[] = {&tutti_update_avx512, &tutti_update_avx2, &tutti_update_generic};
const int tutti_update_nrows = sizeof tutti_update_rows / sizeof tutti_update_rows[0];

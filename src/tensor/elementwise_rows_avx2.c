/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_rows_avx2.c: the table of rows where the vector instructions of x86-64 may exist. Its name makes CMake leave it
 * out elsewhere; elementwise_rows_portable.c stands in. */
#include "elementwise_impl.h"

const tutti_elementwise_row *const tutti_elementwise_rows[] = {
    &tutti_elementwise_avx512,
    &tutti_elementwise_avx2,
    &tutti_elementwise_generic,
};
const int tutti_elementwise_nrows = sizeof tutti_elementwise_rows / sizeof tutti_elementwise_rows[0];

/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_rows_portable.c: the table of rows on processors without x86-64's vectors. */
#include "gemm_impl.h"

const tutti_gemm_row *const tutti_gemm_rows[] = {&tutti_gemm_portable, &tutti_gemm_tiles};
const int tutti_gemm_nrows = sizeof tutti_gemm_rows / sizeof *tutti_gemm_rows;

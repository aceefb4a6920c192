/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_rows_avx2.c: the table of rows where the vector instructions of x86-64 may exist; gemm_rows_portable.c stands in elsewhere. */
#include "gemm_impl.h"

const tutti_gemm_row *const tutti_gemm_rows[] = {
    &tutti_gemm_avx512, &tutti_gemm_avx2,        &tutti_gemm_portable,
    &tutti_gemm_amx,    &tutti_gemm_avx512_bf16, &tutti_gemm_tiles,
};
const int tutti_gemm_nrows = sizeof tutti_gemm_rows / sizeof *tutti_gemm_rows;

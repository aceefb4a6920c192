/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_rows_portable.c: the table of rows on processors other than x86-64: the generic row alone, which the compiler
 * turns into what the processor has. */
#include "elementwise_impl.h"

const tutti_elementwise_row *const tutti_elementwise_rows[] = {&tutti_elementwise_generic};
const int tutti_elementwise_nrows = sizeof tutti_elementwise_rows / sizeof tutti_elementwise_rows[0];

/* SPDX-License-Identifier: Apache-2.0 */
/* update_rows_portable.c: the table of rows on processors other than x86-64. */
#include "update_impl.h"

const tutti_update_row *const tutti_update_rows[] = {&tutti_update_generic};
const int tutti_update_nrows = sizeof tutti_update_rows / sizeof tutti_update_rows[0];

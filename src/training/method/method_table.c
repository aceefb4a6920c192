/* SPDX-License-Identifier: Apache-2.0 */
/* method_table.c: the methods there are. A new one is its file, its declaration in method_impl.h and its name here. */
#include <string.h>

#include "method_impl.h"

static const tutti_method_row *const rows[] = {&tutti_method_sync_sgd, &tutti_method_local_sgd};
enum { NROWS = sizeof rows / sizeof *rows };

const tutti_method_row *tutti_method_at(int i)
{
    return i >= 0 && i < NROWS ? rows[i] : NULL;
}

const tutti_method_row *tutti_method_find(const char *name)
{
    for (int i = 0; i < NROWS; i++)
        if (!strcmp(rows[i]->name, name)) return rows[i];
    return NULL;
}

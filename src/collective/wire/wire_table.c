/* SPDX-License-Identifier: Apache-2.0 */
/* wire_table.c: the wires that there are, and what all of them share. */
#include <stdlib.h>
#include <string.h>

#include "../../base/options.h"
#include "wire_impl.h"

const tutti_wire_row tutti_wire_shm = {
    .name = "shm",
    .help = "memory that all ranks of a host map: loads and stores",
    .can = TUTTI_WIRE_MAPS_MEMORY,
};

static const tutti_wire_row *const rows[] = {&tutti_wire_shm, &tutti_wire_tcp, &tutti_wire_ucx};
enum { NROWS = sizeof rows / sizeof rows[0] };

int tutti_wire_count(void)
{
    return NROWS;
}

const tutti_wire_row *tutti_wire_at(int i)
{
    return rows[i];
}

const tutti_wire_row *tutti_wire_find(const char *name, tutti_failure *err)
{
    const char *names[NROWS];
    for (int i = 0; i < NROWS; i++) {
        if (!strcmp(rows[i]->name, name)) return rows[i];
        names[i] = rows[i]->name;
    }
    const char *nearest = tutti_options_nearest(name, names, NROWS);
    tutti_fail(err, TUTTI_ERR_USAGE, "TUTTI_WIRE='%s' is no wire;%s%s%s there are auto, shm, tcp and ucx", name,
               nearest ? " did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return NULL;
}

void tutti_put_release(tutti_put *f)
{
    if (f && f->flying)
        f->abandoned = true;
    else
        free(f);
}

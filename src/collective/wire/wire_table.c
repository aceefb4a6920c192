/* SPDX-License-Identifier: Apache-2.0 */
/* wire_table.c: the table of wires (tcp, ucx). A new wire needs a file of its own and its name in WIRES. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/text/options.h"
#include "../../base/text/strbuf.h"
#include "tcp_impl.h"
#include "wire_impl.h"

const tutti_wire_row tutti_wire_shm = {
    .name = "shm",
    .help = "memory that all ranks of a host map: loads and stores",
    .can = TUTTI_WIRE_MAPS_MEMORY,
};

#define WIRES(row) row(shm) row(tcp) row(ucx)

#define DECLARE(name) extern const tutti_wire_row tutti_wire_##name;
WIRES(DECLARE)

#define ROW(name) &tutti_wire_##name,
static const tutti_wire_row *const rows[] = {WIRES(ROW)};
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
    tutti_strbuf all = {0};
    for (int i = 0; i < NROWS; i++) tutti_strbuf_printf(&all, "%s%s", i < NROWS - 1 ? ", " : " and ", names[i]);
    tutti_fail(err, TUTTI_ERR_USAGE, "TUTTI_WIRE='%s' is not a wire;%s%s%s there are auto%s", name,
               nearest ? " did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "", all.text);
    tutti_strbuf_release(&all);
    return NULL;
}

tutti_status tutti_wire_check_interfaces(tutti_failure *err)
{
    const char *wanted = getenv("TUTTI_NET_IF");
    tcp_address found[TUTTI_TCP_MOST_ADDRESSES];
    uint32_t n;
    return wanted && *wanted ? tutti_tcp_list_addresses(wanted, found, &n, err) : TUTTI_OK;
}

tutti_status tutti_wire_check_settings(tutti_failure *err)
{
    tutti_arena arena = {0};
    tcp_settings settings;
    const tutti_status st = tutti_tcp_read_settings(&arena, &settings, err);
    tutti_arena_release(&arena);
    return st;
}

tutti_status tutti_wire_list_interfaces(tutti_wire_interface out[TUTTI_WIRE_MOST_INTERFACES], int *n,
                                        tutti_failure *err)
{
    const char *wanted = getenv("TUTTI_NET_IF");
    tcp_address found[TUTTI_TCP_MOST_ADDRESSES];
    uint32_t nfound = 0;
    const tutti_status st = tutti_tcp_list_addresses(wanted && *wanted ? wanted : NULL, found, &nfound, err);
    *n = 0;
    for (uint32_t i = 0; !st && i < nfound && *n < TUTTI_WIRE_MOST_INTERFACES; i++) {
        tutti_wire_interface *to = &out[(*n)++];
        *to = (tutti_wire_interface){.mbit = found[i].mbit, .mtu = tutti_tcp_interface_figure(found[i].name, "mtu")};
        snprintf(to->name, sizeof to->name, "%s", found[i].name);
        tutti_tcp_address_text(&found[i], to->address);
    }
    return st;
}

void tutti_put_release(tutti_put *f)
{
    if (f && f->flying)
        f->abandoned = true;
    else
        free(f);
}

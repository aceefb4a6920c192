/* SPDX-License-Identifier: Apache-2.0 */
/* discover_variables.c: reads torchrun's variables: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT. `tutti` as
 * launcher sets the same variables; people who start ranks by hand set them too.
 *
 * If torchrun's agent already listens on MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE), rank 0 takes the next port. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "address.h"
#include "discover_impl.h"

static bool present(void)
{
    return tutti_variable_set("RANK") || tutti_variable_set("WORLD_SIZE");
}

/* Returns a hash that tells jobs on one port apart: of TUTTI_COOKIE, else of torchrun's run id and restart count; 0 =
 * neither is set. */
static uint64_t read_cookie(void)
{
    const char *cookie = getenv("TUTTI_COOKIE"), *run = getenv("TORCHELASTIC_RUN_ID");
    const char *restart = getenv("TORCHELASTIC_RESTART_COUNT");
    if (cookie && *cookie) return tutti_hash(cookie, strlen(cookie));
    if (!run || !*run) return 0;
    char text[256];
    int length = snprintf(text, sizeof text, "%s/%s", run, restart ? restart : "0");
    return tutti_hash(text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* Sets *port to the port that follows the address, if there is one. If MASTER_PORT is set too, both must be equal. */
static tutti_status take_port(const char *text, long long *port, tutti_failure *err)
{
    tutti_address a;
    const tutti_status st = tutti_address_read(text, &a, err);
    if (st || !a.port) return st;
    if (tutti_variable_set("MASTER_PORT") && *port != a.port)
        return tutti_fail(err, TUTTI_ERR_USAGE, "environment: MASTER_ADDR='%.80s' and MASTER_PORT=%s are of two ports",
                          text, getenv("MASTER_PORT"));
    *port = a.port;
    return TUTTI_OK;
}

static tutti_status read_variables(tutti_group_config *c, tutti_failure *err)
{
    const bool has_rank = tutti_variable_set("RANK");
    if (has_rank != tutti_variable_set("WORLD_SIZE"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "environment: %s is set but %s is not: set both or neither",
                          has_rank ? "RANK" : "WORLD_SIZE", has_rank ? "WORLD_SIZE" : "RANK");
    long long nranks, rank, local, here, port, fd;
    tutti_status st = tutti_variable_number("WORLD_SIZE", 1, 1 << 20, 1, &nranks, err);
    if (!st) st = tutti_variable_number("RANK", 0, nranks - 1, 0, &rank, err);
    if (!st) st = tutti_variable_number("LOCAL_RANK", 0, nranks - 1, rank, &local, err);
    if (!st) st = tutti_variable_number("LOCAL_WORLD_SIZE", 1, 1 << 20, nranks == 1, &here, err);
    if (!st) st = tutti_variable_number("MASTER_PORT", 1, 65535, c->master_port, &port, err);
    if (!st) st = tutti_variable_number("TUTTI_MASTER_FD", 0, 1 << 20, -1, &fd, err);
    if (st) return st;
    if (here <= local || here > nranks)
        here = 0; /* LOCAL_WORLD_SIZE contradicts the other variables: another
                                                   * launcher has set it */
    c->rank = (int)rank, c->nranks = (int)nranks, c->local_rank = (int)local, c->local_nranks = (int)here;
    if (tutti_variable_set("MASTER_ADDR")) c->master_addr = getenv("MASTER_ADDR");
    st = take_port(c->master_addr, &port, err);
    if (st) return st;
    const char *store = getenv("TORCHELASTIC_USE_AGENT_STORE");
    if (store && !strcmp(store, "True")) port = port < 65535 ? port + 1 : 1024;
    c->master_port = (int)port;
    c->master_fd = (int)fd;
    c->cookie = read_cookie();
    return TUTTI_OK;
}

const tutti_launcher_row tutti_launcher_variables = {
    .name = "RANK and WORLD_SIZE",
    .variables = "RANK WORLD_SIZE",
    .present = present,
    .read = read_variables,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* look.c: says which launcher started this process and whether a rendezvous could begin, without joining anything. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "address.h"
#include "discover_impl.h"
#include "open_files.h"

tutti_status tutti_launcher_look(tutti_group_config *config, const char **variables, bool *is_read, tutti_failure *err)
{
    const tutti_launcher_row *row = tutti_launcher_row_here();
    tutti_status st = tutti_launcher_begin(config, err);
    config->launcher = row ? row->name : NULL;
    *variables = row ? row->variables : "";
    *is_read = !row || !row->talks;
    if (!st && row && !row->talks) st = row->read(config, err);
    return st;
}

static tutti_status try_to_listen(const tutti_group_config *config, const tutti_address *master, tutti_failure *err)
{
    int listeners[TUTTI_ADDRESS_MOST_LISTENERS];
    const int n = tutti_address_listen(master, config->master_port, listeners);
    if (n < 0)
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "rank 0 cannot listen on %s port %d: %s", config->master_addr,
                          config->master_port, strerror(errno));
    for (int i = 0; i < n; i++) close(listeners[i]);
    return TUTTI_OK;
}

static tutti_status try_to_find(const tutti_group_config *config, const tutti_address *master, tutti_failure *err)
{
    struct addrinfo *found = NULL;
    const int problem = tutti_address_resolve(master, config->master_port, &found);
    if (problem)
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "MASTER_ADDR '%s' is unknown here: %s", config->master_addr,
                          gai_strerror(problem));
    freeaddrinfo(found);
    return TUTTI_OK;
}

tutti_status tutti_launcher_try_port(const tutti_group_config *config, tutti_failure *err)
{
    tutti_address master;
    if (config->master_fd >= 0) return TUTTI_OK; /* the launcher has opened the socket already */
    const tutti_status st = tutti_address_read(config->master_addr, &master, err);
    if (st) return st;
    return config->rank ? try_to_find(config, &master, err) : try_to_listen(config, &master, err);
}

int64_t tutti_launcher_most_ranks(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_max > INT32_MAX) return INT32_MAX;
    /* Rank 0 needs one more file for each rank while the ranks join. */
    const int64_t left = (int64_t)limit.rlim_max - TUTTI_FILES_OF_A_RANK;
    return left < 0 ? 0 : left / (TUTTI_FILES_A_PEER + 1);
}

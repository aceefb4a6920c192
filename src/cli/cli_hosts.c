/* SPDX-License-Identifier: Apache-2.0 */
/* cli_hosts.c: `--hosts 2,1`: which ranks are of one host. */
#include <stdlib.h>

#include "../base/arena.h"
#include "cli.h"

tutti_status tutti_cli_hosts(const tutti_flags *f, int32_t nranks, int32_t *host_of, tutti_failure *err)
{
    long *sizes = tutti_alloc(sizeof *sizes * (size_t)nranks), next = 0;
    tutti_cli_list list = {sizes, nranks, 0};
    tutti_status st = tutti_cli_ints(f, "hosts", (tutti_cli_range){1, nranks}, &list, err);
    for (int host = 0; st == TUTTI_OK && host < list.n; host++) {
        for (long r = next; r < next + sizes[host] && r < nranks; r++) host_of[r] = host;
        next += sizes[host];
    }
    if (st == TUTTI_OK && next != nranks)
        st =
            tutti_fail(err, TUTTI_ERR_USAGE, "--hosts '%s': ranks of each host, %d together, are wanted, such as %d,%d",
                       tutti_cli_value(f, "hosts", ""), nranks, (nranks + 1) / 2, nranks / 2);
    free(sizes);
    return st;
}

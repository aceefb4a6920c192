/* SPDX-License-Identifier: Apache-2.0 */
/* discover_pmix_absent.c: a build without the headers of PMIx: a start under PMIx is refused, because each process would train alone. */
#include <stdlib.h>

#include "discover_impl.h"

static bool present(void)
{
    return tutti_variable_set("PMIX_NAMESPACE") && tutti_variable_set("PMIX_RANK");
}

static tutti_status refuse(tutti_group_config *config, tutti_failure *err)
{
    (void)config;
    return tutti_fail(
        err, TUTTI_ERR_RENDEZVOUS,
        "started as rank %s by a launcher that speaks PMIx, which this build does not: install libpmix-dev "
        "and build again, or use 'tutti' with --ranks, or torchrun --no-python",
        getenv("PMIX_RANK"));
}

const tutti_launcher_row tutti_launcher_pmix = {.name = "PMIx (not in this build)", .present = present, .read = refuse};

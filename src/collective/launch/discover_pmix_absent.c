/* SPDX-License-Identifier: Apache-2.0 */
/* discover_pmix_absent.c: a build without the headers of PMIx: a start under PMIx is refused, because each process
 * would train alone. */
#include <stdlib.h>

#include "discover_impl.h"

static bool present(void)
{
    return tutti_variable_set("PMIX_NAMESPACE") && tutti_variable_set("PMIX_RANK");
}

static tutti_status refuse(tutti_group_config *config, tutti_failure *err)
{
    char unset[TUTTI_LAUNCHER_UNSET];
    (void)config;
    tutti_launcher_unset(unset);
    return tutti_fail(
        err, TUTTI_ERR_RENDEZVOUS,
        "started as rank %s by a launcher that speaks PMIx, which this build does not: install libpmix-dev "
        "and build again, or use torchrun --no-python; on one host '%s' first, then 'tutti' starts ranks itself "
        "(--ranks)",
        getenv("PMIX_RANK"), unset);
}

tutti_status tutti_launcher_pmix_version(char out[TUTTI_LAUNCHER_PMIX], tutti_failure *err)
{
    out[0] = '\0';
    return tutti_fail(err, TUTTI_ERR_FAILED, "this build knows nothing of PMIx: install libpmix-dev and build again");
}

const tutti_launcher_row tutti_launcher_pmix = {
    .name = "PMIx (not in this build)", .variables = "PMIX_NAMESPACE PMIX_RANK", .present = present, .read = refuse};

/* SPDX-License-Identifier: Apache-2.0 */
/* ucx_library.c: loads UCX when the wire is opened. Its interface is stable within libucp.so.0 (all of UCX 1). */
#include "ucx_impl.h"

static const char *const names[] = {TUTTI_UCX_FUNCTIONS(TUTTI_LIBRARY_NAME)};

tutti_status tutti_ucx_load(ucx_functions *out, tutti_failure *err)
{
    const tutti_library ucx = {.file = "libucp.so.0",
                               .variable = "TUTTI_UCX_LIBRARY",
                               .package = "libucx0",
                               .names = names,
                               .n = sizeof names / sizeof names[0]};
    tutti_failure why = {0};
    if (!tutti_library_load(&ucx, out, &why)) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "wire ucx: %s", why.text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* partition_absent.c: refuses partitions in a build without hwloc. */
#include "partition.h"

static tutti_status refuse(tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "this build has no hwloc, which says which cores lie together: install libhwloc-dev and build "
                      "again, or take 'none'");
}

tutti_status tutti_partition_of_cores(const char *text, const tutti_core_set *given, tutti_partition *out,
                                      tutti_failure *err)
{
    tutti_partition_rule rule;
    (void)given, (void)out;
    const tutti_status st = tutti_partition_parse(text, &rule, err);
    return st ? st : refuse(err);
}

tutti_status tutti_partition_bind(const tutti_partition *p, int group, tutti_binding *out, tutti_failure *err)
{
    (void)p, (void)group, (void)out;
    return refuse(err);
}

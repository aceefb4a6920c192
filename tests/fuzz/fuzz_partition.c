/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_partition.c: any text is a rule of a partition, or a list of cores (TUTTI_CORES), or a refusal; a list as it is
 * printed reads back to the same cores. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "partition/partition.h"

static void must(bool holds)
{
    if (!holds) abort();
}

static void read_rule(const char *text)
{
    tutti_partition_rule rule;
    tutti_failure err = {0};
    if (tutti_partition_parse(text, &rule, &err)) {
        must(err.status == TUTTI_ERR_USAGE && err.text[0]);
        return;
    }
    must(rule.kind != TUTTI_PARTITION_NUMBER || (rule.ngroups >= 1 && rule.ngroups <= TUTTI_MOST_CORES));
}

static void read_cores(const char *text)
{
    tutti_core_set set = {0}, again;
    tutti_strbuf print = {0};
    if (!tutti_cores_parse(text, &set)) {
        must(tutti_cores_count(&set) == 0);
        return;
    }
    must(tutti_cores_count(&set) > 0);
    tutti_cores_print(&set, &print);
    must(tutti_cores_parse(print.text, &again) && !memcmp(&set, &again, sizeof set));
    tutti_strbuf_release(&print);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = tutti_alloc(size + 1);
    if (size) memcpy(text, data, size);
    read_rule(text);
    read_cores(text);
    free(text);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_msccl.c: any bytes as an MSCCL program. What is read has a schedule that prints, remarks, and a verdict at every
 * capacity; what is right as a schedule, where channels hold what it says, goes out and comes back right. */
#include <stdlib.h>
#include <string.h>

#include "collective/interchange/msccl.h"
#include "tutti/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void there_and_back(const tutti_schedule *s)
{
    char *xml = NULL;
    tutti_msccl *again = NULL;
    if (tutti_schedule_check(s, NULL, NULL) != TUTTI_OK || tutti_msccl_export(s, &xml, NULL) != TUTTI_OK) return;
    if (tutti_msccl_read("exported", xml, strlen(xml), 0, &again, NULL) != TUTTI_OK) abort();
    if (tutti_msccl_check(again, tutti_schedule_head(s)->room, NULL, NULL) != TUTTI_OK) abort();
    tutti_msccl_destroy(again);
    free(xml);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tutti_msccl *m = NULL;
    tutti_strbuf remarks = {0};
    if (size > 20000 || tutti_msccl_read("input", (const char *)data, size, 0, &m, NULL) != TUTTI_OK) return 0;
    tutti_msccl_remarks(m, &remarks);
    tutti_strbuf_release(&remarks);
    const tutti_schedule *s = tutti_msccl_schedule(m);
    free(tutti_schedule_print(s));
    if (tutti_schedule_head(s)->nranks <= 16)
        for (int32_t capacity = 0; capacity <= 2; capacity += 2) tutti_msccl_check(m, capacity, NULL, NULL);
    if (tutti_schedule_head(s)->nranks <= 16) there_and_back(s);
    tutti_msccl_destroy(m);
    return 0;
}

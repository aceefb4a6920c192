/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_schedule.c: any bytes as a schedule file. What parses must print, parse again to the same text, and lower; what
 * the checker proves must be right when it is run. */
#include <stdlib.h>
#include <string.h>

#include "collective/interpret/interpret.h"
#include "tutti/check.h"
#include "tutti/lower.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void lower_all(const tutti_schedule *s)
{
    const tutti_schedule_header *head = tutti_schedule_head(s);
    int32_t *host_of = calloc((size_t)head->nranks, sizeof *host_of);
    for (int32_t r = 0; r < head->nranks; r++) host_of[r] = r / 2;
    for (int wire = TUTTI_WIRE_MAPPED; wire <= TUTTI_WIRE_MIXED; wire++) {
        tutti_schedule *lowered = NULL;
        if (wire == TUTTI_WIRE_MIXED ? tutti_schedule_lower_hosts(s, host_of, &lowered, NULL)
                                     : tutti_schedule_lower(s, (tutti_wire_class)wire, &lowered, NULL))
            continue;
        for (int32_t r = 0; r < head->nranks; r++) {
            tutti_part part;
            tutti_schedule_part(lowered, r, &part);
            tutti_part_release(&part);
        }
        tutti_schedule_destroy(lowered);
    }
    free(host_of);
}

static void judge(const tutti_schedule *s)
{
    tutti_verdict v;
    if (tutti_schedule_check(s, NULL, NULL) != TUTTI_OK) return;
    tutti_schedule_interpret(s, 2 * tutti_schedule_head(s)->nranks + 1, 1, 4, &v);
    if (v.wrong) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tutti_schedule *s = NULL, *again = NULL;
    if (tutti_schedule_parse("input", (const char *)data, size, &s, NULL) != TUTTI_OK) return 0;
    char *text = tutti_schedule_print(s);
    if (tutti_schedule_parse("printed", text, strlen(text), &again, NULL) != TUTTI_OK) abort();
    char *text_again = tutti_schedule_print(again);
    if (strcmp(text, text_again) || tutti_schedule_hash(s) != tutti_schedule_hash(again)) abort();
    lower_all(s);
    if (tutti_schedule_head(s)->nranks <= 8 && size < 10000) judge(s);
    free(text_again);
    free(text);
    tutti_schedule_destroy(again);
    tutti_schedule_destroy(s);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_packing.c: any bytes as a packing: refused with words, or read; what was read prints to a text that reads to the
 * same text, and checking it against a network ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collective/pack/packing.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    tutti_packing p, again;
    tutti_network g;
    tutti_failure err = {0};
    if (tutti_packing_parse("fuzz", (const char *)bytes, n, &p, &err)) {
        if (!err.text[0]) abort();
        return 0;
    }
    char *text = tutti_packing_print(&p);
    if (tutti_packing_parse("printed", text, strlen(text), &again, &err)) abort();
    char *second = tutti_packing_print(&again);
    if (strcmp(text, second) != 0) abort();
    tutti_network_init(&g, p.nranks, p.nnodes);
    for (int32_t v = 0; v + 1 < p.nnodes && v < 16; v++) tutti_network_add_both(&g, v, v + 1, 3);
    if (tutti_packing_check(&p, &g, &err) && !err.text[0]) abort();
    tutti_network_release(&g);
    tutti_packing_release(&p);
    tutti_packing_release(&again);
    free(text), free(second);
    return 0;
}

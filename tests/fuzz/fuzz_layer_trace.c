/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_layer_trace.c: any bytes as a layer trace: refused with words, or read; what was read prints to a text that
 * reads to the same text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    tutti_layer_trace t, again;
    tutti_failure err = {0};
    tutti_strbuf a = {0}, b = {0};
    if (tutti_layer_trace_parse("fuzz", (const char *)bytes, n, &t, &err)) {
        if (!err.text[0]) abort();
        return 0;
    }
    tutti_layer_trace_print(t.layers, t.nlayers, &a);
    tutti_layer_trace_print_rates(t.update_s_per_element, t.load_s_per_sample, &a);
    tutti_layer_trace_print_spread(&t.spread, &a);
    if (tutti_layer_trace_parse("printed", a.text, a.length, &again, &err)) abort();
    tutti_layer_trace_print(again.layers, again.nlayers, &b);
    tutti_layer_trace_print_rates(again.update_s_per_element, again.load_s_per_sample, &b);
    tutti_layer_trace_print_spread(&again.spread, &b);
    if (strcmp(a.text, b.text) != 0) abort();
    tutti_layer_trace_release(&t);
    tutti_layer_trace_release(&again);
    tutti_strbuf_release(&a);
    tutti_strbuf_release(&b);
    return 0;
}

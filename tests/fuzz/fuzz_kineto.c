/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kineto.c: any bytes as a trace of PyTorch's profiler: refused with words, or layers that print to a text that
 * reads back. */
#include <stdint.h>
#include <stdlib.h>

#include "metrics/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    tutti_layer_trace t, again;
    tutti_failure err = {0};
    tutti_strbuf text = {0};
    if (tutti_kineto_parse("fuzz", (const char *)bytes, n, &t, &err)) {
        if (!err.text[0]) abort();
        return 0;
    }
    tutti_layer_trace_print(t.layers, t.nlayers, &text);
    if (!tutti_layer_trace_parse("printed", text.text, text.length, &again, &err)) tutti_layer_trace_release(&again);
    tutti_layer_trace_release(&t);
    tutti_strbuf_release(&text);
    return 0;
}

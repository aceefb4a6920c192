/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ddl_rows.c: any bytes as a table of measured rows and as constants of a machine: refused with words, or read; rows that were read
 * are judged without harm, constants print to a text that reads to the same text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "papers/ddl_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void judge(const tutti_ddl_rows *rows)
{
    static const char machine[] =
        "model: A\ngpus_per_node: 4\n"
        "inside: {name: i, line: 1e10, efficiency: 0.5, hop_us: 1, server_efficiency: 0.4}\n"
        "networks: [{name: n, line: 1e9, efficiency: 0.8, hop_us: 20, server_efficiency: 0.6}]\n";
    tutti_layer_cost layers[] = {{"a", 100, 200, 0, 1000000}, {"b", 300, 600, 0, 4000}};
    const tutti_layer_trace trace = {.layers = layers, .nlayers = 2};
    tutti_ddl_constants c;
    tutti_failure err = {0};
    tutti_strbuf out = {0};
    if (tutti_ddl_constants_parse("machine", machine, strlen(machine), &c, &err)) abort();
    for (int i = 0; i < rows->nrows; i++)
        for (int k = 0; k < rows->ncounts && tutti_ddl_method_find(rows->rows[i].method); k++)
            if (!(tutti_ddl_predict(&c, &c.networks[0], &rows->rows[i], &trace, rows->gpus[k]) > 0)) abort();
    tutti_ddl_suspects(rows, 4, &out);
    tutti_strbuf_release(&out);
    tutti_ddl_constants_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    tutti_ddl_rows rows;
    tutti_ddl_constants c, again;
    tutti_failure err = {0};
    if (!tutti_ddl_rows_parse("fuzz", (const char *)bytes, n, &rows, &err)) {
        judge(&rows);
        tutti_ddl_rows_release(&rows);
    } else if (!err.text[0]) {
        abort();
    }
    if (!tutti_ddl_constants_parse("fuzz", (const char *)bytes, n, &c, &err)) {
        tutti_strbuf text = {0};
        tutti_ddl_constants_print(&c, &text);
        if (!tutti_ddl_constants_parse("printed", text.text, text.length, &again, &err))
            tutti_ddl_constants_release(&again);
        tutti_strbuf_release(&text);
        tutti_ddl_constants_release(&c);
    }
    return 0;
}

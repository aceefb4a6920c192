/* SPDX-License-Identifier: Apache-2.0 */
/* compare_csv.c: writes every test of every run as a row of CSV (RFC 4180). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compare.h"

static void put_character(tutti_strbuf *out, const char *bytes, size_t n)
{
    tutti_strbuf_add(out, bytes, n);
    if (bytes[0] == '"') tutti_strbuf_puts(out, "\"");
}

static void add_text(const char *text, tutti_strbuf *out)
{
    const bool quoted = strpbrk(text, ",\"\r\n");
    if (quoted) tutti_strbuf_puts(out, "\"");
    tutti_strbuf_add_utf8(out, text, put_character);
    if (quoted) tutti_strbuf_puts(out, "\"");
}

static void add_number(double value, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, ",");
    if (isfinite(value)) tutti_strbuf_add_real(out, value);
}

void tutti_compare_csv(const tutti_compare *c, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "method,seed,step,samples,seconds,accuracy,loss,bytes,note\n");
    for (int i = 0; i < c->nmethods * c->nseeds; i++) {
        const tutti_compare_run *r = &c->runs[i];
        for (int t = 0; t < r->lines.ntests; t++) {
            const tutti_run_test *test = &r->lines.tests[t];
            add_text(r->method->label, out);
            tutti_strbuf_printf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64, r->seed, test->step, test->step * r->batch);
            add_number(test->seconds, out);
            add_number(test->accuracy, out);
            add_number(test->loss, out);
            add_number(test->bytes, out);
            tutti_strbuf_puts(out, ",\n");
        }
        if (r->lines.has_diverged) {
            const int64_t step = r->lines.diverged_step;
            add_text(r->method->label, out);
            tutti_strbuf_printf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",,,,,diverged at step %" PRId64 "\n", r->seed,
                                step, step * r->batch, step);
        }
    }
}

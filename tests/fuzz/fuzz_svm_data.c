/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_svm_data.c: any bytes as a set of rows, in all ways of reading: refused with a line, or rows whose indices
 * ascend within the width. The first byte says which way. The text as a number has the bits that strtod gives. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "svm/data/svm_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_row(const tutti_svm_data *d, int64_t i)
{
    int32_t last = -1;
    if (d->start[i + 1] < d->start[i]) abort();
    for (int64_t k = d->start[i]; k < d->start[i + 1]; k++) {
        if (d->index[k] <= last || d->index[k] > d->width) abort();
        last = d->index[k];
    }
}

static void compare_number(const char *text, size_t n)
{
    if (!n || strchr(" \t\n\v\f\r", *text)) return; /* strtod skips blanks */
    char *line = malloc(n + 2), *end;
    memcpy(line, text, n);
    memcpy(line + n, "\n", 2);
    double got, want = strtod(line, &end);
    const char *after = tutti_svm_number(line, &got);
    if (after != (end == line ? NULL : end) || (after && memcmp(&got, &want, sizeof got) != 0)) abort();
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (!n) return 0;
    compare_number((const char *)bytes + 1, n - 1);
    const tutti_svm_reading how = {
        .lenient = bytes[0] & 1, .precomputed = bytes[0] >> 1 & 1, .unlabelled = bytes[0] >> 2 & 1};
    tutti_failure err = {0};
    tutti_svm_data d;
    if (tutti_svm_data_parse("fuzz", (const char *)bytes + 1, n - 1, &how, &d, &err)) {
        if (err.status != TUTTI_ERR_DATA || (!strstr(err.text, "fuzz: line ") && !strstr(err.text, "fuzz: row ")))
            abort();
        return 0;
    }
    if (d.start[0] != 0 || d.total != d.nrows || (!d.nrows && !how.lenient)) abort();
    for (int64_t i = 0; i < d.nrows; i++) check_row(&d, i);
    tutti_svm_data_release(&d);
    return 0;
}

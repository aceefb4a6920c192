/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_svm_checkpoint.c: any bytes as a checkpoint of svm-train, as they are and with a checksum that is right: refused
 * with words, or what the reader says of them lies inside. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "svm/checkpoint/svm_checkpoint_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Touches all of it: ASan knows where the bytes end. */
static void look(const char *bytes, size_t n)
{
    tutti_failure err = {0};
    tutti_svm_checkpoint_view v;
    if (tutti_svm_checkpoint_parse("fuzz", bytes, n, &v, &err)) {
        if (err.status != TUTTI_ERR_DATA || !strstr(err.text, "fuzz: ")) abort();
        return;
    }
    if (strlen(v.identity) != v.identity_bytes) abort();
    const tutti_svm_checkpoint_entry *e = v.entry;
    for (int64_t i = 0; i < v.nentries; i++, e = tutti_svm_checkpoint_next(e))
        for (int64_t k = 0; k < e->n; k++)
            if (!(tutti_svm_checkpoint_alpha(e)[k] >= 0)) abort();
    for (int64_t i = 0; v.state && i < v.state->nmembers; i++) {
        const int64_t m = v.member[i];
        if (m < 0 || m >= v.state->n || v.gamma[m] != v.gamma[m]) abort();
    }
    if (tutti_svm_checkpoint_compare("fuzz", "samples: 1\n", &v, &err) && !strstr(err.text, "here '")) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    enum { SUM = 8 };
    char *copy = malloc(n + 1); /* aligned */
    memcpy(copy, bytes, n);
    look(copy, n);
    if (n >= SUM) {
        const uint64_t sum = tutti_hash(copy, n - SUM);
        memcpy(copy + n - SUM, &sum, SUM);
        look(copy, n);
    }
    free(copy);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_svm_model.c: any bytes as a model, strictly and leniently: refused with a line, or read; what was read strictly
 * prints to a text that is read again and prints the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "svm/model/svm_model_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void print_again(const tutti_svm_model *m)
{
    size_t nfirst, nsecond;
    tutti_svm_model again;
    char *first = tutti_svm_model_print(m, &nfirst);
    if (tutti_svm_model_parse("printed", first, nfirst, false, &again, NULL)) abort();
    char *second = tutti_svm_model_print(&again, &nsecond);
    if (nfirst != nsecond || memcmp(first, second, nfirst) != 0) abort();
    tutti_svm_model_release(&again);
    free(first), free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    for (int lenient = 0; lenient < 2; lenient++) {
        tutti_failure err = {0};
        tutti_svm_model m;
        if (tutti_svm_model_parse("fuzz", (const char *)bytes, n, lenient, &m, &err)) {
            if (err.status != TUTTI_ERR_DATA || !strstr(err.text, "fuzz: line ")) abort();
            continue;
        }
        int64_t sum = 0;
        for (int c = 0; c < m.nclasses; c++) sum += m.nsv_of[c];
        if (sum != m.nsv || m.sv.nrows != m.nsv) abort();
        if (!lenient) print_again(&m);
        tutti_svm_model_release(&m);
    }
    return 0;
}

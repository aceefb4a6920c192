/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_safetensors_index.c: libFuzzer target: any bytes are either refused with words or an index whose files are names
 * without a folder, each of some tensor, and whose tensors are found again, each in one of those files. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "training/run/keep/safetensors_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static int number_of(const tutti_safetensors_index *x, const char *file)
{
    for (int i = 0; tutti_safetensors_index_file(x, i); i++)
        if (!strcmp(tutti_safetensors_index_file(x, i), file)) return i;
    abort();
}

static void look_at(const tutti_safetensors_index *x)
{
    const int n = tutti_safetensors_index_count(x);
    int nfiles = 0, highest = -1;
    const char *file, *before = NULL;
    for (; (file = tutti_safetensors_index_file(x, nfiles)); nfiles++) {
        if (strchr(file, '/') || !strcmp(file, "..") || !strstr(file, ".safetensors")) abort();
        if (before && strcmp(before, file) >= 0) abort();
        before = file;
    }
    for (int i = 0; i < n; i++) {
        const char *tensor = tutti_safetensors_index_tensor(x, i, &file);
        if (tutti_safetensors_index_find(x, tensor) != file) abort();
        const int number = number_of(x, file);
        highest = number > highest ? number : highest;
    }
    if (n < 1 || highest != nfiles - 1) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    tutti_failure err = {0};
    tutti_safetensors_index *x = NULL;
    if (tutti_safetensors_index_parse("fuzz", (const char *)data, nbytes, &x, &err) == TUTTI_OK) {
        look_at(x);
        tutti_safetensors_index_destroy(x);
    } else if (err.status != TUTTI_ERR_DATA || !err.text[0]) {
        abort();
    }
    return 0;
}

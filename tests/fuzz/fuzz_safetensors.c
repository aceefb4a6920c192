/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_safetensors.c: libFuzzer target: any bytes are either refused with words or give tensors that lie inside the
 * file, and writing these again gives a file that reads the same; as a file of other people they may besides have types
 * and dimensions that we have not. */
#include <stdlib.h>
#include <string.h>

#include "training/run/train.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static void write_again(const tutti_safetensors *st)
{
    char *bytes;
    size_t nbytes;
    tutti_safetensors *second;
    tutti_safetensors_write(tutti_safetensors_at(st, 0), tutti_safetensors_count(st), NULL, &bytes, &nbytes);
    if (tutti_safetensors_parse("again", bytes, nbytes, &second, NULL) != TUTTI_OK) abort();
    for (int i = 0; i < tutti_safetensors_count(st); i++) {
        const tutti_tensor_ref *a = tutti_safetensors_at(st, i), *b = tutti_safetensors_find(second, a->name);
        if (!b || !tutti_shape_equal(&a->shape, &b->shape)) abort();
        if (memcmp(a->data, b->data, (size_t)tutti_shape_count(&a->shape) * sizeof(float)) != 0) abort();
    }
    tutti_safetensors_destroy(second);
    free(bytes);
}

/* Of other people: every tensor is widened, or said not to be, and its bytes lie inside. */
static void read_foreign(const char *data, size_t nbytes, bool is_ours)
{
    tutti_failure err = {0};
    tutti_safetensors *st = NULL;
    if (tutti_safetensors_parse_foreign("fuzz", data, nbytes, &st, &err) != TUTTI_OK) {
        if (err.status != TUTTI_ERR_DATA || !err.text[0] || is_ours) abort();
        return;
    }
    for (int i = 0; i < tutti_safetensors_count(st); i++) {
        size_t n;
        const char *bytes = tutti_safetensors_bytes(st, i, &n), *type = tutti_safetensors_type(st, i);
        if (bytes < data || bytes + n > data + nbytes || !type) abort();
        if (!tutti_safetensors_widen(st, i, NULL)) {
            if (!strcmp(type, "F32")) abort();
            continue;
        }
        const size_t count = (size_t)tutti_shape_count(&tutti_safetensors_at(st, i)->shape);
        if (n != count * (type[0] == 'F' && type[1] == '3' ? 4 : 2)) abort();
        float *wide = malloc(count * sizeof(float) + 1);
        tutti_safetensors_widen(st, i, wide);
        free(wide);
    }
    tutti_safetensors_destroy(st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    tutti_failure err = {0};
    tutti_safetensors *st = NULL;
    const bool is_ours = tutti_safetensors_parse("fuzz", (const char *)data, nbytes, &st, &err) == TUTTI_OK;
    if (is_ours) tutti_safetensors_destroy(st);
    read_foreign((const char *)data, nbytes, is_ours);
    if (tutti_safetensors_parse("fuzz", (const char *)data, nbytes, &st, &err) == TUTTI_OK) {
        if (tutti_safetensors_count(st)) write_again(st);
        tutti_safetensors_destroy(st);
    } else if (err.status != TUTTI_ERR_DATA || !err.text[0]) {
        abort();
    }
    return 0;
}

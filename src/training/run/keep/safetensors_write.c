/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_write.c: writes f32 tensors as a safetensors file: 8 bytes of header length (little endian), the header
 * (JSON, padded with spaces to a multiple of 8), then the data without holes. Tensors are sorted by name, as the
 * format's own writer does for one dtype, so equal tensors give equal bytes. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../../base/text/json.h"
#include "checkpoint.h"

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const tutti_tensor_ref *const *)a)->name, (*(const tutti_tensor_ref *const *)b)->name);
}

static size_t tensor_bytes(const tutti_tensor_ref *t)
{
    return (size_t)tutti_shape_count(&t->shape) * sizeof(float);
}

static void add_metadata(tutti_json *j, const char *const *metadata)
{
    tutti_json_open(j, "__metadata__", '{');
    for (; metadata[0]; metadata += 2) tutti_json_text(j, metadata[0], metadata[1]);
    tutti_json_close(j, '}');
}

static void add_tensor(tutti_json *j, const tutti_tensor_ref *t, size_t begin)
{
    tutti_json_open(j, t->name, '{');
    tutti_json_text(j, "dtype", "F32");
    tutti_json_open(j, "shape", '[');
    for (int d = 0; d < t->shape.ndims; d++) tutti_json_int(j, NULL, t->shape.dim[d]);
    tutti_json_close(j, ']');
    tutti_json_open(j, "data_offsets", '[');
    tutti_json_int(j, NULL, (int64_t)begin);
    tutti_json_int(j, NULL, (int64_t)(begin + tensor_bytes(t)));
    tutti_json_close(j, ']');
    tutti_json_close(j, '}');
}

void tutti_safetensors_write(const tutti_tensor_ref *tensors, int n, const char *const *metadata, char **bytes,
                             size_t *nbytes)
{
    const tutti_tensor_ref **order = tutti_alloc(sizeof *order * (size_t)(n + 1));
    for (int i = 0; i < n; i++) order[i] = &tensors[i];
    qsort(order, (size_t)n, sizeof *order, by_name);

    tutti_strbuf header = {0};
    tutti_json j = {.out = &header};
    size_t total = 0;
    tutti_json_open(&j, NULL, '{');
    if (metadata && metadata[0]) add_metadata(&j, metadata);
    for (int i = 0; i < n; i++) {
        add_tensor(&j, order[i], total);
        total += tensor_bytes(order[i]);
    }
    tutti_json_close(&j, '}');
    while (header.length % 8) tutti_strbuf_puts(&header, " ");

    const uint64_t length = htole64(header.length);
    char *out = tutti_alloc(sizeof length + header.length + total), *at = out;
    memcpy(at, &length, sizeof length);
    memcpy(at + sizeof length, header.text, header.length);
    at += sizeof length + header.length;
    for (int i = 0; i < n; i++) {
        if (order[i]->order)
            tutti_param_to_plain(order[i]->order, order[i]->data, (float *)(void *)at);
        else if (tensor_bytes(order[i]))
            memcpy(at, order[i]->data, tensor_bytes(order[i]));
        at += tensor_bytes(order[i]);
    }
    *nbytes = sizeof length + header.length + total;
    *bytes = out;
    tutti_strbuf_release(&header);
    free(order);
}

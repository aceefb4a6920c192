/* SPDX-License-Identifier: Apache-2.0 */
/* foreign_file.h: safetensors files as other people write them: tensors of any type, in the order that they are given.
 * After testing.h. */
#ifndef TUTTI_FOREIGN_FILE_H
#define TUTTI_FOREIGN_FILE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "base/file.h"
#include "base/text/strbuf.h"

typedef struct {
    const char *name, *type, *shape; /* "[2, 3]" */
    const void *bytes;
    size_t nbytes;
} foreign_tensor;

/* The last has no name. */
static inline void foreign_file_write(const char *path, const foreign_tensor *tensors)
{
    tutti_strbuf header = {0}, data = {0}, all = {0};
    tutti_failure err = {0};
    tutti_strbuf_puts(&header, "{");
    for (const foreign_tensor *t = tensors; t->name; t++) {
        tutti_strbuf_printf(&header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
                            t == tensors ? "" : ",", t->name, t->type, t->shape, data.length, data.length + t->nbytes);
        tutti_strbuf_add(&data, t->bytes, t->nbytes);
    }
    tutti_strbuf_puts(&header, "}");
    const uint64_t length = htole64(header.length);
    tutti_strbuf_add(&all, (const char *)&length, sizeof length);
    tutti_strbuf_add(&all, header.text, header.length);
    tutti_strbuf_add(&all, data.text, data.length);
    if (tutti_file_write_atomic(path, all.text, all.length, &err)) fail_msg("%s", err.text);
    tutti_strbuf_release(&header);
    tutti_strbuf_release(&data);
    tutti_strbuf_release(&all);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* candidate_shape.c: writes the text of a kernel's shape, under which a tune file keeps the kernel's measured times. */
#include <inttypes.h>
#include <stdio.h>

#include "../../base/text/strbuf.h"
#include "candidate.h"
#include "memory_order.h"

static void add_input(tutti_strbuf *sb, const tutti_value *v, tutti_precision precision)
{
    for (int d = 0; d < v->shape.ndims; d++) tutti_strbuf_printf(sb, "%s%" PRId64, d ? "x" : "", v->shape.dim[d]);
    if (v->shape.ndims == 4) tutti_strbuf_printf(sb, "/%s", tutti_order_name(tutti_order_of(v)));
    if (v->dtype != tutti_precision_dtype(precision)) tutti_strbuf_printf(sb, "/%s", tutti_dtype_name(v->dtype));
}

/* Adds the attribute if it is a whole number or a bool. Attributes of other types are left out, because no kernel's
 * time depends on them. */
static void add_attribute(tutti_strbuf *sb, const tutti_field *f, const void *attrs, const char **between)
{
    const void *at = (const char *)attrs + f->offset;
    const bool number = f->kind == TUTTI_FIELD_INT, on = f->kind == TUTTI_FIELD_BOOL && *(const bool *)at;
    if (!number && !on) return;
    tutti_strbuf_printf(sb, "%s%s", *between, f->key);
    if (number) tutti_strbuf_printf(sb, "=%" PRId64, *(const int64_t *)at);
    *between = ",";
}

void tutti_candidate_shape(const tutti_kernel *k, const tutti_kernel_request *r, char out[TUTTI_CANDIDATE_SHAPE])
{
    const tutti_op_row *op = r->op;
    const char *between = ":";
    tutti_strbuf sb = {0};
    for (int i = 0; i < k->ninputs; i++) {
        if (i) tutti_strbuf_puts(&sb, "+");
        add_input(&sb, &k->in[i], r->precision);
    }
    for (int i = 0; i < op->fields.nfields; i++) add_attribute(&sb, &op->fields.fields[i], k->attrs, &between);
    if (op->relu_at && ((const bool *)k->attrs)[op->relu_at]) tutti_strbuf_printf(&sb, "%srelu", between);
    if (r->order != TUTTI_ORDER_NONE && k->out.shape.ndims == 4)
        tutti_strbuf_printf(&sb, "/%s", tutti_order_name(r->order));
    snprintf(out, TUTTI_CANDIDATE_SHAPE, "%s", sb.text ? sb.text : "");
    tutti_strbuf_release(&sb);
}

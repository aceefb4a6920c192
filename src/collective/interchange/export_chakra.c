/* SPDX-License-Identifier: Apache-2.0 */
/* export_chakra.c: Chakra's execution traces. The file is in Protocol Buffers' wire format, written here: the length of
 * a message, then the message; first the file's metadata, then a node for each step. Field numbers and kinds are those
 * of MLCommons' et_def.proto and of its feeder, which reads an attribute of one kind only. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "export_steps.h"

/* wire types of Protocol Buffers: a number, or a length and bytes */
enum { VARINT, BYTES = 2 };
enum { COMPUTES = 4, SENDS = 5, RECEIVES = 6 }; /* types of nodes in Chakra's format */
/* field numbers of an attribute's value, by its type */
enum { AS_INT32 = 7, AS_INT64 = 9, AS_UINT64 = 13, AS_BOOL = 27 };

static void add_varint(tutti_strbuf *out, uint64_t value)
{
    for (; value > 127; value >>= 7) tutti_strbuf_add(out, (char[]){(char)(value | 128)}, 1);
    tutti_strbuf_add(out, (char[]){(char)value}, 1);
}

static void add_number(tutti_strbuf *out, int field, uint64_t value)
{
    add_varint(out, (uint64_t)field << 3 | VARINT);
    add_varint(out, value);
}

static void add_bytes(tutti_strbuf *out, int field, const char *bytes, size_t n)
{
    add_varint(out, (uint64_t)field << 3 | BYTES);
    add_varint(out, n);
    tutti_strbuf_add(out, bytes, n);
}

static void add_text(tutti_strbuf *out, int field, const char *text)
{
    size_t n = 0;
    while (text[n]) n++;
    add_bytes(out, field, text, n);
}

/* Moves the content of `inner` into a field of `out`. */
static void add_message(tutti_strbuf *out, int field, tutti_strbuf *inner)
{
    add_bytes(out, field, inner->text ? inner->text : "", inner->length);
    tutti_strbuf_release(inner);
}

static void add_attribute(tutti_strbuf *node, const char *name, int kind, uint64_t value)
{
    tutti_strbuf attribute = {0};
    add_text(&attribute, 1, name);
    add_number(&attribute, kind, value);
    add_message(node, 10, &attribute);
}

static void add_dep(tutti_strbuf *out, int32_t step)
{
    add_varint(out, (uint64_t)step + 1);
}

static void node_attributes(tutti_strbuf *node, const tutti_export_part *p, int32_t i)
{
    const tutti_step *step = &p->part.steps[i];
    const bool sends = step->kind == TUTTI_STEP_SEND;
    add_attribute(node, "is_cpu_op", AS_BOOL, 0);
    if (sends || step->kind == TUTTI_STEP_RECV) {
        add_attribute(node, "comm_size", AS_INT64, (uint64_t)p->bytes[i]);
        add_attribute(node, "comm_src", AS_INT32, (uint64_t)(sends ? p->part.rank : step->peer));
        add_attribute(node, "comm_dst", AS_INT32, (uint64_t)(sends ? step->peer : p->part.rank));
        add_attribute(node, "comm_tag", AS_INT32, (uint64_t)p->tag[i]);
    } else {
        add_attribute(node, "num_ops", AS_INT64, (uint64_t)p->bytes[i] / 4);
        add_attribute(node, "tensor_size", AS_UINT64, (uint64_t)p->bytes[i]);
    }
}

/* Writes a node; numbers of nodes begin at 1. */
static void node_add(tutti_strbuf *out, const tutti_export_part *p, int32_t i, double add_bytes_per_s)
{
    const tutti_step *step = &p->part.steps[i];
    const bool message = step->kind == TUTTI_STEP_SEND || step->kind == TUTTI_STEP_RECV;
    tutti_strbuf node = {0}, deps = {0};
    char name[60];
    snprintf(name, sizeof name, "%s %d stage %d", tutti_step_kind_name(step->kind), (int)i, (int)step->stage);
    add_number(&node, 1, (uint64_t)i + 1);
    add_text(&node, 2, name);
    add_number(&node, 3, step->kind == TUTTI_STEP_SEND ? SENDS : step->kind == TUTTI_STEP_RECV ? RECEIVES : COMPUTES);
    if (p->previous[i] >= 0) add_dep(&deps, p->previous[i]);
    for (int32_t d = 0; d < step->ndeps; d++)
        if (p->part.deps[step->first_dep + d] != p->previous[i]) add_dep(&deps, p->part.deps[step->first_dep + d]);
    if (deps.length) add_message(&node, 5, &deps); /* the dependencies are a packed field: all numbers in one message */
    if (!message) add_number(&node, 7, (uint64_t)llround((double)p->bytes[i] / add_bytes_per_s * 1e6));
    node_attributes(&node, p, i);
    add_varint(out, node.length);
    tutti_strbuf_add(out, node.text, node.length);
    tutti_strbuf_release(&node);
}

static tutti_status one_export(const tutti_schedule *s, int32_t rank, const tutti_export_options *o, int32_t nchannels,
                               const char *folder, tutti_failure *err)
{
    tutti_export_part p;
    tutti_strbuf out = {0}, about = {0};
    char name[40];
    snprintf(name, sizeof name, "schedule.%d.et", (int)rank);
    add_text(&about, 1, "0.0.4");
    add_varint(&out, about.length);
    tutti_strbuf_add(&out, about.text, about.length);
    tutti_strbuf_release(&about);
    tutti_export_part_of(s, rank, o->n, nchannels, &p);
    for (int32_t i = 0; i < p.part.nsteps; i++) node_add(&out, &p, i, o->add_bytes_per_s);
    tutti_export_part_release(&p);
    tutti_status st = tutti_export_write(folder, name, &out, err);
    tutti_strbuf_release(&out);
    return st;
}

tutti_status tutti_export_chakra(const tutti_schedule *s, const tutti_export_options *o, const char *folder,
                                 tutti_failure *err)
{
    int32_t nchannels;
    tutti_status st = tutti_export_begin(s, "chakra", &nchannels, err);
    for (int32_t rank = 0; rank < tutti_schedule_head(s)->nranks && st == TUTTI_OK; rank++)
        st = one_export(s, rank, o, nchannels, folder, err);
    return st;
}

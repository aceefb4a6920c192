/* SPDX-License-Identifier: Apache-2.0 */
/* options_impl.h: one field's value, as text and in its struct. */
#ifndef TUTTI_BASE_OPTIONS_IMPL_H
#define TUTTI_BASE_OPTIONS_IMPL_H

#include "options.h"

/* Writes the field of `target` from text; words without a place on failure: the caller says where. */
tutti_status tutti_option_read_value(const tutti_field *field, const char *text, tutti_arena *arena, void *target,
                                     tutti_failure *err);
/* TUTTI_FIELD_REALS and TUTTI_FIELD_TEXTS from a YAML list, TUTTI_FIELD_PAIRS from a map. */
bool tutti_option_takes(const tutti_field *field, tutti_yaml_kind kind);
tutti_status tutti_option_read_list(const tutti_field *field, const tutti_yaml_node *list, tutti_arena *arena,
                                    void *target, tutti_failure *err);
/* TUTTI_FIELD_TEXTS and TUTTI_FIELD_PAIRS (option_texts.c). */
tutti_status tutti_option_read_texts(const tutti_field *field, const char *text, tutti_arena *arena, tutti_texts *out,
                                     tutti_failure *err);
tutti_status tutti_option_list_texts(const tutti_field *field, const tutti_yaml_node *list, tutti_arena *arena,
                                     tutti_texts *out, tutti_failure *err);
void tutti_option_print_texts(const tutti_field *field, const tutti_texts *texts, tutti_strbuf *out);
/* One text in quotes. */
void tutti_option_print_text(const char *text, tutti_strbuf *out);
/* As YAML that reads back to the same value. */
void tutti_option_print_value(const tutti_field *field, const void *target, tutti_strbuf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* options_impl.h: reads and prints one field's value. */
#ifndef TUTTI_BASE_OPTIONS_IMPL_H
#define TUTTI_BASE_OPTIONS_IMPL_H

#include "options.h"

/* Sets the field of `target` from text. An error message does not say in which file and line: the caller adds that. */
tutti_status tutti_option_read_value(const tutti_field *field, const char *text, tutti_arena *arena, void *target,
                                     tutti_failure *err);
/* True if a field takes a YAML node of this kind: TUTTI_FIELD_REALS and TUTTI_FIELD_TEXTS take a list,
 * TUTTI_FIELD_PAIRS a map. */
bool tutti_option_takes(const tutti_field *field, tutti_yaml_kind kind);
tutti_status tutti_option_read_list(const tutti_field *field, const tutti_yaml_node *list, tutti_arena *arena,
                                    void *target, tutti_failure *err);
/* Reads TUTTI_FIELD_TEXTS and TUTTI_FIELD_PAIRS (option_texts.c). */
tutti_status tutti_option_read_texts(const tutti_field *field, const char *text, tutti_arena *arena, tutti_texts *out,
                                     tutti_failure *err);
tutti_status tutti_option_list_texts(const tutti_field *field, const tutti_yaml_node *list, tutti_arena *arena,
                                     tutti_texts *out, tutti_failure *err);
void tutti_option_print_texts(const tutti_field *field, const tutti_texts *texts, tutti_strbuf *out);
/* Prints the value as YAML that reads back to the same value. */
void tutti_option_print_value(const tutti_field *field, const void *target, tutti_strbuf *out);

#endif

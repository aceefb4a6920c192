/* SPDX-License-Identifier: Apache-2.0 */
/* options_impl.h: one field's value, as text and in its struct. */
#ifndef TUTTI_BASE_OPTIONS_IMPL_H
#define TUTTI_BASE_OPTIONS_IMPL_H

#include "options.h"

/* Writes the field of `target` from text; words without a place on failure: the caller says where. */
tutti_status tutti_option_read_value(const tutti_field *field, const char *text, tutti_arena *arena, void *target,
                                     tutti_failure *err);
/* TUTTI_FIELD_REALS from a YAML list. */
tutti_status tutti_option_read_list(const tutti_field *field, const tutti_yaml_node *list, tutti_arena *arena,
                                    void *target, tutti_failure *err);
/* As YAML that reads back to the same value. */
void tutti_option_print_value(const tutti_field *field, const void *target, tutti_strbuf *out);

#endif

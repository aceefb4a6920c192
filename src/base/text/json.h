/* SPDX-License-Identifier: Apache-2.0 */
/* json.h: writes JSON lines and reads JSON documents. Strings are escaped, also bytes that are not UTF-8
 * (tutti_strbuf_add_utf8). Numbers that JSON cannot hold (NaN, infinities) are written as null. Threads: one at a
 * time. */
#ifndef TUTTI_BASE_JSON_H
#define TUTTI_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "strbuf.h"

/* A writer of JSON text. A writer appends to a strbuf and puts commas where they are needed. In its functions, key is
 * NULL inside arrays. */
typedef struct {
    tutti_strbuf *out;
    bool need_comma;
} tutti_json;

void tutti_json_open(tutti_json *j, const char *key, char bracket);      /* begins an object ('{') or array ('[') */
void tutti_json_close(tutti_json *j, char bracket);                      /* ends an object ('}') or array (']') */
void tutti_json_text(tutti_json *j, const char *key, const char *value); /* a value of NULL is written as null */
void tutti_json_int(tutti_json *j, const char *key, int64_t value);
/* writes the fewest digits that read back to the same number */
void tutti_json_real(tutti_json *j, const char *key, double value);
void tutti_json_bool(tutti_json *j, const char *key, bool value);

struct cJSON;
/* Parses one document, with only white space around it. text: has nbytes bytes, without a '\0' at the end. Returns NULL
 * if the text is not valid, or if it contains a NUL, as a byte or as \u0000: cJSON's strings end at a NUL, so a name
 * would be cut. The caller frees the result with cJSON_Delete. */
struct cJSON *tutti_json_parse(const char *text, size_t nbytes);
/* Returns the number under `key`, or `otherwise` if the object has no number there. object: NULL = one that has
 * nothing. */
double tutti_json_number_of(const struct cJSON *object, const char *key, double otherwise);
/* Returns the text under `key`, which lives as long as the object; NULL: the object has no text there, or is NULL. */
const char *tutti_json_text_of(const struct cJSON *object, const char *key);

#endif

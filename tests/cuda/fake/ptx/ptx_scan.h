/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_scan.h: the words of a PTX text, with their lines. */
#ifndef FAKE_PTX_SCAN_H
#define FAKE_PTX_SCAN_H

#include "ptx.h"

typedef struct ptx_token {
    const char *at; /* ends with '\0' */
    uint32_t line;
    char mark; /* the sign itself for {}()[],;:|!@<>=+- ; 'w' a word, '0' a number, '"' a text */
} ptx_token;

/* Makes a text into the module's tokens and their text, both of which ptx_module_free frees. */
bool ptx_scan(ptx_module *m, const char *text);
/* Reads a number as the bits of a constant of type t, `negative` where a minus stood before; false: no number. */
bool ptx_number(const char *text, ptx_type t, bool negative, uint64_t *bits);

#endif

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

/* Tokens and their text, both to be freed by the module. */
bool ptx_scan(ptx_module *m, const char *text);
/* The bits of a number as a constant of this type; false: not a number. */
bool ptx_number(const char *text, ptx_type t, bool negative, uint64_t *bits);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h: cmocka with what it needs before it. */
#ifndef TUTTI_TESTING_H
#define TUTTI_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Sanitizers map memory by the terabyte: limits of addresses mean nothing with them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TESTING_SANITIZED = 1 };
#else
enum { TESTING_SANITIZED = 0 };
#endif

#endif

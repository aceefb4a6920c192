/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h: cmocka with what it needs before it. */
#ifndef TUTTI_TESTING_H
#define TUTTI_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif

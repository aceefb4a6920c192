/* SPDX-License-Identifier: Apache-2.0 */
/* library.h: loads shared libraries at run time, so that a host without them can run everything else.
 *
 * To use a library: include its headers, list the functions once, and make a struct of pointers and an array of names
 * from the list:
 *
 *   #define LZ_FUNCTIONS(_) _(lz_open) _(lz_close)
 *   typedef struct { LZ_FUNCTIONS(TUTTI_LIBRARY_POINTER) } lz;
 *   static const char *const names[] = {LZ_FUNCTIONS(TUTTI_LIBRARY_NAME)};
 *
 * Threads: any; the dynamic loader has a lock of its own. */
#ifndef TUTTI_LIBRARY_H
#define TUTTI_LIBRARY_H

#include <stddef.h>

#include "tutti/failure.h"

/* declares a pointer to the function, of the type that the header declares */
#define TUTTI_LIBRARY_POINTER(name) __typeof__(&(name)) name;
#define TUTTI_LIBRARY_NAME(name)    #name,

typedef struct {
    const char *file;     /* the library's file, such as "libz.so.1" */
    const char *variable; /* environment variable that may name another file to load */
    const char *package;  /* package that contains it, for messages: "libz1" */
    const char *const *names;
    size_t n; /* number of function names */
} tutti_library;

/* Loads the library and fills in n pointers. The library stays loaded until the process ends. If it installs signal
 * handlers while it is loaded, they are undone. TUTTI_ERR_FAILED: the message says what to install. */
tutti_status tutti_library_load(const tutti_library *l, void *pointers, tutti_failure *err);

#endif

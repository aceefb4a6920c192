/* SPDX-License-Identifier: Apache-2.0 */
/* library.c: loads shared libraries when they are first wanted (library.h). */
#include "library.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    struct sigaction of[NSIG];
    /* for each signal: true if sigaction could read the handler; it cannot for signals that the C library reserves */
    int known[NSIG];
} handlers;

static void read_handlers(handlers *h)
{
    for (int i = 1; i < NSIG; i++) h->known[i] = sigaction(i, NULL, &h->of[i]) == 0;
}

/* Restores the program's handlers. libucs, for example, installs handlers for SIGHUP and for crashes, but these signals
 * are for the program to handle. */
static void restore_handlers(const handlers *h)
{
    for (int i = 1; i < NSIG; i++)
        if (h->known[i]) (void)sigaction(i, &h->of[i], NULL);
}

static tutti_status find_all(void *library, const tutti_library *l, void *pointers, const char *file,
                             tutti_failure *err)
{
    for (size_t i = 0; i < l->n; i++) {
        void *found = dlsym(library, l->names[i]);
        if (!found)
            return tutti_fail(err, TUTTI_ERR_FAILED, "%s has no %s: install another version of %s", file, l->names[i],
                              l->package);
        memcpy((char *)pointers + i * sizeof found, &found, sizeof found);
    }
    return TUTTI_OK;
}

tutti_status tutti_library_load(const tutti_library *l, void *pointers, tutti_failure *err)
{
    const char *asked = getenv(l->variable), *file = asked && *asked ? asked : l->file;
    handlers before;
    read_handlers(&before);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    restore_handlers(&before);
    if (!library) {
        const char *why = dlerror(); /* the text names the file that is missing: this one, or a library that it needs */
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s: install %s, or set %s to where %s is", why ? why : file,
                          l->package, l->variable, l->file);
    }
    return find_all(library, l, pointers, file, err);
}

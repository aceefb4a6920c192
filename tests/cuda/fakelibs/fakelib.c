/* SPDX-License-Identifier: Apache-2.0 */
/* fakelib.c: reports, calls, objects, and the way to the fake card. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "../fake/fake_demand.h"
#include "fakelib.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- reports ---- */

void fakelib_report(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fake_say(fakelib_self.name, format, args);
    va_end(args);
}

/* ---- calls ---- */

int fakelib_enter(const char *name)
{
    pthread_mutex_lock(&lock);
    return fake_failure_of(name, fakelib_self.failed);
}

void fakelib_leave(const int *code)
{
    (void)code;
    pthread_mutex_unlock(&lock);
}

/* ---- objects ---- */

typedef struct object {
    struct object *next;
    int kind;
    bool alive;
    _Alignas(16) char body[];
} object;

static object *objects;

void *fakelib_new(int kind, size_t nbytes)
{
    object *o = fakelib_alloc(sizeof *o + nbytes);
    o->kind = kind;
    o->alive = true;
    o->next = objects;
    objects = o;
    return o->body;
}

static object *find(const void *body, int kind, const char *call)
{
    if (!body) return NULL;
    object *o = objects;
    while (o && o->body != body) o = o->next;
    if (!o)
        fakelib_report("%s: %p is no %s", call, body, fakelib_self.kinds[kind]);
    else if (!o->alive)
        fakelib_report("%s: the %s %p was destroyed", call, fakelib_self.kinds[o->kind], body);
    else if (o->kind != kind)
        fakelib_report("%s: %p is a %s, not a %s", call, body, fakelib_self.kinds[o->kind], fakelib_self.kinds[kind]);
    else
        return o;
    return NULL;
}

void *fakelib_of(const void *body, int kind, const char *call)
{
    object *o = find(body, kind, call);
    return o ? o->body : NULL;
}

bool fakelib_destroy(void *body, int kind, const char *call)
{
    object *o = find(body, kind, call);
    if (o) o->alive = false;
    return o != NULL;
}

/* ---- the card ---- */

static void *context; /* of the last handle */

static void *driver(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    void *library = function ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library) {
        function = dlsym(library, name);
        dlclose(library);
    }
    if (!function) fakelib_report("no %s: the fake libcuda.so.1 is not loaded", name);
    return function;
}

bool fakelib_has_context(void)
{
    void *now = NULL;
    int (*get)(void **) = (int (*)(void **))(uintptr_t)driver("cuCtxGetCurrent");
    if (!get || get(&now) || !now) return false;
    context = now;
    return true;
}

/* A context that was released cannot be made current. */
static bool is_released(void)
{
    int (*set)(void *) = (int (*)(void *))(uintptr_t)driver("cuCtxSetCurrent");
    return !context || !set || set(context) != 0;
}

int fakelib_enqueue(void *stream, void (*work)(void *args), const void *args, size_t nbytes)
{
    typedef int (*enqueue)(void *, void (*)(void *), const void *, size_t);
    enqueue put = (enqueue)(uintptr_t)driver("tutti_fake_cuda_enqueue");
    return put ? put(stream, work, args, nbytes) : -1;
}

static bool touch(const void *at, size_t nbytes, int writes)
{
    typedef int (*touching)(const void *, size_t, int);
    static _Atomic(touching) found; /* a strided operand is touched row by row */
    touching look = atomic_load(&found);
    if (!look) {
        look = (touching)(uintptr_t)driver("tutti_fake_cuda_touch");
        atomic_store(&found, look);
    }
    return look && look(at, nbytes, writes) == 0;
}

bool fakelib_reads(const void *at, size_t nbytes)
{
    return touch(at, nbytes, 0);
}

bool fakelib_writes(void *at, size_t nbytes)
{
    return touch(at, nbytes, 1);
}

bool fakelib_spoil(void *workspace, size_t nbytes)
{
    if (nbytes == 0) return true;
    if (!touch(workspace, nbytes, 1)) return false;
    memset(workspace, 0xff, nbytes);
    return true;
}

static bool overlap(const fakelib_range *a, const fakelib_range *b)
{
    const uintptr_t first = (uintptr_t)a->at, second = (uintptr_t)b->at;
    return a->nbytes && b->nbytes && first < second + b->nbytes && second < first + a->nbytes;
}

bool fakelib_are_apart(const fakelib_range *ranges, int n, const char *call)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if ((ranges[i].written || ranges[j].written) && overlap(&ranges[i], &ranges[j])) {
                fakelib_report("%s: %s and %s overlap", call, ranges[j].what, ranges[i].what);
                return false;
            }
    return true;
}

bool fakelib_is_aligned(const fakelib_range *range, size_t bytes, const char *call)
{
    if (!range->nbytes || (uintptr_t)range->at % bytes == 0) return true;
    fakelib_report("%s: %s at %p is not a multiple of %zu bytes", call, range->what, range->at, bytes);
    return false;
}

/* ---- the end ---- */

__attribute__((destructor)) static void say_leaks(void)
{
    if (!objects || !is_released()) return;
    int left[FAKELIB_MOST_KINDS] = {0};
    for (const object *o = objects; o; o = o->next) left[o->kind] += o->alive;
    for (int kind = 0; kind < FAKELIB_MOST_KINDS; kind++)
        if (left[kind]) fakelib_report("leak: %d %ss", left[kind], fakelib_self.kinds[kind]);
}

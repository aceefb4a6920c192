/* SPDX-License-Identifier: Apache-2.0 */
/* fake_modules.c: modules, functions, launches. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum { MAX_SHARED = 232448, PLAIN_SHARED = 48 << 10, MULTIPROCESSOR_SHARED = 233472 };

static fake_module *modules;

int fake_modules_left(void)
{
    int n = 0;
    for (const fake_module *m = modules; m; m = m->next) n += m->alive;
    return n;
}

static fake_module *module_of(void *handle, const char *call)
{
    for (fake_module *m = modules; m; m = m->next) {
        if (m != handle) continue;
        if (m->alive) return m;
        fake_report("%s: the module %p has been unloaded", call, handle);
        return NULL;
    }
    fake_report("%s: %p is no module", call, handle);
    return NULL;
}

/* PTX begins with comments, then .version. */
static bool is_ptx(const char *text)
{
    const char *s = text;
    for (;;) {
        while (isspace((unsigned char)*s)) s++;
        if (s[0] != '/' || s[1] != '/') break;
        while (*s && *s != '\n') s++;
    }
    return !strncmp(s, ".version", 8);
}

static int load(void **out, const void *image)
{
    if (!is_ptx(image)) return FAKE_NO_BINARY_FOR_GPU;
    fake_module *m = calloc(1, sizeof(*m));
    if (!m) return FAKE_OUT_OF_MEMORY;
    if (!ptx_module_read(&m->m, image)) {
        fprintf(stderr, "fake cuda: cuModuleLoadData: %s\n", m->m.error);
        ptx_module_free(&m->m);
        free(m);
        return FAKE_INVALID_PTX;
    }
    m->alive = true;
    m->next = modules;
    modules = m;
    *out = m;
    return FAKE_OK;
}

FAKE_EXPORT int cuModuleLoadData(void **out, const void *image)
{
    FAKE_CALL();
    return load(out, image);
}

FAKE_EXPORT int cuModuleLoadDataEx(void **out, const void *image, unsigned noptions, int *options, void **values)
{
    (void)noptions, (void)options, (void)values;
    FAKE_CALL();
    return load(out, image);
}

FAKE_EXPORT int cuModuleUnload(void *handle)
{
    FAKE_CALL();
    fake_module *m = module_of(handle, __func__);
    if (!m) return FAKE_INVALID_HANDLE;
    fake_run_all(-1);
    m->alive = false; /* its functions stay, so that who uses them is told */
    for (int n = 0; n < m->m.nvariables; n++)
        if (m->m.variables[n].space == PTX_GLOBAL) fake_free(m->m.variables[n].address, true, __func__);
    return FAKE_OK;
}

FAKE_EXPORT int cuModuleGetFunction(void **out, void *handle, const char *name)
{
    FAKE_CALL();
    fake_module *m = module_of(handle, __func__);
    ptx_function *f = m ? ptx_module_find(&m->m, name) : NULL;
    if (!m) return FAKE_INVALID_HANDLE;
    if (!f || !f->entry) return FAKE_NOT_FOUND;
    *out = f;
    return FAKE_OK;
}

/* ---- functions ---- */

static ptx_function *function_of(void *handle, const char *call)
{
    for (fake_module *m = modules; m; m = m->next) {
        const ptx_function *first = m->m.functions;
        if ((ptx_function *)handle < first || (ptx_function *)handle >= first + m->m.nfunctions) continue;
        if (m->alive) return handle;
        fake_report("%s: %s, whose module has been unloaded", call, ((ptx_function *)handle)->name);
        return NULL;
    }
    fake_report("%s: %p is no function", call, handle);
    return NULL;
}

FAKE_EXPORT int cuFuncGetAttribute(int *value, int attribute, void *handle)
{
    FAKE_CALL();
    const ptx_function *f = function_of(handle, __func__);
    if (!f) return FAKE_INVALID_HANDLE;
    const int values[] = {f->max_threads ? (int)f->max_threads : 1024,
                          (int)f->shared_bytes,
                          0,
                          (int)f->local_bytes,
                          f->nregisters < 255 ? (int)f->nregisters : 255,
                          90,
                          90,
                          0,
                          f->max_dynamic};
    if (attribute < 0 || attribute > 8) return FAKE_INVALID_VALUE;
    *value = values[attribute];
    return FAKE_OK;
}

FAKE_EXPORT int cuFuncSetAttribute(void *handle, int attribute, int value)
{
    FAKE_CALL();
    ptx_function *f = function_of(handle, __func__);
    if (!f) return FAKE_INVALID_HANDLE;
    if (attribute == 9) return FAKE_OK; /* preferred carveout */
    if (attribute != 8 || value < 0 || value > MAX_SHARED - (int)f->shared_bytes) return FAKE_INVALID_VALUE;
    f->max_dynamic = value;
    return FAKE_OK;
}

FAKE_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, void *handle, int threads, size_t dynamic)
{
    FAKE_CALL();
    const ptx_function *f = function_of(handle, __func__);
    if (!f || threads < 1) return FAKE_INVALID_VALUE;
    const int warps = (threads + 31) / 32, by_threads = 64 / warps;
    const int by_shared = (int)(MULTIPROCESSOR_SHARED / (f->shared_bytes + dynamic + 1024));
    const int least = by_threads < by_shared ? by_threads : by_shared;
    *out = threads > 1024 ? 0 : least > 32 ? 32 : least;
    return FAKE_OK;
}

static int check_launch(const ptx_function *f, const uint32_t grid[3], const uint32_t block[3], uint32_t shared)
{
    const uint64_t threads = (uint64_t)block[0] * block[1] * block[2], most = f->max_threads ? f->max_threads : 1024;
    const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    if (!threads || threads > most || block[2] > 64) {
        fake_report("a launch of %s with blocks of %u x %u x %u threads; at most %llu", f->name, block[0], block[1],
                    block[2], (unsigned long long)most);
        return FAKE_INVALID_VALUE;
    }
    if (!blocks || grid[0] > 2147483647u || grid[1] > 65535 || grid[2] > 65535) {
        fake_report("a launch of %s with %u x %u x %u blocks", f->name, grid[0], grid[1], grid[2]);
        return FAKE_INVALID_VALUE;
    }
    if (shared > (uint32_t)f->max_dynamic || f->shared_bytes + shared > MAX_SHARED || f->shared_bytes > PLAIN_SHARED) {
        fake_report("a launch of %s with %u bytes of dynamic and %u of static shared memory; at most %d of dynamic",
                    f->name, shared, f->shared_bytes, f->max_dynamic);
        return FAKE_INVALID_VALUE;
    }
    return FAKE_OK;
}

/* Copies parameters that are given as one buffer: CU_LAUNCH_PARAM_BUFFER_POINTER is 1, SIZE 2, END 0. */
static bool take_extra(void **extra, uint8_t *params, uint32_t nbytes)
{
    const void *from = NULL;
    size_t have = 0;
    for (; *extra; extra += 2) {
        if (extra[0] == (void *)1) from = extra[1];
        if (extra[0] == (void *)2) have = *(size_t *)extra[1];
    }
    if (!from || have < nbytes) return false;
    memcpy(params, from, nbytes);
    return true;
}

FAKE_EXPORT int cuLaunchKernel(void *handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned shared, void *stream, void **args, void **extra)
{
    FAKE_CALL();
    const ptx_function *f = function_of(handle, __func__);
    fake_stream *s = f ? fake_stream_of(stream, __func__) : NULL;
    if (!s) return FAKE_INVALID_HANDLE;
    fake_op op = {.kind = FAKE_OP_LAUNCH,
                  .launch = {.f = f, .grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_bytes = shared}};
    const int code = check_launch(f, op.launch.grid, op.launch.block, shared);
    if (code) return code;
    uint8_t params[4096 + 16];
    if (f->param_bytes > 4096 || (f->nparams && !args && !extra)) return FAKE_INVALID_VALUE;
    for (int n = 0; n < f->nparams && args; n++) memcpy(params + f->params[n].offset, args[n], f->params[n].size);
    if (f->nparams && !args && !take_extra(extra, params, f->param_bytes)) return FAKE_INVALID_VALUE;
    op.args = params;
    return fake_enqueue(s, &op, f->param_bytes);
}

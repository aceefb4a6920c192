/* SPDX-License-Identifier: Apache-2.0 */
/* fake_card.h: a fake card in a test: the driver's calls, a context, kernels from CUDA text. */
#ifndef TESTS_FAKE_CARD_H
#define TESTS_FAKE_CARD_H

#include "testing.h"

#include "nvrtc_text.h"

typedef struct {
    char bytes[64];
} card_handle;

#define CARD_CALLS(X)                                                                                                  \
    X(cuInit, (unsigned))                                                                                              \
    X(cuDeviceGetAttribute, (int *, int, int))                                                                         \
    X(cuDevicePrimaryCtxRetain, (void **, int))                                                                        \
    X(cuDevicePrimaryCtxRelease_v2, (int))                                                                             \
    X(cuCtxSetCurrent, (void *))                                                                                       \
    X(cuCtxSynchronize, (void))                                                                                        \
    X(cuMemAlloc_v2, (uint64_t *, size_t))                                                                             \
    X(cuMemFree_v2, (uint64_t))                                                                                        \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                                                                     \
    X(cuMemFreeHost, (void *))                                                                                         \
    X(cuMemcpyAsync, (uint64_t, uint64_t, size_t, void *))                                                             \
    X(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *))                                                  \
    X(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *))                                                        \
    X(cuMemsetD8Async, (uint64_t, unsigned char, size_t, void *))                                                      \
    X(cuMemsetD32Async, (uint64_t, unsigned, size_t, void *))                                                          \
    X(cuStreamCreate, (void **, unsigned))                                                                             \
    X(cuStreamDestroy_v2, (void *))                                                                                    \
    X(cuStreamSynchronize, (void *))                                                                                   \
    X(cuStreamQuery, (void *))                                                                                         \
    X(cuStreamWaitEvent, (void *, void *, unsigned))                                                                   \
    X(cuStreamWaitValue32_v2, (void *, uint64_t, uint32_t, unsigned))                                                  \
    X(cuStreamWriteValue32_v2, (void *, uint64_t, uint32_t, unsigned))                                                 \
    X(cuStreamBeginCapture_v2, (void *, int))                                                                          \
    X(cuStreamEndCapture, (void *, void **))                                                                           \
    X(cuGraphInstantiateWithFlags, (void **, void *, uint64_t))                                                        \
    X(cuGraphLaunch, (void *, void *))                                                                                 \
    X(cuGraphExecDestroy, (void *))                                                                                    \
    X(cuGraphDestroy, (void *))                                                                                        \
    X(cuGraphGetNodes, (void *, void **, size_t *))                                                                    \
    X(cuEventCreate, (void **, unsigned))                                                                              \
    X(cuEventRecord, (void *, void *))                                                                                 \
    X(cuEventQuery, (void *))                                                                                          \
    X(cuEventSynchronize, (void *))                                                                                    \
    X(cuEventDestroy_v2, (void *))                                                                                     \
    X(cuModuleLoadData, (void **, const void *))                                                                       \
    X(cuModuleUnload, (void *))                                                                                        \
    X(cuModuleGetFunction, (void **, void *, const char *))                                                            \
    X(cuFuncSetAttribute, (void *, int, int))                                                                          \
    X(cuLaunchKernel,                                                                                                  \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))        \
    X(cuIpcGetMemHandle, (card_handle *, uint64_t))                                                                    \
    X(cuIpcOpenMemHandle_v2, (uint64_t *, card_handle, unsigned))                                                      \
    X(cuIpcCloseMemHandle, (uint64_t))                                                                                 \
    X(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *))                                              \
    X(tutti_fake_cuda_enqueue, (void *, void (*)(void *), const void *, size_t))                                       \
    X(tutti_fake_cuda_touch, (const void *, size_t, int))                                                              \
    X(tutti_fake_cuda_reports, (void))

typedef struct {
    void *library, *context, *stream, *module;
    uint64_t (*instructions)(void);
#define CARD_FIELD(name, args) int(*name) args;
    CARD_CALLS(CARD_FIELD)
#undef CARD_FIELD
} fake_card;

/* Opens the library and finds its calls; nothing has been called then. */
static inline void card_load(fake_card *c)
{
    memset(c, 0, sizeof(*c));
    c->library = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (!c->library) fail_msg("%s", dlerror());
#define CARD_FIND(name, args)                                                                                          \
    c->name = (int(*) args)(uintptr_t)dlsym(c->library, #name);                                                        \
    if (!c->name) fail_msg("%s is not there", #name);
    CARD_CALLS(CARD_FIND)
#undef CARD_FIND
    c->instructions = (uint64_t(*)(void))(uintptr_t)dlsym(c->library, "tutti_fake_cuda_instructions");
}

/* Opens the library, a context, a stream and the module of ptx (NULL: no module). */
static inline void card_open(fake_card *c, const char *ptx)
{
    card_load(c);
    assert_int_equal(c->cuInit(0), 0);
    assert_int_equal(c->cuDevicePrimaryCtxRetain(&c->context, 0), 0);
    assert_int_equal(c->cuCtxSetCurrent(c->context), 0);
    assert_int_equal(c->cuStreamCreate(&c->stream, 1), 0);
    if (ptx) assert_int_equal(c->cuModuleLoadData(&c->module, ptx), 0);
}

static inline void card_close(fake_card *c)
{
    if (c->module) assert_int_equal(c->cuModuleUnload(c->module), 0);
    assert_int_equal(c->cuStreamDestroy_v2(c->stream), 0);
    assert_int_equal(c->cuDevicePrimaryCtxRelease_v2(0), 0);
}

static inline uint64_t card_new(fake_card *c, size_t nbytes)
{
    uint64_t at = 0;
    assert_int_equal(c->cuMemAlloc_v2(&at, nbytes), 0);
    return at;
}

static inline uint64_t card_put(fake_card *c, const void *from, size_t nbytes)
{
    const uint64_t at = card_new(c, nbytes);
    assert_int_equal(c->cuMemcpyHtoDAsync_v2(at, from, nbytes, c->stream), 0);
    assert_int_equal(c->cuStreamSynchronize(c->stream), 0);
    return at;
}

static inline void card_get(fake_card *c, void *to, uint64_t from, size_t nbytes)
{
    assert_int_equal(c->cuMemcpyDtoHAsync_v2(to, from, nbytes, c->stream), 0);
    assert_int_equal(c->cuStreamSynchronize(c->stream), 0);
}

static inline void card_launch(fake_card *c, const char *name, unsigned blocks, unsigned threads, unsigned shared,
                               void **args)
{
    void *f = NULL;
    if (c->cuModuleGetFunction(&f, c->module, name)) fail_msg("no kernel %s", name);
    assert_int_equal(c->cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, shared, c->stream, args, NULL), 0);
}

#endif

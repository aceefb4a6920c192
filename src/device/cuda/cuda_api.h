/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_api.h: declarations of the functions of the CUDA driver and of NVRTC that tutti calls. Building needs neither
 * their headers nor their libraries. Names, parameters and values are those of cuda.h and nvrtc.h (CUDA 12 and 13).
 * Private to src/device/cuda. Threads: any. */
#ifndef TUTTI_CUDA_API_H
#define TUTTI_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#include "tutti/failure.h"

typedef int tutti_cu_result;  /* a result of the driver; 0 means success */
typedef uint64_t tutti_cu_at; /* an address of device memory */

enum {
    TUTTI_CU_OUT_OF_MEMORY = 2,
    TUTTI_CU_NOT_READY = 600,
    TUTTI_CU_HOST_MEMORY_ALREADY_REGISTERED = 712,

    TUTTI_CU_MAX_SHARED_OPTIN = 97, /* attributes of a device */
    TUTTI_CU_MULTIPROCESSORS = 16,
    TUTTI_CU_L2_BYTES = 38,
    TUTTI_CU_CAPABILITY_MAJOR = 75,
    TUTTI_CU_CAPABILITY_MINOR = 76,

    TUTTI_CU_FUNCTION_SHARED = 8, /* attribute of a function: the dynamic shared memory that it may use */

    TUTTI_CU_STREAM_NON_BLOCKING = 1,
    TUTTI_CU_EVENT_NO_TIMING = 2,
    TUTTI_CU_CAPTURE_RELAXED = 2,
    TUTTI_CU_REGISTER_PORTABLE_MAPPED = 3,
    TUTTI_CU_IPC_LAZY = 1,
};

typedef struct {
    char bytes[64];
} tutti_cu_ipc_handle;

/* the list of the driver's functions, each as _(symbol with its version suffix, parameters) */
#define TUTTI_CUDA_DRIVER_FUNCTIONS(_)                                                                                 \
    _(cuInit, (unsigned flags))                                                                                        \
    _(cuDriverGetVersion, (int *version))                                                                              \
    _(cuDeviceGetCount, (int *count))                                                                                  \
    _(cuDeviceGet, (int *device, int ordinal))                                                                         \
    _(cuDeviceGetName, (char *name, int length, int device))                                                           \
    _(cuDeviceTotalMem_v2, (size_t * bytes, int device))                                                               \
    _(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                   \
    _(cuDevicePrimaryCtxRetain, (void **context, int device))                                                          \
    _(cuDevicePrimaryCtxRelease_v2, (int device))                                                                      \
    _(cuCtxSetCurrent, (void *context))                                                                                \
    _(cuMemAlloc_v2, (tutti_cu_at * at, size_t bytes))                                                                 \
    _(cuMemFree_v2, (tutti_cu_at at))                                                                                  \
    _(cuMemHostAlloc, (void **at, size_t bytes, unsigned flags))                                                       \
    _(cuMemFreeHost, (void *at))                                                                                       \
    _(cuMemHostRegister_v2, (void *at, size_t bytes, unsigned flags))                                                  \
    _(cuMemHostUnregister, (void *at))                                                                                 \
    _(cuMemcpyAsync, (tutti_cu_at to, tutti_cu_at from, size_t bytes, void *stream))                                   \
    _(cuMemcpyHtoDAsync_v2, (tutti_cu_at to, const void *from, size_t bytes, void *stream))                            \
    _(cuMemcpyDtoHAsync_v2, (void *to, tutti_cu_at from, size_t bytes, void *stream))                                  \
    _(cuMemsetD8Async, (tutti_cu_at at, unsigned char value, size_t n, void *stream))                                  \
    _(cuStreamCreate, (void **stream, unsigned flags))                                                                 \
    _(cuStreamDestroy_v2, (void *stream))                                                                              \
    _(cuStreamSynchronize, (void *stream))                                                                             \
    _(cuStreamWaitEvent, (void *stream, void *event, unsigned flags))                                                  \
    _(cuStreamBeginCapture_v2, (void *stream, int mode))                                                               \
    _(cuStreamEndCapture, (void *stream, void **graph))                                                                \
    _(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags))                               \
    _(cuGraphLaunch, (void *exec, void *stream))                                                                       \
    _(cuGraphExecDestroy, (void *exec))                                                                                \
    _(cuGraphDestroy, (void *graph))                                                                                   \
    _(cuEventCreate, (void **event, unsigned flags))                                                                   \
    _(cuEventRecord, (void *event, void *stream))                                                                      \
    _(cuEventSynchronize, (void *event))                                                                               \
    _(cuEventDestroy_v2, (void *event))                                                                                \
    _(cuModuleLoadData, (void **module, const void *image))                                                            \
    _(cuModuleUnload, (void *module))                                                                                  \
    _(cuModuleGetFunction, (void **function, void *module, const char *name))                                          \
    _(cuFuncSetAttribute, (void *function, int attribute, int value))                                                  \
    _(cuLaunchKernel, (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,            \
                       unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **args, void **extra))  \
    _(cuIpcGetMemHandle, (tutti_cu_ipc_handle * handle, tutti_cu_at at))                                               \
    _(cuIpcOpenMemHandle_v2, (tutti_cu_at * at, tutti_cu_ipc_handle handle, unsigned flags))                           \
    _(cuIpcCloseMemHandle, (tutti_cu_at at))                                                                           \
    _(cuGetErrorName, (tutti_cu_result result, const char **name))                                                     \
    _(cuGetErrorString, (tutti_cu_result result, const char **words))

#define TUTTI_NVRTC_FUNCTIONS(_)                                                                                       \
    _(nvrtcVersion, (int *major, int *minor))                                                                          \
    _(nvrtcGetNumSupportedArchs, (int *n))                                                                             \
    _(nvrtcGetSupportedArchs, (int *archs))                                                                            \
    _(nvrtcCreateProgram, (void **program, const char *text, const char *name, int nheaders, const char *const *texts, \
                           const char *const *names))                                                                  \
    _(nvrtcCompileProgram, (void *program, int n, const char *const *options))                                         \
    _(nvrtcGetProgramLogSize, (void *program, size_t *bytes))                                                          \
    _(nvrtcGetProgramLog, (void *program, char *log))                                                                  \
    _(nvrtcGetCUBINSize, (void *program, size_t *bytes))                                                               \
    _(nvrtcGetCUBIN, (void *program, char *cubin))                                                                     \
    _(nvrtcGetPTXSize, (void *program, size_t *bytes))                                                                 \
    _(nvrtcGetPTX, (void *program, char *ptx))                                                                         \
    _(nvrtcDestroyProgram, (void **program))

/* a pointer to a function that returns a tutti_cu_result */
#define TUTTI_CUDA_POINTER(name, parameters) int(*name) parameters;
typedef struct {
    TUTTI_CUDA_DRIVER_FUNCTIONS(TUTTI_CUDA_POINTER)
} tutti_cuda_driver;
typedef struct {
    TUTTI_NVRTC_FUNCTIONS(TUTTI_CUDA_POINTER)
} tutti_nvrtc;

/* Open the driver's library, or NVRTC's, and fill in the table of its functions. TUTTI_ERR_FAILED says what is
 * missing. */
tutti_status tutti_cuda_driver_open(tutti_cuda_driver *out, tutti_failure *err);
tutti_status tutti_nvrtc_open(tutti_nvrtc *out, tutti_failure *err);

#endif

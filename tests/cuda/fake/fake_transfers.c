/* SPDX-License-Identifier: Apache-2.0 */
/* fake_transfers.c: the driver's calls that allocate, register, copy and fill memory, and share it with other
 * processes. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

FAKE_EXPORT int cuMemAlloc_v2(uint64_t *out, size_t nbytes)
{
    FAKE_CALL();
    const int card = fake_current_card();
    if (!nbytes) return FAKE_INVALID_VALUE;
    if (fake_capturing(true)) return FAKE_CAPTURE_UNSUPPORTED;
    if (fake_used(card) + nbytes > fake_card_bytes()) return FAKE_OUT_OF_MEMORY;
    return fake_allocate(nbytes, card, false, out);
}

FAKE_EXPORT int cuMemFree_v2(uint64_t at)
{
    FAKE_CALL();
    if (!at) return FAKE_OK;
    fake_run_all(-1); /* as the driver waits */
    fake_block *b = fake_block_of(at);
    if (b && b->opened) {
        fake_report("cuMemFree of 0x%llx, which is another process's", (unsigned long long)at);
        return FAKE_INVALID_VALUE;
    }
    return fake_free(at, false, "cuMemFree");
}

FAKE_EXPORT int cuMemHostAlloc(void **out, size_t nbytes, unsigned flags)
{
    (void)flags;
    FAKE_CALL();
    if (!nbytes) return FAKE_INVALID_VALUE;
    void *at = aligned_alloc(4096, (nbytes + 4095) / 4096 * 4096);
    if (!at) return FAKE_OUT_OF_MEMORY;
    const int code = fake_host_add(at, nbytes, true);
    if (code) free(at);
    if (!code) *out = at;
    return code;
}

FAKE_EXPORT int cuMemFreeHost(void *at)
{
    FAKE_CALL();
    fake_run_all(-1);
    const int code = fake_host_remove(at, true);
    if (!code) free(at);
    return code;
}

FAKE_EXPORT int cuMemHostRegister_v2(void *at, size_t nbytes, unsigned flags)
{
    (void)flags;
    FAKE_CALL();
    if (!nbytes || fake_is_device((uint64_t)(uintptr_t)at)) return FAKE_INVALID_VALUE;
    return fake_host_add(at, nbytes, false);
}

FAKE_EXPORT int cuMemHostUnregister(void *at)
{
    FAKE_CALL();
    fake_run_all(-1);
    return fake_host_remove(at, false);
}

FAKE_EXPORT int cuMemHostGetDevicePointer_v2(uint64_t *out, void *at, unsigned flags)
{
    (void)flags;
    FAKE_CALL();
    if (!fake_host_has((uint64_t)(uintptr_t)at, 1)) return FAKE_INVALID_VALUE;
    *out = (uint64_t)(uintptr_t)at;
    return FAKE_OK;
}

/* ---- copies, fills ---- */

static int copy(uint64_t to, uint64_t from, size_t nbytes, void *stream, const char *call)
{
    fake_stream *s = fake_stream_of(stream, call);
    if (!s) return FAKE_INVALID_HANDLE;
    return nbytes ? fake_enqueue(s, &(fake_op){.kind = FAKE_OP_COPY, .to = to, .from = from, .nbytes = nbytes}, 0)
                  : FAKE_OK;
}

/* A call that names the side must be given an address of it. */
static int refuse(uint64_t at, bool device, const char *call)
{
    if (fake_is_device(at) == device || (device && fake_host_has(at, 1))) return FAKE_OK;
    fake_report("%s: 0x%llx is %s memory", call, (unsigned long long)at, device ? "not device" : "device");
    return FAKE_INVALID_VALUE;
}

FAKE_EXPORT int cuMemcpyAsync(uint64_t to, uint64_t from, size_t nbytes, void *stream)
{
    FAKE_CALL();
    return copy(to, from, nbytes, stream, __func__);
}

FAKE_EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t nbytes, void *stream)
{
    FAKE_CALL();
    const int code = refuse(to, true, "cuMemcpyHtoDAsync");
    if (code || refuse((uint64_t)(uintptr_t)from, false, "cuMemcpyHtoDAsync")) return FAKE_INVALID_VALUE;
    return copy(to, (uint64_t)(uintptr_t)from, nbytes, stream, "cuMemcpyHtoDAsync");
}

FAKE_EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t nbytes, void *stream)
{
    FAKE_CALL();
    const int code = refuse(from, true, "cuMemcpyDtoHAsync");
    if (code || refuse((uint64_t)(uintptr_t)to, false, "cuMemcpyDtoHAsync")) return FAKE_INVALID_VALUE;
    return copy((uint64_t)(uintptr_t)to, from, nbytes, stream, "cuMemcpyDtoHAsync");
}

FAKE_EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t nbytes, void *stream)
{
    FAKE_CALL();
    const int code = refuse(to, true, "cuMemcpyDtoDAsync");
    if (code || refuse(from, true, "cuMemcpyDtoDAsync")) return FAKE_INVALID_VALUE;
    return copy(to, from, nbytes, stream, "cuMemcpyDtoDAsync");
}

static int fill(uint64_t to, uint32_t value, uint32_t unit, size_t count, void *stream, const char *call)
{
    fake_stream *s = fake_stream_of(stream, call);
    if (!s) return FAKE_INVALID_HANDLE;
    if (to % unit) return FAKE_INVALID_VALUE;
    if (!count) return FAKE_OK;
    return fake_enqueue(
        s, &(fake_op){.kind = FAKE_OP_SET, .to = to, .value = value, .unit = unit, .nbytes = count * unit}, 0);
}

FAKE_EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream)
{
    FAKE_CALL();
    return fill(to, value, 1, count, stream, __func__);
}

FAKE_EXPORT int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream)
{
    FAKE_CALL();
    return fill(to, value, 4, count, stream, __func__);
}

/* ---- between processes ---- */

enum { HANDLE_MAGIC = 0x74757474 };
typedef struct {
    uint32_t magic;
    int32_t pid, fd;
    uint32_t unused;
    uint64_t nbytes;
    char rest[40];
} ipc_handle;
_Static_assert(sizeof(ipc_handle) == 64, "as the driver's");

FAKE_EXPORT int cuIpcGetMemHandle(ipc_handle *out, uint64_t at)
{
    FAKE_CALL();
    const fake_block *b = fake_block_of(at);
    if (!b || b->freed || b->opened || b->inner) return FAKE_INVALID_VALUE;
    *out = (ipc_handle){.magic = HANDLE_MAGIC, .pid = (int32_t)getpid(), .fd = b->fd, .nbytes = b->nbytes};
    memset(fake_marks(b->at), FAKE_WRITTEN, b->nbytes); /* others write it too */
    return FAKE_OK;
}

FAKE_EXPORT int cuIpcOpenMemHandle_v2(uint64_t *out, ipc_handle handle, unsigned flags)
{
    (void)flags;
    FAKE_CALL();
    if (handle.magic != HANDLE_MAGIC) return FAKE_INVALID_VALUE;
    if (handle.pid == (int32_t)getpid()) return FAKE_INVALID_CONTEXT;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle.pid, handle.fd);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return FAKE_INVALID_HANDLE;
    const int code = fake_open(fd, handle.nbytes, fake_current_card(), out);
    if (code) close(fd);
    return code;
}

FAKE_EXPORT int cuIpcCloseMemHandle(uint64_t at)
{
    FAKE_CALL();
    fake_run_all(-1);
    const fake_block *b = fake_block_of(at);
    if (b && !b->opened) {
        fake_report("cuIpcCloseMemHandle of 0x%llx, which is this process's own", (unsigned long long)at);
        return FAKE_INVALID_VALUE;
    }
    return fake_free(at, false, __func__);
}

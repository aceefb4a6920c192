/* SPDX-License-Identifier: Apache-2.0 */
/* fake_device.c: cards, contexts, errors' names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum { CONTEXT_MAGIC = 0xc047e47 };

typedef struct {
    uint32_t magic;
    int card, retained;
    bool ever;
} context;

static context contexts[FAKE_MAX_CARDS];
static bool begun;
static _Thread_local context *current;

int fake_cards(void)
{
    const int n = fake_setting("TUTTI_FAKE_CUDA_CARDS", 1);
    return n < 0 ? 0 : n > FAKE_MAX_CARDS ? FAKE_MAX_CARDS : n;
}

int fake_current_card(void)
{
    return current && current->retained ? current->card : -1;
}

bool fake_released(void)
{
    bool ever = false;
    for (int n = 0; n < FAKE_MAX_CARDS; n++) {
        if (contexts[n].retained) return false;
        ever |= contexts[n].ever;
    }
    return ever;
}

FAKE_EXPORT int cuInit(unsigned flags)
{
    FAKE_CALL_ANYWHERE();
    if (flags) return FAKE_INVALID_VALUE;
    if (!fake_cards()) return FAKE_NO_DEVICE;
    begun = true;
    return fake_memory_begin();
}

FAKE_EXPORT int cuDriverGetVersion(int *version)
{
    FAKE_CALL_ANYWHERE();
    *version = 13000;
    return FAKE_OK;
}

FAKE_EXPORT int cuDeviceGetCount(int *count)
{
    FAKE_CALL_ANYWHERE();
    *count = fake_cards();
    return begun ? FAKE_OK : FAKE_NOT_INITIALIZED;
}

static int known(int device)
{
    if (!begun) return FAKE_NOT_INITIALIZED;
    return device >= 0 && device < fake_cards() ? FAKE_OK : FAKE_INVALID_DEVICE;
}

FAKE_EXPORT int cuDeviceGet(int *device, int ordinal)
{
    FAKE_CALL_ANYWHERE();
    *device = ordinal;
    return known(ordinal);
}

FAKE_EXPORT int cuDeviceGetName(char *name, int size, int device)
{
    FAKE_CALL_ANYWHERE();
    if (size > 0) snprintf(name, (size_t)size, "fake card %d", device);
    return known(device);
}

size_t fake_card_bytes(void)
{
    return (size_t)fake_setting("TUTTI_FAKE_CUDA_MEMORY", 8192) << 20;
}

FAKE_EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    FAKE_CALL_ANYWHERE();
    *bytes = fake_card_bytes();
    return known(device);
}

FAKE_EXPORT int cuMemGetInfo_v2(size_t *left, size_t *total)
{
    FAKE_CALL();
    const size_t used = fake_used(fake_current_card());
    *total = fake_card_bytes();
    *left = used < *total ? *total - used : 0;
    return FAKE_OK;
}

/* An attribute (CU_DEVICE_ATTRIBUTE_*) is that of an H200; one that is not listed is 0. */
static int attribute_of(int attribute, int device)
{
    static const int known_ones[][2] = {
        {1, 1024},  {2, 1024},       {3, 1024},     {4, 64},     {5, 2147483647}, {6, 65535},   {7, 65535},
        {8, 49152}, {9, 65536},      {10, 32},      {12, 65536}, {13, 1980000},   {16, 132},    {19, 1},
        {31, 1},    {32, 1},         {36, 3201000}, {37, 6144},  {38, 62914560},  {39, 2048},   {40, 3},
        {41, 1},    {81, 233472},    {91, 1},       {92, 1},     {95, 1},         {97, 232448}, {98, 1},
        {106, 32},  {108, 41943040}, {111, 1024},   {122, 1},    {123, 1}};
    int major = 99, minor = 0;
    const char *capability = getenv("TUTTI_FAKE_CUDA_CAPABILITY");
    if (capability) sscanf(capability, "%d.%d", &major, &minor);
    if (attribute == 75) return major;
    if (attribute == 76) return minor;
    if (attribute == 33) return device + 1; /* PCI bus */
    for (size_t n = 0; n < sizeof(known_ones) / sizeof(*known_ones); n++)
        if (known_ones[n][0] == attribute) return known_ones[n][1];
    return 0;
}

FAKE_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    FAKE_CALL_ANYWHERE();
    *value = attribute_of(attribute, device);
    return known(device);
}

FAKE_EXPORT int cuDeviceGetUuid_v2(void *uuid, int device)
{
    FAKE_CALL_ANYWHERE();
    char bytes[17];
    snprintf(bytes, sizeof(bytes), "tutti fake %5d", device);
    memcpy(uuid, bytes, 16);
    return known(device);
}

FAKE_EXPORT int cuDeviceGetPCIBusId(char *out, int size, int device)
{
    FAKE_CALL_ANYWHERE();
    if (size > 0) snprintf(out, (size_t)size, "0000:%02X:00.0", device + 1);
    return known(device);
}

/* ---- contexts ---- */

FAKE_EXPORT int cuDevicePrimaryCtxRetain(void **out, int device)
{
    FAKE_CALL_ANYWHERE();
    const int code = known(device);
    if (code) return code;
    context *c = &contexts[device];
    c->magic = CONTEXT_MAGIC;
    c->card = device;
    c->ever = true;
    c->retained++;
    *out = c;
    return FAKE_OK;
}

FAKE_EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    FAKE_CALL_ANYWHERE();
    const int code = known(device);
    if (code) return code;
    if (!contexts[device].retained) {
        fake_report("cuDevicePrimaryCtxRelease of card %d, whose context nobody retains", device);
        return FAKE_INVALID_CONTEXT;
    }
    if (contexts[device].retained == 1) fake_run_all(device);
    contexts[device].retained--;
    return FAKE_OK;
}

FAKE_EXPORT int cuCtxSetCurrent(void *c)
{
    FAKE_CALL_ANYWHERE();
    if (c && (((context *)c)->magic != CONTEXT_MAGIC || !((context *)c)->retained)) return FAKE_INVALID_CONTEXT;
    current = c;
    return FAKE_OK;
}

FAKE_EXPORT int cuCtxGetCurrent(void **out)
{
    FAKE_CALL_ANYWHERE();
    *out = current;
    return FAKE_OK;
}

FAKE_EXPORT int cuCtxSynchronize(void)
{
    FAKE_CALL();
    if (fake_capturing(false)) return FAKE_CAPTURE_UNSUPPORTED;
    fake_run_all(fake_current_card());
    return FAKE_OK;
}

/* ---- errors ---- */

static const struct {
    int code;
    const char *name, *words;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {205, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

FAKE_EXPORT int cuGetErrorName(int code, const char **out)
{
    *out = NULL;
    for (size_t n = 0; n < sizeof(errors) / sizeof(*errors); n++)
        if (errors[n].code == code) *out = errors[n].name;
    return *out ? FAKE_OK : FAKE_INVALID_VALUE;
}

FAKE_EXPORT int cuGetErrorString(int code, const char **out)
{
    *out = NULL;
    for (size_t n = 0; n < sizeof(errors) / sizeof(*errors); n++)
        if (errors[n].code == code) *out = errors[n].words;
    return *out ? FAKE_OK : FAKE_INVALID_VALUE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fake_names.c: cuGetProcAddress. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "fake.h"

int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);

/* Opens this library, wherever it was loaded from: names are looked up in it. */
static void *ourselves(void)
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&cuGetProcAddress_v2, &info)) return NULL;
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/* A name without a version finds the newest form of its call: cuMemAlloc is cuMemAlloc_v2. */
FAKE_EXPORT int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status)
{
    (void)version, (void)flags;
    FAKE_CALL_ANYWHERE();
    static const char *endings[] = {"_v2", "", "WithFlags"};
    void *self = ourselves();
    *out = NULL;
    for (size_t n = 0; self && n < sizeof(endings) / sizeof(*endings) && !*out; n++) {
        char full[128];
        snprintf(full, sizeof(full), "%s%s", name, endings[n]);
        *out = dlsym(self, full);
    }
    if (self) dlclose(self);
    if (status) *status = *out ? 0 : 1; /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
    return *out ? FAKE_OK : FAKE_NOT_FOUND;
}

/* NVRTC asks a driver that it finds for tables of NVIDIA's own; this one has none. */
FAKE_EXPORT int cuGetExportTable(const void **out, const void *id)
{
    FAKE_CALL_ANYWHERE();
    (void)id;
    *out = NULL;
    return FAKE_NOT_FOUND;
}

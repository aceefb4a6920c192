/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h: declarations of the NVML functions that tutti calls. NVML is the library of NVIDIA's driver that answers
 * questions about cards. The library is loaded when needed (base/host/library.h) and never linked. Structs and
 * constants are those of NVML's version 2 interface, which newer drivers still have. Threads: any; NVML has locks of
 * its own. */
#ifndef TUTTI_TOPOLOGY_NVML_H
#define TUTTI_TOPOLOGY_NVML_H

typedef struct nvmlDevice_st *tutti_nvml_device;
typedef struct {
    char legacy_address[16];
    unsigned domain, bus, device, ids, subsystem_ids;
    char address[32];
} tutti_nvml_pci;
_Static_assert(sizeof(tutti_nvml_pci) == 68, "nvmlPciInfo_t has 68 bytes");

enum { TUTTI_NVML_OK = 0, TUTTI_NVML_INVALID_ARGUMENT = 2, TUTTI_NVML_NOT_SUPPORTED = 3 };
enum { TUTTI_NVML_TO_SWITCH = 2, TUTTI_NVML_TO_UNKNOWN = 255, TUTTI_NVML_MAX_LINKS = 18 };

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int code);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, tutti_nvml_device *out);
int nvmlDeviceGetName(tutti_nvml_device device, char *out, unsigned room);
int nvmlDeviceGetPciInfo_v3(tutti_nvml_device device, tutti_nvml_pci *out);
int nvmlDeviceGetCudaComputeCapability(tutti_nvml_device device, int *major, int *minor);
int nvmlDeviceGetMaxPcieLinkGeneration(tutti_nvml_device device, unsigned *out);
int nvmlDeviceGetMaxPcieLinkWidth(tutti_nvml_device device, unsigned *out);
int nvmlDeviceGetTopologyCommonAncestor(tutti_nvml_device a, tutti_nvml_device b, unsigned *out);
int nvmlDeviceGetNvLinkState(tutti_nvml_device device, unsigned link, unsigned *is_active);
int nvmlDeviceGetNvLinkVersion(tutti_nvml_device device, unsigned link, unsigned *out);
int nvmlDeviceGetNvLinkRemoteDeviceType(tutti_nvml_device device, unsigned link, unsigned *out);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(tutti_nvml_device device, unsigned link, tutti_nvml_pci *out);

#define TUTTI_NVML_FUNCTIONS(_)                                                                                        \
    _(nvmlInit_v2)                                                                                                     \
    _(nvmlShutdown)                                                                                                    \
    _(nvmlErrorString)                                                                                                 \
    _(nvmlDeviceGetCount_v2)                                                                                           \
    _(nvmlDeviceGetHandleByIndex_v2)                                                                                   \
    _(nvmlDeviceGetName)                                                                                               \
    _(nvmlDeviceGetPciInfo_v3)                                                                                         \
    _(nvmlDeviceGetCudaComputeCapability)                                                                              \
    _(nvmlDeviceGetMaxPcieLinkGeneration)                                                                              \
    _(nvmlDeviceGetMaxPcieLinkWidth)                                                                                   \
    _(nvmlDeviceGetTopologyCommonAncestor)                                                                             \
    _(nvmlDeviceGetNvLinkState)                                                                                        \
    _(nvmlDeviceGetNvLinkVersion)                                                                                      \
    _(nvmlDeviceGetNvLinkRemoteDeviceType)                                                                             \
    _(nvmlDeviceGetNvLinkRemotePciInfo_v2)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* fake_nvml.c: a libnvidia-ml.so.1 whose machine is a text file, read anew by nvmlInit_v2. FAKE_NVML names the file,
 * which has a line for each of these:
 *
 *   cards N, name WORDS, compute MAJOR MINOR, pcie GENERATION WIDTH, nvlink VERSION
 *   pair A B COUNT      NVLinks between two cards
 *   half A B COUNT      the same, seen by A alone
 *   switched A COUNT    NVLinks into NVSwitches; A = -1 means every card
 *   nowhere A COUNT     NVLinks to a device which is no card
 *   idle A COUNT        NVLinks without the other end
 *   level A B LEVEL     what NVML says of their PCIe way; 50 unless said
 *   slow A GENERATION   PCIe of one card
 *   twins A B           B has the address of A
 *   fail FUNCTION CODE  the function answers CODE and nothing else
 *
 * Questions past a card's links are answered as drivers do: 2 if the card has any, 3 if it has none. Built with
 * FAKE_NVML_OLD the library lacks a function, as drivers before 470 do. Threads: one at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CARDS = 32, MAX_LINKS = 18, OF_SWITCH = -1, NOWHERE = -2, IDLE = -3 };

typedef struct {
    char legacy[16];
    unsigned domain, bus, device, ids, subsystem;
    char address[32];
} pci;

static struct {
    int ncards, is_open, major, minor, generation, width, version;
    char name[96];
    int nlinks[MAX_CARDS], remote[MAX_CARDS][MAX_LINKS], level[MAX_CARDS][MAX_CARDS], own_generation[MAX_CARDS];
    int bus[MAX_CARDS], nfails, code[8];
    char fails[8][64];
} machine;

static void add_links(int card, int remote, int count)
{
    for (; count > 0 && machine.nlinks[card] < MAX_LINKS; count--)
        machine.remote[card][machine.nlinks[card]++] = remote;
}

static void add_links_of(int card, int remote, int count)
{
    for (int i = 0; i < machine.ncards; i++)
        if (card < 0 || i == card) add_links(i, remote, count);
}

static void read_links(const char *line)
{
    int a, b, count;
    if (sscanf(line, "pair %d %d %d", &a, &b, &count) == 3) add_links(a, b, count), add_links(b, a, count);
    if (sscanf(line, "half %d %d %d", &a, &b, &count) == 3) add_links(a, b, count);
    if (sscanf(line, "switched %d %d", &a, &count) == 2) add_links_of(a, OF_SWITCH, count);
    if (sscanf(line, "nowhere %d %d", &a, &count) == 2) add_links_of(a, NOWHERE, count);
    if (sscanf(line, "idle %d %d", &a, &count) == 2) add_links_of(a, IDLE, count);
}

static void read_line(const char *line)
{
    int a, b, level;
    sscanf(line, "cards %d", &machine.ncards);
    sscanf(line, "name %95[^\n]", machine.name);
    sscanf(line, "compute %d %d", &machine.major, &machine.minor);
    sscanf(line, "pcie %d %d", &machine.generation, &machine.width);
    sscanf(line, "nvlink %d", &machine.version);
    if (sscanf(line, "level %d %d %d", &a, &b, &level) == 3) machine.level[a][b] = machine.level[b][a] = level;
    if (sscanf(line, "slow %d %d", &a, &b) == 2) machine.own_generation[a] = b;
    if (sscanf(line, "twins %d %d", &a, &b) == 2) machine.bus[b] = machine.bus[a];
    if (sscanf(line, "fail %63s %d", machine.fails[machine.nfails], &a) == 2) machine.code[machine.nfails++] = a;
    read_links(line);
}

static int refusal(const char *function)
{
    for (int i = 0; i < machine.nfails; i++)
        if (!strcmp(machine.fails[i], function)) return machine.code[i];
    return machine.is_open ? 0 : 1; /* uninitialized */
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    char line[256];
    FILE *f = fopen(getenv("FAKE_NVML"), "r");
    memset(&machine, 0, sizeof machine);
    for (int a = 0; a < MAX_CARDS; a++) {
        machine.bus[a] = 0x10 + a;
        for (int b = 0; b < MAX_CARDS; b++) machine.level[a][b] = 50;
    }
    while (f && fgets(line, sizeof line, f)) read_line(line);
    if (f) fclose(f);
    machine.is_open = 1;
    machine.is_open = f && !refusal("nvmlInit_v2");
    return f ? refusal("nvmlInit_v2") : 9;
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
    machine.is_open = 0;
    return 0;
}

const char *nvmlErrorString(int code);
const char *nvmlErrorString(int code)
{
    static const char *const words[] = {"Success", "Uninitialized", "Invalid Argument", "Not Supported"};
    if (code == 9) return "Driver Not Loaded";
    if (code == 15) return "GPU is lost";
    return code >= 0 && code < 4 ? words[code] : NULL;
}

static int index_of(const int *device)
{
    return (int)(device - machine.nlinks);
}

int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = (unsigned)machine.ncards;
    return refusal(__func__);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, int **out);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, int **out)
{
    *out = &machine.nlinks[i];
    return i < (unsigned)machine.ncards ? refusal(__func__) : 2;
}

int nvmlDeviceGetName(int *device, char *out, unsigned room);
int nvmlDeviceGetName(int *device, char *out, unsigned room)
{
    (void)device;
    snprintf(out, room, "%s", machine.name);
    return refusal(__func__);
}

static void fill_address(pci *out, unsigned bus)
{
    memset(out, 0, sizeof *out);
    out->bus = bus;
    snprintf(out->address, sizeof out->address, "00000000:%02X:00.0", bus);
}

int nvmlDeviceGetPciInfo_v3(int *device, pci *out);
int nvmlDeviceGetPciInfo_v3(int *device, pci *out)
{
    fill_address(out, (unsigned)machine.bus[index_of(device)]);
    return refusal(__func__);
}

int nvmlDeviceGetCudaComputeCapability(int *device, int *major, int *minor);
int nvmlDeviceGetCudaComputeCapability(int *device, int *major, int *minor)
{
    (void)device;
    *major = machine.major, *minor = machine.minor;
    return refusal(__func__);
}

int nvmlDeviceGetMaxPcieLinkGeneration(int *device, unsigned *out);
int nvmlDeviceGetMaxPcieLinkGeneration(int *device, unsigned *out)
{
    const int own = machine.own_generation[index_of(device)], code = refusal(__func__);
    if (!code) *out = (unsigned)(own ? own : machine.generation);
    return code;
}

int nvmlDeviceGetMaxPcieLinkWidth(int *device, unsigned *out);
int nvmlDeviceGetMaxPcieLinkWidth(int *device, unsigned *out)
{
    const int code = refusal(__func__);
    (void)device;
    if (!code) *out = (unsigned)machine.width;
    return code;
}

int nvmlDeviceGetTopologyCommonAncestor(int *a, int *b, unsigned *out);
int nvmlDeviceGetTopologyCommonAncestor(int *a, int *b, unsigned *out)
{
    const int code = refusal(__func__);
    if (!code) *out = (unsigned)machine.level[index_of(a)][index_of(b)];
    return code;
}

/* Says the code that a question about a link is answered with where it may not be asked; 0 where it may. */
static int link_refusal(const int *device, unsigned link, const char *function)
{
    const int n = *device;
    return refusal(function) ? refusal(function) : n == 0 ? 3 : link >= (unsigned)n ? 2 : 0;
}

int nvmlDeviceGetNvLinkState(int *device, unsigned link, unsigned *is_active);
int nvmlDeviceGetNvLinkState(int *device, unsigned link, unsigned *is_active)
{
    const int code = link_refusal(device, link, __func__);
    if (!code) *is_active = machine.remote[index_of(device)][link] != IDLE;
    return code;
}

int nvmlDeviceGetNvLinkVersion(int *device, unsigned link, unsigned *out);
int nvmlDeviceGetNvLinkVersion(int *device, unsigned link, unsigned *out)
{
    const int code = link_refusal(device, link, __func__);
    if (!code) *out = (unsigned)machine.version;
    return code;
}

#ifndef FAKE_NVML_OLD
int nvmlDeviceGetNvLinkRemoteDeviceType(int *device, unsigned link, unsigned *out);
int nvmlDeviceGetNvLinkRemoteDeviceType(int *device, unsigned link, unsigned *out)
{
    const int code = link_refusal(device, link, __func__);
    if (!code) *out = machine.remote[index_of(device)][link] == OF_SWITCH ? 2 : 0;
    return code;
}
#endif

int nvmlDeviceGetNvLinkRemotePciInfo_v2(int *device, unsigned link, pci *out);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(int *device, unsigned link, pci *out)
{
    const int code = link_refusal(device, link, __func__);
    if (code) return code;
    const int remote = machine.remote[index_of(device)][link];
    fill_address(out, remote >= 0 ? (unsigned)machine.bus[remote] : 0xe0);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* detect_cards.c: finds NVIDIA's cards of this machine by NVML: names, NVLinks, PCIe paths between them. If the driver
 * does not support a question, the fact is unknown. Any other refusal, or a contradiction, is a failure with a
 * message. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/host/library.h"
#include "nvml.h"
#include "tutti/topology.h"

static const char FILE_NAME[] = "libnvidia-ml.so.1", VARIABLE[] = "TUTTI_NVML_LIBRARY";

typedef struct {
    TUTTI_NVML_FUNCTIONS(TUTTI_LIBRARY_POINTER)
} nvml;

typedef struct {
    nvml call;
    tutti_nvml_device handle[TUTTI_MAX_SERVER_GPUS];
    tutti_nvml_pci pci[TUTTI_MAX_SERVER_GPUS];
    tutti_host_cards *out;
    tutti_failure *err;
} reader;

/* Turns NVML's answer to a question into a status. card: the card that was asked about; -1: all of them. */
static tutti_status check(const reader *r, int code, const char *question, int card)
{
    char whose[32] = "";
    if (code == TUTTI_NVML_OK) return TUTTI_OK;
    if (card >= 0) snprintf(whose, sizeof whose, " of card %d", card);
    const char *why = r->call.nvmlErrorString(code);
    return tutti_fail(r->err, TUTTI_ERR_FAILED, "NVML: %s%s: %s (%d); see whether nvidia-smi works here", question,
                      whose, why ? why : "unknown error", code);
}

/* Works as check, but if the driver does not support the question, *value becomes `unknown` and the result is
 * TUTTI_OK. */
static tutti_status check_or(const reader *r, int code, const char *question, int card, int unknown, int *value)
{
    if (code != TUTTI_NVML_NOT_SUPPORTED) return check(r, code, question, card);
    *value = unknown;
    return TUTTI_OK;
}

static bool is_same_address(const tutti_nvml_pci *a, const tutti_nvml_pci *b)
{
    return a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

/* Ends a text with '\0' and replaces characters that a terminal cannot print. */
static void make_printable(char *text, size_t room)
{
    text[room - 1] = '\0';
    for (; *text; text++)
        if (*text < ' ' || *text > '~') *text = '?';
}

static tutti_status read_name_and_place(reader *r, int i)
{
    tutti_host_card *card = &r->out->card[i];
    tutti_status st = check(r, r->call.nvmlDeviceGetHandleByIndex_v2((unsigned)i, &r->handle[i]), "the handle", i);
    if (!st) st = check(r, r->call.nvmlDeviceGetName(r->handle[i], card->name, sizeof card->name), "the name", i);
    if (!st) st = check(r, r->call.nvmlDeviceGetPciInfo_v3(r->handle[i], &r->pci[i]), "the PCI address", i);
    if (st) return st;
    make_printable(card->name, sizeof card->name);
    snprintf(card->bus, sizeof card->bus, "%04x:%02x:%02x", r->pci[i].domain & 0xffffffu, r->pci[i].bus & 0xff,
             r->pci[i].device & 0xff);
    for (int j = 0; j < i; j++)
        if (is_same_address(&r->pci[i], &r->pci[j]))
            return tutti_fail(r->err, TUTTI_ERR_FAILED, "NVML: cards %d and %d have one PCI address, %s", j, i,
                              card->bus);
    return TUTTI_OK;
}

static tutti_status read_rates(reader *r, int i)
{
    tutti_host_card *card = &r->out->card[i];
    unsigned generation = 0, width = 0;
    int major = 0, minor = 0;
    tutti_status st =
        check(r, r->call.nvmlDeviceGetCudaComputeCapability(r->handle[i], &major, &minor), "the compute capability", i);
    card->capability = major > 0 && major < 100 && minor >= 0 && minor < 10 ? 10 * major + minor : 0;
    int code = r->call.nvmlDeviceGetMaxPcieLinkGeneration(r->handle[i], &generation);
    card->generation = generation < 100 ? (int)generation : 0;
    if (!st) st = check_or(r, code, "the PCIe generation", i, 0, &card->generation);
    code = r->call.nvmlDeviceGetMaxPcieLinkWidth(r->handle[i], &width);
    card->width = width <= 32 ? (int)width : 0;
    return st ? st : check_or(r, code, "the PCIe width", i, 0, &card->width);
}

static int card_at(const reader *r, const tutti_nvml_pci *address)
{
    for (int j = 0; j < r->out->n; j++)
        if (is_same_address(&r->pci[j], address)) return j;
    return -1;
}

/* Reads the version and the other end of an active NVLink of card i. */
static tutti_status read_link(reader *r, int i, unsigned link)
{
    tutti_host_card *card = &r->out->card[i];
    tutti_nvml_pci remote = {0};
    unsigned version = 0, type = TUTTI_NVML_TO_UNKNOWN;
    int known = (int)TUTTI_NVML_TO_UNKNOWN, other;
    int code = r->call.nvmlDeviceGetNvLinkVersion(r->handle[i], link, &version);
    card->nvlink = (int)(version & 0xff);
    tutti_status st = check_or(r, code, "the version of an NVLink", i, 0, &card->nvlink);
    if (st) return st;
    code = r->call.nvmlDeviceGetNvLinkRemoteDeviceType(r->handle[i], link, &type);
    known = (int)(type & 0xff);
    st = check_or(r, code, "what is at the other end of an NVLink", i, TUTTI_NVML_TO_UNKNOWN, &known);
    if (st) return st;
    if (known == TUTTI_NVML_TO_SWITCH) {
        card->switched++;
        return TUTTI_OK;
    }
    code = r->call.nvmlDeviceGetNvLinkRemotePciInfo_v2(r->handle[i], link, &remote);
    other = card_at(r, &remote);
    st = check_or(r, code, "who is at the other end of an NVLink", i, -1, &other);
    if (st) return st;
    if (other < 0 || other == i)
        card->elsewhere++;
    else
        r->out->nvlinks[i][other]++;
    return TUTTI_OK;
}

/* Asks for the NVLinks of card i one after the other, until NVML refuses one: the card has no more. */
static tutti_status read_links(reader *r, int i)
{
    for (unsigned link = 0; link < TUTTI_NVML_MAX_LINKS; link++) {
        unsigned is_active = 0;
        const int code = r->call.nvmlDeviceGetNvLinkState(r->handle[i], link, &is_active);
        if (code == TUTTI_NVML_NOT_SUPPORTED || code == TUTTI_NVML_INVALID_ARGUMENT) break;
        tutti_status st = check(r, code, "the state of an NVLink", i);
        if (!st && is_active) st = read_link(r, i, link);
        if (st) return st;
    }
    return TUTTI_OK;
}

static tutti_status read_pair(reader *r, int i, int j)
{
    tutti_host_cards *out = r->out;
    unsigned level = TUTTI_ANCESTOR_UNKNOWN;
    int known;
    if (out->nvlinks[i][j] != out->nvlinks[j][i])
        return tutti_fail(r->err, TUTTI_ERR_FAILED,
                          "NVML contradicts itself: card %d has %d NVLinks to card %d, which has %d to it", i,
                          out->nvlinks[i][j], j, out->nvlinks[j][i]);
    const int code = r->call.nvmlDeviceGetTopologyCommonAncestor(r->handle[i], r->handle[j], &level);
    known = level <= 50 ? (int)level : (int)TUTTI_ANCESTOR_UNKNOWN;
    tutti_status st = check_or(r, code, "the PCIe way to another card", i, TUTTI_ANCESTOR_UNKNOWN, &known);
    out->ancestor[i][j] = out->ancestor[j][i] = (uint8_t)known;
    return st;
}

static tutti_status read_cards(reader *r)
{
    unsigned n = 0;
    tutti_status st = check(r, r->call.nvmlDeviceGetCount_v2(&n), "the number of cards", -1);
    if (st) return st;
    if (n > TUTTI_MAX_SERVER_GPUS)
        return tutti_fail(r->err, TUTTI_ERR_FAILED, "NVML: there are %u cards; a server has room for %d here", n,
                          TUTTI_MAX_SERVER_GPUS);
    r->out->n = (int)n;
    for (int i = 0; i < r->out->n && !st; i++) st = read_name_and_place(r, i);
    for (int i = 0; i < r->out->n && !st; i++) st = read_rates(r, i);
    for (int i = 0; i < r->out->n && !st; i++) st = read_links(r, i);
    for (int i = 0; i < r->out->n; i++)
        for (int j = 0; j < i && !st; j++) st = read_pair(r, i, j);
    return st;
}

/* Returns true if no library is named in the environment and the loader does not find the usual one. */
static bool is_missing(void)
{
    const char *asked = getenv(VARIABLE);
    if (asked && *asked) return false;
    if (dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return false;
    const char *why = dlerror();
    return why && !strncmp(why, FILE_NAME, strlen(FILE_NAME)) && strstr(why, "No such file");
}

tutti_status tutti_topology_detect_cards(tutti_host_cards *out, tutti_failure *err)
{
    static const char *const names[] = {TUTTI_NVML_FUNCTIONS(TUTTI_LIBRARY_NAME)};
    static const tutti_library library = {FILE_NAME, VARIABLE, "NVIDIA's driver", names,
                                          sizeof names / sizeof names[0]};
    reader r = {.out = out, .err = err};
    *out = (tutti_host_cards){0};
    if (is_missing()) return TUTTI_OK;
    out->has_driver = true;
    tutti_status st = tutti_library_load(&library, &r.call, err);
    if (!st) st = check(&r, r.call.nvmlInit_v2(), "to begin", -1);
    if (st) return st;
    st = read_cards(&r);
    (void)r.call.nvmlShutdown();
    if (st) out->n = 0;
    return st;
}

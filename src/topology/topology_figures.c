/* SPDX-License-Identifier: Apache-2.0 */
/* topology_figures.c: the figures of topologies (bandwidths, latencies): their names, units and words; reads figures
 * from text and prints them.
 *
 * There are four kinds of figures. A figure with a dimension, such as a rate, needs a unit of this dimension. A count
 * has no unit. A choice is one of several words. A set is numbers joined by dots. A value with a missing or wrong unit,
 * or with an unknown word, is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology_impl.h"

typedef enum { RATE, TIME, COUNT, SIZE, NUMBER, SHARE, SET, PAIRS, CHOICE } dimension;

static const struct {
    const char *name;
    dimension dim;
    const char *words; /* for a choice: its words, joined by '|' */
    const char *meaning;
} figures[TUTTI_NFIGURES] = {
    [TUTTI_FIGURE_BANDWIDTH] = {"bw", RATE, NULL, "of a link each way; of the memory for all cores of a host"},
    [TUTTI_FIGURE_LATENCY] = {"lat", TIME, NULL, "alpha: from a signal or send to the waiter's next step"},
    [TUTTI_FIGURE_SOFTWARE] = {"soft", TIME, NULL, "work of a rank for each message that it sends or receives"},
    [TUTTI_FIGURE_COPY] = {"copy", RATE, NULL, "1/beta: bytes read and written by one core that copies"},
    [TUTTI_FIGURE_ADD] = {"add", RATE, NULL,
                          "1/gamma: bytes that a rank reads and writes (host) or adds (else) in a sum"},
    [TUTTI_FIGURE_REMOTE] = {"remote", RATE, NULL,
                             "bytes read in another rank's memory, with the calling back of lines"},
    [TUTTI_FIGURE_SWITCH] = {"switch", TIME, NULL, "a core goes from one rank to another"},
    [TUTTI_FIGURE_CORES] = {"cores", COUNT, NULL, "usable by all ranks together"},
    [TUTTI_FIGURE_CACHE] = {"cache", SIZE, NULL, "stays in the caches; more goes through the memory"},
    [TUTTI_FIGURE_HOSTS] = {"hosts", COUNT, NULL, "hosts or servers"},
    [TUTTI_FIGURE_RANKS] = {"ranks", COUNT, NULL, "on one host"},
    [TUTTI_FIGURE_NICS] = {"nics", COUNT, NULL, "of one host or server"},
    [TUTTI_FIGURE_NIC] = {"nic", RATE, NULL, "of a NIC each way"},
    [TUTTI_FIGURE_BUS] = {"bus", RATE, NULL, "memory of a host, all its ranks together"},
    [TUTTI_FIGURE_NEAR] = {"near", TIME, NULL, "alpha inside a host or server"},
    [TUTTI_FIGURE_SOCKETS] = {"sockets", COUNT, NULL, "of a server"},
    [TUTTI_FIGURE_SWITCHES] = {"switches", COUNT, NULL, "PCIe switches of a socket"},
    [TUTTI_FIGURE_SLOTS] = {"slots", COUNT, NULL, "GPUs under a PCIe switch"},
    [TUTTI_FIGURE_GPUS] = {"gpus", SET, NULL, "of each server; rank r is on the r-th of them"},
    [TUTTI_FIGURE_NVLINK] = {"nvlink", RATE, NULL, "of one NVLink each way"},
    [TUTTI_FIGURE_LINKS] = {"links", COUNT, NULL, "NVLinks of a GPU into NVSwitches"},
    [TUTTI_FIGURE_MESH] = {"mesh", PAIRS, NULL, "pairs of GPUs that NVLinks join: 0-1 by one, 0-3x2 by two"},
    [TUTTI_FIGURE_PCIE] = {"pcie", RATE, NULL, "of a PCIe link each way"},
    [TUTTI_FIGURE_QPI] = {"qpi", RATE, NULL, "between two sockets each way"},
    [TUTTI_FIGURE_WIRES] = {"wires", CHOICE, "both|nvlink|pcie|split",
                            "both: NVLink where two GPUs have one, else PCIe; split: even channels NVLink, odd PCIe"},
    [TUTTI_FIGURE_INSIDE] = {"inside", CHOICE, "pcie|nic", "GPUs of a server under different switches talk through"},
    [TUTTI_FIGURE_PODS] = {"pods", COUNT, NULL, "1: two levels of switches, more: three"},
    [TUTTI_FIGURE_LEAVES] = {"leaves", COUNT, NULL, "leaf switches of a pod"},
    [TUTTI_FIGURE_SPINES] = {"spines", COUNT, NULL, "switches above the leaves of a pod, each linked to every leaf"},
    [TUTTI_FIGURE_TOPS] = {"tops", COUNT, NULL, "switches above the i-th spine of every pod"},
    [TUTTI_FIGURE_UP] = {"up", RATE, NULL, "of a link between two switches each way"},
    [TUTTI_FIGURE_HOP] = {"hop", TIME, NULL, "of a link between two switches"},
    [TUTTI_FIGURE_ROUTING] = {"routing", CHOICE, "dmodk|ecmp", "way up: by destination modulo k, or by a hash"},
    [TUTTI_FIGURE_PATHS] = {"paths", COUNT, NULL, "hashed parts that a message is cut into"},
    [TUTTI_FIGURE_SEED] = {"seed", NUMBER, NULL, "of the hash"},
    [TUTTI_FIGURE_X] = {"x", COUNT, NULL, "nodes along the first side"},
    [TUTTI_FIGURE_Y] = {"y", COUNT, NULL, "nodes along the second side"},
    [TUTTI_FIGURE_Z] = {"z", COUNT, NULL, "nodes along the third side"},
    [TUTTI_FIGURE_INCAST] = {"incast", SHARE, NULL,
                             "of a port's rate, for each further rank that sends to one host at a time"},
    [TUTTI_FIGURE_BURST] = {"burst", SIZE, NULL, "that a shaped link lets through at once after idling"},
    [TUTTI_FIGURE_PLACE] = {"place", CHOICE, "block|round-robin|parity|list",
                            "which rank sits where; or seats: 0.2.1.3"},
};

/* The units. The largest unit of a dimension comes first, because printing takes the first unit with which the number
 * is at least 1. */
static const struct {
    dimension dim;
    const char *name;
    double factor;
} units[] = {
    {RATE, "TB", 1e12},     {RATE, "GB", 1e9},      {RATE, "MB", 1e6},      {RATE, "kB", 1e3},  {RATE, "B", 1},
    {RATE, "Tb", 125e9},    {RATE, "Gb", 125e6},    {RATE, "Mb", 125e3},    {RATE, "kb", 125},  {RATE, "b", 0.125},
    {TIME, "s", 1},         {TIME, "ms", 1e-3},     {TIME, "us", 1e-6},     {TIME, "ns", 1e-9}, {COUNT, "", 1},
    {SIZE, "GiB", 1 << 30}, {SIZE, "MiB", 1 << 20}, {SIZE, "KiB", 1 << 10}, {SIZE, "B", 1},     {NUMBER, "", 1},
    {SHARE, "%", 1e-2},     {SHARE, "", 1},
};
enum { NUNITS = sizeof units / sizeof units[0] };

const char *tutti_figure_name(tutti_figure f)
{
    return figures[f].name;
}

const char *tutti_figure_meaning(tutti_figure f)
{
    return figures[f].meaning;
}

const char *tutti_figure_example(tutti_figure f)
{
    static const char *const examples[] = {[RATE] = "10Gb, 25GbE or 1.25GB/s",
                                           [TIME] = "5us",
                                           [COUNT] = "8",
                                           [SIZE] = "32MiB",
                                           [NUMBER] = "1",
                                           [SHARE] = "1%",
                                           [SET] = "0.1.4.5",
                                           [PAIRS] = "0-1.0-3x2.1-2x2"};
    return figures[f].dim == CHOICE ? figures[f].words : examples[figures[f].dim];
}

static bool choice_parse(const char *words, const char *text, double *out)
{
    size_t n = strlen(text);
    for (int i = 0;; i++) {
        size_t length = strcspn(words, "|");
        if (length == n && !memcmp(words, text, n)) {
            *out = i;
            return true;
        }
        if (words[length] == '\0') return false;
        words += length + 1;
    }
}

/* Parses a set: ascending numbers below 16, joined by dots. Writes it to *out as a number with one bit for each. */
static bool set_parse(const char *text, double *out)
{
    unsigned set = 0;
    for (char *end;; text = end + 1) {
        if (*text < '0' || *text > '9') return false;
        unsigned long i = strtoul(text, &end, 10);
        if (i >= 16 || set >> i) return false;
        set |= 1u << i;
        if (*end == '\0') break;
        if (*end != '.') return false;
    }
    *out = set;
    return true;
}

static bool ends_with(const char *text, size_t n, const char *end)
{
    const size_t length = strlen(end);
    return n >= length && !memcmp(text + n - length, end, length);
}

/* Turns a unit as people write it into a name of `units`: 25GbE, 3.1GB/s, 100Gbit/s and 10gbps become 25Gb, 3.1GB,
 * 100Gb and 10Gb. An unknown unit stays as it is, up to 15 bytes. */
static void plain_unit(dimension dim, const char *text, char out[16])
{
    static const char *const bits[] = {"bits", "bit", "Bit", "bE"};
    size_t n = strlen(text);
    snprintf(out, 16, "%s", n < 16 ? text : "?");
    n = strlen(out);
    if (dim == TIME && (!strcmp(out, "\xc2\xb5s") || !strcmp(out, "\xce\xbcs"))) snprintf(out, 16, "us");
    if (dim != RATE) return;
    if (ends_with(out, n, "/s") || (ends_with(out, n, "ps") && n > 2)) n -= 2;
    for (int i = 0; i < 4; i++)
        if (ends_with(out, n, bits[i])) {
            n -= strlen(bits[i]) - 1;
            out[n - 1] = 'b';
            break;
        }
    out[n] = '\0';
    if (n == 2 && out[0] != 'k' && strchr("Kgmt", out[0])) out[0] = out[0] == 'K' ? 'k' : (char)(out[0] - 'a' + 'A');
}

static bool number_parse(dimension dim, const char *text, double *out)
{
    char *end, unit[16];
    double number = strtod(text, &end);
    if (end == text || !isfinite(number) || number < 0) return false;
    plain_unit(dim, end, unit);
    for (int u = 0; u < NUNITS; u++) {
        if (units[u].dim != dim || strcmp(units[u].name, unit)) continue;
        *out = number * units[u].factor;
        if (dim == COUNT) return *out >= 1 && *out <= 65536 && *out == floor(*out);
        if (dim == NUMBER) return *out <= 4294967295.0 && *out == floor(*out);
        if (dim == SHARE) return *out <= 1;
        return *out > 0 || dim == TIME;
    }
    return false;
}

bool tutti_figure_is_ethernet(const char *text, size_t nbytes)
{
    return ends_with(text, nbytes, "bE");
}

bool tutti_figure_parse(tutti_figure f, const char *text, size_t nbytes, double *out)
{
    char copy[64];
    if (nbytes == 0 || nbytes >= sizeof copy) return false;
    memcpy(copy, text, nbytes);
    copy[nbytes] = '\0';
    switch (figures[f].dim) {
    case SET: return set_parse(copy, out);
    case CHOICE: return choice_parse(figures[f].words, copy, out);
    default: return number_parse(figures[f].dim, copy, out);
    }
}

static void set_print(unsigned set, char out[64])
{
    int used = 0;
    for (int i = 0; i < 16; i++)
        if (set & 1u << i) used += snprintf(out + used, (size_t)(64 - used), "%s%d", used ? "." : "", i);
}

static void choice_print(const char *words, int choice, char out[64])
{
    for (; choice > 0; choice--) words += strcspn(words, "|") + 1;
    snprintf(out, 64, "%.*s", (int)strcspn(words, "|"), words);
}

static void number_print(dimension dim, double value, char out[64])
{
    int last = -1;
    for (int u = 0; u < NUNITS; u++) {
        if (units[u].dim != dim) continue;
        if (dim == RATE && strlen(units[u].name) == 2 && units[u].name[1] == 'b') break;
        last = u;
        if (value >= units[u].factor) break;
    }
    snprintf(out, 64, "%.12g%s", value / units[last].factor, units[last].name);
}

void tutti_figure_print(tutti_figure f, double value, char out[64])
{
    switch (figures[f].dim) {
    case SET: set_print((unsigned)value, out); break;
    case CHOICE: choice_print(figures[f].words, (int)value, out); break;
    default: number_print(figures[f].dim, value, out); break;
    }
}

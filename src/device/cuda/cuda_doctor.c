/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_doctor.c: says in words which parts of CUDA are on this machine: libraries with their places and versions,
 * cards, and why something is not there. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cuda_impl.h"

static const char *function_version(void *handle, const char *function, char out[32])
{
    size_t (*ask)(void) = NULL;
    void *found = dlsym(handle, function);
    memcpy(&ask, &found, sizeof found);
    out[0] = 0;
    if (ask) snprintf(out, 32, ", version %zu", ask());
    return out;
}

static void add_library(const char *name, const char *version_function, const char *needed_for, tutti_strbuf *out)
{
    void *handle;
    char path[256], version[32] = "";
    tutti_failure why = {0};
    if (tutti_cuda_library(name, &handle, path, &why)) {
        tutti_strbuf_printf(out, "  %-10s missing (%s): %s\n", name, needed_for, why.text);
        return;
    }
    tutti_strbuf_printf(out, "  %-10s %s%s\n", name, path,
                        version_function ? function_version(handle, version_function, version) : "");
}

static void add_card(int number, tutti_strbuf *out)
{
    tutti_cuda *c;
    tutti_failure why = {0};
    if (tutti_cuda_open(number, &c, &why)) {
        tutti_strbuf_printf(out, "  card %d     cannot be used: %s\n", number, why.text);
        return;
    }
    const tutti_cuda_card *card = &c->card;
    tutti_strbuf_printf(out, "  card %d     %s, capability %d.%d, %.1f GiB, %d multiprocessors, driver of CUDA %d.%d\n",
                        number, card->name, card->major, card->minor, (double)card->memory_bytes / (1 << 30),
                        card->multiprocessors, card->driver / 1000, card->driver % 1000 / 10);
    tutti_cuda_close(c);
}

static int count_cards(void)
{
    tutti_cuda_driver driver;
    int n = 0;
    if (tutti_cuda_driver_open(&driver, NULL) || driver.cuInit(0) || driver.cuDeviceGetCount(&n)) return 0;
    return n;
}

void tutti_cuda_describe(tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "CUDA (device: cuda)\n");
    add_library("cuda", NULL, "the driver", out);
    add_library("nvrtc", NULL, "compiles kernels that are not in the cache yet", out);
    add_library("cublasLt", "cublasLtGetVersion", "dense layers", out);
    add_library("cudnn", "cudnnGetVersion", "convolutions", out);
    add_library("nccl", NULL, "ranks on several cards", out);
    const int ncards = count_cards();
    for (int i = 0; i < ncards; i++) add_card(i, out);
    if (!ncards) tutti_strbuf_puts(out, "  no card: 'device: auto' takes the cpu\n");
}

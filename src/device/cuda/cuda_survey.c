/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_survey.c: finds out which parts of CUDA are on this machine: libraries with their places and versions, and
 * cards. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cuda_impl.h"

typedef struct {
    const char *name, *version_function, *purpose;
} part;

static const part parts[TUTTI_CUDA_NLIBRARIES] = {
    {"cuda", NULL, "the driver"},
    {"nvrtc", NULL, "compiles kernels that are not in the cache yet"},
    {"cublasLt", "cublasLtGetVersion", "dense layers"},
    {"cudnn", "cudnnGetVersion", "convolutions"},
    {"nccl", NULL, "ranks on several cards"},
};

static void add_version(void *handle, const char *function, char *words)
{
    size_t (*ask)(void) = NULL;
    void *found = dlsym(handle, function);
    memcpy(&ask, &found, sizeof found);
    const size_t at = strlen(words);
    if (ask) snprintf(words + at, TUTTI_CUDA_SURVEY - at, ", version %zu", ask());
}

tutti_status tutti_cuda_survey_library(int i, tutti_cuda_part *out, tutti_failure *err)
{
    void *handle;
    char path[256];
    *out = (tutti_cuda_part){.name = parts[i].name, .purpose = parts[i].purpose};
    const tutti_status st = tutti_cuda_library(parts[i].name, &handle, path, err);
    if (st) return st;
    snprintf(out->words, sizeof out->words, "%s", path);
    if (parts[i].version_function) add_version(handle, parts[i].version_function, out->words);
    return TUTTI_OK;
}

int tutti_cuda_count_cards(void)
{
    tutti_cuda_driver driver;
    int n = 0;
    if (tutti_cuda_driver_open(&driver, NULL) || driver.cuInit(0) || driver.cuDeviceGetCount(&n)) return 0;
    return n;
}

tutti_status tutti_cuda_survey_card(int number, char words[TUTTI_CUDA_SURVEY], tutti_failure *err)
{
    tutti_cuda *c;
    const tutti_status st = tutti_cuda_open(number, &c, err);
    if (st) return st;
    const tutti_cuda_card *card = &c->card;
    snprintf(words, TUTTI_CUDA_SURVEY, "%s, capability %d.%d, %.1f GiB, %d multiprocessors, driver of CUDA %d.%d",
             card->name, card->major, card->minor, (double)card->memory_bytes / (1 << 30), card->multiprocessors,
             card->driver / 1000, card->driver % 1000 / 10);
    tutti_cuda_close(c);
    return TUTTI_OK;
}

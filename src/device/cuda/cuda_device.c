/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_device.c: opens a card by its number, keeps objects that its kernels share, and closes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_impl.h"

/* ---- failures of launches ---- */

void tutti_cuda_words(const tutti_cuda_driver *driver, tutti_cu_result result, char out[160])
{
    const char *name = NULL, *words = NULL;
    driver->cuGetErrorName(result, &name);
    driver->cuGetErrorString(result, &words);
    snprintf(out, 160, "%s (%s)", words ? words : "unknown failure", name ? name : "no name");
}

void tutti_cuda_fail(tutti_cuda *c, const char *what, const char *words)
{
    if (c->failure.status == TUTTI_OK)
        tutti_fail(&c->failure, TUTTI_ERR_FAILED, "%s: %s: %s", c->card.name, what, words);
}

bool tutti_cuda_is_well(tutti_cuda *c, tutti_cu_result result, const char *call)
{
    char words[160];
    if (!result) return true;
    tutti_cuda_words(&c->driver, result, words);
    tutti_cuda_fail(c, call, words);
    return false;
}

static tutti_status check(const tutti_device *d, tutti_failure *err)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    const tutti_failure failure = c->failure;
    tutti_cuda_end(c);
    return failure.status ? tutti_fail(err, failure.status, "%s", failure.text) : TUTTI_OK;
}

/* ---- open and close ---- */

static tutti_status fail_driver(const tutti_cuda *c, const char *call, tutti_cu_result result, tutti_failure *err)
{
    char words[160];
    tutti_cuda_words(&c->driver, result, words);
    return tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", call, words);
}

static int attribute_of(const tutti_cuda *c, int attribute, int device)
{
    int value = 0;
    return c->driver.cuDeviceGetAttribute(&value, attribute, device) ? 0 : value;
}

static void describe(tutti_cuda *c, int device)
{
    tutti_cuda_card *card = &c->card;
    size_t bytes = 0;
    c->driver.cuDeviceGetName(card->name, sizeof card->name, device);
    c->driver.cuDeviceTotalMem_v2(&bytes, device);
    c->driver.cuDriverGetVersion(&card->driver);
    card->memory_bytes = (int64_t)bytes;
    card->number = device;
    card->major = attribute_of(c, TUTTI_CU_CAPABILITY_MAJOR, device);
    card->minor = attribute_of(c, TUTTI_CU_CAPABILITY_MINOR, device);
    card->multiprocessors = attribute_of(c, TUTTI_CU_MULTIPROCESSORS, device);
    card->shared_bytes = attribute_of(c, TUTTI_CU_MAX_SHARED_OPTIN, device);
    card->l2_bytes = attribute_of(c, TUTTI_CU_L2_BYTES, device);
}

/* Opens the card's primary context, which libraries use too. */
static tutti_status open_context(tutti_cuda *c, int card, tutti_failure *err)
{
    int ncards = 0, device = 0;
    tutti_status st = tutti_cuda_driver_open(&c->driver, err);
    if (st) return st;
    tutti_cu_result result = c->driver.cuInit(0);
    if (result) return fail_driver(c, "cuInit", result, err);
    result = c->driver.cuDeviceGetCount(&ncards);
    if (result || ncards < 1) return tutti_fail(err, TUTTI_ERR_FAILED, "the driver sees no card");
    result = c->driver.cuDeviceGet(&device, card % ncards);
    if (result) return fail_driver(c, "cuDeviceGet", result, err);
    describe(c, device);
    void *context = NULL;
    result = c->driver.cuDevicePrimaryCtxRetain(&context, device);
    if (result) return fail_driver(c, "cuDevicePrimaryCtxRetain", result, err);
    c->context = context;
    c->driver.cuCtxSetCurrent(context);
    result = c->driver.cuStreamCreate(&c->stream, TUTTI_CU_STREAM_NON_BLOCKING);
    if (!result) result = c->driver.cuStreamCreate(&c->side, TUTTI_CU_STREAM_NON_BLOCKING);
    if (!result) result = c->driver.cuEventCreate(&c->arrived, TUTTI_CU_EVENT_NO_TIMING);
    if (result) return fail_driver(c, "cuStreamCreate", result, err);
    result = c->driver.cuMemHostAlloc((void **)&c->bounce, TUTTI_CUDA_BOUNCE + TUTTI_CUDA_SEEN, 0);
    if (result) return fail_driver(c, "cuMemHostAlloc", result, err);
    c->seen = c->bounce + TUTTI_CUDA_BOUNCE;
    return TUTTI_OK;
}

tutti_status tutti_cuda_open(int card, tutti_cuda **out, tutti_failure *err)
{
    tutti_cuda *c = tutti_alloc(sizeof *c);
    const char *replays = getenv("TUTTI_CUDA_GRAPHS");
    pthread_mutex_init(&c->lock, NULL);
    c->row = (tutti_device){.name = "cuda", .kind = TUTTI_DEVICE_CUDA, .check = check};
    tutti_cuda_place_memory(&c->row);
    tutti_cuda_place_queue(&c->row);
    tutti_cuda_place_loops(&c->row);
    c->queue = tutti_cuda_queue_create(!replays || strcmp(replays, "off") != 0);
    tutti_status st = open_context(c, card, err);
    c->row.about = c->card.name;
    if (!st) st = tutti_cuda_loops_find(c, err);
    if (st)
        tutti_cuda_close(c);
    else
        *out = c;
    return st;
}

static void release_kept(tutti_cuda *c)
{
    while (c->nkept > 0) {
        const tutti_cuda_keeping *k = &c->keeping[--c->nkept];
        if (k->what->destroy) k->what->destroy(k->kept);
    }
    free(c->keeping);
}

void tutti_cuda_close(tutti_cuda *c)
{
    if (!c) return;
    if (c->context) {
        c->driver.cuCtxSetCurrent(c->context);
        if (c->arrived) tutti_cuda_sync(c);
        release_kept(c);
        tutti_cuda_modules_release(c);
        tutti_cuda_release_ranges(c);
    }
    tutti_cuda_queue_destroy(c);
    if (c->bounce) c->driver.cuMemFreeHost(c->bounce);
    if (c->arrived) c->driver.cuEventDestroy_v2(c->arrived);
    if (c->side) c->driver.cuStreamDestroy_v2(c->side);
    if (c->stream) c->driver.cuStreamDestroy_v2(c->stream);
    if (c->context) c->driver.cuDevicePrimaryCtxRelease_v2(c->card.number);
    free(c->ranges);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- the device row, figures and shared objects of a card ---- */

const tutti_device *tutti_cuda_device(const tutti_cuda *c)
{
    return &c->row;
}

tutti_cuda *tutti_cuda_of(const tutti_device *d)
{
    return (tutti_cuda *)(uintptr_t)d; /* a tutti_cuda begins with its device row */
}

const tutti_cuda_card *tutti_cuda_card_of(const tutti_cuda *c)
{
    return &c->card;
}

void *tutti_cuda_stream(const tutti_cuda *c)
{
    return c->stream;
}

tutti_status tutti_cuda_keep(tutti_cuda *c, const tutti_cuda_kept *what, void **out, tutti_failure *err)
{
    c->driver.cuCtxSetCurrent(c->context);
    for (int i = 0; i < c->nkept; i++)
        if (c->keeping[i].what == what || !strcmp(c->keeping[i].what->name, what->name)) {
            *out = c->keeping[i].kept;
            return TUTTI_OK;
        }
    void *made = NULL;
    const tutti_status st = what->make(c, &made, err);
    if (st) return st;
    c->keeping = tutti_realloc(c->keeping, sizeof *c->keeping * (size_t)(c->nkept + 1));
    c->keeping[c->nkept++] = (tutti_cuda_keeping){what, made};
    *out = made;
    return TUTTI_OK;
}

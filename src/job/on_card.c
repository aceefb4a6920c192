/* SPDX-License-Identifier: Apache-2.0 */
/* on_card.c: opens and closes a device by its name. */
#include "on_card.h"

#include <stdio.h>

#include "../device/cuda/cuda.h"

tutti_status tutti_on_card_open(const char *where, tutti_on_card *out, tutti_failure *err)
{
    const tutti_device *device;
    *out = (tutti_on_card){0};
    const tutti_status st = tutti_device_connect(where, 0, &device, NULL, err);
    if (st || device->kind != TUTTI_DEVICE_CUDA) return st;
    const tutti_cuda_card *card = tutti_cuda_card_of(tutti_cuda_of(device));
    out->device = device;
    out->driver = card->driver;
    out->l2_bytes = card->l2_bytes;
    snprintf(out->name, sizeof out->name, "%s", card->name);
    return TUTTI_OK;
}

void tutti_on_card_close(tutti_on_card *c)
{
    tutti_device_disconnect(c->device);
    *c = (tutti_on_card){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ddl_model.c: a cell of the measured table, from the constants of its machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ddl_table.h"

static const tutti_ddl_method methods[] = {
    {"BSP-A2A", "bsp-one", false, true},
    {"WFBP-A2A", "wfbp", false, true},
    {"MG-WFBP", "mg-wfbp", false, false},
    {"ByteScheduler-A2A", "priority", false, false},
    {"BSP-PS", "bsp-one", true, false},
    {"WFBP-PS", "wfbp", true, false},
    {"ByteScheduler-PS", "priority", true, false},
};
static const int64_t FAR = INT64_C(1) << 40; /* bytes */

int tutti_ddl_method_count(void)
{
    return (int)(sizeof methods / sizeof methods[0]);
}

const tutti_ddl_method *tutti_ddl_method_at(int i)
{
    return &methods[i];
}

const tutti_ddl_method *tutti_ddl_method_find(const char *name)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (!strcmp(methods[i].name, name)) return &methods[i];
    return NULL;
}

int tutti_ddl_network_find(const tutti_ddl_constants *c, const char *connection)
{
    for (int i = 0; i < c->nnetworks; i++)
        if (!strcmp(c->networks[i].name, connection)) return i;
    return -1;
}

/* Of a list of names with ", " between. */
static bool is_listed(const char *names, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = names; at && *at; at = strstr(at, ", ") ? strstr(at, ", ") + 2 : NULL)
        if (!strncmp(at, name, n) && (at[n] == '\0' || at[n] == ',')) return true;
    return false;
}

bool tutti_ddl_is_fitted(const tutti_ddl_constants *c, const char *model)
{
    return is_listed(c->model, model);
}

bool tutti_ddl_has_adam(const tutti_ddl_constants *c, const char *model, const tutti_layer_trace *layers)
{
    return layers->rule[0] ? !strncmp(layers->rule, "adam", 4) : model && is_listed(c->adam, model);
}

tutti_exchange_cost tutti_ddl_cost(const tutti_ddl_constants *c, const tutti_ddl_network *network, bool has_servers,
                                   int gpus)
{
    const bool is_inside = gpus <= c->gpus_per_node;
    const tutti_ddl_network *ring = is_inside ? &c->inside : network;
    double start_s = 2 * (gpus - 1) * ring->hop_us * 1e-6,
           byte_s = 2 * (gpus - 1) / (double)gpus / (ring->line * ring->efficiency);
    if (has_servers) {
        start_s = 0;
        byte_s = 1 / (c->inside.line * c->inside.server_efficiency);
        if (!is_inside) byte_s += 1 / (network->line * network->server_efficiency);
    }
    return (tutti_exchange_cost){
        2, {0, FAR}, {llround(start_s * 1e9), llround((start_s + byte_s * (double)FAR) * 1e9)}, 1};
}

double tutti_ddl_predict(const tutti_ddl_constants *c, const tutti_ddl_network *network, const tutti_ddl_row *row,
                         const tutti_layer_trace *layers, int gpus)
{
    const tutti_ddl_method *m = tutti_ddl_method_find(row->method);
    tutti_step_layer *scaled = tutti_alloc(sizeof *scaled * (size_t)layers->nlayers);
    double all_us = 0;
    tutti_step_times times;
    for (int l = 0; l < layers->nlayers; l++) all_us += layers->layers[l].forward_us + layers->layers[l].backward_us;
    const double to_ns = row->batch / row->one * 1e9 / all_us;
    for (int l = 0; l < layers->nlayers; l++) {
        const tutti_layer_cost *from = &layers->layers[l];
        scaled[l] =
            (tutti_step_layer){llround(from->forward_us * to_ns), llround(from->backward_us * to_ns), from->size_bytes};
    }
    const tutti_step_work work = {.layers = scaled, .nlayers = layers->nlayers};
    const tutti_exchange_cost cost = tutti_ddl_cost(c, network, m->has_servers, gpus);
    tutti_step_schedule_play(tutti_step_schedule_find(m->schedule), &work, &cost, &times);
    const bool has_adam = !m->has_servers && tutti_ddl_has_adam(c, row->model, layers);
    int ntensors = 0;
    for (int l = 0; has_adam && l < layers->nlayers; l++) ntensors += scaled[l].bytes > 0;
    times.step_ns += llround(ntensors * c->adam_us * 1e3);
    free(scaled);
    return row->batch * (double)gpus / ((double)times.step_ns * 1e-9);
}

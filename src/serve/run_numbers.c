/* SPDX-License-Identifier: Apache-2.0 */
/* run_numbers.c: writes and reads the last numbers of a run as JSON. */
#include "run_numbers.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void tutti_run_numbers_none(tutti_series_summary *out)
{
    *out = (tutti_series_summary){
        .step = -1, .epoch = NAN, .loss = NAN, .ips = NAN, .accuracy = NAN, .at = NAN, .step_at = NAN, .step_gap = NAN};
}

void tutti_run_numbers_write(const tutti_series_summary *s, tutti_json *j)
{
    if (s->step < 0)
        tutti_json_text(j, "step", NULL);
    else
        tutti_json_int(j, "step", s->step);
    tutti_json_real(j, "epoch", s->epoch);
    tutti_json_real(j, "loss", s->loss);
    tutti_json_real(j, "accuracy", s->accuracy);
    tutti_json_real(j, "ips", s->ips);
    tutti_json_text(j, "weights", *s->weights ? s->weights : NULL);
    tutti_json_real(j, "progress_at", s->step_at);
}

static void read_real(const cJSON *root, const char *key, double *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    if (cJSON_IsNumber(item)) *out = item->valuedouble;
}

void tutti_run_numbers_read(const char *text, tutti_series_summary *out)
{
    tutti_run_numbers_none(out);
    cJSON *root = text ? tutti_json_parse(text, strlen(text)) : NULL;
    double step = -1;
    read_real(root, "step", &step);
    out->step = (int64_t)step;
    read_real(root, "epoch", &out->epoch);
    read_real(root, "loss", &out->loss);
    read_real(root, "accuracy", &out->accuracy);
    read_real(root, "ips", &out->ips);
    read_real(root, "progress_at", &out->step_at);
    const cJSON *weights = cJSON_GetObjectItemCaseSensitive(root, "weights");
    if (cJSON_IsString(weights)) snprintf(out->weights, sizeof out->weights, "%s", weights->valuestring);
    cJSON_Delete(root);
}

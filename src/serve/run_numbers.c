/* SPDX-License-Identifier: Apache-2.0 */
/* run_numbers.c: writes and reads the last numbers of a run as JSON. */
#include "run_numbers.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

void tutti_run_numbers_read(const char *text, tutti_series_summary *out)
{
    *out = tutti_series_none();
    cJSON *root = text ? tutti_json_parse(text, strlen(text)) : NULL;
    out->step = (int64_t)tutti_json_number_of(root, "step", -1);
    out->epoch = tutti_json_number_of(root, "epoch", NAN);
    out->loss = tutti_json_number_of(root, "loss", NAN);
    out->accuracy = tutti_json_number_of(root, "accuracy", NAN);
    out->ips = tutti_json_number_of(root, "ips", NAN);
    out->step_at = tutti_json_number_of(root, "progress_at", NAN);
    const char *weights = tutti_json_text_of(root, "weights");
    if (weights) snprintf(out->weights, sizeof out->weights, "%s", weights);
    cJSON_Delete(root);
}

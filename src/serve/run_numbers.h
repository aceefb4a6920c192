/* SPDX-License-Identifier: Apache-2.0 */
/* run_numbers.h: the last numbers of a run as the JSON of a job shows them; the store keeps those of a run that has
 * ended. Threads: any. */
#ifndef TUTTI_SERVE_RUN_NUMBERS_H
#define TUTTI_SERVE_RUN_NUMBERS_H

#include "series.h"

/* Writes "step", "epoch", "loss", "accuracy", "ips", "weights", "progress_at" into an open object; null = not known. */
void tutti_run_numbers_write(const tutti_series_summary *s, tutti_json *j);
/* Reads what tutti_run_numbers_write has put into an object; other members are unknown afterwards. NULL = none. */
void tutti_run_numbers_read(const char *text, tutti_series_summary *out);

#endif

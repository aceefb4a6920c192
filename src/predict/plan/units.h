/* SPDX-License-Identifier: Apache-2.0 */
/* units.h: times, prices and bytes as planners read and write them. Failures begin with `where` and are
 * TUTTI_ERR_USAGE. Threads: any. */
#ifndef TUTTI_PREDICT_UNITS_H
#define TUTTI_PREDICT_UNITS_H

#include <stdint.h>

#include "tutti/failure.h"

tutti_status tutti_predict_read_real(const char *where, const char *text, double least, double most, double *out,
                                     tutti_failure *err);
/* Reads "12h", "90min", "2d", "30s" as seconds, above 0. */
tutti_status tutti_predict_read_time(const char *where, const char *text, double *seconds, tutti_failure *err);
/* Reads a price of a node and hour: "3/h", "0.05/min", "3". */
tutti_status tutti_predict_read_price(const char *where, const char *text, double *price, tutti_failure *err);

/* Write a time, "4.2 s", "12.5 min", "31.4 h", or "-" if it is NaN; and bytes, "1.25 GiB". */
void tutti_predict_time_words(double seconds, char out[16]);
void tutti_predict_bytes_words(int64_t bytes, char out[16]);

#endif

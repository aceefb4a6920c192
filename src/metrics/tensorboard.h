/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard.h: numbers of a run as event files, which TensorBoard and the trackers that sync with it read.
 *
 * A file is a row of records: u64 length, u32 masked CRC-32C of the length, data, u32 masked CRC-32C of the data, little-endian; the
 * data is a protobuf message Event (tensorflow/core/util/event.proto). Each record is handed to the system by one write(), so a
 * killed run loses at most a torn last record. A run that goes on never appends to that file: it begins the next one, whose second record
 * says from which step on older points are void. Threads: owner. */
#ifndef TUTTI_TENSORBOARD_H
#define TUTTI_TENSORBOARD_H

#include <stdint.h>

#include "../base/text/strbuf.h"
#include "tutti/failure.h"

typedef struct {
    const char *tag; /* "train/loss" */
    double value;    /* becomes a float */
} tutti_scalar;

typedef struct tutti_tensorboard tutti_tensorboard;

/* Begins DIR/events.out.tfevents.<seconds since 1970>.<host>.<pid>.0, a name that sorts after all others in the folder.
 * last_step: the step that a run goes on from; < 0: a new run. */
tutti_status tutti_tensorboard_open(const char *dir, int64_t last_step, tutti_tensorboard **out, tutti_failure *err);
/* Removes the event files of an earlier run from a folder. */
tutti_status tutti_tensorboard_remove(const char *dir, tutti_failure *err);
/* All of one step as one record. */
tutti_status tutti_tensorboard_write(tutti_tensorboard *t, int64_t step, const tutti_scalar *scalars, int n,
                                     tutti_failure *err);
void tutti_tensorboard_close(tutti_tensorboard *t); /* NULL is accepted */

/* The records by themselves; pure. wall_s: seconds since 1970. */
void tutti_event_version(double wall_s, tutti_strbuf *out);                     /* first of every file */
void tutti_event_restart(double wall_s, int64_t first_step, tutti_strbuf *out); /* points from this step on are void */
void tutti_event_scalars(double wall_s, int64_t step, const tutti_scalar *scalars, int n, tutti_strbuf *out);

#endif

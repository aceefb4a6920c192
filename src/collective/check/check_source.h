/* SPDX-License-Identifier: Apache-2.0 */
/* check_source.h: the proof of tutti_schedule_check for parts from any source.
 *
 * Threads: one at a time. */
#ifndef TUTTI_CHECK_SOURCE_H
#define TUTTI_CHECK_SOURCE_H

#include "../schedule/part_source.h"
#include "tutti/check.h"

/* Does the work of tutti_schedule_check. Memory: 24 bytes for each run of neighbouring slices with one history in a
 * bank of a buffer of a rank, 56 bytes for each step, and one clock (a word for each sequence of all ranks) for each
 * rank and each message under way with news of its own. */
tutti_status tutti_check_source(const tutti_part_source *source, tutti_check_report *report, tutti_failure *err);

#endif

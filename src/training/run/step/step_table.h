/* SPDX-License-Identifier: Apache-2.0 */
/* step_table.h: the rows of tables of step work, one table for each kind of device. For each kind of work it has, once,
 * the name of the work, the type of its arguments and which of them vary. A file that defines a function <name>_work
 * for each row gets its table with TUTTI_STEP_TABLE. */
#ifndef TUTTI_STEP_TABLE_H
#define TUTTI_STEP_TABLE_H

#include <stddef.h>

#include "step_work.h"

#define TUTTI_STEP_FIXED(kind, name, type) [TUTTI_WORK_##kind] = {#name, name##_work, sizeof(type), 0, 0},
/* A row in which `bytes` bytes of the arguments, from the member `first` on, differ from step to step. */
#define TUTTI_STEP_VARYING(kind, name, type, first, bytes)                                                             \
    [TUTTI_WORK_##kind] = {#name, name##_work, sizeof(type), offsetof(type, first), bytes},

#define TUTTI_STEP_TABLE                                                                                               \
    {                                                                                                                  \
        TUTTI_STEP_VARYING(FORWARD, forward, tutti_kernel_work, args.seed, 3 * sizeof(uint64_t))                       \
        TUTTI_STEP_VARYING(PARAMS, backward_params, tutti_kernel_work, args.seed, 3 * sizeof(uint64_t))                \
        TUTTI_STEP_VARYING(DATA, backward_data, tutti_kernel_work, args.seed, 3 * sizeof(uint64_t))                    \
        TUTTI_STEP_FIXED(SUM, sum, tutti_sum_work)                                                                     \
        TUTTI_STEP_FIXED(TO_PLAIN, to_plain, tutti_plain_work)                                                         \
        TUTTI_STEP_FIXED(FROM_PLAIN, from_plain, tutti_plain_work)                                                     \
        TUTTI_STEP_FIXED(BLOCKS, blocks, tutti_blocks_work)                                                            \
        TUTTI_STEP_VARYING(CONTROL, control, tutti_control_work, stop, sizeof(float))                                  \
        TUTTI_STEP_FIXED(NO_LOSS, no_loss, float *)                                                                    \
        TUTTI_STEP_VARYING(UPDATE, update, tutti_update_work, varying, sizeof((tutti_update_work *)0)->varying)        \
        TUTTI_STEP_FIXED(STATISTIC, statistic, tutti_statistic_work)                                                   \
        TUTTI_STEP_FIXED(FINITE, finite, tutti_finite_work)                                                            \
        TUTTI_STEP_VARYING(NORMS, norms, tutti_norms_work, numbers, sizeof((tutti_norms_work *)0)->numbers)            \
        TUTTI_STEP_FIXED(ZEROS, zeros, tutti_zeros_work)                                                               \
        TUTTI_STEP_FIXED(CLEAR, clear, tutti_clear_work)                                                               \
        TUTTI_STEP_VARYING(ELEMENTS, elements, tutti_elements, alpha, sizeof(float))                                   \
    }

#endif

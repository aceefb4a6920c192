/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.h: accuracy and loss over blocks of the test set; each rank takes a contiguous run of blocks. The borders of
 * blocks do not depend on the number of ranks. Threads: one at a time. */
#ifndef TUTTI_EVALUATE_H
#define TUTTI_EVALUATE_H

#include "../../../base/headway.h"
#include "../train.h"
#include "sparsity.h"

typedef struct tutti_evaluator tutti_evaluator;
tutti_status tutti_evaluator_create(const tutti_graph *like, const tutti_dataset *data, const tutti_device *device,
                                    tutti_evaluator **out, tutti_failure *err);
/* stop_asked is called before each block; a result other than 0 ends the test early. headway gets the number of samples
 * tested so far; if it returns false, the test ends, too. */
void tutti_evaluator_watch(tutti_evaluator *e, int (*stop_asked)(void *arg), void *arg, tutti_headway headway);
/* Returns the model's ReLUs; *zeros: the zeros in the output of each, in the last run. */
const tutti_relus *tutti_evaluator_relus(const tutti_evaluator *e, int64_t **zeros);
/* Sets the listener that gets each answer of the runs that follow. */
tutti_status tutti_evaluator_listen(tutti_evaluator *e, const tutti_answer_listener *listener, tutti_failure *err);
void tutti_evaluator_destroy(tutti_evaluator *e);
/* True if an interval between two tests ends with this step. */
bool tutti_evaluator_is_due(const tutti_train_config *c, int64_t step);
/* Tests the blocks of this rank's part. w: the device's weights, whose layout was given at creation. */
tutti_status tutti_evaluator_run(tutti_evaluator *e, const tutti_packed_weights *w, int part, int nparts,
                                 tutti_eval_result *out, /* loss: the sum, not the mean */
                                 tutti_failure *err);
void tutti_replaced_add(tutti_replaced *sum, int64_t n, const char *why);

#endif

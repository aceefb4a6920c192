/* SPDX-License-Identifier: Apache-2.0 */
/* svm_account.h: measures how much time of a solve each kind of work takes on this rank, and counts collectives and
 * their bytes.
 *
 * The time between two readings of the clock is charged to one kind of work, so the sum over all kinds is the wall
 * time. A round reads the clock some ten times, and once more for each tile: 25 ns each. Threads: one at a time. */
#ifndef TUTTI_SVM_ACCOUNT_H
#define TUTTI_SVM_ACCOUNT_H

#include "tutti/svm.h"

typedef struct {
    int64_t ns[TUTTI_SVM_NWORKS];
    int64_t charged_ns;    /* time up to which everything is charged */
    tutti_svm_work adding; /* kind of work to which sums over rows are charged: updating or, while gradients are
                            * recomputed, eliminating */
    int64_t collectives, bytes, row_bytes; /* the same as in tutti_svm_event */
} tutti_svm_account;

/* Sets all to 0 and starts the clock. */
void tutti_svm_account_open(tutti_svm_account *a);
/* Charges the time since the last charge to this work. */
void tutti_svm_charge(tutti_svm_account *a, tutti_svm_work work);
/* Counts a collective with a result of nbytes, and charges the time since the last charge to moving. */
void tutti_svm_charge_moving(tutti_svm_account *a, int64_t nbytes);
/* Copies the times and counts into the event's fields. */
void tutti_svm_account_tell(const tutti_svm_account *a, tutti_svm_event *event);

#endif

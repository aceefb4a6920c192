/* SPDX-License-Identifier: Apache-2.0 */
/* svm_account.h: where the time of a problem's rounds went on this rank, and what its collectives brought.
 *
 * Every stretch between two looks at the clock is charged to one kind of work, so their sum is the wall time. Some ten
 * looks a round, and one a tile: 25 ns each. Threads: owner. */
#ifndef TUTTI_SVM_ACCOUNT_H
#define TUTTI_SVM_ACCOUNT_H

#include "tutti/svm.h"

typedef struct {
    int64_t ns[TUTTI_SVM_NWORKS];
    int64_t charged_ns; /* the clock up to which everything is charged */
    tutti_svm_work
        adding; /* what sums over rows are charged to: updating, or eliminating while gradients are made anew */
    int64_t collectives, bytes, row_bytes; /* as in tutti_svm_event */
} tutti_svm_account;

/* All is 0, the clock runs. */
void tutti_svm_account_open(tutti_svm_account *a);
/* What has passed since the last charge was this work. */
void tutti_svm_charge(tutti_svm_account *a, tutti_svm_work work);
/* A collective whose result is so long; what passed since the last charge was moving. */
void tutti_svm_charge_moving(tutti_svm_account *a, int64_t nbytes);
/* Fills in the event's part of it. */
void tutti_svm_account_tell(const tutti_svm_account *a, tutti_svm_event *event);

#endif

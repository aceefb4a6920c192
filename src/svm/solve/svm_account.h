/* SPDX-License-Identifier: Apache-2.0 */
/* svm_account.h: accounts the time of a solve on this rank: kinds of work, and what its collectives brought.
 *
 * Every stretch between two looks at the clock is charged to one kind of work, so their sum is the wall time. Some ten
 * looks a round, and one a tile: 25 ns each. Threads: owner. */
#ifndef TUTTI_SVM_ACCOUNT_H
#define TUTTI_SVM_ACCOUNT_H

#include "tutti/svm.h"

typedef struct {
    int64_t ns[TUTTI_SVM_NWORKS];
    int64_t charged_ns;    /* time up to which everything is charged */
    tutti_svm_work adding; /* the work that sums over rows are charged to: updating, or eliminating while gradients are
                 * recomputed */
    int64_t collectives, bytes, row_bytes; /* the same as in tutti_svm_event */
} tutti_svm_account;

/* Sets all to 0 and starts the clock. */
void tutti_svm_account_open(tutti_svm_account *a);
/* Charges the time since the last charge to this work. */
void tutti_svm_charge(tutti_svm_account *a, tutti_svm_work work);
/* Charges a collective with a result of nbytes; the time since the last charge was moving. */
void tutti_svm_charge_moving(tutti_svm_account *a, int64_t nbytes);
/* Fills in the event's fields. */
void tutti_svm_account_tell(const tutti_svm_account *a, tutti_svm_event *event);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* svm_account.c: charges the time of a solve to kinds of work. */
#include "svm_account.h"

#include <assert.h>

#include "../../base/clock.h"

static const char *const names[] = {"choosing", "moving", "alike", "updating", "eliminating", "other"};
static_assert(sizeof names / sizeof *names == TUTTI_SVM_NWORKS, "a name a work");

const char *tutti_svm_work_name(tutti_svm_work work)
{
    return names[work];
}

void tutti_svm_account_open(tutti_svm_account *a)
{
    *a = (tutti_svm_account){.charged_ns = tutti_clock_ns(), .adding = TUTTI_SVM_UPDATING};
}

void tutti_svm_charge(tutti_svm_account *a, tutti_svm_work work)
{
    const int64_t now = tutti_clock_ns();
    a->ns[work] += now - a->charged_ns;
    a->charged_ns = now;
}

void tutti_svm_charge_moving(tutti_svm_account *a, int64_t nbytes)
{
    a->collectives++, a->bytes += nbytes;
    tutti_svm_charge(a, TUTTI_SVM_MOVING);
}

void tutti_svm_account_tell(const tutti_svm_account *a, tutti_svm_event *event)
{
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++) event->spent_s[w] = (double)a->ns[w] * 1e-9;
    event->collectives = a->collectives, event->bytes = a->bytes, event->row_bytes = a->row_bytes;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* proved.h: schedules by name that must hold, unlowered and lowered, or must be refused with the right words. After
 * testing.h. */
#ifndef TUTTI_TESTS_PROVED_H
#define TUTTI_TESTS_PROVED_H

#include <string.h>

#include "collective/compile/algorithms.h"
#include "tutti/check.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

static inline tutti_schedule *compiled(const char *text, const tutti_compile_request *q)
{
    tutti_schedule *s = NULL;
    tutti_failure err = {0};
    if (tutti_schedule_compile(text, q, &s, &err) != TUTTI_OK)
        fail_msg("%s at %d ranks: %s", text, q->nranks, err.text);
    return s;
}

static inline void must_hold(const tutti_schedule *s, tutti_check_report *report)
{
    tutti_failure err = {0};
    const tutti_schedule_header *h = tutti_schedule_head(s);
    if (tutti_schedule_check(s, report, &err) == TUTTI_OK) return;
    fail_msg("%s at %d ranks, %s: %s", h->algorithm, h->nranks, tutti_wire_class_name(h->wire), err.text);
}

static inline void must_hold_on_every_wire(const char *text, const tutti_compile_request *q)
{
    tutti_schedule *s = compiled(text, q), *lowered = NULL;
    must_hold(s, NULL);
    for (int wire = TUTTI_WIRE_MAPPED; wire <= TUTTI_WIRE_ONE_SIDED; wire++) {
        assert_int_equal(tutti_schedule_lower(s, (tutti_wire_class)wire, &lowered, NULL), TUTTI_OK);
        must_hold(lowered, NULL);
        tutti_schedule_destroy(lowered);
    }
    tutti_schedule_destroy(s);
}

static inline void must_refuse(const char *text, const tutti_compile_request *q, const char *words)
{
    tutti_schedule *s = NULL;
    tutti_failure err = {0};
    assert_int_equal(tutti_schedule_compile(text, q, &s, &err), TUTTI_ERR_USAGE);
    if (!strstr(err.text, words)) fail_msg("%s: '%s', not '%s'", text, err.text, words);
    assert_null(s);
}

#endif

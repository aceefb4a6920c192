/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h: examines this machine and this process: the conditions that a run would meet, what would stop it, and how
 *to repair that.
 *
 * Nothing is joined and no launcher is talked to. The examination takes less than 3 s: programs that are asked for
 * their version get half a second each, and the folder is written for one second at most. Threads: owner. */
#ifndef TUTTI_DOCTOR_H
#define TUTTI_DOCTOR_H

#include "../base/text/strbuf.h"

typedef enum {
    TUTTI_FINDING_OK,
    TUTTI_FINDING_NOTE, /* something can be better; runs work */
    TUTTI_FINDING_BAD,  /* a run would fail */
    TUTTI_NFINDING_STATES,
} tutti_finding_state;
const char *tutti_finding_state_name(tutti_finding_state state); /* "ok", "note", "bad" */

typedef struct {
    const char *subject; /* heading for people: "launch" */
    char name[32];       /* "open files"; unique */
    tutti_finding_state state;
    char *found;  /* one sentence, with units */
    char *remedy; /* one sentence; NULL if and only if the state is ok */
} tutti_finding;

typedef struct {
    tutti_finding *of; /* findings of one subject follow each other */
    int n, capacity;
    int count[TUTTI_NFINDING_STATES]; /* number of findings in each state */
} tutti_findings;

/* Makes all checks. folder: where checkpoints will lie; it need not exist yet. The caller releases the findings. */
void tutti_doctor_examine(const char *folder, tutti_findings *out);
void tutti_findings_release(tutti_findings *findings);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h: examines this machine and this process: the conditions that a run would meet, what would stop it, and how
 * to repair that.
 *
 * The examination joins no group and talks to no launcher. The whole takes less than 3 s: programs that are asked for
 * their version get half a second each, and the folder is written for one second at most. Threads: one at a time. */
#ifndef TUTTI_DOCTOR_H
#define TUTTI_DOCTOR_H

#include "../base/text/strbuf.h"

typedef enum {
    TUTTI_FINDING_OK,
    TUTTI_FINDING_NOTE, /* runs work, but something can be better */
    TUTTI_FINDING_BAD,  /* a run would fail */
    TUTTI_NFINDING_STATES,
} tutti_finding_state;
const char *tutti_finding_state_name(tutti_finding_state state); /* "ok", "note", "bad" */

typedef struct {
    const char *subject; /* heading under which people find it, such as "launch" */
    char name[32];       /* name of the finding, such as "open files"; no two findings have the same name */
    tutti_finding_state state;
    char *found;  /* what was found: one sentence, with units */
    char *remedy; /* what to do: one sentence; NULL if and only if the state is ok */
} tutti_finding;

typedef struct {
    tutti_finding *of; /* the findings; those of one subject follow each other */
    int n, capacity;
    int count[TUTTI_NFINDING_STATES]; /* number of findings in each state */
} tutti_findings;

/* Makes all checks. folder: where checkpoints will lie; it need not exist yet. The caller releases the findings. */
void tutti_doctor_examine(const char *folder, tutti_findings *out);
void tutti_findings_release(tutti_findings *findings);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* coll_list.c: `tutti coll list`: a few lines for each algorithm: collectives, rank counts and parameters, as the
 * compiler answers. */
#include <stdio.h>
#include <string.h>

#include "../../collective/compile/algorithms.h"
#include "coll.h"
#include "tutti/compile.h"

/* Returns for which rank counts the compiler makes canonical sums, from its answers for 3 and 4 ranks: "any", "2^k" or
 * "-". */
static const char *canonical_counts(const tutti_algorithm *a)
{
    bool can[2];
    for (int i = 0; i < 2; i++) {
        tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 3 + i, .slots = 8};
        tutti_schedule *s = NULL;
        can[i] = tutti_schedule_compile(a->name, &q, &s, NULL) == TUTTI_OK;
        tutti_schedule_destroy(s);
    }
    return can[0] ? "any P" : can[1] ? "P = 2^k" : "-";
}

static void print_row(const tutti_algorithm *a)
{
    char served[100] = "";
    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++) {
        size_t n = strlen(served);
        if (a->collectives & 1u << c)
            snprintf(served + n, sizeof served - n, "%s%s", n ? " " : "", tutti_collective_name((tutti_collective)c));
    }
    printf("%-18s %-10s %-10s %s\n  %s\n", a->name, tutti_determinism_name(a->determinism), canonical_counts(a),
           a->summary, served);
}

static void print_parameters(const tutti_algorithm *a)
{
    for (int i = 0; i < tutti_algorithm_nparameters(a); i++) {
        const tutti_parameter *p = &a->parameters[i];
        printf("  ,%s=N  %s; %d to %d", p->name, p->help, p->lowest, p->highest);
        if (p->initial >= p->lowest) printf(" (default %d)", p->initial);
        printf("\n");
    }
}

static tutti_status list(const tutti_flags *f, tutti_failure *err)
{
    (void)f, (void)err;
    printf("%-18s %-10s %-10s %s\n  %s\n\n", "algorithm", "sums", "canonical", "what it does",
           "collectives, parameters");
    for (int i = 0; i < tutti_algorithm_count(); i++) {
        print_row(tutti_algorithm_at(i));
        print_parameters(tutti_algorithm_at(i));
    }
    return TUTTI_OK;
}

int tutti_coll_list(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "coll list",
        .usage = "tutti coll list",
        .about = "The algorithms: which collectives they serve, whether the order of a sum is one for all elements\n"
                 "(fixed) or depends on the slice, and where they can make canonical sums, whose bits do not depend\n"
                 "on the rank count. Parameters stand behind the name: hierarchical,group=4.",
        .run = list,
    };
    return tutti_cli_run(&form, argc, argv);
}

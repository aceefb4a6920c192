/* SPDX-License-Identifier: Apache-2.0 */
/* prove_a_ring.c: compiles the ring all-reduce for a number of ranks, proves it, lowers it for shared memory and proves
 * that too. A program outside the tree, built against an installed libtutti (see CMakeLists.txt beside it, or
 * `cc prove_a_ring.c $(pkg-config --cflags --libs tutti)`). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tutti/check.h>
#include <tutti/compile.h>
#include <tutti/lower.h>

static int prove(const tutti_schedule *schedule)
{
    tutti_failure err = {0};
    tutti_check_report report;
    if (tutti_schedule_check(schedule, &report, &err) != TUTTI_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%s, %s: %" PRId64 " messages, %d synchronisations on the longest way, sums %s: proved\n",
           tutti_schedule_head(schedule)->algorithm, tutti_wire_class_name(tutti_schedule_head(schedule)->wire),
           report.nmessages, report.syncs, tutti_determinism_name(report.determinism));
    return 0;
}

int main(int argc, char **argv)
{
    int nranks = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 4;
    tutti_compile_request request = {.collective = TUTTI_ALLREDUCE, .nranks = nranks};
    tutti_schedule *ring = NULL, *mapped = NULL;
    tutti_failure err = {0};
    int bad = 1;
    if (tutti_schedule_compile("ring", &request, &ring, &err) == TUTTI_OK &&
        tutti_schedule_lower(ring, TUTTI_WIRE_MAPPED, &mapped, &err) == TUTTI_OK)
        bad = prove(ring) | prove(mapped);
    else
        fprintf(stderr, "%s\n", err.text);
    tutti_schedule_destroy(mapped);
    tutti_schedule_destroy(ring);
    return bad;
}

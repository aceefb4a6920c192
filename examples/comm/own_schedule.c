/* SPDX-License-Identifier: Apache-2.0 */
/* own_schedule.c: runs a collective by a schedule from a file (docs/schedule-format.md; `tutti coll compile` writes
 * them). It is proved before anything moves: a wrong one is refused with a counter-example and exit code 1.
 *
 * usage: own_schedule FILE; the file is for an allreduce out of place on as many ranks as there are. */
#include <stdio.h>
#include <string.h>

#include <tutti/comm.h>

enum { N = 1000, ROOM = 1 << 20 };

static tutti_status run(tutti_comm *comm, const char *text, size_t nbytes, tutti_failure *err)
{
    float in[N], out[N];
    const int rank = tutti_comm_rank(comm), size = tutti_comm_size(comm);
    tutti_status s = tutti_comm_add_schedule(comm, "mine", text, nbytes, err);
    for (int i = 0; i < N; i++) in[i] = (float)(rank + i % 3);
    const tutti_call call = {
        .collective = TUTTI_ALLREDUCE, .in = in, .out = out, .count = N, .type = TUTTI_F32, .algorithm = "mine"};
    if (!s) s = tutti_comm_run(comm, &call, err);
    for (int i = 0; i < N && !s; i++)
        if (out[i] != (float)(size * (size - 1) / 2 + size * (i % 3)))
            s = tutti_fail(err, TUTTI_ERR_FAILED, "element %d is %g", i, (double)out[i]);
    return s;
}

int main(int argc, char **argv)
{
    static char text[ROOM];
    tutti_comm *comm;
    tutti_failure err = {0};
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "usage: own_schedule FILE\n");
        return 2;
    }
    const size_t nbytes = fread(text, 1, sizeof text, file);
    fclose(file);
    tutti_status s = tutti_comm_create_from_env(&comm, &err);
    if (s) {
        fprintf(stderr, "own_schedule: %s\n", err.text);
        return s;
    }
    s = run(comm, text, nbytes, &err);
    if (tutti_comm_rank(comm) == 0 && s) fprintf(stderr, "own_schedule: %s\n", err.text);
    if (tutti_comm_rank(comm) == 0 && !s) printf("%d elements by the schedule of %s\n", N, argv[1]);
    tutti_comm_destroy(comm);
    return s;
}

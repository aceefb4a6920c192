/* SPDX-License-Identifier: Apache-2.0 */
/* simgrid_run.c: runs tutti-simgrid: writes the problem into a folder of its own and reads the answer. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../base/file.h"
#include "../../../base/host/program.h"
#include "../../../base/text/strbuf.h"
#include "../simulate_impl.h"
#include "actor_writer.h"
#include "simgrid.h"

static const char NAME[] = "tutti-simgrid";
enum { MOST_ANSWER = 1 << 26 };

/* Finds the program's path; "" = there is none. */
static void find_program(char out[PATH_MAX])
{
    const char *given = getenv("TUTTI_SIMGRID");
    *out = 0;
    if (given && *given) {
        snprintf(out, PATH_MAX, "%s", tutti_program_exists(given) ? given : "");
        return;
    }
    if (tutti_program_beside(NAME, out)) return;
    if (tutti_program_exists(NAME)) memcpy(out, NAME, sizeof NAME);
}

bool tutti_simgrid_found(char why[200])
{
    char program[PATH_MAX];
    const char *given = getenv("TUTTI_SIMGRID");
    find_program(program);
    if (*program) return true;
    if (given && *given)
        snprintf(why, 200, "TUTTI_SIMGRID=%.100s is not a program that may be run", given);
    else
        snprintf(why, 200,
                 "tutti-simgrid is not here: it is built where SimGrid 3.32 is (./dev setup --test, then ./dev build)");
    return false;
}

static tutti_status answer_read(const char *path, int32_t nranks, double *seconds, double *rank_s, tutti_failure *err)
{
    char *text = NULL, *at, *end;
    size_t nbytes;
    tutti_status st = tutti_file_read(path, MOST_ANSWER, TUTTI_ERR_FAILED, &text, &nbytes, err);
    if (st != TUTTI_OK) return st;
    if (!strncmp(text, "error ", 6)) {
        st = tutti_fail(err, TUTTI_ERR_FAILED, "simgrid: %.*s", (int)strcspn(text + 6, "\n"), text + 6);
    } else {
        bool sound = !strncmp(text, "ok ", 3);
        at = text + (sound ? 3 : 0);
        for (int32_t r = -1; r < nranks && sound; r++, at = end) {
            const double value = strtod(at, &end);
            sound = end != at && value >= 0;
            if (r < 0) *seconds = value;
            if (r >= 0 && rank_s) rank_s[r] = value;
        }
        if (!sound) st = tutti_fail(err, TUTTI_ERR_FAILED, "simgrid: the answer of %s cannot be read", NAME);
    }
    free(text);
    return st;
}

static tutti_status problem_write(const char *path, const tutti_schedule *s, const tutti_topology *t, int64_t n,
                                  const tutti_simgrid_options *o, tutti_failure *err)
{
    const tutti_actor_options options = {.tcp = o->tcp, .late_s = o->late_s, .most_messages = TUTTI_SIMGRID_MESSAGES};
    FILE *file = fopen(path, "we");
    if (!file) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", path, strerror(errno));
    tutti_status st = tutti_actor_write(s, t, n, &options, file, err);
    if (fclose(file) && st == TUTTI_OK) st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", path, strerror(errno));
    return st;
}

static tutti_status run_in(const char *folder, const tutti_playing *p, const tutti_simgrid_options *o, double *seconds,
                           double *rank_s, tutti_failure *err)
{
    char program[PATH_MAX];
    tutti_strbuf problem = {0}, answer = {0};
    tutti_failure why = {0};
    tutti_strbuf_printf(&problem, "%s/problem", folder);
    tutti_strbuf_printf(&answer, "%s/answer", folder);
    find_program(program);
    const char *const argv[] = {program, problem.text, answer.text, NULL};
    tutti_status st = problem_write(problem.text, p->schedule, p->topology, p->n, o, err);
    if (st == TUTTI_OK) {
        st = tutti_program_run(argv, folder, o->limit_s, &why);
        if (st != TUTTI_OK)
            tutti_fail(err, st, "simgrid: %s", why.text);
        else
            st = answer_read(answer.text, tutti_schedule_head(p->schedule)->nranks, seconds, rank_s, err);
    }
    tutti_strbuf_release(&problem);
    tutti_strbuf_release(&answer);
    return st;
}

tutti_status tutti_simgrid_run(const tutti_playing *p, const tutti_simgrid_options *o, double *seconds, double *rank_s,
                               tutti_failure *err)
{
    char why[200], *folder = NULL;
    tutti_status st = tutti_simulate_fits(tutti_schedule_head(p->schedule), p->topology, err);
    if (st != TUTTI_OK) return st;
    if (p->topology->kind == TUTTI_TOPOLOGY_HOST)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "simgrid: on a host the ranks' cores move the bytes; it plays networks");
    if (!tutti_simgrid_found(why)) return tutti_fail(err, TUTTI_ERR_FAILED, "simgrid: %s", why);
    st = tutti_program_folder(&folder, err);
    if (st != TUTTI_OK) return st;
    st = run_in(folder, p, o, seconds, rank_s, err);
    tutti_file_remove_tree(folder, NULL);
    free(folder);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* check_launch.c: checks of how ranks start: the launcher around this process, its port, programs that start ranks,
 * PMIx, Slurm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/host/program.h"
#include "../collective/launch/join.h"
#include "doctor_impl.h"

static bool is_set(const char *name)
{
    const char *text = getenv(name);
    return text && *text;
}

/* Returns the name of the program that set the launch variables. torchrun and `tutti train` are recognised by one more
 * variable each. */
static const char *who_set_the_variables(const tutti_group_config *c)
{
    if (is_set("TORCHELASTIC_RUN_ID")) return "torchrun";
    return c->master_fd >= 0 || is_set("TUTTI_MASTER_FD") ? "tutti" : "a script or a user";
}

static void say_refused(tutti_exam *e, const tutti_failure *err)
{
    char unset[TUTTI_LAUNCHER_UNSET], remedy[TUTTI_LAUNCHER_UNSET + 200];
    tutti_launcher_unset(unset);
    if (err->status == TUTTI_ERR_RENDEZVOUS)
        snprintf(remedy, sizeof remedy,
                 "Use mpirun of Open MPI, srun --mpi=pmix or torchrun --no-python; for ranks on this host alone, '%s' "
                 "(docs/launching.md).",
                 unset);
    else
        snprintf(remedy, sizeof remedy, "Correct the variable%s%s%s.", unset[0] ? ", or leave the launcher by '" : "",
                 unset, unset[0] ? "'" : "");
    /* takes only the reason: the message has the reason, a colon, and remedies */
    const int length = err->status == TUTTI_ERR_RENDEZVOUS ? (int)strcspn(err->text, ":") : (int)strlen(err->text);
    tutti_doctor_say(e, NULL, TUTTI_FINDING_BAD, remedy, "%.*s", length, err->text);
}

void tutti_doctor_check_launcher(tutti_exam *e)
{
    tutti_group_config c;
    tutti_failure err = {0};
    const char *variables;
    bool is_read;
    if (tutti_launcher_look(&c, &variables, &is_read, &err))
        say_refused(e, &err);
    else if (!c.launcher)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL,
                         "none: no launcher's variables are set, so --ranks N starts ranks on this host");
    else if (!is_read)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "%s, because %s are set; this is rank %s", c.launcher,
                         variables, getenv("PMIX_RANK"));
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "%s, because %s are set; this is rank %d of %d",
                         who_set_the_variables(&c), c.launcher, c.rank, c.nranks);
}

/* True if the port is in the range from which the kernel gives ports to other programs' connections. */
static bool is_ephemeral(int port)
{
    char line[TUTTI_LINE];
    int first, last;
    return tutti_doctor_first_line("/proc/sys/net/ipv4/ip_local_port_range", line) &&
           sscanf(line, "%d %d", &first, &last) == 2 && port >= first && port <= last;
}

static void say_port(tutti_exam *e, const tutti_group_config *c)
{
    tutti_failure err = {0};
    const bool blocked = tutti_launcher_try_port(c, &err) != TUTTI_OK;
    if (blocked && c->launcher)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_BAD,
                         "Give all ranks a MASTER_ADDR that leads to rank 0 and a MASTER_PORT that is free there.",
                         "%s", err.text);
    else if (blocked)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE,
                         "Set MASTER_PORT for ranks that are started by hand; --ranks needs none.", "%s", err.text);
    else if (c->launcher && c->rank)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "rank 0 is at %s port %d", c->master_addr, c->master_port);
    else if (c->launcher && c->master_fd < 0 && is_ephemeral(c->master_port))
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE, "Choose a MASTER_PORT below the range of ip_local_port_range.",
                         "port %d is free, but the system may give it to any connection", c->master_port);
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "port %d is free%s", c->master_port,
                         c->launcher ? "" : "; only ranks that are started by hand need it");
}

void tutti_doctor_check_port(tutti_exam *e)
{
    tutti_group_config c;
    const char *variables;
    bool is_read;
    /* the check before this one has already reported such a failure */
    if (tutti_launcher_look(&c, &variables, &is_read, NULL)) return;
    if (is_read)
        say_port(e, &c);
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "the system chooses one, and PMIx tells it to all ranks");
}

/* Ends the text at the end of its first line, and returns it. */
static const char *first_line(char *text)
{
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static const char *last_line(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '\n') text[--n] = '\0';
    const char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

void tutti_doctor_check_programs(tutti_exam *e)
{
    static const char *const names[] = {"mpirun", "srun", "sbatch", "torchrun"};
    tutti_strbuf here = {0}, missing = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char version[TUTTI_ANSWER];
        const bool exists = tutti_program_exists(names[i]);
        tutti_strbuf *list = exists ? &here : &missing;
        tutti_strbuf_printf(list, "%s%s", list->length ? ", " : "", names[i]);
        /* --version is asked of mpirun only: torchrun takes seconds to answer, and Slurm has a check of its own */
        if (exists && i == 0 && tutti_doctor_ask(names[i], "--version", version) == TUTTI_PROGRAM_ANSWERS &&
            !strncmp(version, "mpirun ", 7))
            tutti_strbuf_printf(list, " %s", first_line(version) + 7);
    }
    tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "in PATH: %s%s%s", here.length ? here.text : "none",
                     missing.length ? "; missing: " : "", missing.length ? missing.text : "");
    tutti_strbuf_release(&here), tutti_strbuf_release(&missing);
}

void tutti_doctor_check_pmix(tutti_exam *e)
{
    char version[TUTTI_LAUNCHER_PMIX];
    tutti_failure err = {0};
    const bool is_wanted = is_set("PMIX_NAMESPACE");
    const bool may_be = tutti_program_exists("mpirun") || tutti_program_exists("srun");
    if (!tutti_launcher_pmix_version(version, &err))
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "%s", version);
    else if (is_wanted || may_be)
        tutti_doctor_say_failure(e, is_wanted ? TUTTI_FINDING_BAD : TUTTI_FINDING_NOTE, err.text,
                                 "Install libpmix2, which mpirun and srun --mpi=pmix need.");
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "not here; only mpirun and srun --mpi=pmix need it");
}

static void add_allocation(tutti_strbuf *text)
{
    if (!is_set("SLURM_JOB_ID")) {
        tutti_strbuf_puts(text, "; this process is in no job");
        return;
    }
    tutti_strbuf_printf(text, "; this process is in job %s", getenv("SLURM_JOB_ID"));
    if (is_set("SLURM_JOB_NODELIST")) tutti_strbuf_printf(text, " on %s", getenv("SLURM_JOB_NODELIST"));
}

static void say_slurm(tutti_exam *e, char *version)
{
    char list[TUTTI_ANSWER];
    tutti_strbuf text = {0};
    (void)tutti_doctor_ask("srun", "--mpi=list", list);
    const bool has_pmix = strstr(list, "pmix");
    tutti_strbuf_printf(&text, "%s, %s PMIx", first_line(version), has_pmix ? "with" : "without");
    add_allocation(&text);
    tutti_doctor_say(e, NULL, has_pmix ? TUTTI_FINDING_OK : TUTTI_FINDING_NOTE,
                     "Install Slurm's plugin of PMIx; until then start ranks by mpirun or torchrun inside the job.",
                     "%s", text.text);
    tutti_strbuf_release(&text);
}

void tutti_doctor_check_slurm(tutti_exam *e)
{
    char version[TUTTI_ANSWER];
    const tutti_doctor_answer srun = tutti_doctor_ask("srun", "--version", version);
    if (srun == TUTTI_PROGRAM_ANSWERS)
        say_slurm(e, version);
    else if (srun == TUTTI_PROGRAM_FAILS)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE,
                         "If this host belongs to a cluster, set SLURM_CONF to its slurm.conf; else ignore this.",
                         "srun is in PATH, but says '%s'", last_line(version));
    else if (is_set("SLURM_JOB_ID"))
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE, "Add Slurm's folder of programs to PATH, in the container too.",
                         "this process is in job %s, but srun is not in PATH", getenv("SLURM_JOB_ID"));
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "not here: srun is not in PATH");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c: the table of checks, and functions that every check uses. A new check is a function and a row. */
#include "doctor.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/host/cores.h"
#include "doctor_impl.h"

static const tutti_check checks[] = {
    {"host", "processor", tutti_doctor_check_processor},
    {"host", "cores", tutti_doctor_check_cores},
    {"host", "memory", tutti_doctor_check_memory},
    {"host", "huge pages", tutti_doctor_check_huge_pages},
    {"host", "clock", tutti_doctor_check_clock},
    {"host", "figures", tutti_doctor_check_figures},
    {"limits", "open files", tutti_doctor_check_open_files},
    {"limits", "processes", tutti_doctor_check_processes},
    {"limits", "locked memory", tutti_doctor_check_locked_memory},
    {"limits", "core files", tutti_doctor_check_core_files},
    {"limits", "other limits", tutti_doctor_check_other_limits},
    {"launch", "launcher", tutti_doctor_check_launcher},
    {"launch", "port", tutti_doctor_check_port},
    {"launch", "programs", tutti_doctor_check_programs},
    {"launch", "PMIx", tutti_doctor_check_pmix},
    {"launch", "Slurm", tutti_doctor_check_slurm},
    {"network", "interfaces", tutti_doctor_check_interfaces},
    {"network", "wire", tutti_doctor_check_wire},
    {"network", "UCX", tutti_doctor_check_ucx},
    {"network", "peer memory", tutti_doctor_check_peer_memory},
    {"network", "/dev/shm", tutti_doctor_check_shared_memory},
    {"kernels", "instructions", tutti_doctor_check_instructions},
    {"kernels", "oneDNN", tutti_doctor_check_onednn},
    {"kernels", "threads", tutti_doctor_check_threads},
    {"kernels", "families", tutti_doctor_check_families},
    {"cards", "cards", tutti_doctor_check_cards},
    {"storage", "folder", tutti_doctor_check_folder},
    {"storage", "fsync", tutti_doctor_check_fsync},
};
enum { NCHECKS = sizeof checks / sizeof checks[0] };

const char *tutti_finding_state_name(tutti_finding_state state)
{
    static const char *const names[TUTTI_NFINDING_STATES] = {"ok", "note", "bad"};
    return names[state];
}

void tutti_doctor_say(tutti_exam *e, const char *name, tutti_finding_state state, const char *remedy,
                      const char *format, ...)
{
    tutti_findings *all = e->findings;
    tutti_strbuf found = {0};
    va_list args;
    va_start(args, format);
    tutti_strbuf_vprintf(&found, format, args);
    va_end(args);
    all->of = tutti_grow(all->of, all->n, &all->capacity, sizeof *all->of);
    tutti_finding *f = &all->of[all->n++];
    *f = (tutti_finding){.subject = e->check->subject, .state = state, .found = tutti_strbuf_detach(&found)};
    snprintf(f->name, sizeof f->name, "%s", name ? name : e->check->name);
    if (state != TUTTI_FINDING_OK) f->remedy = strdup(remedy);
    all->count[state]++;
}

/* Returns the part of a failure's message that says what to do, which follows the last colon; NULL if there is none. */
static const char *remedy_in(const char *words)
{
    static const char *const verbs[] = {"install ", "unset ", "look ", "say ", "raise ", "set "};
    const char *last = NULL;
    for (const char *at = words; (at = strstr(at, ": ")); at += 2) last = at + 2;
    for (size_t i = 0; last && i < sizeof verbs / sizeof *verbs; i++)
        if (!strncmp(last, verbs[i], strlen(verbs[i]))) return last;
    return NULL;
}

void tutti_doctor_say_failure(tutti_exam *e, tutti_finding_state state, const char *words, const char *otherwise)
{
    const char *at = remedy_in(words);
    tutti_strbuf remedy = {0};
    if (at) tutti_strbuf_printf(&remedy, "%c%s.", toupper((unsigned char)*at), at + 1);
    tutti_doctor_say(e, NULL, state, at ? remedy.text : otherwise, "%.*s",
                     at ? (int)(at - words) - 2 : (int)strlen(words), words);
    tutti_strbuf_release(&remedy);
}

const char *tutti_doctor_bytes(int64_t nbytes, char out[TUTTI_BYTES_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)nbytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) value /= 1024, unit++;
    snprintf(out, TUTTI_BYTES_TEXT, value < 100 && unit ? "%.3g %s" : "%.0f %s", value, units[unit]);
    return out;
}

bool tutti_doctor_first_line(const char *path, char out[TUTTI_LINE])
{
    FILE *f = fopen(path, "re");
    out[0] = '\0';
    if (!f) return false;
    const bool has = fgets(out, TUTTI_LINE, f) != NULL;
    fclose(f);
    out[strcspn(out, "\n")] = '\0';
    return has;
}

bool tutti_doctor_has_rdma(void)
{
    DIR *folder = opendir("/sys/class/infiniband");
    bool has = false;
    for (const struct dirent *entry; folder && !has && (entry = readdir(folder));) has = entry->d_name[0] != '.';
    if (folder) closedir(folder);
    return has;
}

void tutti_doctor_examine(const char *folder, tutti_findings *out)
{
    *out = (tutti_findings){0};
    tutti_exam e = {.folder = folder, .ncores = tutti_cores_usable(), .findings = out};
    for (int i = 0; i < NCHECKS; i++) {
        e.check = &checks[i];
        checks[i].look(&e);
    }
}

void tutti_findings_release(tutti_findings *findings)
{
    for (int i = 0; i < findings->n; i++) free(findings->of[i].found), free(findings->of[i].remedy);
    free(findings->of);
    *findings = (tutti_findings){0};
}

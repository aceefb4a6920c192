/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_doctor.c: `tutti doctor`: examines this machine: the conditions that a run would meet, what would stop it, and
 * how to repair that. */
#include <stdio.h>
#include <string.h>

#include "../../base/text/json.h"
#include "../../doctor/doctor.h"
#include "../cli.h"

static const tutti_flag flags[] = {
    {"folder", "DIR",
     "where checkpoints will lie (default: the current folder); a file of 80 KiB is written and removed", 0},
    {"json", NULL, "one JSON object: checks, each with name, state, found, remedy", 0},
};

static void print_text(const tutti_findings *all, tutti_strbuf *out)
{
    const char *subject = "";
    for (int i = 0; i < all->n; i++) {
        const tutti_finding *f = &all->of[i];
        if (strcmp(subject, f->subject) != 0) tutti_strbuf_printf(out, "%s%s\n", i ? "\n" : "", f->subject);
        subject = f->subject;
        tutti_strbuf_printf(out, "  %-4s  %-13s  %s\n", tutti_finding_state_name(f->state), f->name, f->found);
        if (f->remedy) tutti_strbuf_printf(out, "  %-4s  %-13s  -> %s\n", "", "", f->remedy);
    }
    tutti_strbuf_printf(out, "\n%d checks: %d ok, %d note, %d bad\n", all->n, all->count[TUTTI_FINDING_OK],
                        all->count[TUTTI_FINDING_NOTE], all->count[TUTTI_FINDING_BAD]);
}

static void print_json(const tutti_findings *all, tutti_strbuf *out)
{
    tutti_json j = {.out = out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_open(&j, "checks", '[');
    for (int i = 0; i < all->n; i++) {
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "name", all->of[i].name);
        tutti_json_text(&j, "state", tutti_finding_state_name(all->of[i].state));
        tutti_json_text(&j, "found", all->of[i].found);
        tutti_json_text(&j, "remedy", all->of[i].remedy);
        tutti_json_close(&j, '}');
    }
    tutti_json_close(&j, ']');
    tutti_json_close(&j, '}');
    tutti_strbuf_puts(out, "\n");
}

static tutti_status examine(const tutti_flags *f, tutti_failure *err)
{
    tutti_findings all;
    tutti_strbuf out = {0};
    const char *folder = tutti_cli_value(f, "folder", ".");
    if (!*folder) return tutti_fail(err, TUTTI_ERR_USAGE, "--folder: the path is empty");
    tutti_doctor_examine(folder, &all);
    if (tutti_cli_has(f, "json"))
        print_json(&all, &out);
    else
        print_text(&all, &out);
    tutti_status st = tutti_cli_write(NULL, out.text, err);
    const int nbad = all.count[TUTTI_FINDING_BAD];
    if (!st && nbad)
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%d check%s bad: a run would fail here", nbad,
                        nbad == 1 ? " is" : "s are");
    tutti_strbuf_release(&out);
    tutti_findings_release(&all);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "doctor",
        .usage = "tutti doctor [--folder DIR] [--json]",
        .about = "What a run would find on this host: cores, memory, limits, launcher, network, kernels, cards, "
                 "storage. Each line is ok, a note (something can be better) or bad (a run would fail), and the last "
                 "two have a remedy. Exit code 1 if a line is bad. docs/launching.md",
        TUTTI_CLI_FLAGS(flags),
        .run = examine,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_doctor = {
    "doctor", "say what a run finds on this host, what is in its way, and remedies", run_command};

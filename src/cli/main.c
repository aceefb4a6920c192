/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the table of commands, and tutti_main, which the program calls. A new command is its file, which ends with
 * its row, and its name in COMMANDS. Exit codes: 0 ok, 1 failed, 2 usage or configuration, 3 bad data or checkpoint, 4
 * peer lost or deadline, 5 rendezvous, 128+n signal n. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../base/text/options.h"
#include "../tensor/isa.h"
#include "cli.h"
#include "surroundings.h"
#include "tutti/main.h"

static int run_version(int argc, char **argv)
{
    tutti_flags flags;
    tutti_failure err = {0};
    if (tutti_cli_parse(argc, argv, NULL, 0, &flags, &err) != TUTTI_OK) return tutti_cli_fail("version", &err);
    if (flags.help)
        tutti_cli_help(stdout, "tutti version", "Prints the version, what it was built with, and by which compiler.",
                       NULL, 0);
    else
        printf("tutti %s\nbuilt with %s by %s\n", TUTTI_VERSION, TUTTI_FEATURES, TUTTI_COMPILER);
    return 0;
}

const tutti_command tutti_command_version = {"version", "print the version and what it was built with", run_version};

#define COMMANDS(row)                                                                                                  \
    row(coll) row(ckpt) row(compare) row(devices) row(doctor) row(eval) row(graph) row(infer) row(logs) row(methods)   \
        row(plan) row(papers) row(predict) row(ps) row(report) row(resume) row(rm) row(serve) row(show) row(stop)      \
            row(submit) row(svm_predict) row(svm_train) row(topo) row(trace) row(train) row(tune) row(wait)            \
                row(version)

#define DECLARE(name) extern const tutti_command tutti_command_##name;
COMMANDS(DECLARE)

#define ROW(name) &tutti_command_##name,
static const tutti_command *const commands[] = {COMMANDS(ROW)};
enum { NCOMMANDS = sizeof commands / sizeof commands[0] };

static void print_usage(FILE *to)
{
    fprintf(to,
            "tutti %s: train networks over many processes; everything that ranks do together is a value that is\n"
            "checked, simulated and run.\n\nusage: tutti COMMAND [arguments], tutti COMMAND --help\n\n",
            TUTTI_VERSION);
    for (int i = 0; i < NCOMMANDS; i++) fprintf(to, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(to, "\nexit codes: 0 ok, 1 failed, 2 usage or configuration, 3 bad data or checkpoint, 4 peer lost or\n"
                "deadline, 5 rendezvous, 128+n signal n\n");
}

static int unknown(const char *name)
{
    const char *known[NCOMMANDS];
    for (int i = 0; i < NCOMMANDS; i++) known[i] = commands[i]->name;
    const char *nearest = tutti_options_nearest(name, known, NCOMMANDS);
    fprintf(stderr, "tutti: unknown command '%s';%s%s%s 'tutti help' lists them\n", name,
            nearest ? " did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return TUTTI_ERR_USAGE;
}

static const tutti_command *command_of(const char *name)
{
    for (int i = 0; i < NCOMMANDS; i++)
        if (!strcmp(name, commands[i]->name)) return commands[i];
    return NULL;
}

/* Returns the command that a symbolic link to this program names: svm-train or svm-predict; NULL for any other name. */
static const tutti_command *command_of_link(const char *program)
{
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
    return strncmp(name, "svm-", 4) ? NULL : command_of(name);
}

static int run(int argc, char **argv)
{
    const tutti_command *linked = argc > 0 ? command_of_link(argv[0]) : NULL;
    if (linked) {
        argv[0] = (char *)(uintptr_t)linked->name; /* the cast is safe, because argv[0] is never written */
        return linked->run(argc, argv);
    }
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        print_usage(stderr);
        return TUTTI_ERR_USAGE;
    }
    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h")) {
        print_usage(stdout);
        return 0;
    }
    if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
        return run_version(argc - 1, argv + 1);
    }
    const tutti_command *command = command_of(name);
    return command ? command->run(argc - 1, argv + 1) : unknown(name);
}

/* Checks the process's stack and environment for mistakes, then runs the command. */
static int run_checked(int argc, char **argv)
{
    tutti_failure err = {0};
    if (tutti_surroundings_check_stack(&err) == TUTTI_OK && tutti_isa_check(&err) == TUTTI_OK) return run(argc, argv);
    fprintf(stderr, "tutti: %s\n", err.text);
    return TUTTI_ERR_USAGE;
}

int tutti_main(int argc, char **argv)
{
    tutti_surroundings_begin();
    return tutti_surroundings_end(run_checked(argc, argv));
}

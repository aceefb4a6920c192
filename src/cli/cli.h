/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h: the program's commands: one file cmd_<name>.c each, which ends with its row, and its name in main.c. Threads:
 * owner. */
#ifndef TUTTI_CLI_H
#define TUTTI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../job/outputs.h"
#include "tutti/failure.h"

struct tutti_job;

typedef struct {
    const char *name;
    const char *summary;               /* one line for `tutti help` */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
} tutti_command;

/* A command that is a table of verbs: finds argv[1] in it and runs it; about: a sentence for its help. Returns the exit
 * code. */
int tutti_cli_verb(const char *command, const char *about, const tutti_command *verbs, int nverbs, int argc,
                   char **argv);

/* Refuses --ranks of another number than the launcher in the environment has, with what helps. */
tutti_status tutti_cli_refuse_ranks(long asked, int nranks, const char *launcher, tutti_failure *err);

/* Starts so many ranks of this same command (argv[0] is its name) on this host; the exit code of the first that failed.
 * prepare: see launch.h; NULL = nothing is done to a rank before it begins. */
int tutti_cli_launch(const char *command, int nranks, tutti_status (*prepare)(void *arg, int rank, tutti_failure *err),
                     void *arg, char **argv);

/* Prints "tutti <command>: <text>" on stderr and returns the exit code of the failure. */
int tutti_cli_fail(const char *command, const tutti_failure *err);

/* Flags: "--name value", "--name=value" and "--switch". A table feeds parsing and --help. */
typedef struct {
    const char *name;     /* "ranks" */
    const char *argument; /* "N"; NULL = switch */
    const char *help;
    unsigned is; /* of TUTTI_FLAG_MANY ..., or 0 */
} tutti_flag;
enum {
    TUTTI_FLAG_MANY = 1,   /* may be given several times */
    TUTTI_FLAG_READS = 2,  /* its value names a file that is read: it must not be empty */
    TUTTI_FLAG_WRITES = 4, /* ... or written: it must not be empty, nor one that is read */
    /* Its value may be missing (NULL then). The word behind it is taken for one if it ends as `argument` does:
     * "[FILE.svg]". */
    TUTTI_FLAG_OPTIONAL = 8,
    TUTTI_FLAG_RUN = 16, /* written: the folder of a run, which the command makes */
    TUTTI_FLAG_FOLDER =
        32, /* written: may be a folder, or be made with its folder: its place is looked at by the command */
};

typedef struct {
    const tutti_flag *flags;
    int nflags;
    const char *value[48][64]; /* [flag][occurrence]; switches: "" */
    int count[48];
    const char *rest[1024]; /* arguments that are no flags */
    int nrest;
    bool help; /* --help or -h stood there */
} tutti_flags;

/* What a command takes, and what it does with it. */
typedef struct {
    const char *name;          /* "coll pack", for failures */
    const char *usage, *about; /* for --help: "tutti coll pack TOPOLOGY [options]" */
    const tutti_flag *flags;
    int nflags;
    const char *wanted; /* one argument that is no flag; what is said without it. NULL = none */
    bool any_arguments; /* run looks at them itself */
    tutti_status (*run)(const tutti_flags *f, tutti_failure *err);
} tutti_cli_form;
/* The flags of a form, all of a table. */
#define TUTTI_CLI_FLAGS(table) .flags = (table), .nflags = sizeof(table) / sizeof *(table)
/* Parses, answers --help, refuses too many or too few arguments and outputs that are inputs, runs; prints the failure.
 * Returns the exit code. */
int tutti_cli_run(const tutti_cli_form *form, int argc, char **argv);

/* tutti_outputs_check of all flags, and of what they and the other words and the environment name. */
tutti_status tutti_cli_check_flags(const tutti_flags *f, tutti_failure *err);
/* tutti_outputs_try of all flags; for the one process that writes. */
tutti_status tutti_cli_try_flags(const tutti_flags *f, tutti_failure *err);
/* To be called by what reads a file that no word of the command names: what = "the job's model". TUTTI_ERR_USAGE: an
 * output among the flags would be written over it; of_run: or it is one of those that a run writes, where an output is
 * a run's folder. Else that is the run's own business: it may begin at weights of its folder. f or path NULL: nothing
 * is looked at. */
tutti_status tutti_cli_check_read(const tutti_flags *f, const char *what, const char *path, bool of_run,
                                  tutti_failure *err);
/* Checks every file that a job names (model, data, tuned kernels, initial weights) and this host's figures by the one
 * above. */
tutti_status tutti_cli_check_job(const tutti_flags *f, const struct tutti_job *job, tutti_failure *err);

/* runs/<name of the job file without folder and ending><suffix>; to be freed by the caller. */
char *tutti_cli_run_folder(const char *job, const char *suffix);
/* TUTTI_ERR_USAGE: what --out names is there and is no folder. */
tutti_status tutti_cli_check_out_folder(const char *dir, tutti_failure *err);

/* Writes text to a file, whole or not at all, or (path NULL) to standard output. */
tutti_status tutti_cli_write(const char *path, const char *text, tutti_failure *err);

/* TUTTI_ERR_USAGE names the unknown flag and the nearest known one. -o is short for --out. */
tutti_status tutti_cli_parse(int argc, char **argv, const tutti_flag *flags, int nflags, tutti_flags *out,
                             tutti_failure *err);
const char *tutti_cli_value(const tutti_flags *f, const char *name, const char *otherwise);
bool tutti_cli_has(const tutti_flags *f, const char *name);
/* The first of the names, which end with NULL, that was given; NULL = none was. */
const char *tutti_cli_first(const tutti_flags *f, const char *const *names);
/* The flag's row of f->value and f->count; the table has it. */
int tutti_cli_row(const tutti_flags *f, const char *name);
/* Whole numbers from .. to; TUTTI_ERR_USAGE names the flag. Lists: "1,2,4,8", and what goes on by equal steps or
 * factors up to the number behind the points, which it must hit: "1,2,4,..,64", "2,4,6,..,16". */
typedef struct {
    long from, to;
} tutti_cli_range;
tutti_status tutti_cli_int(const tutti_flags *f, const char *name, tutti_cli_range range, long otherwise, long *out,
                           tutti_failure *err);
/* n: of numbers[most] those that were given; a flag that was not: 0. */
typedef struct {
    long *numbers;
    int most, n;
} tutti_cli_list;
tutti_status tutti_cli_ints(const tutti_flags *f, const char *name, tutti_cli_range range, tutti_cli_list *out,
                            tutti_failure *err);
/* The flag `hosts`, N,N,..: the host of each rank, where so many are on each, in order. */
tutti_status tutti_cli_hosts(const tutti_flags *f, int32_t nranks, int32_t *host_of, tutti_failure *err);
/* "4096", "64KiB" (65,536), "102MB" (102,000,000): KB, MB, GB are powers of ten, KiB, MiB, GiB of two. */
tutti_status tutti_cli_bytes(const char *where, const char *text, long long *out, tutti_failure *err);
/* Loads a job with the overrides of --set, and of --ranks, --seed, --trace, --init and --partition where a command has
 * them. */
tutti_status tutti_cli_load_job(const tutti_flags *f, const char *path, struct tutti_job **out, tutti_failure *err);
/* As a rank of a launcher's, of whose ranks nlocal are on this host; 0 = all. */
tutti_status tutti_cli_load_job_here(const tutti_flags *f, const char *path, int nlocal, struct tutti_job **out,
                                     tutti_failure *err);
/* usage: "tutti coll bench --algo A [options]" */
void tutti_cli_help(FILE *to, const char *usage, const char *about, const tutti_flag *flags, int nflags);

#endif

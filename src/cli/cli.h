/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h: the program's commands. Each is a file cmd_<name>.c, which ends with the command's row (tutti_command); main.c
 * lists the rows by name. Threads: one at a time. */
#ifndef TUTTI_CLI_H
#define TUTTI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../collective/launch/launch.h"
#include "../job/outputs.h"
#include "tutti/failure.h"

struct tutti_job;

typedef struct {
    const char *name;
    const char *summary;               /* one line for `tutti help` */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
} tutti_command;

/* Runs a command that is a table of verbs: finds argv[1] in it and runs it; about: a sentence for its help. Returns the
 * exit code. */
int tutti_cli_verb(const char *command, const char *about, const tutti_command *verbs, int nverbs, int argc,
                   char **argv);

/* Refuses --ranks if the launcher in the environment has started another number of ranks; the message says what to
 * do. */
tutti_status tutti_cli_refuse_ranks(long asked, int nranks, const char *launcher, tutti_failure *err);

/* Starts ranks of the same command (argv[0] is its name) on this host, by these options (launch.h). Returns the exit
 * code of the first rank that failed. */
int tutti_cli_launch(const char *command, const tutti_launch_options *options, char **argv);

/* Prints "tutti <command>: <text>" on stderr and returns the exit code of the failure. */
int tutti_cli_fail(const char *command, const tutti_failure *err);

/* Flags: "--name value", "--name=value" and "--switch". A table feeds parsing and --help. */
typedef struct {
    const char *name;     /* name without dashes: "ranks" */
    const char *argument; /* word for the value in --help: "N"; NULL = switch */
    const char *help;
    unsigned is; /* bit set of TUTTI_FLAG_MANY and the other properties below, or 0 */
} tutti_flag;
enum {
    TUTTI_FLAG_MANY = 1,   /* the flag may be given several times */
    TUTTI_FLAG_READS = 2,  /* the flag's value names a file that is read: it must not be empty */
    TUTTI_FLAG_WRITES = 4, /* the value names a file that is written: not empty, nor a file that is read */
    /* The flag's value may be missing (NULL then). With `argument` "[FILE.svg]", the next argument is the value only if
     * it ends in ".svg". */
    TUTTI_FLAG_OPTIONAL = 8,
    TUTTI_FLAG_RUN = 16, /* the flag's value is a path that is written, the folder of a run; the command makes it */
    TUTTI_FLAG_FOLDER =
        32, /* the flag's value is a path that is written. It may be a folder, or a file whose folder must be made too:
             * the command itself checks the path */
};

typedef struct {
    const tutti_flag *flags;
    int nflags;
    const char *value[48][64]; /* values of each flag, in the order in which it was given; "" for switches */
    int count[48];
    const char *rest[1024]; /* arguments that are not flags */
    int nrest;
    bool help; /* --help or -h was given */
} tutti_flags;

/* The arguments of a command, and the function that runs it. */
typedef struct {
    const char *name;          /* name of the command in messages: "coll pack" */
    const char *usage, *about; /* for --help. usage: "tutti coll pack TOPOLOGY [options]"; about: sentences about the
                                * command */
    const tutti_flag *flags;
    int nflags;
    const char *wanted; /* the message if the one argument that is not a flag is missing; NULL = the command has no such
                         * argument */
    bool any_arguments; /* true if `run` checks the arguments that are not flags by itself */
    tutti_status (*run)(const tutti_flags *f, tutti_failure *err);
} tutti_cli_form;
/* Sets the members `flags` and `nflags` of a tutti_cli_form to a table of flags. */
#define TUTTI_CLI_FLAGS(table) .flags = (table), .nflags = sizeof(table) / sizeof *(table)
/* Parses the arguments, answers --help, refuses too many or too few arguments and outputs that are also inputs, then
 * calls form->run. Prints the failure of any of these. Returns the exit code. */
int tutti_cli_run(const tutti_cli_form *form, int argc, char **argv);

/* Calls tutti_outputs_check for the files that flags, other arguments and environment variables name. */
tutti_status tutti_cli_check_flags(const tutti_flags *f, tutti_failure *err);
/* Calls tutti_outputs_try for all flags. Only the process that writes the files may call it. */
tutti_status tutti_cli_try_flags(const tutti_flags *f, tutti_failure *err);
/* Code that reads a file which no argument names must call this function first. what: the file in words, "the job's
 * model". TUTTI_ERR_USAGE: an output of the flags would overwrite the file; with of_run, also: an output is the folder
 * of a run, and a run writes a file of this name there. of_run false is for weights, because a run may begin at weights
 * that lie in its own folder. f or path NULL: nothing is checked. */
tutti_status tutti_cli_check_read(const tutti_flags *f, const char *what, const char *path, bool of_run,
                                  tutti_failure *err);
/* Calls tutti_cli_check_read for every file that a job names (model, data, tuned kernels, initial weights) and for this
 * host's figures. */
tutti_status tutti_cli_check_job(const tutti_flags *f, const struct tutti_job *job, tutti_failure *err);

/* Returns runs/<name of the job file without folder and ending><suffix>; the caller frees it. */
char *tutti_cli_run_folder(const char *job, const char *suffix);
/* Returns TUTTI_ERR_USAGE if --out names something that exists and is no folder. */
tutti_status tutti_cli_check_out_folder(const char *dir, tutti_failure *err);

/* Writes text to a file, completely or not at all, or (path NULL) to standard output. */
tutti_status tutti_cli_write(const char *path, const char *text, tutti_failure *err);

/* Parses the flags. TUTTI_ERR_USAGE names the unknown flag and the nearest known one. -o is short for --out, -f for
 * --follow. */
tutti_status tutti_cli_parse(int argc, char **argv, const tutti_flag *flags, int nflags, tutti_flags *out,
                             tutti_failure *err);
const char *tutti_cli_value(const tutti_flags *f, const char *name, const char *otherwise);
bool tutti_cli_has(const tutti_flags *f, const char *name);
/* Returns the first of these names (the list ends with NULL) that was given; NULL = none was. */
const char *tutti_cli_first(const tutti_flags *f, const char *const *names);
/* Returns the flag's index in f->value and f->count; the table must have it. */
int tutti_cli_row(const tutti_flags *f, const char *name);
/* Bounds of a whole number; TUTTI_ERR_USAGE names the flag. A list is "1,2,4,8", or continues by equal steps or equal
 * factors to the number behind the dots, which must be reached exactly: "1,2,4,..,64", "2,4,6,..,16". */
typedef struct {
    long from, to;
} tutti_cli_range;
tutti_status tutti_cli_int(const tutti_flags *f, const char *name, tutti_cli_range range, long otherwise, long *out,
                           tutti_failure *err);
/* The numbers of a flag. n: how many of numbers[most] were given; 0 if the flag was not given. */
typedef struct {
    long *numbers;
    int most, n;
} tutti_cli_list;
tutti_status tutti_cli_ints(const tutti_flags *f, const char *name, tutti_cli_range range, tutti_cli_list *out,
                            tutti_failure *err);
/* Reads the flag `hosts`, N,N,..: the number of ranks on each host, in order. Writes the host of each rank. */
tutti_status tutti_cli_hosts(const tutti_flags *f, int32_t nranks, int32_t *host_of, tutti_failure *err);
/* Reads a number of bytes: "4096", "64KiB" (65,536), "102MB" (102,000,000): KB, MB, GB are powers of ten, KiB, MiB, GiB
 * of two. */
tutti_status tutti_cli_bytes(const char *where, const char *text, long long *out, tutti_failure *err);
/* Loads a job with the overrides of --set, and of --ranks, --seed, --trace, --init and --partition if the command has
 * them. */
tutti_status tutti_cli_load_job(const tutti_flags *f, const char *path, struct tutti_job **out, tutti_failure *err);
/* Works as tutti_cli_load_job, for a rank that a launcher started. nlocal: number of ranks on this host; 0 = all
 * ranks. */
tutti_status tutti_cli_load_job_here(const tutti_flags *f, const char *path, int nlocal, struct tutti_job **out,
                                     tutti_failure *err);
/* Prints the help. usage: "tutti coll bench --algo A [options]". */
void tutti_cli_help(FILE *to, const char *usage, const char *about, const tutti_flag *flags, int nflags);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_impl.h: declarations that the files of checks share: the examination under way, and the functions by which a
 * check reports its findings. */
#ifndef TUTTI_DOCTOR_IMPL_H
#define TUTTI_DOCTOR_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "doctor.h"

typedef struct tutti_check tutti_check;

/* The examination: its folder, the check that runs now, and the findings so far. */
typedef struct {
    const char *folder;
    const tutti_check *check;
    int ncores; /* cores that this process can use */
    tutti_findings *findings;
} tutti_exam;

/* A check. A check adds one or several findings, or none if the machine lacks the thing that it checks. */
struct tutti_check {
    const char *subject, *name;
    void (*look)(tutti_exam *e);
};

/* Adds a finding. name: the finding's name; NULL = the name of the check that runs. remedy: one sentence, ignored if
 * the state is ok. The format and its arguments make the text `found`. */
void tutti_doctor_say(tutti_exam *e, const char *name, tutti_finding_state state, const char *remedy,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Adds a finding from a failure. words: the failure's message. If it ends with a remedy ("X is missing: install Y"),
 * that becomes the finding's remedy; else `otherwise` does. */
void tutti_doctor_say_failure(tutti_exam *e, tutti_finding_state state, const char *words, const char *otherwise);
/* Writes a number of bytes as text: "1.5 GiB", "64 KiB" or "12 B". */
enum { TUTTI_BYTES_TEXT = 24 };
const char *tutti_doctor_bytes(int64_t nbytes, char out[TUTTI_BYTES_TEXT]);
/* Reads the first line of a file, without its newline. Returns false if there is no such file, or if it cannot be
 * read. */
enum { TUTTI_LINE = 160 };
bool tutti_doctor_first_line(const char *path, char out[TUTTI_LINE]);

/* Returns true if the host has network cards with RDMA. */
bool tutti_doctor_has_rdma(void);

/* --- ask_program.c --- */
typedef enum { TUTTI_PROGRAM_ABSENT, TUTTI_PROGRAM_FAILS, TUTTI_PROGRAM_ANSWERS } tutti_doctor_answer;
/* Runs a program that $PATH finds, with one argument, for half a second at most. Keeps the beginning of what it prints
 * to stdout and stderr. */
enum { TUTTI_ANSWER = 1024 };
tutti_doctor_answer tutti_doctor_ask(const char *name, const char *argument, char out[TUTTI_ANSWER]);

/* --- the checks --- */
/* checks of check_host.c: */
void tutti_doctor_check_processor(tutti_exam *e);
void tutti_doctor_check_cores(tutti_exam *e);
void tutti_doctor_check_memory(tutti_exam *e);
void tutti_doctor_check_huge_pages(tutti_exam *e);
void tutti_doctor_check_clock(tutti_exam *e);
void tutti_doctor_check_figures(tutti_exam *e);
/* checks of check_limits.c: */
void tutti_doctor_check_open_files(tutti_exam *e);
void tutti_doctor_check_processes(tutti_exam *e);
void tutti_doctor_check_locked_memory(tutti_exam *e);
void tutti_doctor_check_core_files(tutti_exam *e);
void tutti_doctor_check_other_limits(tutti_exam *e);
/* checks of check_launch.c: */
void tutti_doctor_check_launcher(tutti_exam *e);
void tutti_doctor_check_port(tutti_exam *e);
void tutti_doctor_check_programs(tutti_exam *e);
void tutti_doctor_check_pmix(tutti_exam *e);
void tutti_doctor_check_slurm(tutti_exam *e);
/* checks of check_network.c: */
void tutti_doctor_check_interfaces(tutti_exam *e);
void tutti_doctor_check_wire(tutti_exam *e);
void tutti_doctor_check_ucx(tutti_exam *e);
void tutti_doctor_check_peer_memory(tutti_exam *e);
void tutti_doctor_check_shared_memory(tutti_exam *e);
/* checks of check_kernels.c: */
void tutti_doctor_check_instructions(tutti_exam *e);
void tutti_doctor_check_onednn(tutti_exam *e);
void tutti_doctor_check_threads(tutti_exam *e);
void tutti_doctor_check_families(tutti_exam *e);
/* check of check_cards.c: */
void tutti_doctor_check_cards(tutti_exam *e);
/* check of check_storage.c: */
void tutti_doctor_check_folder(tutti_exam *e);
void tutti_doctor_check_fsync(tutti_exam *e);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* main.h: the program tutti as a function, for packages that bring a program of their own.
 *
 * Implemented in src/cli. Threads: no other thread may run during the call; call it once in a process. */
#ifndef TUTTI_MAIN_H
#define TUTTI_MAIN_H

#ifdef __cplusplus
extern "C" {
#endif

/* Runs a command line. If the name argv[0] ends in "svm-train" or "svm-predict", that program runs, else `tutti`.
 * argv[1] is the command; argv[argc] is NULL. Prints on stdout and stderr, handles signals, and starts ranks as copies
 * of the process's own file, which must pass its arguments to this function. Returns the code to exit with: 0 ok, 1
 * failed, 2 usage or configuration, 3 bad data or checkpoint, 4 peer lost or deadline, 5 rendezvous, 128+n signal n. */
int tutti_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tune_verbs.h: the verbs of `tutti tune` that have files of their own. argv[0] is the verb; they return the exit code.
 * Threads: one at a time. */
#ifndef TUTTI_CLI_TUNE_VERBS_H
#define TUTTI_CLI_TUNE_VERBS_H

int tutti_tune_device(int argc, char **argv);
int tutti_tune_kernels(int argc, char **argv);

#endif

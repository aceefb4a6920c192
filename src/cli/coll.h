/* SPDX-License-Identifier: Apache-2.0 */
/* coll.h: the verbs of `tutti coll`: one file coll_<verb>.c and one row in cmd_coll.c each. argv[0] is the verb; they return
 * the exit code. Threads: owner. */
#ifndef TUTTI_COLL_H
#define TUTTI_COLL_H

int tutti_coll_explain(int argc, char **argv);
int tutti_coll_tune(int argc, char **argv);

#endif

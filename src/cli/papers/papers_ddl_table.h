/* SPDX-License-Identifier: Apache-2.0 */
/* papers_ddl_table.h: `tutti papers ddl-table`. Threads: owner. */
#ifndef TUTTI_PAPERS_DDL_TABLE_H
#define TUTTI_PAPERS_DDL_TABLE_H

#include <stdbool.h>

enum { TUTTI_PAPERS_PATH = 4096 };
/* The folder of pages beside the program, of the source tree or the installation; false: there is none. (cmd_papers.c) */
bool tutti_papers_folder_find(char out[TUTTI_PAPERS_PATH]);

/* argv[0] is "ddl-table"; returns the exit code. */
int tutti_papers_ddl_table(int argc, char **argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tutti.c: main of the program tutti, which calls tutti_main. All commands are in libtutti, so that what is installed
 * has one copy of everything. */
#include "tutti/main.h"

int main(int argc, char **argv)
{
    return tutti_main(argc, argv);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h: the machine of the fake NVML (fake_nvml.c) for this process. After testing.h. */
#ifndef TESTS_FAKENVML_MACHINE_H
#define TESTS_FAKENVML_MACHINE_H

#include <stdio.h>
#include <stdlib.h>

enum { NVML_PATH = 32 };

/* text: the machine's lines. path: room for the name of the file that has them, which the caller removes. */
static inline void nvml_machine(const char *text, char path[NVML_PATH])
{
    snprintf(path, NVML_PATH, "/tmp/tutti-nvml-XXXXXX");
    FILE *f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    setenv("FAKE_NVML", path, 1);
}

#endif

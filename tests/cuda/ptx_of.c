/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_of.c: says the PTX that NVRTC makes of a text: ptx_of FILE.cu [TARGET]; FILE may be - for standard input. */
#include <stdint.h>

#include "nvrtc_text.h"

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: ptx_of FILE.cu [compute_90]\n");
        return 2;
    }
    FILE *f = strcmp(argv[1], "-") ? fopen(argv[1], "r") : stdin;
    void *library = nvrtc_open();
    if (!f || !library) {
        fprintf(stderr, "ptx_of: %s\n",
                f ? "NVRTC was not found; say where it is by TUTTI_CUDA_PATH" : "the file cannot be read");
        return 1;
    }
    char *ptx = nvrtc_ptx_of(library, f, argc > 2 ? argv[2] : "compute_90", 1);
    if (ptx) fputs(ptx, stdout);
    const int code = ptx ? 0 : 1;
    free(ptx);
    return code;
}

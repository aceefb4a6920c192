/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_idx.c: any bytes as an IDX file, plain or gzip (zlib tells by the first two bytes): read or refused, never more.
 * What is accepted must have exactly the bytes that its dimensions say. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/dataset_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    int fd = memfd_create("idx", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n) abort();
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    tutti_idx idx = {0};
    tutti_failure err = {0};
    tutti_status status = tutti_idx_read(path, 1, TUTTI_MAX_DIMS, &idx, &err);
    if (status == TUTTI_OK) {
        int64_t want = 1;
        for (int i = 0; i < idx.ndims; i++) want *= idx.dim[i];
        uint64_t sum = 0;
        for (int64_t i = 0; i < idx.nbytes; i++) sum += idx.bytes[i];
        if (want != idx.nbytes || sum > (uint64_t)want * 255) abort();
        free(idx.bytes);
    } else if (!err.text[0]) {
        abort();
    }
    close(fd);
    return 0;
}

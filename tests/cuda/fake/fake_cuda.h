/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cuda.h: the fake libcuda.so.1, which runs kernels' PTX on the processor and says what they do wrong.
 *
 * Environment:
 *   TUTTI_FAKE_CUDA_CARDS=N             cards that there are (1)
 *   TUTTI_FAKE_CUDA_CAPABILITY=MAJ.MIN  their capability ("99.0": newer than NVRTC knows, so PTX is handed over)
 *   TUTTI_FAKE_CUDA_MEMORY=MB           memory of a card (8192)
 *   TUTTI_FAKE_CUDA_FATAL=0             a report is counted; otherwise the first one ends the process with code 97
 *   TUTTI_FAKE_CUDA_RACES=1             races on global memory are looked for, too (slow, 32 bytes for each byte that
 *                                       is touched)
 *   TUTTI_FAKE_CUDA_FAIL=NAME:N[:CODE]  the Nth call of this name fails with the code (2, no memory); several after
 *                                       commas
 *   TUTTI_FAKE_CUDA_TRACE=1             each operation is told on stderr when it runs
 *
 * A report is one line on stderr, "fake cuda: ...". Reported are: accesses outside allocations and registered host
 * ranges, misaligned ones, reads of what nobody has written (device and shared memory), races on shared memory,
 * barriers that some threads of a block do not reach (threads that have ended included), shuffles from lanes that take
 * no part, traps, launches that a card refuses, use of what was freed or destroyed, double frees, a wait of more than
 * 20 seconds, a block of more than 10^11 instructions, and what is left when the process ends after the primary
 * contexts were released.
 *
 * What differs from a card:
 *   - Work runs when it is waited for (cuStreamSynchronize, cuEventSynchronize, cuCtxSynchronize, a query runs one
 *     operation), stream by stream, blocks one after another: kernels whose blocks wait for each other do not end. The
 *     stream 0 is a stream of its own.
 *   - Fresh device memory is 0xff up to 64 MiB an allocation, and zero behind that; all of it counts as unwritten.
 *   - Memory that was handed to another process (cuIpcGetMemHandle) counts as written, and so does memory that was
 *     opened.
 *   - Global races: a block that has done an atomic or a fence is taken to see what earlier blocks wrote.
 *   - Approximate functions (ex2.approx and so on) are the C library's. cp.async copies at once.
 *   - A graph is a list in the order of its capture.
 *
 * Threads: any; driver calls hold one lock. Functions below are the fake's own, for fake libraries and tests. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* Puts work on a stream (CUstream), which may be one that captures, with a copy of nbytes of args. Device memory is
 * open to the host while the work runs; the work must not wait for a stream. Returns 0 or a CUresult. */
int tutti_fake_cuda_enqueue(void *stream, void (*work)(void *args), const void *args, size_t nbytes);
/* A fake library tells that it is about to read (writes 0) or has written (writes 1) nbytes of device memory. Returns 0
 * where it may; otherwise the access was reported. */
int tutti_fake_cuda_touch(const void *at, size_t nbytes, int writes);
/* Says how many reports there were so far. */
int tutti_fake_cuda_reports(void);
/* Says how many PTX instructions threads have run so far. */
uint64_t tutti_fake_cuda_instructions(void);

#endif

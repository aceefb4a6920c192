/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_doctor.c: `tutti doctor`: what tutti finds on this machine to compute with (libraries, instruction sets, cards),
 * and what is missing. */
#include <stdlib.h>

#include "../../base/text/strbuf.h"
#include "../../device/cuda/cuda.h"
#include "../../kernel/kernel.h"
#include "../cli.h"

static tutti_status show(const tutti_flags *f, tutti_failure *err)
{
    tutti_strbuf out = {0};
    char f32[96], bf16[96], library[96];
    (void)f;
    tutti_kernel_engine_describe("auto", library);
    tutti_kernel_precision_describe("auto", TUTTI_PRECISION_F32, f32);
    tutti_kernel_precision_describe("auto", TUTTI_PRECISION_BF16, bf16);
    tutti_strbuf_printf(&out, "processor (device: cpu)\n  kernels    %s\n  precisions %s, %s\n\n", library, f32, bf16);
    tutti_cuda_describe(&out);
    const tutti_status st = tutti_cli_write(NULL, out.text, err);
    tutti_strbuf_release(&out);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "doctor",
        .usage = "tutti doctor",
        .about = "What tutti finds on this machine to compute with: the processor's kernels, CUDA's libraries with "
                 "their places, cards, and "
                 "what is missing and why. docs/cuda.md",
        .run = show,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_doctor = {"doctor", "say what there is to compute with, and what is missing",
                                            run_command};

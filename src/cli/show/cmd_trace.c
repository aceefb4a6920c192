/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_trace.c: `tutti trace convert`: turns a trace of PyTorch's profiler into a layer file. */
#include <stdio.h>

#include "../../metrics/trace.h"
#include "../cli.h"

static const tutti_flag flags[] = {
    {"out", "LAYERS.txt", "write the six columns there (-o for short; default: print them)", TUTTI_FLAG_WRITES},
};

static tutti_status convert(const tutti_flags *f, tutti_failure *err)
{
    const char *to = tutti_cli_value(f, "out", NULL);
    tutti_layer_trace trace = {0};
    tutti_strbuf text = {0};
    long long bytes = 0;
    tutti_status st = tutti_kineto_read(f->rest[0], &trace, err);
    if (st) return st;
    tutti_layer_trace_print(trace.layers, trace.nlayers, &text);
    for (int l = 0; l < trace.nlayers; l++) bytes += trace.layers[l].size_bytes;
    st = tutti_cli_write(to, text.text, err);
    if (!st && to)
        printf("%s: %d layers, %.3f MB of parameters; next: tutti predict %s --batch B --topology T\n", to,
               trace.nlayers, (double)bytes / 1e6, to);
    tutti_strbuf_release(&text);
    tutti_layer_trace_release(&trace);
    return st;
}

static int run_convert(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "trace convert",
        .usage = "tutti trace convert KINETO.json [-o LAYERS.txt]",
        .about = "Of a trace that torch.profiler exported (export_chrome_trace; activities=[CPU], record_shapes=True, "
                 "with_stack=True):\nwhat each module of the network costs, as six columns that tutti predict reads "
                 "(docs/traces.md).",
        TUTTI_CLI_FLAGS(flags),
        .wanted = "one trace is wanted: tutti trace convert KINETO.json [-o LAYERS.txt]",
        .run = convert,
    };
    return tutti_cli_run(&form, argc, argv);
}

static int run_command(int argc, char **argv)
{
    static const tutti_command verbs[] = {
        {"convert", "a trace of PyTorch's profiler as a layer file", run_convert},
    };
    return tutti_cli_verb("trace", "Traces of others as layer files, which `tutti predict` takes.", verbs,
                          (int)(sizeof verbs / sizeof verbs[0]), argc, argv);
}

const tutti_command tutti_command_trace = {"trace", "traces of others as layer files", run_command};

/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_devices.c: `tutti devices`: lists the processor models that `tutti predict --device` knows, or shows one with the
 * source of each figure. */
#include <stdio.h>

#include "../../predict/profile/processor_model.h"
#include "../cli.h"

static void print_peak(double peak)
{
    if (peak > 0)
        printf(" %9.2f", peak / 1e12);
    else
        printf(" %9s", "-");
}

static tutti_status print_table(tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    printf("%-12s %9s %9s %9s %9s %9s  %s\n", "device", "f32", "tf32", "bf16", "f16", "memory", "what");
    for (int i = 0; tutti_processor_model_shipped_at(i) && !st; i++) {
        tutti_processor_model d;
        st = tutti_processor_model_open(tutti_processor_model_shipped_at(i), &d, err);
        if (st) break;
        printf("%-12s", tutti_processor_model_shipped_at(i));
        print_peak(d.peak[TUTTI_PRECISION_F32]);
        print_peak(d.peak_tf32);
        print_peak(d.peak[TUTTI_PRECISION_BF16]);
        print_peak(d.peak[TUTTI_PRECISION_F16]);
        printf(" %9.1f  %s\n", d.rate / 1e9, d.about);
        tutti_processor_model_release(&d);
    }
    if (!st)
        printf("\nTFLOP/s and GB/s. 'tutti devices NAME': each figure and where it is from. 'predict --device "
               "NAME:tf32':\nproducts of f32 jobs round to TF32.\n");
    return st;
}

static tutti_status print_page(const char *name, tutti_failure *err)
{
    tutti_processor_model d;
    const tutti_status st = tutti_processor_model_open(name, &d, err);
    if (st) return st;
    printf("%s: %s\n", name, d.about);
    if (d.like) printf("what is not said here is as of %s\n", d.like);
    printf("\n");
    for (int i = 0; i < d.file.n; i++) {
        const tutti_sourced_line *l = &d.file.lines[i];
        if (l->from) printf("  %-22s %-14s %-9s %s\n", l->key, l->value, l->from, l->words);
    }
    tutti_processor_model_release(&d);
    return TUTTI_OK;
}

static tutti_status show(const tutti_flags *f, tutti_failure *err)
{
    if (f->nrest > 1) return tutti_fail(err, TUTTI_ERR_USAGE, "one name or none is wanted: tutti devices [NAME|FILE]");
    return f->nrest ? print_page(f->rest[0], err) : print_table(err);
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "devices",
        .usage = "tutti devices [NAME|FILE]",
        .about =
            "Processors that `tutti predict --device` can time a job on; with a name or a file each of its figures "
            "and\n"
            "where that is from: read in a document, measured and published, fitted, or assumed and why. `tutti tune\n"
            "device` makes the file of this processor. docs/devices.md",
        .any_arguments = true,
        .run = show,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_devices = {"devices", "list processors that predict can time a job on", run_command};

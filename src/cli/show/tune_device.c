/* SPDX-License-Identifier: Apache-2.0 */
/* tune_device.c: `tutti tune device`: fits a processor model to this processor or card and writes it. */
#include <stdio.h>
#include <string.h>

#include "../../job/on_card.h"
#include "../../predict/profile/processor_tune.h"
#include "../cli.h"
#include "tune_verbs.h"
#include "tutti/topology.h"

static const tutti_flag flags[] = {
    {"out", "FILE", "write the device there (default: only print it)", TUTTI_FLAG_WRITES},
    {"check", NULL, "compare it with shipped networks, which it was not fitted to (minutes)", 0},
    {"device", "FILE", "do not measure for a fit: check this device; 'cuda': as --on cuda", 0},
    {"on", "cpu|cuda",
     "whose kernels are timed: this processor's, one thread (default), or those of the first CUDA card", 0},
    {"kernels", "FILE", "write each kernel that is checked there, as CSV: measured and predicted", TUTTI_FLAG_WRITES},
    {"models", "M,M,...", "of the networks, probes and shipped ones, these alone", 0},
};

/* Returns the name of the device whose kernels are timed: "cpu" or "cuda". */
static const char *where_of(const tutti_flags *f)
{
    const char *device = tutti_cli_value(f, "device", "");
    return tutti_cli_value(f, "on", strcmp(device, "cuda") ? "cpu" : "cuda");
}

/* Returns the device file to check, or NULL. */
static const char *given_file(const tutti_flags *f)
{
    const char *device = tutti_cli_value(f, "device", NULL);
    return device && strcmp(device, "cuda") ? device : NULL;
}

/* Writes the first lines of the file, which say what is measured. Returns the bytes of the last level of cache. */
static double describe(const tutti_on_card *card, tutti_strbuf *out)
{
    tutti_host_shape machine;
    char engine[96];
    tutti_strbuf_puts(out, "# Measured by 'tutti tune device'; measure again when the machine or tutti changes.\n");
    if (card->device) {
        tutti_strbuf_printf(out, "about: %s, driver of CUDA %d.%d\nkernels: auto\n", card->name, card->driver / 1000,
                            card->driver % 1000 / 10);
        return (double)card->l2_bytes;
    }
    tutti_topology_detect(&machine);
    tutti_kernel_engine_describe("auto", engine);
    tutti_strbuf_printf(out, "about: one thread of this processor, %s\nkernels: auto\nranks: share a host\n", engine);
    return (double)machine.core_cache;
}

static void tell(bool is_result, const char *words)
{
    fprintf(is_result ? stdout : stderr, "%s\n", words);
}

static tutti_status tune(const tutti_flags *f, tutti_failure *err)
{
    tutti_strbuf text = {0}, kernels = {0};
    tutti_processor_model d = {0};
    const char *given = given_file(f), *path = tutti_cli_value(f, "out", NULL);
    if (given && path)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "--device is checked as it is, and nothing is written: leave --out out");
    if (tutti_cli_has(f, "kernels") && !given && !tutti_cli_has(f, "check"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--kernels lists checked kernels: give --check or --device, too");
    tutti_on_card card = {0};
    tutti_status st = tutti_on_card_open(where_of(f), &card, err);
    const tutti_processor_model_tuning t = {card.device, tutti_cli_value(f, "models", NULL), tell};
    if (!st)
        st = given ? tutti_processor_model_open(given, &d, err)
                   : tutti_processor_model_tune(&t, describe(&card, &text), &text, err);
    if (!st && !given) st = tutti_processor_model_parse("what was fitted", text.text, &d, err);
    if (!st && !given) st = tutti_cli_write(path, text.text, err);
    if (!st && path) printf("written to %s\n", path);
    if (!st && (given || tutti_cli_has(f, "check"))) st = tutti_processor_model_check(&t, &d, &kernels, err);
    if (!st && kernels.text && tutti_cli_has(f, "kernels"))
        st = tutti_cli_write(tutti_cli_value(f, "kernels", NULL), kernels.text, err);
    tutti_on_card_close(&card);
    tutti_processor_model_release(&d);
    tutti_strbuf_release(&text);
    tutti_strbuf_release(&kernels);
    return st;
}

int tutti_tune_device(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "tune device",
        .usage = "tutti tune device [options]",
        .about =
            "Times the kernels of networks made for it on one thread of this processor, or on a CUDA card, alone, and "
            "prints the device that\n"
            "fits them best: `tutti predict JOB --device FILE` then times any job on it. Takes a minute or two "
            "and 1 GB;\n"
            "nothing else should run meanwhile. docs/devices.md",
        TUTTI_CLI_FLAGS(flags),
        .run = tune,
    };
    return tutti_cli_run(&form, argc, argv);
}

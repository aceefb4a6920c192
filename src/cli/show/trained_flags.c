/* SPDX-License-Identifier: Apache-2.0 */
/* trained_flags.c: opens the checkpoint that a command names, and refuses outputs that would overwrite its files. */
#include "trained_flags.h"

#include <unistd.h>

#include "../../base/text/strbuf.h"

static void say(void *arg, const char *line)
{
    fprintf(stderr, "tutti %s: %s\n", (const char *)arg, line);
}

/* Refuses outputs that are files of the checkpoint, or of its run: RUN/checkpoints/step_N belongs to RUN. */
static tutti_status check_outputs(const tutti_flags *f, const tutti_trained *t, tutti_failure *err)
{
    tutti_strbuf run = {0}, metrics = {0};
    tutti_strbuf_printf(&run, "%s/../..", t->path);
    tutti_strbuf_printf(&metrics, "%s/metrics.jsonl", run.text);
    tutti_status st = tutti_cli_check_read(f, "the checkpoint", t->path, false, err);
    if (!st) st = tutti_cli_check_read(f, "the data", t->data.path, false, err);
    if (!st && access(metrics.text, F_OK) == 0) st = tutti_cli_check_read(f, "the run", run.text, false, err);
    tutti_strbuf_release(&run);
    tutti_strbuf_release(&metrics);
    return st;
}

tutti_status tutti_trained_open_flags(const char *command, const tutti_flags *f, tutti_trained_question *question,
                                      tutti_trained *out, tutti_failure *err)
{
    const int data = tutti_cli_row(f, "data"), sets = tutti_cli_row(f, "set");
    question->where = f->rest[0];
    question->model = tutti_cli_value(f, "model", NULL);
    question->job = tutti_cli_value(f, "job", NULL);
    question->data = f->value[data], question->ndata = f->count[data];
    question->sets = f->value[sets], question->nsets = f->count[sets];
    question->say = say, question->arg = (void *)command;
    const tutti_status st = tutti_trained_open(question, out, err);
    if (st) return st;
    return out->is_foreign ? tutti_cli_check_job(f, out->job, err) : check_outputs(f, out, err);
}

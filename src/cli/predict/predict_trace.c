/* SPDX-License-Identifier: Apache-2.0 */
/* predict_trace.c: `tutti predict TRACE` of svm-train: reads its flags and predicts a training of an SVM. */
#include "../../predict/plan/trace_scaling.h"

#include "predict_flags.h"

static tutti_status read_question(const tutti_flags *f, tutti_trace_question *q, tutti_failure *err)
{
    static const char *const others[] = {"set",     "profile", "save-profile",   "trace",  "weak",    "layers",
                                         "measure", "slow",    "html",           "epochs", "samples", "deadline",
                                         "advise",  "price",   "ranks-per-node", "memory", "what-if", NULL};
    const char *other = tutti_cli_first(f, others);
    *q = (tutti_trace_question){
        .path = f->rest[0], .check = tutti_cli_value(f, "check", NULL), .n = 7, .ranks = {1, 2, 4, 8, 16, 32, 64}};
    if (other)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s is for jobs; %s is a trace of svm-train", other, f->rest[0]);
    return tutti_predict_read_machine(f, q->ranks, &q->n, &q->topology, err);
}

tutti_status tutti_predict_svm(const tutti_flags *f, tutti_failure *err)
{
    tutti_trace_question q;
    tutti_strbuf text = {0}, json = {0}, svg = {0};
    tutti_status st = read_question(f, &q, err);
    if (!st) st = tutti_trace_scaling_predict(&q, err);
    if (!st && tutti_cli_has(f, "svg")) {
        tutti_trace_scaling_draw(&q, &svg);
        st = tutti_cli_write(tutti_cli_value(f, "svg", NULL), svg.text, err);
    }
    if (!st) {
        tutti_trace_scaling_print(&q, &text);
        tutti_trace_scaling_print_json(&q, &json);
        st = tutti_predict_write(f, &json, &text, err);
    }
    tutti_strbuf_release(&svg);
    tutti_strbuf_release(&text);
    tutti_strbuf_release(&json);
    return st;
}

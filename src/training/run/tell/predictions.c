/* SPDX-License-Identifier: Apache-2.0 */
/* predictions.c: writes predictions for samples as CSV, JSON lines or NumPy arrays; each format is a row of a table.
 * Numbers in text have nine digits, which read back to the same float. */
#include "predictions.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../../../base/file.h"
#include "../../../base/host/memory.h"

struct tutti_predictions_form {
    const char *ending;
    int number_bytes, row_bytes; /* estimated bytes of a number, and of a row, for the memory that a file needs */
    void (*begin)(int64_t nsamples, int nclasses, tutti_strbuf *out);
    void (*add)(const tutti_answer *a, tutti_strbuf *out);
};

/* ---- CSV ---- */

static void begin_csv(int64_t nsamples, int nclasses, tutti_strbuf *out)
{
    (void)nsamples;
    tutti_strbuf_puts(out, "index,label,prediction");
    for (int k = 0; k < nclasses; k++) tutti_strbuf_printf(out, ",p%d", k);
    tutti_strbuf_puts(out, "\n");
}

static void add_csv(const tutti_answer *a, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "%" PRId64 ",%d,%d", a->index, a->label, a->predicted);
    for (int k = 0; k < a->nclasses; k++)
        if (isnan(a->probability[k]))
            tutti_strbuf_puts(out, ",nan");
        else
            tutti_strbuf_printf(out, ",%.9g", (double)a->probability[k]);
    tutti_strbuf_puts(out, "\n");
}

/* ---- JSON lines ---- */

static void begin_jsonl(int64_t nsamples, int nclasses, tutti_strbuf *out)
{
    (void)nsamples, (void)nclasses;
    tutti_strbuf_puts(out, "");
}

static void add_jsonl(const tutti_answer *a, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "{\"index\":%" PRId64 ",\"label\":%d,\"prediction\":%d,\"p\":[", a->index, a->label,
                        a->predicted);
    for (int k = 0; k < a->nclasses; k++) {
        if (k) tutti_strbuf_puts(out, ",");
        if (isnan(a->probability[k]))
            tutti_strbuf_puts(out, "null");
        else
            tutti_strbuf_printf(out, "%.9g", (double)a->probability[k]);
    }
    tutti_strbuf_puts(out, "]}\n");
}

/* ---- NumPy's format 1.0: magic, length of the header, a dictionary, padded with blanks to a multiple of 64 ---- */

static void begin_npy(int64_t nsamples, int nclasses, tutti_strbuf *out)
{
    enum { BEFORE = 10, ALIGNMENT = 64 };
    tutti_strbuf head = {0};
    tutti_strbuf_printf(&head, "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRId64 ", %d), }", nsamples,
                        nclasses);
    while ((BEFORE + head.length + 1) % ALIGNMENT) tutti_strbuf_puts(&head, " ");
    tutti_strbuf_puts(&head, "\n");
    const char begin[BEFORE] = {
        '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(head.length & 0xff), (char)(head.length >> 8)};
    tutti_strbuf_add(out, begin, sizeof begin);
    tutti_strbuf_add(out, head.text, head.length);
    tutti_strbuf_release(&head);
}

static void add_npy(const tutti_answer *a, tutti_strbuf *out)
{
    for (int k = 0; k < a->nclasses; k++) {
        unsigned char bytes[4];
        uint32_t word;
        memcpy(&word, &a->probability[k], sizeof word);
        for (int i = 0; i < 4; i++) bytes[i] = (unsigned char)(word >> 8 * i);
        tutti_strbuf_add(out, (const char *)bytes, sizeof bytes);
    }
}

/* ---- the table ---- */

static const tutti_predictions_form forms[] = {
    {".csv", 16, 40, begin_csv, add_csv},
    {".jsonl", 16, 60, begin_jsonl, add_jsonl},
    {".npy", 4, 0, begin_npy, add_npy},
};
enum { NFORMS = sizeof forms / sizeof *forms };

tutti_status tutti_predictions_find(const char *path, const tutti_predictions_form **out, tutti_failure *err)
{
    const size_t n = strlen(path);
    for (int i = 0; i < NFORMS; i++) {
        const size_t m = strlen(forms[i].ending);
        if (n <= m || strcmp(path + n - m, forms[i].ending) != 0) continue;
        *out = &forms[i];
        return TUTTI_OK;
    }
    return tutti_fail(err, TUTTI_ERR_USAGE, "--predictions %s: its ending says what it is to be: .csv, .jsonl or .npy",
                      path);
}

tutti_status tutti_predictions_begin(const tutti_predictions_form *form, int64_t nsamples, int nclasses,
                                     tutti_predictions *out, tutti_failure *err)
{
    /* three times the size: while a buffer grows, its old and new memory both exist */
    const double need = 3.0 * (double)nsamples * ((double)nclasses * form->number_bytes + form->row_bytes);
    tutti_status st = tutti_memory_check(need < 9e18 ? (int64_t)need : INT64_MAX, "the predictions",
                                         "--data test_samples=N asks for fewer, .npy is the smallest file", err);
    if (st) return st;
    *out = (tutti_predictions){.form = form};
    form->begin(nsamples, nclasses, &out->bytes);
    return TUTTI_OK;
}

void tutti_predictions_add(tutti_predictions *p, const tutti_answer *answer)
{
    p->form->add(answer, &p->bytes);
}

tutti_status tutti_predictions_write(const tutti_predictions *p, const char *path, tutti_failure *err)
{
    return tutti_file_write_atomic(path, p->bytes.text, p->bytes.length, err);
}

void tutti_predictions_release(tutti_predictions *p)
{
    tutti_strbuf_release(&p->bytes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* papers.h: pages of published figures (papers/<name>.yaml) and our reproduction of each, computed when a page is
 * loaded.
 *
 * A figure names a method (a row of papers_method.c) that computes our figure. Verdicts: pass within 10 %, near within
 * 25 %, else off. A published figure that was recalled from memory gets at best "near". A sweep over a free parameter
 * gives a range without verdict. Threads: one at a time. */
#ifndef TUTTI_PAPERS_H
#define TUTTI_PAPERS_H

#include "../base/arena.h"
#include "../base/text/options.h"
#include "tutti/failure.h"

typedef struct {
    const char *what, *method, *algorithm, *baseline, *topology;
    double published; /* the published figure; 0 means that the paper gives none */
    int64_t ranks;
    tutti_reals bytes;
    double lo, hi; /* our figure; lo and hi differ only for sweeps */
    const char *verdict;
} tutti_paper_figure;

typedef struct {
    const char *name, *title, *source, *provenance, *claim, *against, *conditions, *reconstruction;
    tutti_paper_figure *figures;
    int nfigures;
    tutti_arena arena;
} tutti_paper;

/* Reads a page and computes its figures. TUTTI_ERR_USAGE with file and line if the page is malformed. */
tutti_status tutti_paper_load(const char *path, tutti_paper *out, tutti_failure *err);
void tutti_paper_release(tutti_paper *paper);
/* Prints the page and its table as text, or as one JSON object on a line for each figure. */
void tutti_paper_print(const tutti_paper *paper, bool json, tutti_strbuf *out);

/* Computes our figure as [lo, hi]. Private to papers*.c and its tests. */
tutti_status tutti_paper_compute(tutti_paper_figure *f, tutti_failure *err);
const char *tutti_paper_verdict(const char *provenance, double published, double lo, double hi);

#endif

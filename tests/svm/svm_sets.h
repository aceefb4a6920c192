/* SPDX-License-Identifier: Apache-2.0 */
/* svm_sets.h: small sets that are made, not loaded: points of several classes in the plane, as LIBSVM text. */
#ifndef TUTTI_TEST_SVM_SETS_H
#define TUTTI_TEST_SVM_SETS_H

#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/text/strbuf.h"

/* n samples in turn of the classes 3, -1, 7, ... (nclasses of them), around corners of a square, overlapping by
 * `spread`. */
static inline char *svm_blobs(int n, int nclasses, double spread)
{
    static const int label[] = {3, -1, 7, 12};
    tutti_strbuf text = {0};
    for (int i = 0; i < n; i++) {
        float z[2];
        tutti_random_normal2(tutti_random(5, TUTTI_STREAM_TEST, (uint64_t)i, 0), z);
        const int k = i % nclasses;
        const double x = (k & 1) * 2 - 1 + spread * (double)z[0], y = (k & 2) - 1 + spread * (double)z[1];
        tutti_strbuf_printf(&text, "%d 1:%.6g 2:%.6g\n", label[k], x, y);
    }
    return tutti_strbuf_detach(&text);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* sign_test.c: the sign test for paired runs: computes the p value as the tail of the binomial distribution. */
#include "metrics.h"

#include <math.h>

double tutti_sign_test(int wins, int n)
{
    const int most = wins > n - wins ? wins : n - wins;
    double term = pow(0.5, n), sum = 0; /* term: probability of exactly k wins, at first for k = n */
    for (int k = n; k >= most; k--) {
        sum += term;
        term *= (double)k / (double)(n - k + 1); /* from k to k - 1, because C(n, k - 1) = C(n, k) k / (n - k + 1) */
    }
    return fmin(1, 2 * sum);
}

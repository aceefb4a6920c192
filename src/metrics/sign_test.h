/* SPDX-License-Identifier: Apache-2.0 */
/* sign_test.h: the two-sided sign test: of n pairs that are not equal the one side was better `wins` times. Pure. Threads: shared. */
#ifndef TUTTI_SIGN_TEST_H
#define TUTTI_SIGN_TEST_H

/* How likely so uneven a split, or a more uneven one, to either side is where both sides are as good: 2 * P(X >= max(wins, n - wins)),
 * X binomial (n, 1/2), at most 1. 5 of 5: 0.0625. n = 0: 1. 0 <= wins <= n. */
double tutti_sign_test(int wins, int n);

#endif

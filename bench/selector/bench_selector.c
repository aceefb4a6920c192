/* SPDX-License-Identifier: Apache-2.0 */
/* bench_selector.c: the ways to C = A B^T at the sizes of `tutti tune kernels`, and the tree that is grown from them.
 * usage: bench_selector MOST_PRODUCTS TUNE_FILE
 *
 * Writes the tune file. Prints a line "way NAME.." and then one a size: "grid | between | held M N K", seconds by each
 * way, and what the tree chooses; at how many held sizes two sweeps agree, how long a choice takes, and where. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/tune/tune_products.h"

static void show(void *arg, int done, int total)
{
    enum { PLAIN = 100 }; /* sizes a line, where nobody sees one change */
    const bool *tty = arg;
    if (*tty) fprintf(stderr, "\r%d of %d measured%s", done, total, done == total ? "\n" : "");
    if (!*tty && (done % PLAIN == 0 || done == total)) fprintf(stderr, "%d of %d measured\n", done, total);
}

/* Nanoseconds of a choice, features and all. */
static double choice_ns(const tutti_tune_tree *tree, const tutti_processor *here)
{
    enum { ASKED = 200000 };
    volatile const char *way = NULL;
    const double begin = tutti_clock_thread_s();
    for (int64_t i = 0; i < ASKED; i++)
        way = tutti_nt_choose(tree, here, &(tutti_nt_size){16 + i % 4000, 128 + i % 7000, 128 + i % 6000});
    (void)way;
    return (tutti_clock_thread_s() - begin) * 1e9 / ASKED;
}

static void print_samples(const tutti_products_tuned *t)
{
    tutti_processor here;
    double features[TUTTI_NT_FEATURES];
    tutti_processor_read("", &here);
    printf("way");
    for (int w = 0; w < t->nways; w++) printf(" %s", t->way[w]);
    printf("\n");
    for (int i = 0; i < t->n; i++) {
        const tutti_products_sample *s = &t->samples[i];
        tutti_nt_features(&here, &s->size, features);
        printf("%s %" PRId64 " %" PRId64 " %" PRId64,
               s->is_held   ? "held"
               : s->is_grid ? "grid"
                            : "between",
               s->size.m, s->size.n, s->size.k);
        for (int w = 0; w < t->nways; w++) printf(" %.9g", s->seconds[w]);
        printf(" %s\n", t->way[tutti_choice_tree_ask(&t->tree, features)]);
    }
}

static tutti_status finish(const tutti_products_tuned *t, const char *path, tutti_failure *err)
{
    tutti_tune_file f = {.place = tutti_tune_here(1)};
    tutti_tune_products_add(t, &f);
    printf("agree %.4f\n", tutti_tune_products_agree(t) / t->held.n);
    printf("choice %.1f\nprocessor %s, %s\n",
           choice_ns(tutti_tune_file_tree(&f, TUTTI_NT_TREE, "f32"), &f.place.processor), f.place.processor.name,
           f.place.library);
    const tutti_status st = tutti_tune_file_write(&f, path, err);
    tutti_tune_file_release(&f);
    return st;
}

int main(int argc, char **argv)
{
    tutti_products_tuned t;
    tutti_failure err = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: bench_selector MOST_PRODUCTS TUNE_FILE\n");
        return TUTTI_ERR_USAGE;
    }
    bool tty = isatty(STDERR_FILENO);
    const tutti_products_request r = {
        .nthreads = 1, .most_products = strtod(argv[1], NULL), .progress = show, .arg = &tty};
    tutti_status st = tutti_tune_products(&r, &t, &err);
    if (!st) {
        print_samples(&t);
        st = finish(&t, argv[2], &err);
        free(t.samples);
    }
    if (st) fprintf(stderr, "bench_selector: %s\n", err.text);
    return (int)st;
}

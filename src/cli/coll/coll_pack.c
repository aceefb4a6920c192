/* SPDX-License-Identifier: Apache-2.0 */
/* coll_pack.c: `tutti coll pack TOPOLOGY`: packs trees into the links of a topology. Prints the upper bound of the
 * rate, the rate that was reached, and the trees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/file.h"
#include "../../collective/pack/packers.h"
#include "coll.h"

static const tutti_flag flags[] = {
    {"ranks", "P", "how many (default: all that the topology has room for)", 0},
    {"collective", "C", "allreduce, broadcast, all-gather (default allreduce)", 0},
    {"root", "R", "of a broadcast (default 0)", 0},
    {"by", "W", "exact: equal to the bound; weights: multiplicative weights within 0.5 % of it (default exact)", 0},
    {"loss", "PERCENT", "then keep the fewest trees that carry all but that much", 0},
    {"solver", "PROGRAM", "for the fewest trees: a program like cbc, or none for our greedy choice (default cbc)", 0},
    {"limit", "SECONDS", "for the solver (default 10)", 0},
    {"out", "F", "write the packing to file F (docs/packing.md)", TUTTI_FLAG_WRITES},
    {"check", "F", "read a packing from file F and check it on this topology instead", TUTTI_FLAG_READS},
};
enum { MAX_FILE = 1 << 26, MAX_RANKS = 64 };

typedef struct {
    tutti_packing_use use;
    int32_t root;
    tutti_fewest_options fewest;
} question;

static tutti_status read_use(const tutti_flags *f, tutti_packing_use *out, tutti_failure *err)
{
    const char *name = tutti_cli_value(f, "collective", "allreduce");
    for (int use = 0; use < TUTTI_NPACKING_USES; use++)
        if (!strcmp(name, tutti_packing_use_name((tutti_packing_use)use))) {
            *out = (tutti_packing_use)use;
            return TUTTI_OK;
        }
    return tutti_fail(err, TUTTI_ERR_USAGE, "--collective %s: trees are packed for allreduce, broadcast, all-gather",
                      name);
}

static tutti_status read_question(const tutti_flags *f, question *q, tutti_failure *err)
{
    long root = 0, loss = 0, limit = 0;
    const char *solver = tutti_cli_value(f, "solver", "cbc");
    tutti_status st = read_use(f, &q->use, err);
    if (st == TUTTI_OK) st = tutti_cli_int(f, "root", (tutti_cli_range){0, 4095}, 0, &root, err);
    if (st == TUTTI_OK) st = tutti_cli_int(f, "loss", (tutti_cli_range){0, 50}, 0, &loss, err);
    if (st == TUTTI_OK) st = tutti_cli_int(f, "limit", (tutti_cli_range){1, 3600}, 10, &limit, err);
    q->root = (int32_t)root;
    q->fewest = (tutti_fewest_options){(double)loss / 100, (double)limit, strcmp(solver, "none") ? solver : NULL};
    return st;
}

/* Opens the network of direct links between ranks if these links join all ranks, else the network of all links. */
static tutti_status open_network(const tutti_topology *t, const tutti_flags *f, tutti_network *g, tutti_failure *err)
{
    long ranks = 0;
    int32_t room = tutti_topology_nseats(t, 0);
    tutti_status st = tutti_cli_int(f, "ranks", (tutti_cli_range){2, MAX_RANKS}, room, &ranks, err);
    if (st == TUTTI_OK && t->kind == TUTTI_TOPOLOGY_HOST)
        return tutti_network_of(t, 2, true, g, err); /* a host has no links, so this call fails with words that say
                                                      * so */
    if (st == TUTTI_OK && ranks < 2)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--ranks P is missing: this topology has room for any number");
    if (st == TUTTI_OK && ranks > MAX_RANKS)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--ranks P is missing: there is room for %d, trees span at most %d", room,
                        MAX_RANKS);
    if (st == TUTTI_OK) st = tutti_network_of(t, (int32_t)ranks, true, g, err);
    if (st != TUTTI_OK || tutti_network_connected(g)) return st;
    tutti_network_release(g);
    return tutti_network_of(t, (int32_t)ranks, false, g, err);
}

static tutti_status pack(const tutti_network *g, const question *q, const char *by, tutti_packing *out,
                         tutti_failure *err)
{
    if (!strcmp(by, "exact")) return tutti_packing_exact(g, q->use, q->root, out, err);
    if (!strcmp(by, "weights")) return tutti_packing_by_weights(g, q->use, q->root, 0.005, out, err);
    return tutti_fail(err, TUTTI_ERR_USAGE, "--by %s: there are exact, weights", by);
}

static void print_packing(const tutti_packing *p)
{
    double rate = tutti_packing_rate(p), bound = tutti_ratio_value(p->bound);
    printf("%s of %d ranks: %.6g GB/s on %d tree%s, %.4g %% below the bound %.6g GB/s; %d edge%s deep\n",
           tutti_packing_use_name(p->use), p->nranks, rate / 1e9, p->ntrees, p->ntrees == 1 ? "" : "s",
           100 * tutti_packing_gap(p), bound / 1e9, tutti_packing_depth(p), tutti_packing_depth(p) == 1 ? "" : "s");
}

static tutti_status keep_fewest(const tutti_network *g, const question *q, tutti_packing *p, tutti_failure *err)
{
    tutti_packing few;
    tutti_fewest_report report;
    if (p->ntrees < 2) return TUTTI_OK;
    tutti_status st = tutti_packing_fewest(g, p, &q->fewest, &few, &report, err);
    if (st != TUTTI_OK) return st;
    print_packing(p);
    printf("%s%s%s, at most %g %% of the rate for fewer trees:\n",
           report.solved ? "chosen by a solver" : "chosen by our greedy way, because ", report.why,
           report.fewest ? ", proved to be the fewest of the heaviest 64" : "", 100 * q->fewest.loss);
    tutti_packing_release(p);
    *p = few;
    return TUTTI_OK;
}

static tutti_status check_file(const char *path, const tutti_network *g, tutti_packing *p, tutti_failure *err)
{
    char *bytes;
    size_t nbytes;
    tutti_status st = tutti_file_read(path, MAX_FILE, TUTTI_ERR_USAGE, &bytes, &nbytes, err);
    if (st != TUTTI_OK) return st;
    st = tutti_packing_parse(path, bytes, nbytes, p, err);
    free(bytes);
    if (st != TUTTI_OK) return st;
    st = tutti_packing_check(p, g, err);
    if (st != TUTTI_OK) tutti_packing_release(p);
    return st;
}

static tutti_status pack_one(const tutti_flags *f, const tutti_topology *t, const question *q, tutti_failure *err)
{
    tutti_network g;
    tutti_packing p;
    tutti_status st = open_network(t, f, &g, err);
    if (st != TUTTI_OK) return st;
    const char *file = tutti_cli_value(f, "check", NULL), *path = tutti_cli_value(f, "out", NULL);
    st = file ? check_file(file, &g, &p, err) : pack(&g, q, tutti_cli_value(f, "by", "exact"), &p, err);
    if (st == TUTTI_OK) {
        if (q->fewest.loss > 0) st = keep_fewest(&g, q, &p, err);
        char *text = tutti_packing_print(&p);
        if (st == TUTTI_OK) print_packing(&p);
        if (st == TUTTI_OK && path) st = tutti_file_write_atomic(path, text, strlen(text), err);
        free(text);
        tutti_packing_release(&p);
    }
    tutti_network_release(&g);
    return st;
}

static tutti_status answer(const tutti_flags *f, tutti_failure *err)
{
    static const char *const not_of_checks[] = {"collective", "root", "by", NULL};
    const char *useless = tutti_cli_has(f, "check") ? tutti_cli_first(f, not_of_checks) : NULL;
    tutti_topology t;
    question q;
    tutti_status st = tutti_topology_parse(f->rest[0], &t, err);
    if (st == TUTTI_OK && useless) st = tutti_fail(err, TUTTI_ERR_USAGE, "--check has no use for --%s", useless);
    if (st == TUTTI_OK && (tutti_cli_has(f, "solver") || tutti_cli_has(f, "limit")) && !tutti_cli_has(f, "loss"))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--solver and --limit go with --loss");
    if (st == TUTTI_OK) st = read_question(f, &q, err);
    return st == TUTTI_OK ? pack_one(f, &t, &q, err) : st;
}

int tutti_coll_pack(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "coll pack",
        .usage = "tutti coll pack TOPOLOGY [options]",
        .about = "Packs trees into the links of a topology (after Blink), says how much they carry and how far that\n"
                 "is from the bound. 'tutti coll compile trees --topology T' makes a schedule of them.",
        TUTTI_CLI_FLAGS(flags),
        .wanted = "one topology is wanted: tutti coll pack dgx1v,wires=nvlink",
        .run = answer,
    };
    return tutti_cli_run(&form, argc, argv);
}

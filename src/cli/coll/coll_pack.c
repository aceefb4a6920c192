/* SPDX-License-Identifier: Apache-2.0 */
/* coll_pack.c: `tutti coll pack TOPOLOGY`: trees packed into its links: bound, rate, trees, as text or as a picture. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../collective/pack/packing_chart.h"
#include "coll.h"
#include "coll_pack.h"

static const tutti_flag flags[] = {
    {"ranks", "P", "how many (default: all that the topology has room for)", 0},
    {"collective", "C", "allreduce, broadcast, all-gather (default allreduce)", 0},
    {"root", "R", "of a broadcast (default 0)", 0},
    {"by", "W", "exact: equal to the bound; weights: multiplicative weights within 0.5 % of it (default exact)", 0},
    {"loss", "PERCENT", "then keep the fewest trees that carry all but that much", 0},
    {"solver", "PROGRAM", "for the fewest trees: a program like cbc, or none for our greedy choice (default cbc)", 0},
    {"limit", "SECONDS", "for the solver (default 10)", 0},
    {"subsets", NULL, "a table over all connected subsets of the GPUs of dgx1p or dgx1v", 0},
    {"channels", "BYTES", "how NVLink and PCIe share that many bytes (dgx1p, dgx1v)", 0},
    {"setup", "US", "with --channels: microseconds before PCIe can be used too (default 100)", 0},
    {"out", "F", "write the packing to file F (docs/packing.md)", TUTTI_FLAG_WRITES},
    {"svg", "F", "draw it", TUTTI_FLAG_WRITES},
    {"check", "F", "read a packing from file F and check it on this topology instead", TUTTI_FLAG_READS},
};
enum { NFLAGS = sizeof flags / sizeof flags[0], MAX_FILE = 1 << 26, MAX_RANKS = 64 };

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

static tutti_status read_question(const tutti_flags *f, tutti_pack_question *q, tutti_failure *err)
{
    long root = 0, loss = 0, limit = 0;
    const char *solver = tutti_cli_value(f, "solver", "cbc");
    tutti_status st = read_use(f, &q->use, err);
    if (st == TUTTI_OK) st = tutti_cli_int(f, "root", 0, 4095, 0, &root, err);
    if (st == TUTTI_OK) st = tutti_cli_int(f, "loss", 0, 50, tutti_cli_has(f, "subsets") ? 5 : 0, &loss, err);
    if (st == TUTTI_OK) st = tutti_cli_int(f, "limit", 1, 3600, tutti_cli_has(f, "subsets") ? 2 : 10, &limit, err);
    q->root = (int32_t)root;
    q->fewest = (tutti_fewest_options){(double)loss / 100, (double)limit, strcmp(solver, "none") ? solver : NULL};
    return st;
}

/* Direct links where they join all ranks, else all links. */
static tutti_status open_network(const tutti_topology *t, const tutti_flags *f, tutti_network *g, tutti_failure *err)
{
    long ranks = 0;
    int32_t room = tutti_topology_nseats(t, 0);
    tutti_status st = tutti_cli_int(f, "ranks", 2, MAX_RANKS, room, &ranks, err);
    if (st == TUTTI_OK && t->kind == TUTTI_TOPOLOGY_HOST)
        return tutti_network_of(t, 2, true, g, err); /* says why not */
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

static tutti_status pack(const tutti_network *g, const tutti_pack_question *q, const char *by, tutti_packing *out,
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

static tutti_status keep_fewest(const tutti_network *g, const tutti_pack_question *q, tutti_packing *p,
                                tutti_failure *err)
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

static tutti_status write_svg(const tutti_packing *p, const tutti_network *g, const tutti_topology *t, const char *path,
                              tutti_failure *err)
{
    char(*names)[40] = tutti_alloc((size_t)p->nranks * sizeof *names), title[200];
    tutti_strbuf out = {0};
    for (int32_t r = 0; r < p->nranks; r++) tutti_topology_node_name(t, p->nranks, r, names[r]);
    snprintf(title, sizeof title, "Trees packed into %s (after Blink)", tutti_topology_kind_name(t->kind));
    tutti_packing_chart(p, g, names, title, &out);
    tutti_status st = tutti_file_write_atomic(path, out.text, out.length, err);
    tutti_strbuf_release(&out);
    free(names);
    return st;
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

static tutti_status pack_one(const tutti_flags *f, const tutti_topology *t, const tutti_pack_question *q,
                             tutti_failure *err)
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
        if (st == TUTTI_OK && tutti_cli_has(f, "svg")) st = write_svg(&p, &g, t, tutti_cli_value(f, "svg", ""), err);
        free(text);
        tutti_packing_release(&p);
    }
    tutti_network_release(&g);
    return st;
}

/* Forms of the command, and flags that they would not look at: those are refused. */
static const struct {
    const char *form, *useless[9]; /* until NULL */
} unused[] = {
    {"subsets", {"channels", "ranks", "root", "by", "out", "svg", "check"}},
    {"channels", {"ranks", "by", "out", "svg", "check", "loss", "solver", "limit"}},
    {"check", {"collective", "root", "by"}},
};

static tutti_status refuse_unused(const tutti_flags *f, tutti_failure *err)
{
    for (size_t k = 0; k < sizeof unused / sizeof unused[0]; k++)
        for (int i = 0; tutti_cli_has(f, unused[k].form) && unused[k].useless[i]; i++)
            if (tutti_cli_has(f, unused[k].useless[i]))
                return tutti_fail(err, TUTTI_ERR_USAGE, "--%s has no use for --%s", unused[k].form,
                                  unused[k].useless[i]);
    if (tutti_cli_has(f, "setup") && !tutti_cli_has(f, "channels"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--setup goes with --channels");
    if ((tutti_cli_has(f, "solver") || tutti_cli_has(f, "limit")) &&
        !(tutti_cli_has(f, "loss") || tutti_cli_has(f, "subsets")))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--solver and --limit go with --loss or --subsets");
    return TUTTI_OK;
}

static tutti_status answer(const tutti_flags *f, tutti_failure *err)
{
    tutti_topology t;
    tutti_pack_question q;
    long setup_us = 0;
    long long bytes = 0;
    tutti_status st = tutti_topology_parse(f->rest[0], &t, err);
    if (st == TUTTI_OK) st = refuse_unused(f, err);
    if (st == TUTTI_OK) st = read_question(f, &q, err);
    if (st != TUTTI_OK) return st;
    if (tutti_cli_has(f, "subsets")) return tutti_coll_pack_table(&t, &q, err);
    if (!tutti_cli_has(f, "channels")) return pack_one(f, &t, &q, err);
    st = tutti_cli_bytes("--channels", tutti_cli_value(f, "channels", ""), &bytes, err);
    if (st == TUTTI_OK) st = tutti_cli_int(f, "setup", 0, 1000000000, 100, &setup_us, err);
    return st == TUTTI_OK ? tutti_coll_pack_channels(&t, &q, (double)bytes, (double)setup_us * 1e-6, err) : st;
}

int tutti_coll_pack(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "coll pack",
        .usage = "tutti coll pack TOPOLOGY [options]",
        .about = "Packs trees into the links of a topology (after Blink), says how much they carry and how far that\n"
                 "is from the bound. 'tutti coll compile trees --topology T' makes a schedule of them.",
        .flags = flags,
        .nflags = NFLAGS,
        .wanted = "one topology is wanted: tutti coll pack dgx1v,wires=nvlink",
        .run = answer,
    };
    return tutti_cli_run(&form, argc, argv);
}

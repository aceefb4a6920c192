/* SPDX-License-Identifier: Apache-2.0 */
/* coll_tune.c: `tutti coll tune`: fits figures of this host, such as alpha (seconds from a signal to the next step),
 * beta (seconds to copy a byte) and gamma (seconds to add a byte), and writes them to the file that predict, explain
 * and the chooser read. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "../../base/clock.h"
#include "../../base/file.h"
#include "../../base/sort.h"
#include "../../base/text/strbuf.h"
#include "../../collective/tune/tune.h"
#include "../cli.h"
#include "coll.h"

static const tutti_flag flags[] = {
    {"out", "FILE", "write there instead ($TUTTI_TOPOLOGY, $XDG_CACHE_HOME/tutti/host.topology)",
     TUTTI_FLAG_WRITES | TUTTI_FLAG_FOLDER},
    {"check", NULL,
     "compare the model with this machine: every algorithm, 2 and 4 ranks, 4 bytes to 16 MiB; writes nothing without "
     "--out",
     0},
    {"print", NULL, "write nothing, print the topology only", 0},
};

static const char *algorithm_of(const tutti_tune_case *c)
{
    return c->algorithm ? c->algorithm : "one core";
}

static tutti_status fitted_write(const char *path, const tutti_topology *t, const tutti_tune_case *cases,
                                 tutti_failure *err)
{
    tutti_strbuf text = {0};
    char *line = tutti_topology_print(t);
    tutti_strbuf_puts(&text, "# fitted by 'tutti coll tune' on this machine; run it again when the machine changes\n");
    for (int i = 0; i < TUTTI_NTUNE_CASES; i++)
        if (cases[i].n)
            tutti_strbuf_printf(&text, "# %-6s %s %s, %d ranks, %lld bytes: %.3f us\n", cases[i].what,
                                algorithm_of(&cases[i]), tutti_collective_name(cases[i].collective), cases[i].nranks,
                                (long long)cases[i].n * TUTTI_ELEMENT_BYTES, cases[i].measured_s * 1e6);
    tutti_strbuf_printf(&text, "%s\n", line);
    const tutti_status st = tutti_file_write_atomic(path, text.text, text.length, err);
    free(line);
    tutti_strbuf_release(&text);
    return st;
}

/* Makes the folder of the fitted file, because the cache's folder may not exist yet. */
static tutti_status make_place(const char *path, tutti_failure *err)
{
    char *folder = tutti_file_folder(path);
    const tutti_output file = {.what = "the figures", .path = path, .written = true};
    tutti_status st = tutti_file_make_dir(folder, err);
    if (!st) st = tutti_outputs_try(&file, 1, err);
    free(folder);
    return st;
}

static void print_cases(const tutti_tune_case *cases)
{
    printf("%-7s %-10s %-15s %6s %12s %14s\n", "figure", "algorithm", "collective", "ranks", "bytes", "measured");
    for (int i = 0; i < TUTTI_NTUNE_CASES; i++)
        if (!cases[i].n)
            printf("%-7s not fitted: more memory than is left would be needed to get past the caches\n", cases[i].what);
        else
            printf("%-7s %-10s %-15s %6d %12lld %14s\n", cases[i].what, algorithm_of(&cases[i]),
                   tutti_collective_name(cases[i].collective), cases[i].nranks,
                   (long long)cases[i].n * TUTTI_ELEMENT_BYTES, tutti_time_words(cases[i].measured_s).text);
}

/* ---- how busy the machine is with other work ---- */

enum { TICKS_A_S = 100 }; /* unit of /proc/stat on every Linux that this runs on: USER_HZ */

typedef struct {
    /* times in seconds: processor time of all other programs; time that the hypervisor gave to other machines; the
     * clock when both were read */
    double others_s, stolen_s, at_s;
} load;

static double own_cpu_s(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Returns zeros if the system does not report it. */
static load look_at_load(void)
{
    long long user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, soft = 0, steal = 0;
    FILE *f = fopen("/proc/stat", "re");
    const int n = f ? fscanf(f, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &user, &nice, &system, &idle, &io, &irq,
                             &soft, &steal)
                    : 0;
    if (f) fclose(f);
    const double used_s = (double)(user + nice + system + irq + soft) / TICKS_A_S;
    return n < 8 ? (load){0}
                 : (load){.others_s = used_s - own_cpu_s(RUSAGE_SELF) - own_cpu_s(RUSAGE_CHILDREN),
                          .stolen_s = (double)steal / TICKS_A_S,
                          .at_s = tutti_clock_s()};
}

/* Warns if other programs were busy: measured times include their work. */
static void say_busy(const load *before, int ncores)
{
    static const double SAID = 0.1; /* number of cores that other programs must keep busy before this warns */
    const load now = look_at_load();
    const double took_s = now.at_s - before->at_s;
    if (!(before->at_s > 0 && took_s > 0)) return;
    const double others = (now.others_s - before->others_s) / took_s,
                 stolen = (now.stolen_s - before->stolen_s) / took_s;
    if (others + stolen > SAID)
        printf(
            "\nthe machine was busy: other programs had %.1f and its hypervisor took %.1f of %d cores meanwhile; these "
            "times are theirs, too: tune and check when it is idle\n",
            others, stolen, ncores);
}

static tutti_status check(const tutti_topology *t, tutti_failure *err)
{
    enum { MAX_ROWS = 200 };
    tutti_tune_check rows[MAX_ROWS];
    double errors[MAX_ROWS];
    int n = 0;
    tutti_status st = tutti_tune_compare(t, rows, MAX_ROWS, &n, err);
    if (st) return st;
    printf("\n%-18s %6s %12s %14s %14s %8s\n", "allreduce by", "ranks", "bytes", "predicted", "measured", "error");
    for (int i = 0; i < n; i++) {
        const tutti_tune_check *r = &rows[i];
        double error = r->predicted_s / r->measured_s - 1;
        errors[i] = error < 0 ? -error : error;
        printf("%-18s %6d %12lld %14s %14s %+7.0f%%\n", r->algorithm, r->nranks, (long long)r->n * TUTTI_ELEMENT_BYTES,
               tutti_time_words(r->predicted_s).text, tutti_time_words(r->measured_s).text, error * 100);
    }
    tutti_sort_doubles(errors, (size_t)n);
    if (n) printf("error: median %.0f%%, p95 %.0f%%\n", errors[n / 2] * 100, errors[(n * 95 - 1) / 100] * 100);
    return TUTTI_OK;
}

/* Opens this host's topology with the cores that this process may use: the measurements run on them and hold for
 * them. */
static tutti_status open_own_cores(tutti_topology *t, tutti_failure *err)
{
    tutti_host_shape machine;
    tutti_topology_detect(&machine);
    if (machine.own_cores < machine.ncores) {
        printf("this process may use %d of the host's %d cores: the figures are for these\n\n", machine.own_cores,
               machine.ncores);
        machine.ncores = machine.own_cores;
    }
    return tutti_topology_parse_on("host", &machine, t, err);
}

static tutti_status tune(const tutti_flags *f, tutti_failure *err)
{
    tutti_topology t;
    tutti_tune_case cases[TUTTI_NTUNE_CASES];
    char *standard = tutti_topology_tuned_path(), *described = NULL;
    const bool writes = !tutti_cli_has(f, "print") && (tutti_cli_has(f, "out") || !tutti_cli_has(f, "check"));
    const char *path = writes ? tutti_cli_value(f, "out", standard) : NULL;
    const load before = look_at_load();
    tutti_status st = path ? make_place(path, err) : TUTTI_OK;
    if (!st) st = open_own_cores(&t, err);
    if (!st) st = tutti_tune_host(&t, cases, err);
    if (!st) {
        described = tutti_topology_describe(&t);
        print_cases(cases);
        printf("\n%s", described);
    }
    if (!st && path) st = fitted_write(path, &t, cases, err);
    if (!st && path) printf("\nwritten to %s\n", path);
    if (!st && tutti_cli_has(f, "check")) st = check(&t, err);
    tutti_host_shape machine;
    tutti_topology_detect(&machine);
    if (!st) say_busy(&before, machine.ncores);
    free(described);
    free(standard);
    return st;
}

int tutti_coll_tune(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "coll tune",
        .usage = "tutti coll tune [options]",
        .about = "Measures signals, copies and sums on this machine and writes the figures for predict and explain.",
        TUTTI_CLI_FLAGS(flags),
        .run = tune,
    };
    return tutti_cli_run(&form, argc, argv);
}

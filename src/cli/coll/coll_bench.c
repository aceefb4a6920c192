/* SPDX-License-Identifier: Apache-2.0 */
/* coll_bench.c: `tutti coll bench`: times exchanges between real ranks and prints the columns of nccl-tests, and which
 * fraction of the memory's rate was reached. If no launcher has started it, it starts the ranks itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/text/json.h"
#include "../../collective/launch/launch.h"
#include "../../collective/tune/bench_exchange.h"
#include "../../tensor/isa.h"
#include "../cli.h"
#include "../train/rank_report.h"
#include "coll.h"
#include "tutti/compile.h"

static const tutti_flag flags[] = {
    {"algo", "A", "algorithm, or auto: what the model of this host prefers (default auto)", 0},
    {"ranks", "P", "processes to start (default 2, or the launcher's)", 0},
    {"bytes", "B,..",
     "sizes of the whole vector (all-to-all: of what a rank sends): 64KiB,102MB (default 1KB,64KB,1MB,16MB)", 0},
    {"collective", "C", TUTTI_COLL_COLLECTIVES, 0},
    {"slots", "S", "canonical sums over S slots (default 0: fast sums)", 0},
    {"iters", "N", "iterations of each figure (default 0: a quarter of a second)", 0},
    {"check", "0|1", "compare every element with the exact result (default 1)", 0},
    {"device", "cpu|cuda",
     "whose memory the vectors lie in (default cpu); cuda: ranks of this host, on its cards in turn", 0},
    {"json", "FILE", "also write one JSON object a size, keys as in nccl-tests", TUTTI_FLAG_WRITES},
    TUTTI_CLI_CORES_FLAG,
};
enum { NFLAGS = sizeof flags / sizeof flags[0], MOST_SIZES = 32 };

typedef struct {
    tutti_bench_case what;
    long long sizes[MOST_SIZES];
    int nsizes;
    long nranks;
    const char *json, *device;
} bench_request;

/* --- reading flags --- */

static tutti_status read_sizes(const char *list, bench_request *out, tutti_failure *err)
{
    char text[512];
    char *rest = NULL;
    snprintf(text, sizeof text, "%s", list);
    for (char *item = strtok_r(text, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        if (out->nsizes == MOST_SIZES) return tutti_fail(err, TUTTI_ERR_USAGE, "--bytes: at most %d sizes", MOST_SIZES);
        long long *bytes = &out->sizes[out->nsizes++];
        tutti_status st = tutti_cli_bytes("--bytes", item, bytes, err);
        if (st) return st;
        if (*bytes < 4 || *bytes > 1LL << 36)
            return tutti_fail(err, TUTTI_ERR_USAGE, "--bytes %s: from 4 bytes to 64 GiB", item);
        *bytes -= *bytes % 4;
    }
    return out->nsizes ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_USAGE, "--bytes: no size");
}

static tutti_status read_request(const tutti_flags *f, bench_request *out, tutti_failure *err)
{
    long slots, checks;
    *out = (bench_request){.what = {.algorithm = tutti_cli_value(f, "algo", "auto")},
                           .json = tutti_cli_value(f, "json", NULL),
                           .device = tutti_cli_value(f, "device", "cpu")};
    tutti_status st = tutti_cli_int(f, "ranks", (tutti_cli_range){1, 1024}, 2, &out->nranks, err);
    if (!st) st = tutti_cli_int(f, "slots", (tutti_cli_range){0, 4096}, 0, &slots, err);
    if (!st) st = tutti_cli_int(f, "iters", (tutti_cli_range){0, 100000000}, 0, &out->what.iterations, err);
    if (!st) st = tutti_cli_int(f, "check", (tutti_cli_range){0, 1}, 1, &checks, err);
    if (!st) st = tutti_coll_collective(f, &out->what.collective, err);
    if (!st) st = read_sizes(tutti_cli_value(f, "bytes", "1KB,64KB,1MB,16MB"), out, err);
    if (!st && f->nrest) st = tutti_fail(err, TUTTI_ERR_USAGE, "unexpected argument '%s'", f->rest[0]);
    if (st) return st;
    out->what.slots = (int)slots;
    out->what.check = checks != 0;
    return TUTTI_OK;
}

/* --- printing results --- */

static double bus_factor(tutti_collective c, int nranks)
{
    double others = (double)(nranks - 1) / nranks;
    if (c == TUTTI_ALLREDUCE) return 2 * others;
    return tutti_collective_has_root(c) ? 1 : c == TUTTI_BARRIER ? 0 : others;
}

/* Prints the number of cores. Also says whether the figures that choose the algorithm were fitted (`coll tune`) for the
 * same number. */
static void print_cores(const tutti_group *g)
{
    const int nranks = tutti_group_nmachine(g), ncores = tutti_group_ncores(g);
    char notes[TUTTI_TOPOLOGY_NOTES];
    tutti_topology t;
    printf("# %d ranks on %d core%s of this machine: who waits %s\n", nranks, ncores, ncores == 1 ? "" : "s",
           nranks <= ncores ? "spins first" : "yields and sleeps");
    if (!tutti_topology_of_cores(ncores, &t, notes, NULL)) fputs(notes, stderr);
}

static void print_header(const tutti_group *g, const bench_request *q)
{
    printf("# tutti coll bench: %s on %ld ranks on %d host%s over %s, %s; time = median of rounds, slowest rank\n",
           tutti_collective_name(q->what.collective), q->nranks, tutti_group_nhosts(g),
           tutti_group_nhosts(g) == 1 ? "" : "s", tutti_group_wires(g), tutti_isa_name(tutti_isa_here()));
    print_cores(g);
    printf("# %%bound: time of a loop with the same reads and writes and no synchronisation / time\n#\n");
    printf("#%47s  %-43s%-43s\n", "", "out-of-place", "in-place");
    printf("#%11s  %12s  %8s  %6s  %6s", "size", "count", "type", "redop", "root");
    for (int i = 0; i < 2; i++) printf("  %7s  %6s  %6s  %6s  %6s", "time", "algbw", "busbw", "#wrong", "%bound");
    printf("  algorithm\n#%11s  %12s  %8s  %6s  %6s", "(B)", "(elements)", "", "", "");
    for (int i = 0; i < 2; i++) printf("  %7s  %6s  %6s  %6s  %6s", "(us)", "(GB/s)", "(GB/s)", "", "");
    printf("\n");
}

static void format_time(double us, char out[16])
{
    snprintf(out, 16, us < 10 ? "%.3f" : us < 1e4 ? "%.1f" : "%.0f", us);
}

/* True if the table of results has this half: out of place, or in place. An all-to-all is never in place. */
static bool has_half(const bench_request *q, int in_place)
{
    return !in_place || q->what.collective != TUTTI_ALL_TO_ALL;
}

static double print_half(const tutti_bench_result *r, long long bytes, double factor)
{
    char time[16], wrong[24] = "N/A";
    double algbw = 1e-9 * (double)bytes / r->seconds;
    format_time(1e6 * r->seconds, time);
    if (r->wrong >= 0) snprintf(wrong, sizeof wrong, "%g", (double)r->wrong);
    printf("  %7s  %6.2f  %6.2f  %6s  %6.1f", time, algbw, algbw * factor, wrong, 100 * r->bound_seconds / r->seconds);
    return algbw * factor;
}

static void write_half(tutti_json *j, const char *key, const tutti_bench_result *r, long long bytes, double factor)
{
    double algbw = 1e-9 * (double)bytes / r->seconds;
    tutti_json_open(j, key, '{');
    tutti_json_text(j, "algorithm", r->algorithm);
    tutti_json_real(j, "time", 1e6 * r->seconds);
    tutti_json_real(j, "alg_bw", algbw);
    tutti_json_real(j, "bus_bw", algbw * factor);
    if (r->wrong < 0)
        tutti_json_text(j, "nwrong", NULL);
    else
        tutti_json_int(j, "nwrong", r->wrong);
    tutti_json_real(j, "bound", 1e6 * r->bound_seconds);
    tutti_json_int(j, "copies", r->copies);
    tutti_json_close(j, '}');
}

static void write_row(tutti_strbuf *out, const bench_request *q, long long bytes, const tutti_bench_result halves[2])
{
    tutti_json j = {.out = out};
    double factor = bus_factor(q->what.collective, (int)q->nranks);
    bool sums = tutti_collective_reduces(q->what.collective);
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "collective", tutti_collective_name(q->what.collective));
    tutti_json_int(&j, "ranks", q->nranks);
    tutti_json_int(&j, "size", bytes);
    tutti_json_int(&j, "count", bytes / 4);
    tutti_json_text(&j, "type", "float");
    tutti_json_text(&j, "redop", sums ? "sum" : "none");
    tutti_json_int(&j, "root", tutti_collective_has_root(q->what.collective) ? 0 : -1);
    write_half(&j, "out_of_place", &halves[0], bytes, factor);
    if (has_half(q, 1)) write_half(&j, "in_place", &halves[1], bytes, factor);
    tutti_json_close(&j, '}');
    tutti_strbuf_puts(out, "\n");
}

/* --- the ranks --- */

/* Times the collective at each size. *wrong: the number of wrong elements is added to it. Only rank 0 prints. */
static tutti_status run_sizes(tutti_group *g, const bench_request *q, tutti_strbuf *json, long long *wrong,
                              tutti_failure *err)
{
    double bandwidth = 0, factor = bus_factor(q->what.collective, (int)q->nranks);
    bool first = tutti_group_rank(g) == 0;
    bool sums = tutti_collective_reduces(q->what.collective);
    if (first) print_header(g, q);
    for (int i = 0; i < q->nsizes; i++) {
        tutti_bench_result halves[2];
        for (int in_place = 0; in_place < 2 && has_half(q, in_place); in_place++) {
            tutti_bench_case c = q->what;
            c.bytes = q->sizes[i];
            c.in_place = in_place;
            tutti_status st = tutti_bench_exchange(g, &c, &halves[in_place], err);
            if (st) return st;
            if (halves[in_place].wrong > 0) *wrong += halves[in_place].wrong;
        }
        if (!first) continue;
        printf("%12lld  %12lld  %8s  %6s  %6d", q->sizes[i], q->sizes[i] / 4, "float", sums ? "sum" : "none",
               tutti_collective_has_root(q->what.collective) ? 0 : -1);
        for (int half = 0; half < 2 && has_half(q, half); half++)
            bandwidth += print_half(&halves[half], q->sizes[i], factor);
        printf("  %s\n", halves[0].algorithm);
        fflush(stdout);
        if (q->json) write_row(json, q, q->sizes[i], halves);
    }
    if (first) {
        printf("# Out of bounds values : %lld %s\n", *wrong, *wrong ? "FAILED" : "OK");
        printf("# Avg bus bandwidth    : %g\n", bandwidth / ((has_half(q, 1) ? 2 : 1) * q->nsizes));
    }
    return TUTTI_OK;
}

static int run_as_rank(bench_request *q, const tutti_group_config *config)
{
    tutti_failure err = {0};
    tutti_group *g = NULL;
    tutti_strbuf json = {0};
    long long wrong = 0;
    tutti_status st = TUTTI_OK;
    if (config->nranks != q->nranks) st = tutti_cli_refuse_ranks(q->nranks, config->nranks, config->launcher, &err);
    tutti_cli_block_quit();
    if (!st) st = tutti_cli_join("coll bench", config, &g, &err);
    tutti_cli_reporter reporter = {"coll bench", g};
    if (!st) st = tutti_cli_report(&reporter, &err);
    if (!st) st = tutti_device_connect(q->device, config->rank, &q->what.device, NULL, &err);
    if (!st) st = run_sizes(g, q, &json, &wrong, &err);
    tutti_device_disconnect(q->what.device);
    tutti_group_leave(g);
    if (!st && q->json && config->rank == 0) st = tutti_cli_write(q->json, json.text ? json.text : "", &err);
    tutti_strbuf_release(&json);
    if (st) return tutti_cli_fail("coll bench", &err);
    return wrong ? TUTTI_ERR_FAILED : 0;
}

/* A wrong name is refused here, so that it is printed once and not by every rank. */
static tutti_status try_algorithm(const bench_request *q, tutti_failure *err)
{
    const tutti_compile_request request = {
        .collective = q->what.collective, .nranks = (int32_t)q->nranks, .slots = q->what.slots};
    tutti_schedule *schedule = NULL;
    if (!strcmp(q->what.algorithm, "auto")) return TUTTI_OK;
    tutti_status st = tutti_schedule_compile(q->what.algorithm, &request, &schedule, err);
    if (!st) tutti_schedule_destroy(schedule);
    return st;
}

static int start_ranks(const bench_request *q, int argc, char **argv)
{
    tutti_failure err = {0};
    if (try_algorithm(q, &err)) return tutti_cli_fail("coll bench", &err);
    char **command = tutti_alloc(sizeof *command * (size_t)(argc + 3));
    char program[] = "tutti", verb[] = "coll";
    command[0] = program, command[1] = verb;
    for (int i = 0; i < argc; i++) command[i + 2] = argv[i];
    const tutti_launch_options options = {.nranks = (int)q->nranks};
    tutti_launch_result result;
    tutti_status st = tutti_launch(&options, command, &result, &err);
    free(command);
    if (st) return tutti_cli_fail("coll bench", &err);
    fputs(result.words, stderr);
    free(result.words);
    return result.exit_code;
}

int tutti_coll_bench(int argc, char **argv)
{
    tutti_flags f;
    tutti_failure err = {0};
    bench_request q;
    if (tutti_cli_parse(argc, argv, flags, NFLAGS, &f, &err)) return tutti_cli_fail("coll bench", &err);
    if (f.help) {
        tutti_cli_help(stdout, "tutti coll bench [options]",
                       "Times an exchange between real ranks of this host, beside the memory bound.", flags, NFLAGS);
        return 0;
    }
    tutti_group_config config = {0};
    if (tutti_cli_check_flags(&f, &err)) return tutti_cli_fail("coll bench", &err);
    if (read_request(&f, &q, &err)) return tutti_cli_fail("coll bench", &err);
    if (tutti_group_config_from_env(&config, &err) || tutti_cli_cores(&f, &config.ncores, &err))
        return tutti_cli_fail("coll bench", &err);
    if (config.rank == 0 && tutti_cli_try_flags(&f, &err)) return tutti_cli_fail("coll bench", &err);
    if (!config.launcher) return start_ranks(&q, argc, argv);
    if (!tutti_cli_has(&f, "ranks")) q.nranks = config.nranks;
    const int code = run_as_rank(&q, &config);
    tutti_group_config_end(&config, code, "tutti coll bench: a rank failed");
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* discover_pmix.c: ranks started by a PMIx launcher: mpirun of Open MPI, srun --mpi=pmix, prterun.
 *
 * Only ranks that such a launcher started load the library. PMIx carries one value: rank 0 listens on a port of the
 * kernel's choice and publishes "cookie port address,address"; a fence brings it to all, and the others take the first
 * address that answers. Everything else is the rendezvous of join.c. The library starts a thread, which must not take
 * the signals that this program waits for: they are blocked meanwhile. The connection stays open until the rank ends,
 * so that the launcher hears of a failure at once and ends the other ranks. */
#include <errno.h>
#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/hash.h"
#include "../../base/host/library.h"
#include "../../base/host/unique.h"
#include "../../base/signals.h"
#include "discover_impl.h"

static const char key[] = "tutti.rank0";
/* Seconds that a rank which has only lost a peer waits before it reports its failure. Launchers show the failure that
 * is reported first, and another rank may know the cause. */
static const double ECHO_S = 1;

#define PMIX_FUNCTIONS(_)                                                                                              \
    _(PMIx_Init)                                                                                                       \
    _(PMIx_Get)                                                                                                        \
    _(PMIx_Put)                                                                                                        \
    _(PMIx_Commit)                                                                                                     \
    _(PMIx_Fence_nb)                                                                                                   \
    _(PMIx_Abort)                                                                                                      \
    _(PMIx_Finalize)                                                                                                   \
    _(PMIx_Error_string)                                                                                               \
    _(PMIx_Get_version)

struct tutti_pmix {
    struct {
        PMIX_FUNCTIONS(TUTTI_LIBRARY_POINTER)
    } lib;
    pmix_proc_t me;
    char addr[64];
};

static bool present(void)
{
    return tutti_variable_set("PMIX_NAMESPACE") && tutti_variable_set("PMIX_RANK");
}

static tutti_status fail(const struct tutti_pmix *p, const char *what, pmix_status_t status, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "PMIx: %s: %s", what, p->lib.PMIx_Error_string(status));
}

static tutti_status load_library(struct tutti_pmix *p, tutti_failure *err)
{
    static const char *const names[] = {PMIX_FUNCTIONS(TUTTI_LIBRARY_NAME)};
    const tutti_library pmix = {.file = "libpmix.so.2",
                                .variable = "TUTTI_PMIX_LIBRARY",
                                .package = "libpmix2",
                                .names = names,
                                .n = sizeof names / sizeof names[0]};
    return tutti_library_load(&pmix, &p->lib, err);
}

tutti_status tutti_launcher_pmix_version(char out[TUTTI_LAUNCHER_PMIX], tutti_failure *err)
{
    struct tutti_pmix p;
    const tutti_status st = load_library(&p, err);
    snprintf(out, TUTTI_LAUNCHER_PMIX, "%s", st ? "" : p.lib.PMIx_Get_version());
    size_t n = strcspn(out, "(,\n"); /* keeps "OpenPMIx 4.2.2" of "OpenPMIx 4.2.2 (PMIx Standard: 4.1, ...)" */
    while (n > 0 && out[n - 1] == ' ') n--;
    out[n] = '\0';
    return st;
}

static tutti_status load(struct tutti_pmix *p, tutti_failure *err)
{
    tutti_failure why = {0};
    if (!load_library(p, &why)) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "started by a launcher that speaks PMIx: %s", why.text);
}

static tutti_status open_client(struct tutti_pmix *p, tutti_failure *err)
{
    sigset_t before;
    tutti_signals_hold(&before);
    pmix_status_t status = p->lib.PMIx_Init(&p->me, NULL, 0);
    tutti_signals_release(&before);
    return status == PMIX_SUCCESS ? TUTTI_OK : fail(p, "cannot reach the launcher", status, err);
}

/* Asks the launcher for a whole number about `rank`. */
static tutti_status ask(const struct tutti_pmix *p, pmix_rank_t rank, const char *what, int *out, tutti_failure *err)
{
    pmix_proc_t whom = p->me;
    pmix_value_t *value = NULL;
    whom.rank = rank;
    pmix_status_t status = p->lib.PMIx_Get(&whom, what, NULL, 0, &value);
    if (status != PMIX_SUCCESS) return fail(p, what, status, err);
    if (value->type == PMIX_UINT16)
        *out = value->data.uint16;
    else
        *out = (int)value->data.uint32;
    free(value); /* free() is enough: a value that is a number owns no other memory */
    return TUTTI_OK;
}

/* --- the fence, with our own deadline --- */

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    pmix_status_t status;
} fence;

static void end_fence(pmix_status_t status, void *arg)
{
    fence *f = arg;
    pthread_mutex_lock(&f->lock);
    f->done = true;
    f->status = status;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static tutti_status pass_fence(const struct tutti_pmix *p, double deadline_s, tutti_failure *err)
{
    fence *f = tutti_alloc(sizeof *f);
    pmix_info_t collect = {.value = {.type = PMIX_BOOL, .data.flag = true}};
    struct timespec until;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    snprintf(collect.key, sizeof collect.key, "%s", PMIX_COLLECT_DATA);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)deadline_s + 1;
    pmix_status_t status = p->lib.PMIx_Fence_nb(NULL, 0, &collect, 1, end_fence, f);
    bool late = false;
    pthread_mutex_lock(&f->lock);
    while (status == PMIX_SUCCESS && !f->done && !late)
        late = pthread_cond_timedwait(&f->changed, &f->lock, &until) == ETIMEDOUT;
    if (f->done) status = f->status;
    late = late && !f->done;
    pthread_mutex_unlock(&f->lock);
    if (late) /* f is not freed: the library's thread may still write to it */
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                          "PMIx: not all ranks have arrived within %g s (the launcher does not say which)", deadline_s);
    free(f);
    return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED ? TUTTI_OK : fail(p, "fence", status, err);
}

/* --- where rank 0 listens --- */

static tutti_status publish(tutti_group_config *c, bool one_host, tutti_failure *err)
{
    const struct tutti_pmix *p = c->pmix;
    char text[TUTTI_REACH_TEXT + 64], list[TUTTI_REACH_TEXT] = "127.0.0.1";
    const uint64_t cookie = tutti_unique_number();
    if (!one_host) tutti_reach_own(list);
    c->cookie = cookie;
    c->master_fd = tutti_reach_listen(one_host ? TUTTI_REACH_LOOPBACK : TUTTI_REACH_ALL, &c->master_port);
    if (c->master_fd < 0) return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "rank 0 cannot listen: %s", strerror(errno));
    snprintf(text, sizeof text, "%llx %d %s", (unsigned long long)cookie, c->master_port, list);
    pmix_value_t value = {.type = PMIX_STRING, .data.string = text};
    pmix_status_t status = p->lib.PMIx_Put(PMIX_GLOBAL, key, &value);
    if (status == PMIX_SUCCESS) status = p->lib.PMIx_Commit();
    return status == PMIX_SUCCESS ? TUTTI_OK : fail(p, "cannot publish where rank 0 is", status, err);
}

static tutti_status look_up(tutti_group_config *c, tutti_failure *err)
{
    struct tutti_pmix *p = c->pmix;
    pmix_proc_t zero = p->me;
    pmix_value_t *value = NULL;
    unsigned long long cookie;
    int at = 0;
    zero.rank = 0;
    pmix_status_t status = p->lib.PMIx_Get(&zero, key, NULL, 0, &value);
    if (status != PMIX_SUCCESS) return fail(p, "cannot learn where rank 0 is", status, err);
    const char *text = value->type == PMIX_STRING ? value->data.string : "";
    tutti_status st = TUTTI_OK;
    if (sscanf(text, "%llx %d %n", &cookie, &c->master_port, &at) < 2 || at == 0)
        st = tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "PMIx: rank 0 has published '%.80s': is it another program?", text);
    else if (!tutti_reach_first(text + at, c->master_port, c->deadline_s, p->addr))
        st = tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                        "rank %d: none of rank 0's addresses answers within %g s on port %d: %.300s", c->rank,
                        c->deadline_s, c->master_port, text + at);
    if (!st) c->cookie = cookie, c->master_addr = p->addr;
    if (value->type == PMIX_STRING) free(value->data.string);
    free(value);
    return st;
}

static tutti_status find_zero(tutti_group_config *c, tutti_failure *err)
{
    tutti_status st = c->rank == 0 ? publish(c, c->local_nranks == c->nranks, err) : TUTTI_OK;
    if (!st) st = pass_fence(c->pmix, c->deadline_s, err);
    return st || c->rank == 0 ? st : look_up(c, err);
}

/* --- the row of the table of launchers --- */

static void end(tutti_group_config *c, int exit_code, const char *words)
{
    if (!c->pmix) return;
    if (exit_code == TUTTI_ERR_PEER) tutti_clock_sleep_s(ECHO_S);
    if (exit_code > 0 && exit_code <= TUTTI_ERR_RENDEZVOUS) {
        c->pmix->lib.PMIx_Abort(exit_code, words, NULL, 0);
    } else {
        /* A signal has stopped this rank in good order: it waits for the other ranks, because the launcher ends all
         * ranks when the first has ended. */
        if (exit_code) pass_fence(c->pmix, c->deadline_s, NULL);
        c->pmix->lib.PMIx_Finalize(NULL, 0);
    }
    free(c->pmix);
    c->pmix = NULL;
}

static tutti_status read_pmix(tutti_group_config *c, tutti_failure *err)
{
    c->pmix = tutti_alloc(sizeof *c->pmix);
    tutti_status st = load(c->pmix, err);
    if (!st) st = open_client(c->pmix, err);
    if (st) {
        free(c->pmix);
        return st;
    }
    c->rank = (int)c->pmix->me.rank;
    st = ask(c->pmix, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &c->nranks, err);
    if (!st) st = ask(c->pmix, c->pmix->me.rank, PMIX_LOCAL_RANK, &c->local_rank, err);
    if (!st) st = ask(c->pmix, PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE, &c->local_nranks, err);
    if (!st && c->nranks > 1) st = find_zero(c, err);
    if (st) end(c, st, err ? err->text : "");
    return st;
}

const tutti_launcher_row tutti_launcher_pmix = {
    .name = "PMIx (mpirun of Open MPI, srun --mpi=pmix)",
    .variables = "PMIX_NAMESPACE PMIX_RANK",
    .present = present,
    .read = read_pmix,
    .talks = true,
    .end = end,
};

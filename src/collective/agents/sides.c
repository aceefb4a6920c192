/* SPDX-License-Identifier: Apache-2.0 */
/* sides.c: decides which side of a broken network goes on, by the tables of the last epochs and the lock of the run's
 * folder.
 *
 * An epoch is whole once all of its hosts have begun it. Before that, another side may not know the epoch. So the hosts
 * that are here must then be the majority of two epochs: of the newest one, and of the whole one before it.
 *
 * The first line of the locked file is the text by which others join; the second has the newest epoch and its hosts. An
 * agent that gets the lock later reads there whether the run went on without it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "agents_impl.h"

/* ---- tables ---- */

bool tutti_agents_has(const tutti_agent_table *table, int64_t id)
{
    for (int i = 0; i < table->n; i++)
        if (table->entry[i].id == id) return true;
    return false;
}

int tutti_agents_count_here(const tutti_agents *a, const tutti_agent_table *table)
{
    int n = 0;
    for (int i = 0; i < a->nknown; i++) n += !a->hosts[i].is_lost && tutti_agents_has(table, a->hosts[i].id);
    return n;
}

void tutti_agents_resize(tutti_agent_table *table, int n)
{
    free(table->entry);
    table->entry = tutti_alloc(sizeof *table->entry * (size_t)n);
    memset(table->entry, 0, sizeof *table->entry * (size_t)n);
    table->n = n;
}

void tutti_agents_begin_table(tutti_agents *a, int n)
{
    if (a->is_whole) {
        free(a->before.entry);
        a->before = a->newest;
        a->newest = (tutti_agent_table){0};
    }
    tutti_agents_resize(&a->newest, n);
    a->is_whole = false;
}

void tutti_agents_note_taken(tutti_agents *a)
{
    int n = 0;
    for (int i = 0; i < a->nknown; i++)
        n += a->hosts[i].in_epoch && !a->hosts[i].is_lost && a->hosts[i].facts.epoch == a->epoch;
    a->is_whole |= a->formed && n == a->newest.n;
}

/* ---- the majority ---- */

static bool has_most(const tutti_agents *a, const tutti_agent_table *table)
{
    const int here = tutti_agents_count_here(a, table);
    return 2 * here > table->n || (2 * here == table->n && a->lock >= 0);
}

bool tutti_agents_suffice(const tutti_agents *a)
{
    return has_most(a, &a->newest) && (a->is_whole || has_most(a, &a->before));
}

void tutti_agents_end_side(tutti_agents *a)
{
    const tutti_agent_table *table = has_most(a, &a->newest) ? &a->before : &a->newest;
    const int n = table->n, here = tutti_agents_count_here(a, table);
    a->hard = true; /* ranks that have not noticed the loss must not write any more */
    tutti_agents_end(a, TUTTI_ERR_PEER, "%d of the %d hosts of the last group are on this side, %s: this side ends",
                     here, n,
                     2 * here == n ? "and another agent holds the lock of the run's folder" : "less than half");
}

/* ---- the lock ---- */

/* Reads the second line of the file, "epoch 7: 1f 2e 3d". Returns the epoch, 0 = there is none; *has_this: this agent
 * is among its hosts. */
static uint32_t read_record(const tutti_agents *a, FILE *f, bool *has_this)
{
    char line[TUTTI_AGENTS_TEXT];
    uint32_t epoch = 0;
    uint64_t id;
    *has_this = false;
    if (!fgets(line, sizeof line, f) || fscanf(f, "epoch %" SCNu32 ":", &epoch) != 1) return 0;
    while (fscanf(f, " %" SCNx64, &id) == 1) *has_this |= id == (uint64_t)a->id;
    return epoch;
}

/* A leader that took over may have got the lock because another side went on without it and has ended since. */
static void compare_record(tutti_agents *a)
{
    const int fd = dup(a->lock);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    bool has_this;
    if (!f) return;
    const uint32_t epoch = read_record(a, f, &has_this);
    fclose(f);
    if (!a->gathers || epoch < a->epoch) return;
    if (has_this)
        a->epoch = epoch; /* so that no epoch number is used twice */
    else
        tutti_agents_end(a, TUTTI_ERR_PEER, "another side of the network has gone on (group epoch %u): this side ends",
                         epoch);
}

void tutti_agents_try_lock(tutti_agents *a)
{
    if (a->lock >= 0 || !a->options.lock_path || a->ending) return;
    const int fd = open(a->options.lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return;
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        close(fd);
        return;
    }
    a->lock = fd;
    compare_record(a);
    if (!a->ending) tutti_agents_record(a);
}

static void write_record(const tutti_agents *a, const char *text)
{
    if (a->lock < 0) return;
    const int fd = dup(a->lock);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!f) return;
    rewind(f);
    fprintf(f, "%s\nepoch %" PRIu32 ":", text, a->epoch);
    for (int i = 0; i < a->newest.n; i++) fprintf(f, " %" PRIx64, (uint64_t)a->newest.entry[i].id);
    fprintf(f, "\n");
    if (!fflush(f)) (void)!ftruncate(fd, ftell(f));
    fclose(f);
}

void tutti_agents_record(const tutti_agents *a)
{
    char text[TUTTI_AGENTS_TEXT];
    tutti_agents_join_text(a, text);
    write_record(a, text);
}

tutti_status tutti_agents_check_lock(const tutti_agents *a, tutti_failure *err)
{
    char text[TUTTI_AGENTS_TEXT];
    if (a->lock >= 0 || !a->options.lock_path) return TUTTI_OK;
    const int fd = open(a->options.lock_path, O_RDONLY | O_CLOEXEC);
    const bool is_held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    const ssize_t n = is_held ? pread(fd, text, sizeof text - 1, 0) : 0;
    if (fd >= 0) close(fd);
    if (!is_held) return TUTTI_OK; /* no other agent holds the lock, or the file system has no locks */
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return tutti_fail(err, TUTTI_ERR_USAGE, "agents: another agent leads a run in this folder: join it with --join %s",
                      text[0] ? text : "TEXT");
}

void tutti_agents_unlock(tutti_agents *a)
{
    write_record(a, ""); /* an empty text, because nobody can join any more */
    if (a->lock >= 0) close(a->lock);
    a->lock = -1;
}

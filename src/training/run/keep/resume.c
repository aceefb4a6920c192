/* SPDX-License-Identifier: Apache-2.0 */
/* resume.c: resumes a run: finds what is in its folder, locks it, and compares the job with the checkpoint's job. Rank
 * 0 looks into the folder, decides, and tells the other ranks: two ranks that look at a file system at different times
 * may see different things.
 *
 * Resuming is the default. A checkpoint of another job is refused with the keys that differ, because continuing it
 * would give weights that no job describes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../base/clock.h"
#include "../../../base/file.h"
#include "../../../base/text/strbuf.h"
#include "../../../base/text/yaml.h"
#include "keep.h"

/* ---- comparing two jobs ---- */

static bool is_free(const char *key, const char *const *free_keys)
{
    for (; free_keys && *free_keys; free_keys++)
        if (!strcmp(key, *free_keys)) return true;
    return false;
}

static void list_text(const tutti_yaml_node *n, tutti_strbuf *out)
{
    if (!n) {
        tutti_strbuf_puts(out, "absent");
    } else if (n->kind == TUTTI_YAML_SCALAR) {
        tutti_strbuf_puts(out, n->scalar[0] ? n->scalar : "''");
    } else {
        tutti_strbuf_puts(out, "[");
        for (const tutti_yaml_node *c = n->child; c; c = c->next) {
            list_text(c, out);
            if (c->next) tutti_strbuf_puts(out, ", ");
        }
        tutti_strbuf_puts(out, "]");
    }
}

typedef struct {
    const char *const *free_keys;
    tutti_strbuf words;
} comparison;

static void compare_values(comparison *c, const char *key, const tutti_yaml_node *there, const tutti_yaml_node *here)
{
    tutti_strbuf a = {0}, b = {0};
    list_text(there, &a);
    list_text(here, &b);
    if (strcmp(a.text, b.text) != 0 && !is_free(key, c->free_keys))
        tutti_strbuf_printf(&c->words, "%s%s is %s there, %s here", c->words.length ? "; " : "", key, a.text, b.text);
    tutti_strbuf_release(&a);
    tutti_strbuf_release(&b);
}

/* Compares all keys of `here`, then the keys that only `there` has. */
static void compare_maps(comparison *c, const char *prefix, const tutti_yaml_node *there, const tutti_yaml_node *here)
{
    for (int side = 0; side < 2; side++) {
        const tutti_yaml_node *map = side ? there : here, *other = side ? here : there;
        for (const tutti_yaml_node *n = map ? map->child : NULL; n; n = n->next) {
            const tutti_yaml_node *twin = other ? tutti_yaml_get(other, n->key) : NULL;
            if (side && twin) continue; /* this key was compared in the first pass */
            char *key = tutti_checkpoint_path("%s%s%s", prefix, prefix[0] ? "." : "", n->key);
            if (n->kind == TUTTI_YAML_MAP && (!twin || twin->kind == TUTTI_YAML_MAP))
                compare_maps(c, key, side ? n : twin, side ? twin : n);
            else
                compare_values(c, key, side ? n : twin, side ? twin : n);
            free(key);
        }
    }
}

char *tutti_jobs_differ(const char *there, const char *here, const char *const *free_keys)
{
    tutti_yaml *a = NULL, *b = NULL;
    comparison c = {.free_keys = free_keys};
    if (tutti_yaml_parse("there", there, strlen(there), &a, NULL) ||
        tutti_yaml_parse("here", here, strlen(here), &b, NULL))
        tutti_strbuf_puts(&c.words, "one of the jobs cannot be read");
    else
        compare_maps(&c, "", tutti_yaml_root(a), tutti_yaml_root(b));
    tutti_yaml_destroy(a);
    tutti_yaml_destroy(b);
    return c.words.length ? tutti_strbuf_detach(&c.words) : NULL;
}

/* ---- the folder ---- */

/* Fails because another process holds the lock. The message names the process's number if it is in the lock file
 * already. */
static tutti_status fail_locked(const char *dir, int fd, tutti_failure *err)
{
    char pid[24];
    const ssize_t n = pread(fd, pid, sizeof pid - 1, 0);
    pid[n > 0 ? n : 0] = '\0';
    pid[strspn(pid, "0123456789")] = '\0';
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s is in use by another run%s%s%s: wait for its end, or use another --out",
                      dir, pid[0] ? " (pid " : "", pid, pid[0] ? ")" : "");
}

/* True if the errno means a file system without locks: Lustre without the mount option flock, NFS without lockd, DVS,
 * some FUSE ones. The run goes on, because usually no other run uses its folder. */
static bool has_no_locks(int problem)
{
    return problem == ENOSYS || problem == ENOLCK || problem == EOPNOTSUPP || problem == EINVAL || problem == ENOTTY ||
           problem == EPROTONOSUPPORT;
}

/* Seconds to wait for the lock: rank 0 of the last epoch may still be ending, on another host. */
static const double EARLIER_EPOCH_S = 10;

static tutti_status lock_file(const tutti_train_config *c, const char *path, int fd, tutti_failure *err)
{
    const double until = tutti_clock_s() + (c->epoch > 1 ? EARLIER_EPOCH_S : 0);
    int rc;
    while ((rc = flock(fd, LOCK_EX | LOCK_NB)) != 0 &&
           (errno == EINTR || (errno == EWOULDBLOCK && tutti_clock_s() < until)))
        tutti_clock_sleep_s(0.002);
    if (rc == 0) return TUTTI_OK;
    if (errno == EWOULDBLOCK) return fail_locked(c->dir, fd, err);
    if (!has_no_locks(errno)) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: cannot lock: %s", path, strerror(errno));
    char *text = tutti_checkpoint_path(
        "the file system of %s has no locks (%s): two runs in this folder would not be kept apart", c->dir,
        strerror(errno));
    tutti_start_say(c, TUTTI_TRAIN_NOTE, text);
    free(text);
    return TUTTI_OK;
}

static tutti_status take_lock(const tutti_train_config *c, int *fd, tutti_failure *err)
{
    char *path = tutti_checkpoint_path("%s/lock", c->dir), pid[24];
    struct stat info;
    tutti_status st = TUTTI_OK;
    *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (*fd < 0 && errno == ELOOP) {
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: is a link; a lock is not written through one: remove it", path);
    } else if (*fd < 0 || fstat(*fd, &info) != 0) {
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: cannot open: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: is not a regular file: remove it", path);
    } else if ((st = lock_file(c, path, *fd, err))) {
        close(*fd);
        *fd = -1;
    } else {
        const int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
        if (ftruncate(*fd, 0) != 0)
            st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: cannot write: %s", path, strerror(errno));
        else
            st = tutti_file_write_all(*fd, path, pid, (size_t)n, err);
    }
    free(path);
    return st;
}

static tutti_status check_match(const char *path, const char *dir, const tutti_train_config *c, tutti_failure *err)
{
    char *job = NULL, *model = NULL, *renewed = NULL, *differ = NULL;
    tutti_status st = tutti_checkpoint_read_text(path, "job.yaml", &job, err);
    if (!st) st = tutti_checkpoint_read_text(path, "model.yaml", &model, err);
    if (!st && c->renew_job)
        renewed = c->renew_job(job); /* keys that the earlier version lacked had their default value */
    if (!st) differ = tutti_jobs_differ(renewed ? renewed : job, c->job_text, c->free_keys);
    if (differ)
        st =
            tutti_fail(err, TUTTI_ERR_USAGE,
                       "%s was trained by another job: %s; begin another run at its weights with --init %s and another "
                       "--out, or start over with --fresh",
                       dir, differ, dir);
    else if (!st && strcmp(model, c->model_text) != 0)
        st = tutti_fail(
            err, TUTTI_ERR_USAGE,
            "%s was trained with another model (%s/model.yaml); use another --out, or start over with --fresh", dir,
            path);
    free(job);
    free(model);
    free(renewed);
    free(differ);
    return st;
}

/* A resumed run must have the data that it began with: otherwise it would silently learn labels that mean other
 * classes, or other samples. */
static tutti_status check_data(const char *path, const tutti_train_config *c, tutti_failure *err)
{
    tutti_data_identity there = {0}, here = {0};
    bool found;
    char *differ = NULL;
    if (!c->data_text) return TUTTI_OK;
    tutti_status st = tutti_checkpoint_read_data(path, &there, &found, err);
    if (!st && found) st = tutti_data_identity_parse(c->data_text, &here, err);
    if (!st && found) differ = tutti_data_identity_differ(&there, &here, TUTTI_IDENTITY_ALL);
    if (!st && !found)
        tutti_start_say(c, TUTTI_TRAIN_NOTE,
                        "the checkpoint is of an earlier version, which kept nothing of the data: that they are the "
                        "same as before could not be looked at");
    if (differ)
        st = tutti_fail(err, TUTTI_ERR_DATA,
                        "%s: the data have changed since it was trained: %s; put the data back as they were, or use "
                        "another --out (--init %s begins there at these weights), or start over with --fresh",
                        c->dir, differ, path);
    free(differ);
    tutti_data_identity_release(&there);
    tutti_data_identity_release(&here);
    return st;
}

/* Reports that the run continues on another kind of device: a card and a processor add in different orders, canonical
 * sums included. Returns whether it was reported. */
static bool say_device(const tutti_manifest *m, const tutti_train_config *c)
{
    static const char *const names[TUTTI_NDEVICE_KINDS] = {"the cpu", "a CUDA card"};
    if (m->device == (int)c->device->kind) return false;
    char *text =
        tutti_checkpoint_path("resuming on %s, before on %s: sums are rounded in another order there, so that the "
                              "end is not bit for bit the same",
                              names[c->device->kind], names[m->device]);
    tutti_start_say(c, TUTTI_TRAIN_NOTE, text);
    free(text);
    return true;
}

/* Reports differences to the checkpoint's plan that are allowed: in ranks, threads, buckets or algorithms. Canonical
 * sums do not depend on them, so for these nothing is reported. */
static void say_plan(const char *path, const tutti_train_config *c)
{
    tutti_manifest m;
    if (tutti_manifest_read(path, &m, NULL) || say_device(&m, c)) return;
    if (c->plan->config.slots || m.plan_hash == tutti_plan_hash(c->plan)) return;
    char *text = tutti_checkpoint_path(
        "resuming by another plan (%d rank%s, before %d): where sums are rounded in another order "
        "the end is not bit for bit the same ('reduction: canonical' would make it so)",
        c->plan->config.nranks, c->plan->config.nranks == 1 ? "" : "s", m.nranks);
    tutti_start_say(c, TUTTI_TRAIN_NOTE, text);
    free(text);
}

static tutti_status write_job(const tutti_train_config *c, tutti_failure *err)
{
    char *path = tutti_checkpoint_path("%s/job.yaml", c->dir);
    tutti_status st = tutti_file_write_atomic(path, c->job_text, strlen(c->job_text), err);
    free(path);
    return st;
}

/* ---- rank 0 looks at the folder ---- */

/* Refuses a folder with checkpoints if kernels only wait (--pretend): such a run learns nothing, so it must neither
 * replace these checkpoints nor continue from them. */
static tutti_status refuse_to_pretend(const tutti_train_config *c, tutti_failure *err)
{
    char *path = NULL, *notes = NULL;
    tutti_status st = tutti_checkpoint_newest(c->dir, &path, &notes, err);
    if (!st && path)
        st = tutti_fail(
            err, TUTTI_ERR_USAGE,
            "%s holds checkpoints of a run that computed; one whose kernels only wait (--pretend) keeps none: "
            "give it another --out",
            c->dir);
    free(path);
    free(notes);
    return st;
}

/* True if the copy in memory is at least as new as every checkpoint, complete or not. */
static bool copy_is_newest(const char *dir, const tutti_start *start)
{
    tutti_checkpoint_entry *entries;
    int n;
    if (start->copied < 0 || tutti_checkpoint_list(dir, &entries, &n, NULL)) return false;
    const bool is_newest = n == 0 || entries[0].step <= start->copied;
    tutti_checkpoint_list_release(entries, n);
    return is_newest;
}

static tutti_status look(const tutti_train_config *c, tutti_start *out, tutti_failure *err)
{
    char *notes = NULL;
    tutti_status st = tutti_file_make_dir(c->dir, err);
    if (!st) st = take_lock(c, &out->lock_fd, err);
    if (!st && c->pretended) st = refuse_to_pretend(c, err);
    if (!st && c->fresh) st = tutti_start_look_at_init(c, out, err);
    if (!st && c->fresh) st = tutti_checkpoint_remove_all(c->dir, err);
    if (!st && !copy_is_newest(c->dir, out))
        st = tutti_checkpoint_newest_told(c->dir, &out->headway, &out->path, &notes, err);
    if (out->path) out->copied = -1;
    if (notes) tutti_start_say(c, TUTTI_TRAIN_NOTE, notes);
    if (!st && out->path) st = check_match(out->path, c->dir, c, err);
    if (!st && out->path) st = check_data(out->path, c, err);
    if (!st && out->path) st = tutti_checkpoint_refuse_bad(c->dir, out->path, err);
    if (!st && out->path) say_plan(out->path, c);
    if (!st && out->path) tutti_start_say_unread(c);
    if (!st && !tutti_start_resumes(out)) st = tutti_start_look_at_init(c, out, err);
    if (!st) tutti_start_say_init(c, out);
    if (!st) st = write_job(c, err);
    free(notes);
    return st;
}

/* ---- all ranks agree where to begin ---- */

typedef struct {
    int32_t status;
    int64_t copied;  /* step of the copy in memory to continue from; -1 = none */
    char path[1020]; /* the checkpoint to continue from; empty = begin at step 0 */
    char init_path[1020];
} decision;

static tutti_status put_path(char out[1020], const char *path, tutti_failure *err)
{
    if (path && strlen(path) >= sizeof((decision *)0)->path)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: the path is too long", path);
    if (path) memcpy(out, path, strlen(path) + 1);
    return TUTTI_OK;
}

static tutti_status decide(tutti_group *group, const tutti_train_config *config, tutti_start *out, decision *d,
                           tutti_failure *err)
{
    tutti_group_long_phase_begin(group, "looks where to start", "bytes of a file");
    tutti_status st = TUTTI_OK;
    out->copied = tutti_copies_newest(out->copies);
    if (config->dir) st = look(config, out, err);
    if (!st && !config->dir && out->copied < 0) st = tutti_start_look_at_init(config, out, err);
    if (!st && !config->dir) tutti_start_say_init(config, out);
    d->copied = out->copied;
    tutti_group_long_phase_end(group);
    if (!st) st = put_path(d->path, out->path, err);
    return st ? st : put_path(d->init_path, out->init_path, err);
}

tutti_status tutti_start_agree(tutti_group *group, const tutti_train_config *config, tutti_start *out,
                               tutti_failure *err)
{
    const tutti_plan *p = config->plan;
    *out = (tutti_start){
        .lock_fd = -1,
        .copied = -1,
        .headway = tutti_group_headway(group),
        .wanted = {p->graph->params, p->graph->nparams, config->plan->config.states, config->plan->config.nstates}};
    if (!config->dir && !config->init.from && config->copies <= 0) return TUTTI_OK;
    const bool looks = tutti_group_rank(group) == 0;
    decision d = {0};
    tutti_status st = tutti_copies_open(group, config, &out->copies, err);
    if (st) return st;
    if (looks) d.status = decide(group, config, out, &d, err);
    st = tutti_group_broadcast(group, "where to start", 0, &d, sizeof d, looks && d.status ? NULL : err);
    if (looks && d.status) return (tutti_status)d.status;
    if (st) return st;
    if (d.status) return tutti_fail(err, (tutti_status)d.status, "%s", "");
    out->copied = d.copied;
    if (!looks && d.path[0]) out->path = strdup(d.path);
    if (!looks && d.init_path[0]) out->init_path = strdup(d.init_path);
    return TUTTI_OK;
}

bool tutti_start_holds(const tutti_start *s, const char *dir)
{
    if (s->lock_fd < 0) return true;
    char *path = tutti_checkpoint_path("%s/lock", dir);
    const bool holds = tutti_file_is_there(s->lock_fd, path);
    free(path);
    return holds;
}

void tutti_start_release(tutti_start *s)
{
    if (s->lock_fd >= 0) close(s->lock_fd);
    tutti_copies_close(s->copies);
    free(s->path);
    free(s->init_path);
    tutti_init_destroy(s->init);
    *s = (tutti_start){.lock_fd = -1, .copied = -1};
}

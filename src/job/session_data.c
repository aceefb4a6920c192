/* SPDX-License-Identifier: Apache-2.0 */
/* session_data.c: opens the data sets of a job, once for each host, in memory that its ranks share. In a group the
 * lowest rank of each host, or of the ranks near one memory, draws, reads and decodes the samples for all these ranks.
 * A set that holds no bytes (pictures, decoded when they are asked for) is opened by each rank. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/host/memory_file.h"
#include "../collective/group/share.h"
#include "job_fields.h"
#include "session.h"

enum { LINE = 64 };

static tutti_status open_own(const tutti_job *job, tutti_session_data *d, tutti_failure *err)
{
    const tutti_dataset_config c = tutti_job_data_config(job);
    tutti_status st = tutti_dataset_open(&c, TUTTI_SPLIT_TRAIN, &d->train, err);
    return st ? st : tutti_dataset_open(&c, TUTTI_SPLIT_TEST, &d->test, err);
}

static void close_own(tutti_session_data *d)
{
    tutti_dataset_destroy(d->train);
    tutti_dataset_destroy(d->test);
    d->train = d->test = NULL;
}

/* --- training and test set in one block of memory --- */

typedef struct {
    size_t first_bytes, second_at;
} block_header;

static size_t second_at(const tutti_session_data *d)
{
    return LINE + (tutti_dataset_block_bytes(d->train) + LINE - 1) / LINE * LINE;
}

static size_t block_bytes(const tutti_session_data *d)
{
    const size_t second = d->train ? tutti_dataset_block_bytes(d->test) : 0;
    return second ? second_at(d) + second : 0;
}

static void fill_block(void *arg, void *block)
{
    const tutti_session_data *d = arg;
    *(block_header *)block = (block_header){tutti_dataset_block_bytes(d->train), second_at(d)};
    tutti_dataset_block_write(d->train, (char *)block + LINE);
    tutti_dataset_block_write(d->test, (char *)block + second_at(d));
}

static tutti_status open_block(const tutti_job *job, const char *at, size_t nbytes, tutti_session_data *d,
                               tutti_failure *err)
{
    const tutti_dataset_config c = tutti_job_data_config(job);
    const block_header h = *(const block_header *)(const void *)at;
    const size_t second = nbytes - h.second_at;
    tutti_status st = tutti_dataset_open_block(&c, TUTTI_SPLIT_TRAIN, at + LINE, h.first_bytes, &d->train, err);
    return st ? st : tutti_dataset_open_block(&c, TUTTI_SPLIT_TEST, at + h.second_at, second, &d->test, err);
}

/* --- sharing sets between the ranks of a host --- */

static tutti_status share(const tutti_job *job, tutti_group *group, const int32_t *memory_of, tutti_session_data *d,
                          tutti_failure *err)
{
    const size_t nbytes = tutti_group_ranks_here(group) > 1 ? block_bytes(d) : 0;
    tutti_status st = tutti_shared_bytes_create(
        group, memory_of, &(tutti_shared_wish){"data: samples", nbytes, fill_block, d}, &d->shared, err);
    if (st) return st;
    if (!tutti_shared_bytes_count(d->shared)) return d->train ? TUTTI_OK : open_own(job, d, err);
    close_own(d); /* closes the sets that a rank has opened to fill the block */
    return open_block(job, tutti_shared_bytes_at(d->shared), tutti_shared_bytes_count(d->shared), d, err);
}

tutti_status tutti_session_data_open(const tutti_job *job, tutti_group *group, const int32_t *memory_of,
                                     tutti_session_data *out, tutti_failure *err)
{
    tutti_session_data d = {0};
    const bool together = group && tutti_group_nranks(group) > 1;
    const bool makes = together && tutti_group_maker_among(group, memory_of) == tutti_group_rank(group);
    tutti_status st = !together || makes ? open_own(job, &d, err) : TUTTI_OK;
    if (together) {
        st = tutti_group_all_ready(group, "data: samples are made, once a memory", st, err);
        if (!st) st = share(job, group, memory_of, &d, err);
    }
    if (st)
        tutti_session_data_release(&d);
    else
        *out = d;
    return st;
}

/* --- a memory file that outlives the process --- */

enum { PAGE = 4096 };

/* The file begins with the number of bytes of its block, which follows after a page; 0: the block is not whole. */
typedef _Atomic uint64_t kept_head;

static tutti_status map_kept(int fd, size_t nbytes, tutti_session_data *d, tutti_failure *err)
{
    void *at = tutti_memory_file_map(fd, nbytes);
    if (!at)
        return tutti_fail(err, TUTTI_ERR_FAILED, "data: cannot map %zu bytes of samples: %s", nbytes, strerror(errno));
    d->kept = at;
    d->kept_bytes = nbytes;
    return TUTTI_OK;
}

/* Draws, reads or decodes the sets and writes them into the file. */
static tutti_status make_kept(const tutti_job *job, int fd, tutti_session_data *d, tutti_failure *err)
{
    const tutti_status st = open_own(job, d, err);
    const size_t nbytes = st ? 0 : block_bytes(d);
    if (st || !nbytes) return st;
    d->kept = tutti_memory_file_grow(fd, PAGE + nbytes);
    if (!d->kept)
        return tutti_fail(err, TUTTI_ERR_FAILED, "data: no %zu bytes for samples: %s", nbytes, strerror(errno));
    d->kept_bytes = PAGE + nbytes;
    fill_block(d, (char *)d->kept + PAGE);
    atomic_store((kept_head *)d->kept, nbytes);
    return TUTTI_OK;
}

static tutti_status open_kept(const tutti_job *job, int fd, bool makes, tutti_session_data *d, tutti_failure *err)
{
    struct stat now = {0};
    tutti_status st = TUTTI_OK;
    if (fstat(fd, &now) == 0 && now.st_size > PAGE) st = map_kept(fd, (size_t)now.st_size, d, err);
    if (st) return st;
    if (!d->kept || !atomic_load((kept_head *)d->kept)) {
        if (d->kept) munmap(d->kept, d->kept_bytes), d->kept = NULL;
        st = makes ? make_kept(job, fd, d, err) : open_own(job, d, err);
    }
    if (st || !d->kept) return st; /* sets that hold no bytes are open now */
    close_own(d);
    return open_block(job, (char *)d->kept + PAGE, atomic_load((kept_head *)d->kept), d, err);
}

tutti_status tutti_session_data_open_kept(const tutti_job *job, tutti_group *group, int fd, tutti_session_data *out,
                                          tutti_failure *err)
{
    const bool makes = tutti_group_rank(group) == 0;
    tutti_status st = makes && !out->train ? open_kept(job, fd, true, out, err) : TUTTI_OK;
    st = tutti_group_all_ready(group, "data: samples are made, once a host", st, err);
    if (!st && !out->train) st = open_kept(job, fd, false, out, err);
    if (st) tutti_session_data_release(out);
    return st;
}

void tutti_session_data_release(tutti_session_data *d)
{
    close_own(d);
    if (d->kept) munmap(d->kept, d->kept_bytes);
    tutti_shared_bytes_destroy(d->shared);
    *d = (tutti_session_data){0};
}

int64_t tutti_session_data_bytes(const tutti_session_data *d)
{
    return (int64_t)block_bytes(d);
}

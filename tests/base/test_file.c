/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c: whole files in and out, folders made and removed. Each test has a folder of its own. */
#include "testing.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text/strbuf.h"

static int make_folder(void **state)
{
    const char *parent = getenv("TMPDIR");
    tutti_strbuf path = {0};
    tutti_strbuf_printf(&path, "%s/tutti-test-XXXXXX", parent ? parent : "/tmp");
    *state = tutti_strbuf_detach(&path);
    return mkdtemp(*state) ? 0 : -1;
}

static int remove_folder(void **state)
{
    tutti_status status = tutti_file_remove_tree(*state, NULL);
    free(*state);
    return (int)status;
}

static char *inside(void **state, const char *name)
{
    tutti_strbuf path = {0};
    tutti_strbuf_printf(&path, "%s/%s", (char *)*state, name);
    return tutti_strbuf_detach(&path);
}

static void what_was_written_is_read_back(void **state)
{
    char *path = inside(state, "a"), *bytes = NULL;
    size_t n = 0;
    tutti_failure err = {0};
    assert_int_equal(tutti_file_write_atomic(path, "x\0y", 3, &err), TUTTI_OK);
    assert_int_equal(tutti_file_write_atomic(path, "p\0qr", 4, &err), TUTTI_OK);
    assert_int_equal(tutti_file_read(path, 4, TUTTI_ERR_DATA, &bytes, &n, &err), TUTTI_OK);
    assert_int_equal(n, 4);
    assert_memory_equal(bytes, "p\0qr", 5);
    free(bytes);
    free(path);
}

typedef struct {
    int64_t n, done, total;
    bool goes_on;
} heard;

static bool hear(void *arg, int64_t done, int64_t total)
{
    heard *h = arg;
    h->goes_on = h->goes_on && done > h->done && done <= total;
    h->n++, h->done = done, h->total = total;
    return true;
}

/* Of 3 bytes, of just a piece of 16 MiB, and of 2.5 of them. */
static void who_asks_hears_of_each_piece(void **state)
{
    static const size_t sizes[] = {3, (size_t)16 << 20, (size_t)40 << 20};
    static const int64_t pieces[] = {1, 1, 3};
    char *path = inside(state, "large");
    tutti_failure err = {0};
    for (int i = 0; i < 3; i++) {
        heard there = {.goes_on = true}, back = there;
        const tutti_headway writes = {hear, &there}, reads = {hear, &back};
        const tutti_file_wish wish = {path, sizes[i], TUTTI_ERR_DATA, &reads};
        char *bytes = malloc(sizes[i]), *read;
        size_t n = 0;
        memset(bytes, 'a' + i, sizes[i]);
        assert_int_equal(tutti_file_write_told(path, bytes, sizes[i], &writes, &err), TUTTI_OK);
        assert_int_equal(tutti_file_read_told(&wish, &read, &n, &err), TUTTI_OK);
        assert_int_equal(n, sizes[i]);
        assert_memory_equal(read, bytes, n);
        assert_true(there.goes_on && back.goes_on && back.n >= pieces[i]);
        assert_int_equal(there.n, pieces[i]);
        assert_int_equal(there.done, sizes[i]);
        assert_int_equal(there.total, sizes[i]);
        free(read), free(bytes);
    }
    free(path);
}

static void a_file_larger_than_allowed_has_the_status_asked_for(void **state)
{
    char *path = inside(state, "a"), *bytes = NULL;
    size_t n = 0;
    tutti_failure err = {0};
    assert_int_equal(tutti_file_write_atomic(path, "12345", 5, &err), TUTTI_OK);
    assert_int_equal(tutti_file_read(path, 4, TUTTI_ERR_USAGE, &bytes, &n, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "larger than 4 bytes"));
    assert_null(bytes);
    free(path);
}

static void a_missing_file_has_the_status_asked_for(void **state)
{
    char *path = inside(state, "none"), *bytes = NULL;
    size_t n = 0;
    tutti_failure err = {0};
    assert_int_equal(tutti_file_read(path, 4, TUTTI_ERR_USAGE, &bytes, &n, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "none: cannot open: No such file"));
    free(path);
}

/* Opening the one would wait for a writer, reading the other would never end. */
static void what_is_no_regular_file_is_refused_without_waiting(void **state)
{
    char *path = inside(state, "it"), *bytes = NULL;
    size_t n = 0;
    tutti_failure err = {0};
    const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "it"};
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(tutti_file_read(path, 9, TUTTI_ERR_USAGE, &bytes, &n, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "it: is a named pipe; a regular file is wanted"));
    assert_int_equal(tutti_file_read(*state, 9, TUTTI_ERR_DATA, &bytes, &n, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, ": is a folder; a regular file is wanted"));
    assert_int_equal(tutti_file_read("/dev/zero", 9, TUTTI_ERR_DATA, &bytes, &n, &err), TUTTI_ERR_DATA);
    assert_string_equal(err.text, "/dev/zero: is a device; a regular file is wanted");
    assert_int_equal(unlink(path), 0);
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0), here = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(*state), 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(tutti_file_read("it", 9, TUTTI_ERR_DATA, &bytes, &n, &err), TUTTI_ERR_DATA);
    assert_string_equal(err.text, "it: cannot open: No such device or address");
    assert_int_equal(fchdir(here), 0);
    close(here);
    close(listener);
    free(path);
}

/* Standard input and a shell's <(command): whoever writes is there already. */
static void a_pipe_without_a_name_is_read_to_its_end(void **state)
{
    (void)state;
    int ends[2];
    char path[32], *bytes;
    size_t n;
    tutti_failure err = {0};
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(tutti_file_read(path, 9, TUTTI_ERR_DATA, &bytes, &n, &err), TUTTI_OK);
    assert_string_equal(bytes, "abc");
    free(bytes);
    close(ends[0]);
}

/* What a failed write leaves of the file there is all of it, behind a link too. */
static void a_write_that_fails_changes_nothing(void **state)
{
    char *kept = inside(state, "kept"), *link = inside(state, "link"), *bytes;
    size_t n;
    struct rlimit before;
    tutti_failure err = {0};
    assert_int_equal(tutti_file_write_atomic(kept, "before", 6, &err), TUTTI_OK);
    assert_int_equal(symlink("kept", link), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){2, before.rlim_max}), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tutti_file_write_atomic(i ? link : kept, "after", 5, &err), TUTTI_ERR_FAILED);
        assert_non_null(strstr(err.text, "/kept.tmp."));
        assert_non_null(strstr(err.text, "cannot write: File too large"));
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(tutti_file_read(link, 9, TUTTI_ERR_DATA, &bytes, &n, &err), TUTTI_OK);
    assert_string_equal(bytes, "before");
    free(bytes);
    free(kept);
    free(link);
}

static void writing_into_a_missing_folder_names_it_and_leaves_nothing(void **state)
{
    char *path = inside(state, "no/such");
    tutti_failure err = {0};
    assert_int_equal(tutti_file_write_atomic(path, "x", 1, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "no/such"));
    assert_int_equal(rmdir(*state), 0); /* still empty */
    assert_int_equal(tutti_file_make_dir(*state, &err), TUTTI_OK);
    free(path);
}

static void a_link_stays_and_its_file_is_written(void **state)
{
    char *kept = inside(state, "kept"), *link = inside(state, "link"), *bytes;
    size_t n;
    struct stat info;
    tutti_failure err = {0};
    assert_int_equal(tutti_file_write_atomic(kept, "before", 6, &err), TUTTI_OK);
    assert_int_equal(symlink(kept, link), 0);
    assert_int_equal(tutti_file_write_atomic(link, "now", 3, &err), TUTTI_OK);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(tutti_file_read(kept, 10, TUTTI_ERR_FAILED, &bytes, &n, &err), TUTTI_OK);
    assert_string_equal(bytes, "now");
    free(bytes);
    free(kept);
    free(link);
}

static void a_pipe_is_written_into(void **state)
{
    char *path = inside(state, "pipe"), got[4] = {0};
    struct stat info;
    tutti_failure err = {0};
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(tutti_file_write_atomic(path, "now", 3, &err), TUTTI_OK);
    assert_int_equal(read(fd, got, 3), 3);
    assert_string_equal(got, "now");
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    close(fd);
    free(path);
}

static void a_named_pipe_that_nobody_reads_is_refused_without_waiting(void **state)
{
    char *path = inside(state, "pipe");
    tutti_failure err = {0};
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(tutti_file_write_atomic(path, "now", 3, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "/pipe: is a named pipe that nobody reads"));
    free(path);
}

static void what_was_taken_away_is_noticed(void **state)
{
    char *path = inside(state, "a"), *away = inside(state, "b");
    int fd;
    tutti_failure err = {0};
    assert_int_equal(tutti_file_open_to_write(path, O_CREAT, &fd, &err), TUTTI_OK);
    assert_true(tutti_file_is_there(fd, path));
    assert_int_equal(rename(path, away), 0);
    assert_false(tutti_file_is_there(fd, path));
    assert_true(tutti_file_is_there(fd, away));
    assert_int_equal(tutti_file_write_atomic(path, "another", 7, &err), TUTTI_OK);
    assert_false(tutti_file_is_there(fd, path));
    close(fd);
    free(path);
    free(away);
}

static void folders_are_made_with_their_parents_and_removed_whole(void **state)
{
    char *deep = inside(state, "d/e/f"), *file = inside(state, "d/e/f/g"), *top = inside(state, "d");
    tutti_failure err = {0};
    assert_int_equal(tutti_file_make_dir(deep, &err), TUTTI_OK);
    assert_int_equal(tutti_file_make_dir(deep, &err), TUTTI_OK);
    assert_int_equal(tutti_file_write_atomic(file, "x", 1, &err), TUTTI_OK);
    assert_int_equal(tutti_file_make_dir(file, &err), TUTTI_ERR_FAILED);
    assert_int_equal(tutti_file_remove_tree(top, &err), TUTTI_OK);
    assert_int_not_equal(access(top, F_OK), 0);
    assert_int_equal(tutti_file_remove_tree(top, &err), TUTTI_OK);
    free(deep);
    free(file);
    free(top);
}

static void removal_does_not_follow_links(void **state)
{
    char *kept = inside(state, "kept"), *file = inside(state, "kept/file"), *gone = inside(state, "gone"),
         *link = inside(state, "gone/link");
    tutti_failure err = {0};
    assert_int_equal(tutti_file_make_dir(kept, &err), TUTTI_OK);
    assert_int_equal(tutti_file_make_dir(gone, &err), TUTTI_OK);
    assert_int_equal(tutti_file_write_atomic(file, "x", 1, &err), TUTTI_OK);
    assert_int_equal(symlink(kept, link), 0);
    assert_int_equal(tutti_file_remove_tree(gone, &err), TUTTI_OK);
    assert_int_equal(access(file, F_OK), 0);
    free(kept);
    free(file);
    free(gone);
    free(link);
}

static void the_folder_of_a_path_is_its_part_before_the_last_slash(void **state)
{
    (void)state;
    const char *cases[][2] = {{"job.yaml", "."}, {"a/b/../job.yaml", "a/b/.."}, {"/job.yaml", "/"}, {"/a/b", "/a"}};
    for (int i = 0; i < 4; i++) {
        char *folder = tutti_file_folder(cases[i][0]);
        assert_string_equal(folder, cases[i][1]);
        free(folder);
    }
}

#define TEST_WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_FOLDER(what_was_written_is_read_back),
        TEST_WITH_FOLDER(who_asks_hears_of_each_piece),
        TEST_WITH_FOLDER(a_file_larger_than_allowed_has_the_status_asked_for),
        TEST_WITH_FOLDER(a_missing_file_has_the_status_asked_for),
        TEST_WITH_FOLDER(what_is_no_regular_file_is_refused_without_waiting),
        cmocka_unit_test(a_pipe_without_a_name_is_read_to_its_end),
        TEST_WITH_FOLDER(a_write_that_fails_changes_nothing),
        TEST_WITH_FOLDER(writing_into_a_missing_folder_names_it_and_leaves_nothing),
        TEST_WITH_FOLDER(a_link_stays_and_its_file_is_written),
        TEST_WITH_FOLDER(a_pipe_is_written_into),
        TEST_WITH_FOLDER(a_named_pipe_that_nobody_reads_is_refused_without_waiting),
        TEST_WITH_FOLDER(what_was_taken_away_is_noticed),
        TEST_WITH_FOLDER(folders_are_made_with_their_parents_and_removed_whole),
        TEST_WITH_FOLDER(removal_does_not_follow_links),
        cmocka_unit_test(the_folder_of_a_path_is_its_part_before_the_last_slash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

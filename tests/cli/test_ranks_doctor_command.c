/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_doctor_command.c: `tutti doctor` in surroundings that are made for it: launchers, limits, programs, ports,
 * folders, containers. */
#include "testing.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "command_folder.h"

/* Variables that the tests set; a launcher around the tests must not be found either. */
static const char *const variables[] = {"RANK",          "WORLD_SIZE",          "MASTER_ADDR",
                                        "MASTER_PORT",   "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE",
                                        "PMIX_RANK",     "TUTTI_PMIX_LIBRARY",  "PMI_RANK",
                                        "PMI_SIZE",      "SLURM_STEP_ID",       "SLURM_PROCID",
                                        "TUTTI_ISA",     "TUTTI_WIRE",          "SLURM_STEP_NUM_TASKS",
                                        "SLURM_JOB_ID",  "OMP_THREAD_LIMIT",    "TUTTI_NET_IF",
                                        "TUTTI_CMA",     "TUTTI_DEADLINE_S",    "TUTTI_UCX_LIBRARY",
                                        "TUTTI_TOPOLOGY"};

static int forget_variables(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    return 0;
}

/* Returns the text that a shell's line prints on both streams. The line runs the program behind the words `before`; `$`
 * is the folder. */
static char *under(const char *before, const char *arguments, int *code)
{
    tutti_strbuf line = {0};
    char *first = in_folder(before), *rest = in_folder(arguments);
    tutti_strbuf_printf(&line, "help >/dev/null; cd /; %s '%s' doctor %s 2>&1", first, TUTTI_PROGRAM, rest);
    char *text = command_run(line.text, code);
    free(first), free(rest);
    tutti_strbuf_release(&line);
    return text;
}

/* Runs the command in the made folder; it must end with the code. `wanted` has one or several lines behind each other,
 * without the blanks between columns: "bad port rank 0 cannot listen". */
static void doctor(const char *before, int code, const char *wanted)
{
    int got;
    char *text = under(before, "--folder $", &got), *to = text;
    for (const char *from = text; *from; from++) {
        const bool is_blank = *from == ' ' || *from == '\n';
        if (!is_blank || (to > text && to[-1] != ' ')) *to++ = is_blank ? ' ' : *from;
    }
    *to = '\0';
    if (got != code || !strstr(text, wanted))
        fail_msg("%s: exit code %d, expected %d and \"%s\"\n%s", before, got, code, wanted, text);
    free(text);
}

static void the_whole_takes_less_than_three_seconds_and_ends_with_0(void **state)
{
    (void)state;
    static const char *const names[] = {
        "processor",     "cores",        "memory",       "huge pages", "clock",  "figures",  "open files", "processes",
        "locked memory", "core files",   "other limits", "launcher",   "port",   "programs", "PMIx",       "Slurm",
        "interfaces",    "wire",         "UCX",          "/dev/shm",   "oneDNN", "threads",  "lenet",      "alexnet",
        "peer memory",   "instructions", "resnet50",     "cards",      "folder", "fsync"};
    const double begin = tutti_clock_s();
    char *text = says("doctor --folder $", 0, "\nstorage\n");
    const double took = tutti_clock_s() - begin;
    if (took >= 3 && !TESTING_SANITIZED) fail_msg("it took %.3g s", took);
    assert_non_null(strstr(text, " 0 bad\n"));
    assert_non_null(strstr(text, "conv by ")); /* the candidates of a family */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char column[40];
        snprintf(column, sizeof column, "  %-13s  ", names[i]);
        if (!strstr(text, column) && strcmp(names[i], "cards") != 0) fail_msg("no line of %s in\n%s", names[i], text);
    }
    free(text);
}

static void json_has_a_remedy_for_each_line_that_is_not_ok(void **state)
{
    (void)state;
    int code;
    char *text = under("ulimit -f 1000000;", "--json --folder $", &code);
    cJSON *root = cJSON_Parse(text), *all = cJSON_GetObjectItem(root, "checks");
    assert_int_equal(code, 0);
    assert_true(cJSON_GetArraySize(all) >= 25);
    int nnotes = 0;
    for (const cJSON *c = all->child; c; c = c->next) {
        const char *name = cJSON_GetObjectItem(c, "name")->valuestring,
                   *how = cJSON_GetObjectItem(c, "state")->valuestring;
        const cJSON *remedy = cJSON_GetObjectItem(c, "remedy");
        assert_true(cJSON_GetObjectItem(c, "found")->valuestring[0] != '\0');
        assert_true(!strcmp(how, "ok") || !strcmp(how, "note"));
        if (cJSON_IsNull(remedy) != !strcmp(how, "ok"))
            fail_msg("%s: %s with remedy %s", name, how, remedy->valuestring);
        if (!cJSON_IsNull(remedy)) assert_int_equal(remedy->valuestring[strlen(remedy->valuestring) - 1], '.');
        for (const cJSON *other = c->next; other; other = other->next)
            assert_string_not_equal(name, cJSON_GetObjectItem(other, "name")->valuestring);
        nnotes += !strcmp(how, "note");
    }
    assert_true(nnotes >= 1); /* the limit of a file */
    cJSON_Delete(root);
    free(text);
}

static void the_launcher_is_named_with_its_reason(void **state)
{
    (void)state;
    doctor("", 0, "ok launcher none: no launcher's variables are set");
    doctor(
        "RANK=0 WORLD_SIZE=2 MASTER_PORT=29777", 0,
        "ok launcher a script or a user, because RANK and WORLD_SIZE are set; this is rank 0 of 2 ok port port 29777 "
        "is free");
    doctor(
        "TORCHELASTIC_RUN_ID=a RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1", 0,
        "ok launcher torchrun, because RANK and WORLD_SIZE are set; this is rank 1 of 2 ok port rank 0 is at 127.0.0.1 "
        "port 29500");
    doctor("RANK=1", 1,
           "bad launcher environment: RANK is set but WORLD_SIZE is not: set both or neither -> Correct the "
           "variable, or leave the launcher by 'unset RANK WORLD_SIZE'.");
    doctor("TUTTI_DEADLINE_S=soon", 1,
           "bad launcher environment: TUTTI_DEADLINE_S='soon' is not a number of seconds -> "
           "Correct the variable.");
    doctor("PMI_RANK=1 PMI_SIZE=4", 1,
           "bad launcher started as rank 1 of 4 by a launcher with PMI-1 (mpiexec of MPICH or "
           "Intel), which has not told where rank 0 is -> Use mpirun of Open MPI");
    doctor("SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4", 1,
           "bad launcher started as rank 3 of 4 by srun without PMIx");
    doctor("PMIX_NAMESPACE=a PMIX_RANK=3 TUTTI_PMIX_LIBRARY=/nowhere", 1, "bad PMIx");
}

static void a_port_that_is_taken_is_named(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char before[120], wanted[120];
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    snprintf(before, sizeof before, "RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=%d",
             ntohs(address.sin_port));
    snprintf(wanted, sizeof wanted, "bad port rank 0 cannot listen on 127.0.0.1 port %d: Address already in use",
             ntohs(address.sin_port));
    doctor(before, 1, wanted);
    close(fd);
    doctor("RANK=1 WORLD_SIZE=2 MASTER_ADDR=nowhere.invalid", 1,
           "bad port MASTER_ADDR 'nowhere.invalid' is unknown here");
}

/* Makes a program of $/bin that a shell runs. */
static void make_program(const char *name, const char *body)
{
    char *path = in_folder("$/bin/"), whole[128];
    tutti_failure err = {0};
    snprintf(whole, sizeof whole, "%.100s%.20s", path, name);
    assert_int_equal(tutti_file_make_dir(path, &err), TUTTI_OK);
    assert_int_equal(tutti_file_write_atomic(whole, body, strlen(body), &err), TUTTI_OK);
    assert_int_equal(chmod(whole, 0755), 0);
    free(path);
}

static void programs_of_the_path_are_asked(void **state)
{
    (void)state;
    doctor("PATH=/nowhere", 0, "ok programs in PATH: none; missing: mpirun, srun, sbatch, torchrun");
    doctor("PATH=/nowhere", 0, "ok Slurm not here: srun is not in PATH");
    doctor("PATH=/nowhere SLURM_JOB_ID=17", 0, "note Slurm this process is in job 17, but srun is not in PATH -> Add");
    make_program("mpirun", "#!/bin/sh\necho 'mpirun (Open MPI) 9.8.7'\n");
    make_program(
        "srun",
        "#!/bin/sh\ncase $1 in --version) echo slurm 99.1;; *) echo 'MPI plugin types are'; echo pmix;; esac\n");
    doctor("SLURM_JOB_ID=17 SLURM_JOB_NODELIST=node[1-2] PATH=$/bin", 0,
           "ok Slurm slurm 99.1, with PMIx; this process is in job 17 on node[1-2]");
    doctor("PATH=$/bin", 0, "in PATH: mpirun (Open MPI) 9.8.7, srun; missing: sbatch, torchrun");
    make_program("srun", "#!/bin/sh\ncase $1 in --version) echo slurm 99.1;; *) echo none;; esac\n");
    doctor("PATH=$/bin", 0, "note Slurm slurm 99.1, without PMIx; this process is in no job -> Install Slurm's plugin");
    make_program("srun", "#!/bin/sh\necho first; echo 'srun: fatal: no cluster' >&2; exit 1\n");
    doctor("PATH=$/bin", 0, "note Slurm srun is in PATH, but says 'srun: fatal: no cluster' -> If");
    make_program("srun", "#!/bin/sh\nexec /bin/sleep 30\n");
    const double begin = tutti_clock_s();
    doctor("PATH=$/bin", 0, "note Slurm srun is in PATH, but says 'no answer within half a second'");
    assert_true(tutti_clock_s() - begin < 10);
}

static void limits_are_named(void **state)
{
    (void)state;
    doctor("ulimit -n 28;", 1,
           "bad open files 28 files may be open (ulimit -Hn), enough for 1 rank on this host -> Raise");
    doctor("ulimit -n 100;", 0, "note open files 100 files may be open (ulimit -Hn), enough for 25 ranks");
    doctor("ulimit -f 1048576; ulimit -t 600;", 0,
           "note other limits a rank has limits that may end it: size of a file (ulimit -f): 512 MiB, seconds of "
           "processor time (ulimit -t): 600 -> Remove");
    doctor("ulimit -c 0;", 0, "ok core files a crash leaves no core file");
}

static void variables_that_would_end_a_run_are_bad(void **state)
{
    (void)state;
    doctor("TUTTI_WIRE=pigeon", 1, "bad wire TUTTI_WIRE='pigeon' is not a wire");
    doctor("TUTTI_NET_PORTS=high", 1, "bad wire environment: TUTTI_NET_PORTS: 'high' is not a range of ports");
    doctor("TUTTI_NET_PORTS=40000-40099", 0, "tcp listens on ports 40000-40099 (TUTTI_NET_PORTS) ");
    doctor("TUTTI_NET_IF=eth99", 1, "bad interfaces TUTTI_NET_IF='eth99': no such interface is up here");
    doctor("TUTTI_WIRE=ucx TUTTI_UCX_LIBRARY=/nowhere", 1, "bad UCX ");
    doctor("TUTTI_CMA=off", 0, "ok peer memory TUTTI_CMA=off");
}

static void the_folder_is_examined_and_left_as_it_was(void **state)
{
    (void)state;
    char path[80];
    check("doctor --folder $/later/run", 0, "/later/run (it will be made): ");
    snprintf(path, sizeof path, "%s/later", dir);
    assert_int_not_equal(access(path, F_OK), 0);
    DIR *folder = opendir(dir);
    for (const struct dirent *e; (e = readdir(folder));)
        if (!strncmp(e->d_name, ".tutti", 6)) fail_msg("%s is left", e->d_name);
    closedir(folder);
    put("file", "words");
    check("doctor --folder $/file", 1, "/file is no folder");
    check("doctor --folder ''", 2, "--folder");
    check("doctor --folder $ extra", 2, "extra");
    check("doctor --folder $", 0, "KiB are safe after");
}

static void it_works_in_containers(void **state)
{
    (void)state;
    if (system("unshare -mn sh -c 'mount -t tmpfs none /sys' 2>/dev/null") != 0) skip();
    doctor("unshare -n", 0, "note interfaces none is up: only ranks of this host can be reached -> For");
    make_program("masked",
                 "#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs none /sys && exec \"$0\" \"$@\"' \"$@\"\n");
    doctor("$/bin/masked", 0, "(clock source: not shown)");
}

static void it_works_for_any_user(void **state)
{
    (void)state;
    if (geteuid() != 0 || system("setpriv --reuid 64321 --clear-groups true 2>/dev/null") != 0) skip();
    assert_int_equal(chmod(dir, 0777), 0);
    doctor("setpriv --reuid 64321 --clear-groups", 0, " 0 bad");
    assert_int_equal(chmod(dir, 0755), 0);
    doctor("setpriv --reuid 64321 --clear-groups", 1, "Permission denied -> Choose a folder");
}

#define TEST(name) cmocka_unit_test_setup(name, forget_variables)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_whole_takes_less_than_three_seconds_and_ends_with_0),
        TEST(json_has_a_remedy_for_each_line_that_is_not_ok),
        TEST(the_launcher_is_named_with_its_reason),
        TEST(a_port_that_is_taken_is_named),
        TEST(programs_of_the_path_are_asked),
        TEST(limits_are_named),
        TEST(variables_that_would_end_a_run_are_bad),
        TEST(the_folder_is_examined_and_left_as_it_was),
        TEST(it_works_in_containers),
        TEST(it_works_for_any_user),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_drop);
}

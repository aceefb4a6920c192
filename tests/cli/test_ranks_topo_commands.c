/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_topo_commands.c: `tutti topo` as a user types it. */
#include "testing.h"

#include <dlfcn.h>
#include <unistd.h>

#include "command_line.h"
#include "cuda/fakenvml/machine.h"

static void every_key_of_a_kind_is_a_flag(void **state)
{
    (void)state;
    expect("topo make star --bw 10Gb --lat=5us", 0, "star,bw=1.25GB,lat=5us,soft=500ns,add=10GB\n");
    expect("topo make cluster --ranks 4 --hosts 2", 0, "cluster,hosts=2,ranks=4,");
    expect("topo make dgx1v,gpus=0.1 --wires nvlink", 0, "dgx1v,gpus=0.1,wires=nvlink,nvlink=20GB,");
    expect("topo make dgx1v --describe", 0, "NCCL's topology code]");
    expect("topo make dgx1v --describe", 0, "gpu0>gpu3");
    expect("topo make --help", 0, "switches hosts bw up lat hop soft add place");
    expect("topo make torus --bw 10", 2, "bw=10Gb");
    expect("topo make stra", 2, "did you mean 'star'");
}

static void what_make_prints_is_taken_by_bounds_and_explain(void **state)
{
    (void)state;
    char *text = command_says("topo make bigraph --place parity", 0, ""), command[400];
    text[strcspn(text, "\n")] = '\0';
    snprintf(command, sizeof command, "topo bounds %s --bytes 1MB", text);
    expect(command, 0, "L6 trees      exact");
    snprintf(command, sizeof command, "coll explain --topology %s --ranks 32 --bytes 1MB", text);
    expect(command, 0, "If switches added");
    free(text);
}

static void pictures_are_drawn_without_other_programs(void **state)
{
    (void)state;
    expect("topo make dgx1v --svg -", 0, "</svg>");
    expect("topo make torus --dot -", 0, "[label=\"0.0.0\\nrank 0\" shape=box]");
    expect("topo make fat-tree --seated 3 --svg -", 0, "rank 2");
    expect("topo make host --svg -", 2, "no links between ranks");
}

static void this_machine_is_detected(void **state)
{
    (void)state;
    expect("topo detect", 0, "host,bw=");
    expect("topo detect --describe", 0, "this machine\n  cores");
    expect("topo detect now", 2, "unexpected argument 'now'");
}

/* Each of two ranks has a card, by a driver's library that is a fake (tests/cuda/fakenvml): from the line to trees. */
static void cards_are_detected_and_their_line_is_taken(void **state)
{
    (void)state;
    char path[NVML_PATH], command[600];
    nvml_machine("cards 2\nname NVIDIA A100\ncompute 8 0\npcie 4 16\nlevel 0 1 40\npair 0 1 4\nnowhere 1 1\n", path);
    setenv("TUTTI_NVML_LIBRARY", FAKE_NVML_LIBRARY, 1);
    int code;
    char *text = command_run("topo detect --cards 2>/dev/null", &code);
    assert_int_equal(code, 0);
    text[strcspn(text, "\n")] = '\0';
    expect("topo detect --cards", 0, "1 NVLinks of card 1 lead to no card");
    expect("topo detect --cards --describe", 0, "mesh     0-1x4          detected");
    expect("topo detect --describe", 0, "card 0    NVIDIA A100 at 0000:10:00, sm_80, PCIe 4 x16, 4 NVLinks to 1\n");
    expect("topo detect", 0, "host,bw=");
    snprintf(command, sizeof command, "coll pack %s", text);
    expect(command, 0, "80 GB/s on ");
    snprintf(command, sizeof command, "coll explain --topology %s --ranks 2 --bytes 1MB", text);
    expect(command, 0, "trees");
    snprintf(command, sizeof command, "coll check trees --ranks 2 --topology %s", text);
    expect(command, 0, "");
    free(text);
    setenv("TUTTI_NVML_LIBRARY", "/nonexistent/nvml", 1);
    expect("topo detect --describe", 0, "card      unknown: /nonexistent/nvml");
    expect("topo detect --cards", 1, "set TUTTI_NVML_LIBRARY to where");
    expect("topo detect --cards --cores 2", 2, "--cores is not of cards");
    unsetenv("TUTTI_NVML_LIBRARY");
    unlink(path);
}

/* Without a word of ours the system's loader is asked; where it knows of no such library, nothing is said of cards. */
static void the_library_of_the_driver_is_the_loaders_to_find(void **state)
{
    (void)state;
    const char *paths = getenv("LD_LIBRARY_PATH");
    char *before = strdup(paths ? paths : ""), path[NVML_PATH], folder[400];
    if (!dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) { /* no driver here */
        expect("topo detect --cards", 1, "there is no libnvidia-ml.so.1");
        char *text = command_says("topo detect --describe", 0, "this machine");
        assert_null(strstr(text, "\n  card"));
        free(text);
    }
    nvml_machine("cards 1\nname NVIDIA H200\ncompute 9 0\npcie 5 16\n", path);
    snprintf(folder, sizeof folder, "%s", FAKE_NVML_LIBRARY);
    *strrchr(folder, '/') = '\0';
    setenv("LD_LIBRARY_PATH", folder, 1);
    expect("topo detect --cards", 0, "cards,gpus=0,sockets=1,switches=1,slots=1,pcie=48GB,");
    setenv("LD_LIBRARY_PATH", before, 1);
    free(before);
    unlink(path);
}

static void bounds_say_what_stands_in_the_way(void **state)
{
    (void)state;
    expect("topo bounds dgx1v,wires=nvlink", 0, "L3 partition  exact          1.458 ms");
    expect("topo bounds dgx1v,wires=nvlink --collective broadcast", 0, "L5 broadcast  exact          833.3 us");
    expect("topo bounds dgx1v --json", 0, "\"kind\":\"exact\"");
    expect("topo bounds host --ranks 4", 0, "a host has no links between ranks");
    expect("topo bounds dgx1v --ranks 9", 2, "1 to 8 ranks");
    expect("topo bounds dgx1v --collective sum", 2, "--collective 'sum'");
    expect("topo bounds", 2, "one topology is wanted");
}

static void maps_are_shown_with_load_and_bound(void **state)
{
    (void)state;
    expect("topo map bigraph --swaps 1000", 0, "x bound");
    expect("topo map bigraph --swaps 1000", 0, "place=0.16.20.4"); /* parity mapping */
    expect("topo map", 2, "one topology is wanted");
    expect("topo map bigraph --algorithm rign", 2, "did you mean 'ring'?");
    expect("topo map host", 2, "have seats to choose");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_a_kind_is_a_flag),
        cmocka_unit_test(what_make_prints_is_taken_by_bounds_and_explain),
        cmocka_unit_test(pictures_are_drawn_without_other_programs),
        cmocka_unit_test(this_machine_is_detected),
        cmocka_unit_test(cards_are_detected_and_their_line_is_taken),
        cmocka_unit_test(the_library_of_the_driver_is_the_loaders_to_find),
        cmocka_unit_test(bounds_say_what_stands_in_the_way),
        cmocka_unit_test(maps_are_shown_with_load_and_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* topo_detect.c: `tutti topo detect`: looks at this machine and prints it as a topology. */
#include <stdio.h>
#include <stdlib.h>

#include "topo.h"

static const tutti_flag flags[] = {
    {"cards", NULL, "NVIDIA's cards instead, by the library of their driver: NVLinks, NVSwitches, PCIe", 0},
    {"describe", NULL, "the figures, the cores, caches, NICs and cards, not only the text form", 0},
    TUTTI_TOPO_CORES_FLAG};
enum { MAX_NICS = 64 };

static void print_bytes(const char *what, long long bytes)
{
    if (bytes >= 1 << 20)
        printf("  %-9s %lld MiB\n", what, bytes >> 20);
    else if (bytes)
        printf("  %-9s %lld KiB\n", what, bytes >> 10);
}

static void print_cards(const tutti_host_cards *cards)
{
    for (int i = 0; i < cards->n; i++) {
        const tutti_host_card *card = &cards->card[i];
        printf("  card %-4d %s at %s", i, card->name, card->bus);
        if (card->capability) printf(", sm_%d", card->capability);
        if (card->generation && card->width) printf(", PCIe %d x%d", card->generation, card->width);
        if (card->switched) printf(", %d NVLinks into NVSwitches", card->switched);
        for (int j = 0; j < cards->n; j++)
            if (cards->nvlinks[i][j]) printf(", %d NVLinks to %d", cards->nvlinks[i][j], j);
        printf("\n");
    }
}

/* Finds this host's cards and prints them; prints nothing if the machine has no NVIDIA driver. */
static void find_and_print_cards(void)
{
    tutti_host_cards cards;
    tutti_failure err = {0};
    if (tutti_topology_detect_cards(&cards, &err))
        printf("  card      unknown: %s\n", err.text);
    else
        print_cards(&cards);
}

static void print_machine(const tutti_topology *t, const tutti_host_shape *shape)
{
    tutti_host_nic nics[MAX_NICS];
    char *described = tutti_topology_describe(t);
    printf("\n%s\nthis machine\n  cores     %d, %d of them for this process, sockets %d\n", described, shape->ncores,
           shape->own_cores, shape->nsockets);
    print_bytes("cache", shape->core_cache);
    print_bytes("shared", shape->shared_cache);
    int n = tutti_topology_detect_nics(nics, MAX_NICS);
    for (int i = 0; i < n; i++) {
        printf("  nic       %s", nics[i].name);
        if (nics[i].bytes_per_s > 0) printf(", %.4g Gb/s", nics[i].bytes_per_s * 8 / 1e9);
        if (nics[i].bytes_per_s <= 0) printf(", rate unknown");
        if (nics[i].socket >= 0) printf(", at socket %d", nics[i].socket);
        printf("%s\n", nics[i].up ? "" : ", down");
    }
    if (!n) printf("  nic       none\n");
    find_and_print_cards();
    free(described);
}

static tutti_status detect_cards(const tutti_flags *f, tutti_failure *err)
{
    tutti_topology t;
    tutti_host_cards cards;
    char notes[TUTTI_TOPOLOGY_NOTES];
    if (tutti_cli_has(f, "cores")) return tutti_fail(err, TUTTI_ERR_USAGE, "--cores is not of cards");
    tutti_status st = tutti_topology_detect_cards(&cards, err);
    if (!st) st = tutti_topology_of_cards(&cards, &t, notes, err);
    if (st) return st;
    fputs(notes, stderr);
    char *text = tutti_topology_print(&t), *described = tutti_topology_describe(&t);
    printf("%s\n", text);
    if (tutti_cli_has(f, "describe")) {
        printf("\n%s\nthis machine\n", described);
        print_cards(&cards);
    }
    free(described);
    free(text);
    return TUTTI_OK;
}

static tutti_status detect(const tutti_flags *f, tutti_failure *err)
{
    if (tutti_cli_has(f, "cards")) return detect_cards(f, err);
    tutti_topology t;
    tutti_host_shape machine;
    tutti_topology_detect(&machine);
    tutti_status st = tutti_topo_of_machine(f, &machine, &t, err);
    if (st) return st;
    char *text = tutti_topology_print(&t);
    printf("%s\n", text);
    if (tutti_cli_has(f, "describe")) print_machine(&t, &machine);
    free(text);
    return TUTTI_OK;
}

int tutti_topo_detect(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "topo detect",
        .usage = "tutti topo detect [--cards] [--describe] [--cores N]",
        .about = "This machine as a topology: cores and caches as they are, the rest fitted by 'tutti coll tune' or "
                 "assumed. With --cards the line of NVIDIA's cards, a seat for each.",
        TUTTI_CLI_FLAGS(flags),
        .run = detect,
    };
    return tutti_cli_run(&form, argc, argv);
}

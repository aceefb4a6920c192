/* SPDX-License-Identifier: Apache-2.0 */
/* topo_make.c: `tutti topo make KIND [--key value ...]`: makes a topology and prints its text form, its description or
 * a drawing. Every key of the kind is a flag; the kinds' own tables list the keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/text/options.h"
#include "../../base/text/strbuf.h"
#include "topo.h"

typedef struct {
    tutti_strbuf text; /* the topology's text so far: "KIND,key=value,..." */
    bool describe, help;
    const char *seated;
    const char *dot, *svg; /* paths for the drawings; "-" = standard output */
} request;

static void print_help(FILE *to)
{
    fprintf(to,
            "usage: tutti topo make KIND [--key value ...] [--describe] [--dot F] [--svg F] [--seated P]\n\n"
            "One line of text for --topology. KIND may be such a line itself, or the name of a machine; keys are added "
            "to it.\n\n"
            "  --describe  each figure, where it is from and what it means; the links\n"
            "  --dot F     the network for Graphviz, written to file F (- = standard output)\n"
            "  --svg F     the network as a picture\n"
            "  --seated P  how many ranks to seat in it (default: as many as there is room for)\n\nkinds and keys:\n");
    for (int k = 0; k < tutti_topology_nkinds(); k++) {
        char keys[400];
        tutti_topology_kind_keys((tutti_topology_kind)k, keys);
        fprintf(to, "  %-9s %s\n            %s\n", tutti_topology_kind_name((tutti_topology_kind)k),
                tutti_topology_kind_about((tutti_topology_kind)k), keys);
    }
    fprintf(to,
            "\nmachines, with the sources of their figures; their hosts are as many as --ranks or --seated wants:\n");
    for (int i = 0; tutti_topology_machine_at(i); i++) {
        char *about = tutti_topology_machine_about(tutti_topology_machine_at(i));
        fprintf(to, "  @%-12s %s\n", tutti_topology_machine_at(i), about);
        free(about);
    }
}

/* Takes one "--name value" or "--name=value"; any other name is a key of the topology. */
static tutti_status take(int argc, char **argv, int *at, request *q, tutti_failure *err)
{
    const char *name = argv[*at] + 2, *equals = strchr(name, '='), *value = equals ? equals + 1 : NULL;
    static const char *const names[] = {"seated", "dot", "svg"};
    const char **const slots[] = {&q->seated, &q->dot, &q->svg};
    int length = (int)(equals ? equals - name : (long)strlen(name));
    if (!strcmp(name, "describe") || !strcmp(name, "help")) {
        *(name[0] == 'd' ? &q->describe : &q->help) = true;
        return TUTTI_OK;
    }
    if (!value && *at + 1 < argc) value = argv[++*at];
    if (!value) return tutti_fail(err, TUTTI_ERR_USAGE, "--%s wants a value", name);
    const char **own = NULL;
    for (int i = 0; i < 3; i++)
        if (strlen(names[i]) == (size_t)length && !memcmp(names[i], name, (size_t)length)) own = slots[i];
    if (own)
        *own = value;
    else
        tutti_strbuf_printf(&q->text, ",%.*s=%s", length, name, value);
    return TUTTI_OK;
}

static tutti_status read_arguments(int argc, char **argv, request *q, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        q->help = true;
        return TUTTI_OK;
    }
    if (argc < 2 || argv[1][0] == '-')
        return tutti_fail(err, TUTTI_ERR_USAGE, "a kind is wanted first: tutti topo make KIND; --help lists them");
    tutti_strbuf_puts(&q->text, argv[1]);
    for (int at = 2; at < argc && !st; at++) {
        if (argv[at][0] != '-' || argv[at][1] != '-')
            st = tutti_fail(err, TUTTI_ERR_USAGE, "unexpected argument '%s'; keys are --key value", argv[at]);
        else
            st = take(argc, argv, &at, q, err);
    }
    return st;
}

static void print_links(const tutti_topology *t, int32_t nranks)
{
    tutti_fabric net;
    if (!tutti_topology_graph(t, nranks, &net)) return;
    printf("%d ranks, %d nodes, %d links\n", (int)net.nranks, (int)net.nnodes, (int)net.nlinks);
    for (int32_t l = 0; l < net.nlinks && l < 200; l++) {
        char name[32];
        tutti_topology_link_name(t, nranks, l, name);
        printf("  %4d %-24s %8.4g GB/s  %g us\n", (int)l, name, net.links[l].bytes_per_s / 1e9,
               net.links[l].latency_s * 1e6);
    }
    if (net.nlinks > 200) printf("  ... and %d more\n", (int)net.nlinks - 200);
    tutti_fabric_release(&net);
}

/* Writes the drawing to a file or to standard output; frees `taken`. */
static tutti_status drawing_write(const char *path, char *taken, tutti_failure *err)
{
    if (!taken) return tutti_fail(err, TUTTI_ERR_USAGE, "a host has no links between ranks to draw");
    tutti_status st = tutti_cli_write(strcmp(path, "-") ? path : NULL, taken, err);
    free(taken);
    return st;
}

static tutti_status check_outputs(const request *q, tutti_failure *err)
{
    char *tuned = tutti_topology_tuned_path();
    const char *dot = q->dot && strcmp(q->dot, "-") ? q->dot : NULL,
               *svg = q->svg && strcmp(q->svg, "-") ? q->svg : NULL;
    const tutti_output files[] = {
        {"--dot", dot, true, false}, {"--svg", svg, true, false}, {"this host's figures", tuned, false, false}};
    const int n = sizeof files / sizeof *files;
    tutti_status st = tutti_outputs_check(files, n, err);
    if (!st) st = tutti_outputs_try(files, n, err);
    free(tuned);
    return st;
}

static tutti_status make(const request *q, tutti_failure *err)
{
    tutti_topology t;
    char *end;
    tutti_status st = check_outputs(q, err);
    if (!st) st = tutti_topo_open(NULL, q->text.text, &t, err);
    if (st) return st;
    long ranks = q->seated ? strtol(q->seated, &end, 10) : tutti_topology_nseats(&t, 8);
    if (q->seated && (!tutti_options_is_number(q->seated) || *end || ranks < 1 || ranks > 65536))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--seated %s: wanted a number from 1 to 65536", q->seated);
    if (q->seated) tutti_topology_grow(&t, (int32_t)ranks);
    st = tutti_topology_fits(&t, (int32_t)ranks, err);
    if (!st && q->dot) st = drawing_write(q->dot, tutti_topology_dot(&t, (int32_t)ranks), err);
    if (!st && q->svg) st = drawing_write(q->svg, tutti_topology_svg(&t, (int32_t)ranks), err);
    if (st || ((q->dot || q->svg) && !q->describe)) return st;
    char *text = tutti_topology_print(&t), *described = tutti_topology_describe(&t);
    printf("%s\n", text);
    if (q->describe) {
        printf("\n%s", described);
        print_links(&t, (int32_t)ranks);
    }
    free(described);
    free(text);
    return st;
}

int tutti_topo_make(int argc, char **argv)
{
    request q = {0};
    tutti_failure err = {0};
    tutti_status st = read_arguments(argc, argv, &q, &err);
    if (!st && q.help)
        print_help(stdout);
    else if (!st)
        st = make(&q, &err);
    tutti_strbuf_release(&q.text);
    return st ? tutti_cli_fail("topo make", &err) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* check_network.c: checks of what carries bytes between ranks: interfaces, wires, UCX, and reading the memory of other
 * processes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../collective/wire/wire.h"
#include "doctor_impl.h"

static const int64_t SMALL_SHM = 128LL << 20;

/* Adds an interface with all its addresses: "eth0 10.77.0.1 fd00::1, 10 Gbit/s". */
static void add_interface(const tutti_wire_interface *all, int n, int at, tutti_strbuf *text)
{
    const tutti_wire_interface *of = &all[at];
    for (int i = 0; i < at; i++)
        if (!strcmp(all[i].name, of->name)) return; /* an interface is added only once, at its first address */
    tutti_strbuf_printf(text, "%s%s", text->length ? "; " : "", of->name);
    for (int i = at; i < n; i++)
        if (!strcmp(all[i].name, of->name)) tutti_strbuf_printf(text, " %s", all[i].address);
    if (of->mbit)
        tutti_strbuf_printf(text, ", %g Gbit/s", 1e-3 * (double)of->mbit);
    else
        tutti_strbuf_puts(text, ", rate not known");
    if (of->mtu) tutti_strbuf_printf(text, ", packets of %u B", (unsigned)of->mtu);
}

void tutti_doctor_check_interfaces(tutti_exam *e)
{
    tutti_wire_interface found[TUTTI_WIRE_MOST_INTERFACES];
    tutti_failure err = {0};
    tutti_strbuf text = {0};
    int n;
    if (tutti_wire_list_interfaces(found, &n, &err)) {
        tutti_doctor_say(e, NULL, err.status == TUTTI_ERR_USAGE ? TUTTI_FINDING_BAD : TUTTI_FINDING_NOTE,
                         "Set TUTTI_NET_IF to interfaces of this host, or unset it (docs/wires.md).", "%s", err.text);
        return;
    }
    for (int i = 0; i < n; i++) add_interface(found, n, i, &text);
    if (n == 0 || !strcmp(found[0].name, "lo"))
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE,
                         "For ranks on several hosts, bring an interface up (in a container: --network host).",
                         "%s: only ranks of this host can be reached", n ? "loopback alone" : "none is up");
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "%s", text.text);
    tutti_strbuf_release(&text);
}

static const char *wanted_wire(void)
{
    const char *name = getenv("TUTTI_WIRE");
    return name && *name && strcmp(name, "auto") != 0 ? name : NULL;
}

void tutti_doctor_check_wire(tutti_exam *e)
{
    const char *name = wanted_wire(), *ports = getenv("TUTTI_NET_PORTS");
    tutti_failure err = {0};
    tutti_strbuf text = {0};
    for (int i = 0; i < tutti_wire_count(); i++)
        tutti_strbuf_printf(&text, "%s%s%s", i ? ", " : "", tutti_wire_at(i)->name,
                            tutti_wire_at(i)->absent ? " (not in this build)" : "");
    if (ports && *ports)
        tutti_strbuf_printf(&text, "; tcp listens on ports %s (TUTTI_NET_PORTS)", ports);
    else
        tutti_strbuf_puts(&text, "; tcp listens on any port");
    if (name && !tutti_wire_find(name, &err))
        tutti_doctor_say(e, NULL, TUTTI_FINDING_BAD, "Correct or unset TUTTI_WIRE (docs/wires.md).", "%s", err.text);
    else if (tutti_wire_check_settings(&err))
        tutti_doctor_say(e, NULL, TUTTI_FINDING_BAD, "Correct or unset this variable (docs/wires.md).", "%s", err.text);
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "%s%s; there are %s",
                         name ? "TUTTI_WIRE asks for " : "chosen by the program (TUTTI_WIRE is not set)",
                         name ? name : "", text.text);
    tutti_strbuf_release(&text);
}

void tutti_doctor_check_ucx(tutti_exam *e)
{
    const tutti_wire_row *ucx = tutti_wire_find("ucx", NULL);
    char words[TUTTI_WIRE_SURVEY];
    tutti_failure err = {0};
    const bool is_wanted = wanted_wire() && !strcmp(wanted_wire(), "ucx"), rdma = tutti_doctor_has_rdma();
    if (ucx->survey && !ucx->survey(words, &err)) {
        const bool lacks_cards = rdma && !strstr(words, "rc_") && !strstr(words, "dc_") && !strstr(words, "ud_");
        tutti_doctor_say(e, NULL, lacks_cards ? TUTTI_FINDING_NOTE : TUTTI_FINDING_OK,
                         "This host has RDMA cards: install UCX's verbs modules, raise ulimit -l, or check UCX_TLS.",
                         "%s", words);
        /* true if the library of this wire is on this host */
    } else if (is_wanted || rdma || (ucx->survey && err.status != TUTTI_ERR_RENDEZVOUS)) {
        tutti_doctor_say_failure(e, is_wanted ? TUTTI_FINDING_BAD : TUTTI_FINDING_NOTE,
                                 ucx->survey ? err.text : ucx->absent,
                                 "Check UCX_TLS and UCX_NET_DEVICES, or unset TUTTI_WIRE.");
    } else {
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "not here; TCP serves");
    }
}

/* Reads memory of this process by the system call that reads other processes' memory, and returns errno. Filters of
 * containers may refuse that call. */
static int try_call(void)
{
    int from = 1, to = 0;
    const struct iovec here = {&to, sizeof to}, there = {&from, sizeof from};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)sizeof to ? 0 : errno;
}

void tutti_doctor_check_peer_memory(tutti_exam *e)
{
    const char *wish = getenv("TUTTI_CMA");
    char scope[TUTTI_LINE];
    const bool told = tutti_doctor_first_line("/proc/sys/kernel/yama/ptrace_scope", scope);
    const int problem = try_call();
    if (wish && !strcmp(wish, "off"))
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "TUTTI_CMA=off: ranks do not read each other's plain memory");
    else if (problem)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE, "In a container: docker run --cap-add SYS_PTRACE.",
                         "ranks cannot read each other's plain memory: process_vm_readv: %s", strerror(problem));
    else if (told && scope[0] != '0' && geteuid() != 0)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE, "As root: sysctl kernel.yama.ptrace_scope=0.",
                         "ranks cannot read each other's plain memory: Yama's ptrace_scope is %s", scope);
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "ranks of this host may read each other's plain memory");
}

void tutti_doctor_check_shared_memory(tutti_exam *e)
{
    struct statvfs fs;
    char all[TUTTI_BYTES_TEXT], left[TUTTI_BYTES_TEXT];
    if (statvfs("/dev/shm", &fs)) {
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE, "Mount a tmpfs at /dev/shm; only UCX and other programs need it.",
                         "missing: %s", strerror(errno));
        return;
    }
    const int64_t size = (int64_t)fs.f_blocks * (int64_t)fs.f_frsize,
                  free = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
    tutti_doctor_say(e, NULL, free < SMALL_SHM ? TUTTI_FINDING_NOTE : TUTTI_FINDING_OK,
                     "In a container: docker run --shm-size 1g; else delete old files in /dev/shm.",
                     "%s, %s free; ranks use memfd, only UCX and other programs need it", tutti_doctor_bytes(size, all),
                     tutti_doctor_bytes(free, left));
}

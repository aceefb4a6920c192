/* SPDX-License-Identifier: Apache-2.0 */
/* check_host.c: checks of the host: processor, cores, memory, huge pages, clock, measured figures. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/host/cores.h"
#include "../base/host/memory.h"
#include "../base/host/pages.h"
#include "../base/host/processor.h"
#include "doctor_impl.h"
#include "tutti/topology.h"

static const double SLOW_CLOCK_NS = 500;
enum { READS_OF_CLOCK = 2000 };
/* Bytes: a limit above this number means no limit, because a control group of version 1 without a limit reports a
 * number near 2^63. */
static const int64_t NO_LIMIT = 1LL << 50;
static const int64_t LITTLE_MEMORY = 1LL << 30, TOO_LITTLE_MEMORY = 128LL << 20;

void tutti_doctor_check_processor(tutti_exam *e)
{
    tutti_processor p;
    tutti_strbuf text = {0};
    char bytes[TUTTI_BYTES_TEXT];
    tutti_processor_read("", &p);
    for (int level = 0; level < TUTTI_PROCESSOR_LEVELS; level++)
        if (p.cache[level] > 0)
            tutti_strbuf_printf(&text, ", level %d %s", level + 1, tutti_doctor_bytes(p.cache[level], bytes));
    tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "%s%s%s", p.name, text.text ? "; caches" : "",
                     text.text ? text.text + 1 : "");
    tutti_strbuf_release(&text);
}

void tutti_doctor_check_cores(tutti_exam *e)
{
    tutti_core_set own, host;
    tutti_strbuf text = {0};
    tutti_cores_own(&own), tutti_cores_host(&host);
    const int nown = tutti_cores_count(&own), nhost = tutti_cores_count(&host);
    const double quota = tutti_cores_quota().cores;
    tutti_strbuf_printf(&text, "this process may use %d of %d cores (", nown, nhost);
    tutti_cores_print(&own, &text);
    tutti_strbuf_puts(&text, ")");
    if (quota > 0)
        tutti_strbuf_printf(&text, "; the control group allows the time of %.3g cores", quota);
    else
        tutti_strbuf_puts(&text, "; the control group sets no limit of time");
    if (quota > 0 && quota < nown)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE,
                         "Use no more ranks x threads than the control group allows, or raise its cpu.max (docker run "
                         "--cpus, Kubernetes resources.limits.cpu).",
                         "%s", text.text);
    else if (nown < nhost)
        tutti_doctor_say(
            e, NULL, TUTTI_FINDING_NOTE,
            "If the run is to have all cores, start without taskset, or with mpirun --bind-to none or srun "
            "--cpu-bind=none.",
            "%s", text.text);
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "%s", text.text);
    tutti_strbuf_release(&text);
}

void tutti_doctor_check_memory(tutti_exam *e)
{
    const int64_t left = tutti_memory_left(), groups = tutti_memory_left_of_groups("");
    char bytes[TUTTI_BYTES_TEXT], more[TUTTI_BYTES_TEXT];
    const tutti_finding_state state = left < TOO_LITTLE_MEMORY ? TUTTI_FINDING_BAD
                                      : left < LITTLE_MEMORY   ? TUTTI_FINDING_NOTE
                                                               : TUTTI_FINDING_OK;
    if (left > NO_LIMIT)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE, "Mount /proc, so that a run can refuse what does not fit.",
                         "the system does not say how much memory is left");
    else
        tutti_doctor_say(e, NULL, state, "End other programs, or raise the control group's memory.max.",
                         "this process can still get %s; the control group %s%s", tutti_doctor_bytes(left, bytes),
                         groups > NO_LIMIT ? "sets no limit" : "leaves it ",
                         groups > NO_LIMIT ? "" : tutti_doctor_bytes(groups, more));
}

void tutti_doctor_check_huge_pages(tutti_exam *e)
{
    char line[TUTTI_LINE];
    const bool told = tutti_doctor_first_line("/sys/kernel/mm/transparent_hugepage/enabled", line);
    if (tutti_pages_are_huge())
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "large memory lies in huge pages (transparent_hugepage: %s)",
                         line);
    else if (told)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE,
                         "As root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled.",
                         "memory lies in small pages (transparent_hugepage: %s)", line);
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL,
                         "memory lies in small pages; this system does not show the setting");
}

void tutti_doctor_check_clock(tutti_exam *e)
{
    char source[TUTTI_LINE];
    const bool told =
        tutti_doctor_first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source);
    int64_t best = INT64_MAX;
    /* three rounds, of which the fastest counts, because another program may interrupt a round */
    for (int round = 0; round < 3; round++) {
        const int64_t begin = tutti_clock_ns();
        for (int i = 0; i < READS_OF_CLOCK; i++) (void)tutti_clock_ns();
        const int64_t took = tutti_clock_ns() - begin;
        if (took < best) best = took;
    }
    const double each = (double)best / READS_OF_CLOCK;
    tutti_doctor_say(
        e, NULL, each > SLOW_CLOCK_NS ? TUTTI_FINDING_NOTE : TUTTI_FINDING_OK,
        "Choose the clock source tsc, if the processor has a constant one (/sys/devices/system/clocksource/"
        "clocksource0/available_clocksource).",
        "reading the clock takes %.0f ns (clock source: %s)", each, told ? source : "not shown");
}

void tutti_doctor_check_figures(tutti_exam *e)
{
    char *path = tutti_topology_tuned_path();
    if (path && access(path, R_OK) == 0)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "algorithms are chosen by measured figures of this host: %s",
                         path);
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE, "Run 'tutti coll tune' once on this host, without other load.",
                         "algorithms are chosen by assumed figures: %s is missing",
                         path ? path : "the file of figures");
    free(path);
}

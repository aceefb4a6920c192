/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_settings.c: reads the environment variables of the wire tcp, by one table. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/text/options.h"
#include "tcp_impl.h"

static const tutti_field fields[] = {
    {"TUTTI_NET_IF", TUTTI_FIELD_TEXT, offsetof(tcp_settings, interfaces), "", NULL, 1, 0,
     "interfaces to use, with several the connections take turns"},
    {"TUTTI_NET_CONNECTIONS", TUTTI_FIELD_INT, offsetof(tcp_settings, nconnections), "0", NULL, 0,
     TUTTI_TCP_MOST_CONNECTIONS, "connections between two ranks; 0: by rule"},
    {"TUTTI_NET_CHECKSUM", TUTTI_FIELD_BOOL, offsetof(tcp_settings, checksum), "off", NULL, 1, 0,
     "checksums of all that travels"},
    {"TUTTI_NET_ZEROCOPY", TUTTI_FIELD_CHOICE, offsetof(tcp_settings, zerocopy), "auto", "auto|off|on", 1, 0,
     "long sends without a copy"},
    {"TUTTI_NET_CONGESTION", TUTTI_FIELD_TEXT, offsetof(tcp_settings, congestion), "", NULL, 1, 0,
     "TCP's congestion control; empty: by rule"},
    {"TUTTI_NET_PORTS", TUTTI_FIELD_TEXT, offsetof(tcp_settings, ports), "", NULL, 1, 0,
     "ports to listen on, such as 40000-40099; empty: any"},
};
enum { NFIELDS = sizeof fields / sizeof fields[0] };

bool tutti_tcp_read_ports(const char *text, int *first, int *last)
{
    char *end;
    const long a = strtol(text, &end, 10), b = *end == '-' ? strtol(end + 1, &end, 10) : a;
    *first = (int)a, *last = (int)b;
    return *end == '\0' && end != text && a > 0 && b >= a && b <= 65535;
}

/* Checks that the system lets this process use the algorithm. */
static tutti_status try_congestion(const char *name, tutti_failure *err)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool there = fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0;
    const int problem = errno;
    if (fd >= 0) close(fd);
    return there ? TUTTI_OK
                 : tutti_fail(
                       err, TUTTI_ERR_USAGE,
                       "environment: TUTTI_NET_CONGESTION='%s': %s; sysctl net.ipv4.tcp_allowed_congestion_control "
                       "lists what there is",
                       name, strerror(problem));
}

tutti_status tutti_tcp_read_settings(tutti_arena *arena, tcp_settings *out, tutti_failure *err)
{
    const tutti_field_table table = {fields, NFIELDS};
    const tutti_options_into into = {&table, arena, out};
    tutti_status st = TUTTI_OK;
    int first, last;
    for (int i = 0; i < NFIELDS && !st; i++) {
        const char *text = getenv(fields[i].key);
        if (!text || !*text) text = fields[i].initial;
        st = tutti_options_set(&into, "environment", fields[i].key, text, err);
    }
    if (!st && out->ports && !tutti_tcp_read_ports(out->ports, &first, &last))
        st = tutti_fail(err, TUTTI_ERR_USAGE,
                        "environment: TUTTI_NET_PORTS: '%s' is not a range of ports such as 40000-40099", out->ports);
    if (!st && out->congestion) st = try_congestion(out->congestion, err);
    return st;
}

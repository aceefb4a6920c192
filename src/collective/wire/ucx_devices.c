/* SPDX-License-Identifier: Apache-2.0 */
/* ucx_devices.c: finds UCX's names of interfaces: for TCP the interface's own name, for verbs the card behind the
 * interface and its port. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "tcp_impl.h"
#include "ucx_impl.h"

/* The kernel counts ports from 0, UCX from 1. */
static void add_cards(const char *interface, tutti_strbuf *out)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/class/net/%.15s/device/infiniband", interface);
    DIR *folder = opendir(path);
    if (!folder) return;
    const uint32_t port = 1 + tutti_tcp_interface_figure(interface, "dev_port");
    for (const struct dirent *e; (e = readdir(folder));)
        if (e->d_name[0] != '.') tutti_strbuf_printf(out, ",%.60s:%u", e->d_name, port);
    closedir(folder);
}

void tutti_ucx_name_devices(const char *interfaces, tutti_strbuf *out)
{
    for (const char *at = interfaces; *at;) {
        char name[16];
        const size_t n = strcspn(at, ",");
        if (n && n < sizeof name) {
            snprintf(name, sizeof name, "%.*s", (int)n, at);
            tutti_strbuf_printf(out, "%s%s", out->length ? "," : "", name);
            add_cards(name, out);
        }
        at += n + (at[n] == ',');
    }
}

void tutti_ucx_describe_device(const char *device, char out[80])
{
    tcp_address found[TUTTI_TCP_MOST_ADDRESSES];
    uint32_t n = 0;
    char text[64] = "";
    if (tutti_tcp_list_addresses(device, found, &n, NULL) == TUTTI_OK && n > 0) tutti_tcp_address_text(&found[0], text);
    snprintf(out, 80, "%.20s%s%.46s", device, *text ? " " : "", text);
}

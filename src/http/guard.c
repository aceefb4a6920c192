/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c: compares tokens, keeps sessions, and judges the headers Host and Origin. */
#include "guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

bool tutti_guard_draw(char out[TUTTI_GUARD_SESSION])
{
    unsigned char bytes[32];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return false;
    for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* Compares in a time that depends on neither text beyond their lengths. An empty secret equals nothing. */
static bool is_same(const char *secret, const char *said, size_t nsaid)
{
    const size_t n = strlen(secret);
    unsigned char differs = n != nsaid || n == 0;
    for (size_t i = 0; i < nsaid; i++) differs |= (unsigned char)(said[i] ^ secret[n ? i % n : 0]);
    return !differs;
}

tutti_role tutti_guard_token(const tutti_guard *g, const char *token)
{
    const size_t n = strlen(token);
    const bool operates = is_same(g->operate, token, n), reads = is_same(g->read, token, n);
    return operates ? TUTTI_ROLE_OPERATE : reads ? TUTTI_ROLE_READ : TUTTI_ROLE_NONE;
}

/* ---- sessions ---- */

/* Finds the session of a header "Cookie", "a=b; tutti_session=...". -1 = none. */
static int session_of(const tutti_guard *g, const char *cookie)
{
    static const char name[] = TUTTI_GUARD_COOKIE "=";
    const size_t nname = sizeof name - 1;
    int found = -1;
    for (const char *at = cookie; at && *at;) {
        at += strspn(at, " ;");
        const size_t n = strcspn(at, ";");
        for (int i = 0; n > nname && !strncmp(at, name, nname) && i < TUTTI_GUARD_SESSIONS; i++)
            if (is_same(g->sessions[i].id, at + nname, n - nname)) found = i;
        at += n;
    }
    return found;
}

tutti_role tutti_guard_role(const tutti_guard *g, const char *authorization, const char *cookie)
{
    if (authorization)
        return strncasecmp(authorization, "Bearer ", 7) ? TUTTI_ROLE_NONE : tutti_guard_token(g, authorization + 7);
    const int session = session_of(g, cookie);
    return session < 0 ? TUTTI_ROLE_NONE : g->sessions[session].role;
}

void tutti_guard_end(tutti_guard *g, const char *cookie)
{
    const int session = session_of(g, cookie);
    if (session >= 0) g->sessions[session] = (tutti_guard_session){0};
}

bool tutti_guard_begin(tutti_guard *g, const char *token, char out[TUTTI_GUARD_SESSION])
{
    const tutti_role role = tutti_guard_token(g, token);
    if (role == TUTTI_ROLE_NONE || !tutti_guard_draw(out)) return false;
    tutti_guard_session *s = &g->sessions[g->next++ % TUTTI_GUARD_SESSIONS];
    snprintf(s->id, sizeof s->id, "%s", out);
    s->role = role;
    return true;
}

/* ---- names ---- */

static bool is_port(const char *text, int port)
{
    char *end;
    const long n = strtol(text, &end, 10);
    return end != text && !*end && *text >= '0' && *text <= '9' && n == port;
}

static bool is_name(const char *host, size_t n, const char *name)
{
    return strlen(name) == n && !strncasecmp(host, name, n);
}

bool tutti_guard_knows_host(const tutti_guard *g, const char *host)
{
    if (!host) return false;
    const char *colon = *host == '[' ? strchr(host, ']') : NULL;
    if (*host == '[' && !colon) return false;
    colon = strchr(colon ? colon : host, ':');
    const size_t n = colon ? (size_t)(colon - host) : strlen(host);
    if (g->name && is_name(host, n, g->name)) return true;
    if (colon ? !is_port(colon + 1, g->port) : g->port != 80) return false;
    if (is_name(host, n, "127.0.0.1") || is_name(host, n, "localhost") || is_name(host, n, "[::1]")) return true;
    if (strchr(g->address, ':')) return n == strlen(g->address) + 2 && !strncasecmp(host + 1, g->address, n - 2);
    return *g->address && is_name(host, n, g->address);
}

bool tutti_guard_knows_origin(const tutti_guard *g, const char *origin)
{
    if (!origin) return true;
    if (!strncmp(origin, "http://", 7)) return tutti_guard_knows_host(g, origin + 7);
    /* TLS is what a proxy adds, so only the proxy's name can have it */
    return !strncmp(origin, "https://", 8) && g->name && tutti_guard_knows_host(g, origin + 8);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_stop_request.c: what each signal means after others, at made-up times. */
#include "testing.h"

#include <string.h>

#include "base/stop_request.h"

enum { MOST = 6 };

/* Signals of one run and the meaning of each one: 'a' asked, 's' the same request, 'n' now. */
typedef struct {
    const char *name;
    struct {
        int signal;
        double at;
    } come[MOST];
    const char *meanings;
} story;

static const story stories[] = {
    {"a burst from several senders",
     {{SIGTERM, 5}, {SIGTERM, 5.1}, {SIGUSR1, 5.2}, {SIGHUP, 5.9}, {SIGTERM, 6}},
     "assss"},
    {"the same signal again, after more than a second", {{SIGTERM, 5}, {SIGTERM, 6.1}}, "an"},
    {"SIGUSR1 again", {{SIGUSR1, 5}, {SIGUSR1, 65}}, "an"},
    {"another warning", {{SIGUSR2, 5}, {SIGHUP, 6.5}}, "an"},
    {"a warning after SIGTERM", {{SIGTERM, 5}, {SIGUSR1, 6.5}}, "an"},
    {"SIGTERM at the time limit, after the warning", {{SIGUSR1, 5}, {SIGTERM, 125}}, "as"},
    {"... after SIGUSR2", {{SIGUSR2, 5}, {SIGTERM, 125}}, "as"},
    {"... after SIGHUP", {{SIGHUP, 5}, {SIGTERM, 125}}, "as"},
    {"SIGTERM from several senders after the warning", {{SIGUSR1, 5}, {SIGTERM, 125}, {SIGTERM, 125.2}}, "ass"},
    {"a second SIGTERM after the warning", {{SIGUSR1, 5}, {SIGTERM, 125}, {SIGTERM, 126.2}}, "asn"},
    {"SIGTERM in the warning's second is the first one", {{SIGUSR1, 5}, {SIGTERM, 5.5}, {SIGTERM, 30}}, "asn"},
    {"SIGTERM and SIGUSR1 together, SIGTERM again at the end", {{SIGTERM, 5}, {SIGUSR1, 5}, {SIGTERM, 35}}, "asn"},
    {"Ctrl-C twice", {{SIGINT, 5}, {SIGINT, 5.2}}, "an"},
    {"Ctrl-C while it saves", {{SIGTERM, 5}, {SIGINT, 5.2}}, "an"},
    {"SIGTERM after Ctrl-C", {{SIGINT, 5}, {SIGTERM, 5.5}, {SIGTERM, 9}}, "asn"},
    {"SIGTERM long after Ctrl-C", {{SIGINT, 5}, {SIGTERM, 9}}, "an"},
};

static void each_signal_has_its_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
        const story *s = &stories[i];
        tutti_stop_request r = {0};
        char got[MOST + 1] = "";
        for (size_t n = 0; n < strlen(s->meanings); n++)
            got[n] = "asn"[tutti_stop_request_take(&r, s->come[n].signal, s->come[n].at)];
        if (strcmp(got, s->meanings) != 0) fail_msg("%s: %s, not %s", s->name, got, s->meanings);
        assert_int_equal(r.first, s->come[0].signal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_signal_has_its_meaning)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* user_folder.c: finds folders of a user by the environment. */
#include "user_folder.h"

#include <stdlib.h>

#include "../text/strbuf.h"

/* Returns the value of a variable; NULL: it is absent or empty. */
static const char *variable(const char *name)
{
    const char *value = name ? getenv(name) : NULL;
    return value && *value ? value : NULL;
}

char *tutti_user_folder(const char *own, const char *xdg, const char *beneath)
{
    const char *named = variable(own), *base = variable(xdg), *home = variable("HOME");
    tutti_strbuf path = {0};
    if (named)
        tutti_strbuf_puts(&path, named);
    else if (base)
        tutti_strbuf_printf(&path, "%s/tutti", base);
    else if (home)
        tutti_strbuf_printf(&path, "%s/%s/tutti", home, beneath);
    return path.text ? tutti_strbuf_detach(&path) : NULL;
}

char *tutti_user_state_folder(void)
{
    return tutti_user_folder("TUTTI_HOME", "XDG_STATE_HOME", ".local/state");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* user_folder.h: finds the folders of a user in which programs keep files: caches and state, as the XDG Base Directory
 * Specification names them. Threads: any, while no thread changes the environment. */
#ifndef TUTTI_BASE_USER_FOLDER_H
#define TUTTI_BASE_USER_FOLDER_H

/* Returns the value of the variable `own`; without it, the folder `tutti` in the folder that the variable `xdg` names;
 * without that, HOME/BENEATH/tutti. An empty variable counts as absent. own: NULL = no such variable. Returns NULL if
 * the environment names no folder. The caller frees it. */
char *tutti_user_folder(const char *own, const char *xdg, const char *beneath);

/* Returns the folder of the job server: TUTTI_HOME, XDG_STATE_HOME/tutti or HOME/.local/state/tutti. NULL: the
 * environment names none. The caller frees it. */
char *tutti_user_state_folder(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* init_start.c: starts a run from weights of other files, and says which tensors it took. Rank 0 looks first and
 * reports which tensors fit. Then every rank reads the source that rank 0 has found, and the ranks compare hashes of
 * what they have read: a file that differs on another host is refused with its name. */
#include <stdlib.h>
#include <string.h>

#include "../../../base/hash.h"
#include "keep.h"

void tutti_start_say(const tutti_train_config *c, tutti_train_event_kind kind, const char *text)
{
    const tutti_train_event event = {.kind = kind, .nsteps = c->nsteps, .text = text};
    if (c->on_event) c->on_event(c->on_event_arg, &event);
}

static tutti_status open_init(const tutti_train_config *c, tutti_start *s, tutti_failure *err)
{
    tutti_init_config config = c->init;
    config.headway = &s->headway;
    if (s->init_path) config.from = s->init_path;
    return tutti_init_open(&config, &s->wanted, &s->init, err);
}

/* Refuses --fresh if it would remove the source. */
static tutti_status check_apart(const tutti_train_config *c, const char *source, tutti_failure *err)
{
    char *folder = tutti_checkpoint_path("%s/checkpoints", c->dir), *real = realpath(folder, NULL);
    char *there = realpath(source, NULL);
    const size_t n = real ? strlen(real) : 0;
    tutti_status st = TUTTI_OK;
    if (n && there && !strncmp(real, there, n) && there[n] == '/')
        st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s is a checkpoint of %s, which --fresh removes: use another --out",
                        c->init.said.from, source, c->dir);
    free(there);
    free(real);
    free(folder);
    return st;
}

/* Everything is checked before --fresh removes an earlier run's files. Rank 0 keeps the opened source in s. */
tutti_status tutti_start_look_at_init(const tutti_train_config *c, tutti_start *s, tutti_failure *err)
{
    if (!c->init.from || s->init) return TUTTI_OK;
    tutti_status st = open_init(c, s, err);
    if (st) return st;
    s->init_path = strdup(tutti_init_path(s->init));
    if (tutti_init_notes(s->init)) tutti_start_say(c, TUTTI_TRAIN_NOTE, tutti_init_notes(s->init));
    return c->fresh && c->dir ? check_apart(c, s->init_path, err) : TUTTI_OK;
}

void tutti_start_say_init(const tutti_train_config *c, const tutti_start *s)
{
    if (!s->init) return;
    char *text = tutti_init_summary(s->init);
    tutti_start_say(c, TUTTI_TRAIN_INIT, text);
    free(text);
}

void tutti_start_say_unread(const tutti_train_config *c)
{
    if (!c->init.from) return;
    char *text = tutti_checkpoint_path("%s goes on from its own checkpoint; %s is not read (--fresh would begin at it)",
                                       c->dir, c->init.from);
    tutti_start_say(c, TUTTI_TRAIN_NOTE, text);
    free(text);
}

tutti_status tutti_start_fill(tutti_group *group, const tutti_train_config *config, tutti_start *s, tutti_checkpoint *c,
                              tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    if (!config->init.from) return TUTTI_OK;
    tutti_group_long_phase_begin(group, "reads the weights that it begins at", "bytes of a file");
    if (!s->init) st = open_init(config, s, err);
    if (!st) {
        tutti_init_fill(s->init, NULL, c->offset, c->weights);
        for (int i = 0; i < c->nstates; i++) tutti_init_fill(s->init, c->state_name[i], c->offset, c->state[i]);
        for (int i = 0; i < c->nown; i++)
            if (c->own[i].is_state) tutti_init_fill(s->init, c->own[i].name, c->offset, c->own[i].values);
    }
    tutti_group_long_phase_end(group);
    if (st) return st;
    char hash[17], *words;
    tutti_hash_text(tutti_init_hash(s->init), hash);
    words = tutti_checkpoint_path("%s, whose tensors have the hash %s", s->init_path, hash);
    st = tutti_group_agree(group, "weights that it begins at", words, err);
    free(words);
    c->earlier_updates = tutti_init_updates(s->init);
    tutti_init_destroy(s->init);
    s->init = NULL;
    return st;
}

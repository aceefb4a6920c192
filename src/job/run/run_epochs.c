/* SPDX-License-Identifier: Apache-2.0 */
/* run_epochs.c: goes from one group epoch to the next when a rank was lost. The process, its binding to cores and its
 * data sets stay; the rank joins again, and the trainer goes on from the newest copy or checkpoint. */
#include "../../collective/launch/launch.h"
#include "run_impl.h"

static bool is_broken(void *arg)
{
    const tutti_run_epochs *e = arg;
    return e->is_broken(e->arg);
}

void tutti_run_watch_epoch(tutti_rank_run *r, tutti_group_config *config)
{
    const tutti_run_options *o = r->options;
    if (!o->epochs) return;
    if (o->place) r->now = *o->place;
    if (!r->now.epoch) r->now.epoch = 1;
    config->gives_up = o->epochs->is_broken ? is_broken : NULL;
    config->gives_up_arg = (void *)(uintptr_t)o->epochs;
}

bool tutti_run_has_lost(const tutti_rank_run *r)
{
    const tutti_status st = r->err.status;
    return r->options->epochs && (st == TUTTI_ERR_PEER || st == TUTTI_ERR_RENDEZVOUS);
}

bool tutti_run_begin_epoch(tutti_rank_run *r, tutti_group_config *config)
{
    const tutti_run_epochs *e = r->options->epochs;
    tutti_failure why = {0};
    if (!tutti_run_has_lost(r) || e->next(e->arg, r->culprit, &r->now, &why)) return false;
    config->master_port = r->now.port;
    config->master_fd = r->now.listener > 0 ? r->now.listener : -1;
    config->epoch = r->now.epoch;
    r->err = (tutti_failure){0};
    r->group = NULL;
    r->session = NULL;
    r->nasked = 0;
    r->is_borne = r->is_told = false;
    r->began_ns = 0;
    return true;
}

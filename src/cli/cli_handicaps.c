/* SPDX-License-Identifier: Apache-2.0 */
/* cli_handicaps.c: reads --slow RANK=FACTOR and --stall RANK=SECONDS@STEP, which delay a rank on purpose. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text/options.h"
#include "cli.h"
#include "train/train_cmd.h"

static const double MOST_FACTOR = 1000, MOST_SECONDS = 86400;

/* Reads the number at *at, up to the character `end`; false: there is none. */
static bool take_number(const char **at, char end, double lo, double hi, double *out)
{
    char *rest;
    *out = strtod(*at, &rest);
    if (!tutti_options_is_number(*at) || rest == *at || *rest != end || !isfinite(*out) || *out < lo || *out > hi)
        return false;
    *at = rest + (end != '\0');
    return true;
}

static tutti_status take_one(const char *flag, const char *text, int nranks, tutti_run_handicap *of_all,
                             tutti_failure *err)
{
    const bool slows = !strcmp(flag, "slow");
    const char *at = text;
    double rank, number, step = 0;
    bool good = take_number(&at, '=', 0, 1e9, &rank) && rank == floor(rank);
    if (good && rank >= nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s %s: there are ranks 0 to %d", flag, text, nranks - 1);
    good = good && (slows ? take_number(&at, '\0', 1, MOST_FACTOR, &number)
                          : take_number(&at, '@', 0, MOST_SECONDS, &number) && take_number(&at, '\0', 1, 9e15, &step) &&
                                step == floor(step));
    if (!good)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s %s: %s is needed", flag, text,
                          slows ? "RANK=FACTOR with a factor of 1 to 1000, such as 1=3"
                                : "RANK=SECONDS@STEP, such as 1=2.5@100");
    if (!of_all) return TUTTI_OK;
    tutti_run_handicap *h = &of_all[(int)rank];
    if (slows)
        h->slowness = number;
    else
        h->stall_s = number, h->stall_step = (int64_t)step;
    return TUTTI_OK;
}

tutti_status tutti_cli_handicaps(const tutti_flags *f, int nranks, tutti_run_handicap *out, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < f->nflags; i++) {
        const char *name = f->flags[i].name;
        if (strcmp(name, "slow") != 0 && strcmp(name, "stall") != 0) continue;
        for (int k = 0; k < f->count[i] && !st; k++) st = take_one(name, f->value[i][k], nranks, out, err);
    }
    return st;
}

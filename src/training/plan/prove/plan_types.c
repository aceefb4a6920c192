/* SPDX-License-Identifier: Apache-2.0 */
/* plan_types.c: proves the types of exchanges whose gradients are rounded to 16 bits to be sent.
 *
 * The two memories of an exchange have one type, except that an exchange which sums may sum 16-bit values in f32. A
 * rounded value is part of one sum only. That sum is over the values of all members, so that none of its terms is a sum
 * that was rounded or sent before. Actions on elements read f32 and write f32 (looks: whole numbers); only conversions
 * turn f32 into the 16-bit type or back. Where groups of ranks sum first and their sums are rounded, a step sums either
 * inputs only, or rounded sums of groups only. A sum of the second kind is written to outputs only.
 *
 * If each sum is rounded (config.rounds_each), exchanges are of 16 bits from end to end, by any schedule. Then all
 * ranks must hold the same expression with the same roundings in it, or their weights would differ. */
#include "../plan_impl.h"
#include "tutti/check.h"

static bool is_half(tutti_dtype type)
{
    return type == TUTTI_BF16 || type == TUTTI_F16;
}

static bool is_scratch(const tutti_part *part, const tutti_slice *s)
{
    /* buffers of peers are scratch too; their numbers follow those of the rank's own buffers */
    return s->buffer >= part->nbuffers || part->buffers[s->buffer].role == TUTTI_BUFFER_SCRATCH;
}

/* True if the step sums inputs, or sums rounded values from scratch into outputs. */
static bool sums_levels(const tutti_part *part, const tutti_step *s)
{
    const bool first = is_scratch(part, &part->slices[s->first_in]);
    for (int k = 1; k < s->nins; k++)
        if (is_scratch(part, &part->slices[s->first_in + k]) != first) return false;
    for (int k = 0; k < s->nouts && first; k++)
        if (is_scratch(part, &part->slices[s->first_out + k])) return false;
    return true;
}

static tutti_status check_sums(const tutti_plan *p, const tutti_plan_exchange *x, tutti_failure *err)
{
    const tutti_schedule *s = p->schedules[x->schedule].lowered;
    const bool groups = p->memories[x->in.memory].type == TUTTI_F32;
    tutti_status st = TUTTI_OK;
    for (int place = 0; place < x->nmembers && !st; place++) {
        tutti_part part;
        tutti_schedule_part(s, place, &part);
        for (int i = 0; i < part.nsteps && !st; i++)
            if (part.steps[i].kind == TUTTI_STEP_REDUCE &&
                (groups ? !sums_levels(&part, &part.steps[i]) : part.steps[i].nins != x->nmembers))
                st = tutti_fail(err, TUTTI_ERR_FAILED,
                                "%s: step %d of rank %d sums %d of %d ranks' %s: what is rounded must be summed once, "
                                "from all ranks' own",
                                x->name, i, tutti_plan_member(x, place), part.steps[i].nins, x->nmembers,
                                tutti_dtype_name(x->sent));
        tutti_part_release(&part);
    }
    return st;
}

static tutti_status check_roundings(const tutti_plan *p, const tutti_plan_exchange *x, tutti_failure *err)
{
    const tutti_schedule *s = p->schedules[x->schedule].lowered;
    const tutti_schedule_header *h = tutti_schedule_head(s);
    tutti_check_report report;
    if (!p->config.rounds_each)
        return tutti_fail(err, TUTTI_ERR_FAILED,
                          "%s: by %s partial sums of %s are rounded, which the plan does not allow", x->name,
                          h->algorithm, tutti_dtype_name(p->memories[x->in.memory].type));
    if (h->collective != TUTTI_ALLREDUCE) return TUTTI_OK;
    const tutti_status st = tutti_schedule_check_rounded(s, &report, err);
    if (st) return tutti_fail_at(err, "%s", x->name);
    return report.agree
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_ERR_FAILED,
                            "%s: by %s ranks round other partial sums of an element, so that their bits differ",
                            x->name, h->algorithm);
}

static tutti_status check_exchange(const tutti_plan *p, const tutti_plan_exchange *x, tutti_failure *err)
{
    const tutti_dtype in = p->memories[x->in.memory].type, out = p->memories[x->out.memory].type;
    const bool sums = tutti_collective_reduces(tutti_schedule_head(p->schedules[x->schedule].lowered)->collective);
    if (in != out && (!sums || !x->sent || (in != x->sent && in != TUTTI_F32) || (out != x->sent && out != TUTTI_F32)))
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s: from %s of %s to %s of %s", x->name,
                          p->memories[x->in.memory].name, tutti_dtype_name(in), p->memories[x->out.memory].name,
                          tutti_dtype_name(out));
    if (sums && !x->sent && is_half(in)) return check_roundings(p, x, err);
    return sums && x->sent ? check_sums(p, x, err) : TUTTI_OK;
}

static bool has_types(const tutti_plan *p, const tutti_action *a)
{
    const tutti_action_types types = tutti_action_row_of(a->kind)->types;
    if (types == TUTTI_ON_NO_ELEMENTS) return true;
    const tutti_dtype from = p->memories[a->from].type, to = p->memories[a->to].type;
    if (types == TUTTI_CONVERTED) return (from == TUTTI_F32 && is_half(to)) || (is_half(from) && to == TUTTI_F32);
    return from == TUTTI_F32 && to == (types == TUTTI_COUNTED ? TUTTI_I64 : TUTTI_F32);
}

static tutti_status check_actions(const tutti_plan *p, int rank, const tutti_loop *l, tutti_failure *err)
{
    for (int i = 0; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        if (has_types(p, a)) continue;
        tutti_strbuf words = {0};
        tutti_plan_print_action(p, a, &words);
        tutti_fail(err, TUTTI_ERR_FAILED, "rank %d, %s: '%s' takes %s of %s to %s of %s", rank,
                   tutti_loop_driver_name(l->driver), words.text, p->memories[a->from].name,
                   tutti_dtype_name(p->memories[a->from].type), p->memories[a->to].name,
                   tutti_dtype_name(p->memories[a->to].type));
        tutti_strbuf_release(&words);
        return TUTTI_ERR_FAILED;
    }
    return TUTTI_OK;
}

tutti_status tutti_plan_check_types(const tutti_plan *p, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    tutti_arena work = {0};
    for (int x = 0; x < p->nexchanges && !st; x++) st = check_exchange(p, &p->exchanges[x], err);
    for (int r = 0; r < p->config.nranks && !st; r++) {
        tutti_loop loops[TUTTI_NDRIVERS];
        tutti_plan_list_loops(p, r, &work, loops);
        for (int d = 0; d < TUTTI_NDRIVERS && !st; d++)
            st = check_actions(p, r, r == p->config.rank ? &p->loops[d] : &loops[d], err);
        tutti_arena_reset(&work);
    }
    tutti_arena_release(&work);
    return st;
}

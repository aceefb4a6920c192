/* SPDX-License-Identifier: Apache-2.0 */
/* lower.c: lowers a schedule: rewrites its parts for a wire (mapped memory, put and signal, or hosts) when they are
 * asked for.
 *
 * Rejected: lowering all ranks at once. It would need every part in memory; far slices make it one part at a time. */
#include <stdlib.h>

#include "../../base/arena.h"
#include "../schedule/schedule_impl.h"
#include "lower_impl.h"
#include "prepare.h"
#include "tutti/lower.h"

static void analyse(tutti_lowering *l, bool careful)
{
    l->careful = careful;
    tutti_lower_fuse(l);
}

static void lowered_part(const tutti_schedule_header *head, const void *state, int32_t rank, tutti_part_builder *b)
{
    const tutti_schedule *const *source = state;
    tutti_part in;
    tutti_schedule_part(*source, rank, &in);
    tutti_lowering l = {.in = &in, .wire = head->wire, .host_of = head->host_of, .nranks = head->nranks};
    size_t n = (size_t)in.nsteps + 1;
    l.partner = tutti_alloc(sizeof(int32_t) * n);
    l.first_fused = tutti_alloc(sizeof(int32_t) * n);
    l.next_fused = tutti_alloc(sizeof(int32_t) * n);
    l.recv_of = tutti_alloc(sizeof(int32_t) * ((size_t)in.nbuffers + 1));
    analyse(&l, false);
    if (tutti_lower_pieces(&l)) {
        tutti_lower_emit(&l, b);
    } else {
        analyse(&l, true);
        tutti_lower_pieces(&l);
        tutti_lower_emit_apart(&l, b);
    }
    free(l.pieces);
    free(l.recv_of);
    free(l.next_fused);
    free(l.first_fused);
    free(l.partner);
    tutti_part_release(&in);
}

static tutti_status lower(const tutti_schedule *s, tutti_wire_class wire, const int32_t *host_of, tutti_schedule **out,
                          tutti_failure *err)
{
    static const tutti_schedule_ops ops = {lowered_part, free};
    tutti_schedule_header head = *tutti_schedule_head(s);
    if (head.wire != TUTTI_WIRE_TWO_SIDED)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s is lowered already, for the wire class %s", head.algorithm,
                          tutti_wire_class_name(head.wire));
    head.wire = wire;
    head.room = 0;
    head.host_of = host_of;
    const tutti_schedule **source = tutti_alloc(sizeof(const tutti_schedule *));
    *source = s;
    *out = tutti_schedule_create(&head, &ops, source);
    return TUTTI_OK;
}

tutti_status tutti_schedule_lower(const tutti_schedule *s, tutti_wire_class wire, tutti_schedule **out,
                                  tutti_failure *err)
{
    if (wire == TUTTI_WIRE_MAPPED || wire == TUTTI_WIRE_ONE_SIDED) return lower(s, wire, NULL, out, err);
    return tutti_fail(err, TUTTI_ERR_USAGE, "a two-sided schedule can be lowered for mapped or one-sided wires%s",
                      wire == TUTTI_WIRE_MIXED ? "; for mixed ones the hosts of the ranks must be given" : "");
}

tutti_wire_class tutti_lower_wire(const int32_t *host_of, int32_t n, int32_t *numbers)
{
    int32_t nhosts = 0;
    for (int32_t r = 0; r < n; r++) {
        int32_t first = 0;
        while (host_of[first] != host_of[r]) first++;
        numbers[r] = first == r ? nhosts++ : numbers[first];
    }
    if (nhosts <= 1) return TUTTI_WIRE_MAPPED;
    return nhosts == n ? TUTTI_WIRE_ONE_SIDED : TUTTI_WIRE_MIXED;
}

tutti_status tutti_schedule_lower_hosts(const tutti_schedule *s, const int32_t *host_of, tutti_schedule **out,
                                        tutti_failure *err)
{
    const int32_t n = tutti_schedule_head(s)->nranks;
    int32_t *numbers = tutti_alloc(sizeof *numbers * (size_t)n);
    const tutti_wire_class wire = tutti_lower_wire(host_of, n, numbers);
    const tutti_status st = lower(s, wire, wire == TUTTI_WIRE_MIXED ? numbers : NULL, out, err);
    free(numbers);
    return st;
}

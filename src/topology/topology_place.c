/* SPDX-License-Identifier: Apache-2.0 */
/* topology_place.c: places ranks on the seats of a topology. Seats form groups: those behind one switch, on one host or
 * in one server. Placements:
 *   block        ranks take seats in order
 *   round-robin  ranks take one seat from each group in turn
 *   list         ranks take seats as the list says
 *   parity       bigraph only: our reconstruction of the rank mapping that EFLOPS (Dong et al., HPCA 2020) calls HDRM,
 *                from its property that every partner of halving and doubling sits on the other layer. With N
 *                switches, rank r, j = r div N and i = (r mod N) div 2: slot j of upper switch (i + j) mod N/2 if r has
 *                an even number of ones in binary, else of lower switch i. Partners differ in one bit, so in parity.
 *                For powers of two no directed link between switches carries more than ceil(2M/N) messages of a stage
 *                (tests/topology/test_seats.c).
 * A list of seats is checked when the topology is parsed, so that everything after it may rely on it. */
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "topology_impl.h"

static int32_t group_size(const tutti_topology *t)
{
    const tutti_topology_row *row = tutti_topology_row_at((int)t->kind);
    return row->group ? row->group(t) : 0;
}

static int32_t parity_seat(const tutti_topology *t, int32_t rank)
{
    int32_t switches = tutti_count(t, TUTTI_FIGURE_SWITCHES), half = switches / 2;
    int32_t slot = rank / switches, i = rank % switches / 2, ones = __builtin_popcount((unsigned)rank);
    int32_t at = ones % 2 ? half + i : (i + slot) % half;
    return at * tutti_count(t, TUTTI_FIGURE_HOSTS) + slot;
}

int32_t tutti_topology_seat_of(const tutti_topology *t, int32_t rank)
{
    switch ((tutti_seating)t->figure[TUTTI_FIGURE_PLACE]) {
    case TUTTI_PLACE_BLOCK: return rank;
    case TUTTI_PLACE_ROUND_ROBIN: {
        int32_t size = group_size(t), ngroups = tutti_topology_nseats(t, 0) / size;
        return rank % ngroups * size + rank / ngroups;
    }
    case TUTTI_PLACE_PARITY: return parity_seat(t, rank);
    case TUTTI_PLACE_LIST: return t->listed[rank];
    }
    return rank;
}

void tutti_place_invert(const tutti_topology *t, int32_t nranks, int32_t nseats, int32_t *rank_of)
{
    for (int32_t s = 0; s < nseats; s++) rank_of[s] = -1;
    for (int32_t r = 0; r < nranks; r++) rank_of[tutti_topology_seat_of(t, r)] = r;
}

int32_t tutti_topology_group_of(const tutti_topology *t, int32_t rank)
{
    int32_t size = group_size(t);
    return size ? tutti_topology_seat_of(t, rank) / size : 0;
}

/* Sets host_of[r] for each rank r: with `of_groups` to the lowest rank of r's group, else to r itself. */
static void find_first(const tutti_topology *t, int32_t nranks, bool of_groups, int32_t *host_of)
{
    int32_t size = group_size(t), ngroups = size ? tutti_topology_nseats(t, nranks) / size : 1;
    int32_t *first = tutti_alloc((size_t)ngroups * sizeof *first);
    for (int32_t g = 0; g < ngroups; g++) first[g] = -1;
    for (int32_t r = 0; r < nranks; r++) {
        int32_t g = tutti_topology_group_of(t, r);
        if (first[g] < 0) first[g] = r;
        host_of[r] = of_groups ? first[g] : r;
    }
    free(first);
}

void tutti_topology_hosts(const tutti_topology *t, int32_t nranks, int32_t *host_of)
{
    find_first(t, nranks, tutti_topology_row_at((int)t->kind)->maps_memory, host_of);
}

void tutti_topology_machines(const tutti_topology *t, int32_t nranks, int32_t *machine_of)
{
    find_first(t, nranks, tutti_topology_row_at((int)t->kind)->is_machine, machine_of);
}

bool tutti_topology_has_place(const tutti_topology *t, tutti_seating place)
{
    const tutti_topology_row *row = tutti_topology_row_at((int)t->kind);
    if (!tutti_topology_preset(row, TUTTI_FIGURE_PLACE)) return place == TUTTI_PLACE_BLOCK;
    return place == TUTTI_PLACE_BLOCK || place == TUTTI_PLACE_LIST || (row->places & 1u << place);
}

static tutti_status list_check(const tutti_topology *t, tutti_failure *err)
{
    int32_t nseats = tutti_topology_nseats(t, 0);
    uint8_t *taken = tutti_alloc((size_t)nseats);
    tutti_status st = TUTTI_OK;
    for (int32_t r = 0; r < t->nlisted && !st; r++) {
        if (t->listed[r] >= nseats)
            st = tutti_fail(err, TUTTI_ERR_USAGE, "topology: place: there is no seat %d, only 0 to %d",
                            (int)t->listed[r], (int)nseats - 1);
        else if (taken[t->listed[r]]++)
            st = tutti_fail(err, TUTTI_ERR_USAGE, "topology: place: seat %d is taken twice", (int)t->listed[r]);
    }
    free(taken);
    return st;
}

tutti_status tutti_place_check(const tutti_topology *t, tutti_failure *err)
{
    tutti_seating place = (tutti_seating)t->figure[TUTTI_FIGURE_PLACE];
    const tutti_topology_row *row = tutti_topology_row_at((int)t->kind);
    if (!tutti_topology_preset(row, TUTTI_FIGURE_PLACE) || place == TUTTI_PLACE_BLOCK) return TUTTI_OK;
    if (place == TUTTI_PLACE_LIST && !t->nlisted)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: place=list: name the seats, such as place=0.2.1.3");
    if (place == TUTTI_PLACE_LIST) return list_check(t, err);
    if (!tutti_topology_has_place(t, place))
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: %s has no place=%s", row->name,
                          place == TUTTI_PLACE_PARITY ? "parity" : "round-robin");
    return TUTTI_OK;
}

void tutti_topology_place(tutti_topology *t, int32_t nranks, const int32_t *seat)
{
    t->figure[TUTTI_FIGURE_PLACE] = TUTTI_PLACE_LIST;
    t->from[TUTTI_FIGURE_PLACE] = TUTTI_FROM_GIVEN;
    t->nlisted = nranks < TUTTI_MAX_SEATS_LISTED ? nranks : TUTTI_MAX_SEATS_LISTED;
    for (int32_t r = 0; r < t->nlisted; r++) t->listed[r] = (uint16_t)seat[r];
}

tutti_status tutti_topology_fits(const tutti_topology *t, int32_t nranks, tutti_failure *err)
{
    int32_t room = tutti_topology_nseats(t, nranks);
    if (t->nlisted && t->nlisted < room) room = t->nlisted;
    if (nranks >= 1 && nranks <= room) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE, "topology: this %s has room for 1 to %d ranks, not for %d",
                      tutti_topology_kind_name(t->kind), (int)room, (int)nranks);
}

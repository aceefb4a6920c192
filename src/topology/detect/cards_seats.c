/* SPDX-License-Identifier: Apache-2.0 */
/* cards_seats.c: turns the cards that NVML finds (detect_cards.c) into a topology with a seat, that is, a place for a
 * rank, for each card.
 *
 * Rates are those of NCCL's topology code, as everywhere in src/topology. Like NCCL, this file takes an NVLink's rate
 * from the card's compute capability, because NVML has reported version 5.0 on H100s, whose links are 4.0. PCIe has
 * 0.1875 GB/s a lane in generation 1, so 12 GB/s in generation 3 x16. All cards get the rate of the slowest one. NVML
 * does not report the link between sockets, so that link keeps its preset rate. Cards under one PCIe switch, or on one
 * board, share a switch of the tree. A switch behind another switch is placed beside it, under the socket. That changes
 * no rate: all links of the tree have one rate, so the socket's link bounds such routes anyway. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../topology_impl.h"

enum { ONE_SWITCH = 10, ONE_NODE = 40, MAX = TUTTI_MAX_SERVER_GPUS };

typedef struct {
    const tutti_host_cards *cards;
    tutti_topology *t;
    char *notes; /* receives notes for the user, up to TUTTI_TOPOLOGY_NOTES bytes; may be NULL */
} seating;

static void note(const seating *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(const seating *s, const char *format, ...)
{
    if (!s->notes) return;
    const size_t used = strlen(s->notes);
    va_list args;
    va_start(args, format);
    vsnprintf(s->notes + used, TUTTI_TOPOLOGY_NOTES - used, format, args);
    va_end(args);
}

static void set_figure(const seating *s, tutti_figure f, double value)
{
    s->t->figure[f] = value;
    s->t->from[f] = TUTTI_FROM_DETECTED;
}

static double nvlink_rate(int capability)
{
    if (capability >= 100) return 40.1e9;
    if (capability >= 90) return 20.6e9;
    if (capability == 86) return 12e9;
    return capability >= 70 ? 20e9 : 18e9;
}

/* Returns the rate of a card's PCIe link in bytes per second; 0: unknown. */
static double pcie_rate(const tutti_host_card *card)
{
    return card->generation >= 1 && card->generation <= 6 ? 0.1875e9 * card->width * (1 << (card->generation - 1)) : 0;
}

static bool has_nvlinks(const tutti_host_cards *c, int i)
{
    int n = c->card[i].switched;
    for (int j = 0; j < c->n; j++) n += c->nvlinks[i][j];
    return n > 0;
}

/* Sets the topology's rate of an NVLink to that of the slowest card that has any NVLink. */
static void take_nvlink_rate(const seating *s)
{
    double slowest = 0, fastest = 0;
    for (int i = 0; i < s->cards->n; i++) {
        const double rate = nvlink_rate(s->cards->card[i].capability);
        if (!has_nvlinks(s->cards, i)) continue;
        if (!s->cards->card[i].capability) {
            note(s, "The rate of card %d's NVLinks is unknown: nvlink is assumed.\n", i);
            return;
        }
        if (slowest == 0 || rate < slowest) slowest = rate;
        if (rate > fastest) fastest = rate;
    }
    if (slowest < fastest) note(s, "NVLinks differ in rate: the slowest counts for all.\n");
    if (slowest > 0) set_figure(s, TUTTI_FIGURE_NVLINK, slowest);
}

static void take_pcie_rate(const seating *s)
{
    double slowest = 0, fastest = 0;
    for (int i = 0; i < s->cards->n; i++) {
        const double rate = pcie_rate(&s->cards->card[i]);
        if (rate <= 0) {
            note(s, "The rate of card %d's PCIe link is unknown: pcie is assumed.\n", i);
            return;
        }
        if (slowest == 0 || rate < slowest) slowest = rate;
        if (rate > fastest) fastest = rate;
    }
    if (slowest < fastest) note(s, "PCIe links differ in rate: the slowest counts for all.\n");
    set_figure(s, TUTTI_FIGURE_PCIE, slowest);
}

/* Puts cards into one group if PCIe paths no longer than `level` join them, through other cards too. group[i] becomes
 * the number of card i's group. Groups are numbered in the order of their first cards. Returns the number of groups. */
static int find_groups(const tutti_host_cards *c, int level, int group[MAX])
{
    int ngroups = 0;
    for (int i = 0; i < c->n; i++) group[i] = -1;
    for (int first = 0; first < c->n; first++) {
        if (group[first] >= 0) continue;
        group[first] = ngroups++;
        for (bool grew = true; grew;) {
            grew = false;
            for (int i = 0; i < c->n; i++)
                for (int j = 0; j < c->n; j++)
                    if (i != j && group[i] == group[first] && group[j] < 0 && c->ancestor[i][j] <= level)
                        group[j] = group[first], grew = true;
        }
    }
    return ngroups;
}

typedef struct {
    int nsockets, nswitches /* of each socket */, nslots /* of each switch */;
    int slot[MAX]; /* for each card: number of its slot, counted over the whole tree */
} tree;

static void grow_tree(const tutti_host_cards *c, tree *out)
{
    tutti_host_cards known = *c;
    /* For each card: its socket, its switch. For each switch: first card, number in its socket, number of filled slots.
     * For each socket: number of switches. */
    int socket[MAX], sw[MAX], first[MAX], at[MAX], filled[MAX] = {0}, switches[MAX] = {0};
    for (int i = 0; i < c->n; i++) /* if the path between two cards is unknown, they count as cards of one socket */
        for (int j = 0; j < c->n; j++)
            if (known.ancestor[i][j] == TUTTI_ANCESTOR_UNKNOWN) known.ancestor[i][j] = ONE_NODE;
    *out = (tree){.nsockets = find_groups(&known, ONE_NODE, socket)};
    find_groups(&known, ONE_SWITCH, sw);
    for (int i = c->n - 1; i >= 0; i--) first[sw[i]] = i;
    for (int i = 0; i < c->n; i++) {
        if (first[sw[i]] == i) at[sw[i]] = switches[socket[i]]++;
        out->slot[i] = filled[sw[i]]++;
        if (filled[sw[i]] > out->nslots) out->nslots = filled[sw[i]];
        if (switches[socket[i]] > out->nswitches) out->nswitches = switches[socket[i]];
    }
    for (int i = 0; i < c->n; i++) out->slot[i] += (socket[i] * out->nswitches + at[sw[i]]) * out->nslots;
}

/* Writes the mesh of NVLinks. In it cards are named by their slots, in ascending order. */
static void take_mesh(const seating *s, const tree *tr)
{
    int card_in[MAX];
    tutti_topology *t = s->t;
    for (int p = 0; p < MAX; p++) card_in[p] = -1;
    for (int i = 0; i < s->cards->n; i++) card_in[tr->slot[i]] = i;
    for (int a = 0; a < MAX; a++)
        for (int b = a + 1; b < MAX; b++) {
            const int count = card_in[a] < 0 || card_in[b] < 0 ? 0 : s->cards->nvlinks[card_in[a]][card_in[b]];
            if (count) t->mesh[t->nmesh++] = (tutti_nvlink){(uint8_t)a, (uint8_t)b, (uint8_t)count};
        }
    if (!t->nmesh) return;
    set_figure(s, TUTTI_FIGURE_MESH, t->nmesh);
    take_nvlink_rate(s);
    /* NCCL's latency of a step over NVLink, because this kind's preset is the latency of PCIe */
    t->figure[TUTTI_FIGURE_SOFTWARE] =
        tutti_topology_preset(tutti_topology_row_at(TUTTI_TOPOLOGY_NVSWITCH), TUTTI_FIGURE_SOFTWARE)->value;
}

/* Lists the seats of the ranks: rank r sits on card r, even if slots have another order. */
static void take_seats(const seating *s, const tree *tr)
{
    int32_t seat[MAX];
    bool in_order = true;
    unsigned gpus = 0;
    for (int i = 0; i < s->cards->n; i++) gpus |= 1u << tr->slot[i];
    for (int i = 0; i < s->cards->n; i++) {
        seat[i] = __builtin_popcount(gpus & ((1u << tr->slot[i]) - 1));
        in_order &= seat[i] == i;
    }
    set_figure(s, TUTTI_FIGURE_GPUS, gpus);
    if (in_order) return;
    tutti_topology_place(s->t, s->cards->n, seat);
    s->t->from[TUTTI_FIGURE_PLACE] = TUTTI_FROM_DETECTED;
}

static void say_unknown_ways(const seating *s)
{
    for (int i = 0; i < s->cards->n; i++)
        for (int j = 0; j < i; j++)
            if (s->cards->ancestor[i][j] == TUTTI_ANCESTOR_UNKNOWN) {
                note(s, "NVML does not say what PCIe ways go through: cards are assumed to share a socket.\n");
                return;
            }
}

static tutti_status seat_in_tree(const seating *s, tutti_failure *err)
{
    tree tr;
    grow_tree(s->cards, &tr);
    if (tr.nsockets > 2 || tr.nsockets * tr.nswitches * tr.nslots > MAX)
        return tutti_fail(
            err, TUTTI_ERR_FAILED,
            "topology: these %d cards are under %d sockets, up to %d PCIe switches a socket and %d cards a "
            "switch; 'cards' has 2 sockets and %d slots in all",
            s->cards->n, tr.nsockets, tr.nswitches, tr.nslots, MAX);
    set_figure(s, TUTTI_FIGURE_SOCKETS, tr.nsockets);
    set_figure(s, TUTTI_FIGURE_SWITCHES, tr.nswitches);
    set_figure(s, TUTTI_FIGURE_SLOTS, tr.nslots);
    take_seats(s, &tr);
    take_mesh(s, &tr);
    take_pcie_rate(s);
    say_unknown_ways(s);
    return TUTTI_OK;
}

/* Makes the topology of cards behind NVSwitches. A card without an NVLink into a switch gets no seat. */
static void seat_at_switches(const seating *s)
{
    const tutti_host_cards *c = s->cards;
    int fewest = 0, most = 0;
    unsigned gpus = 0;
    for (int i = 0; i < c->n; i++) {
        const int links = c->card[i].switched;
        if (!links) {
            note(s, "Card %d has no NVLink into the NVSwitches and no seat.\n", i);
            continue;
        }
        gpus |= 1u << i;
        if (!fewest || links < fewest) fewest = links;
        if (links > most) most = links;
        for (int j = 0; j < i; j++)
            if (c->nvlinks[i][j])
                note(s, "NVLinks between cards %d and %d, past the NVSwitches, are left out.\n", j, i);
    }
    if (fewest < most)
        note(s, "Cards have %d to %d NVLinks into the NVSwitches: the fewest count for all.\n", fewest, most);
    set_figure(s, TUTTI_FIGURE_GPUS, gpus);
    set_figure(s, TUTTI_FIGURE_LINKS, fewest);
    take_nvlink_rate(s);
}

tutti_status tutti_topology_of_cards(const tutti_host_cards *cards, tutti_topology *out,
                                     char notes[TUTTI_TOPOLOGY_NOTES], tutti_failure *err)
{
    tutti_topology t = {.kind = TUTTI_TOPOLOGY_CARDS};
    const seating s = {cards, &t, notes};
    if (notes) notes[0] = '\0';
    if (!cards->n)
        return tutti_fail(err, TUTTI_ERR_FAILED, "topology: this machine has no card of NVIDIA's%s",
                          cards->has_driver ? " that its driver sees"
                                            : ", or not its driver: there is no libnvidia-ml.so.1");
    for (int i = 0; i < cards->n; i++) {
        if (cards->card[i].switched) t.kind = TUTTI_TOPOLOGY_NVSWITCH;
        if (cards->card[i].elsewhere)
            note(&s, "%d NVLinks of card %d lead to no card that is seen here: they are left out.\n",
                 cards->card[i].elsewhere, i);
    }
    const tutti_topology_row *row = tutti_topology_row_at((int)t.kind);
    tutti_topology_take_presets(row, &t);
    tutti_status st = TUTTI_OK;
    if (t.kind == TUTTI_TOPOLOGY_NVSWITCH)
        seat_at_switches(&s);
    else
        st = seat_in_tree(&s, err);
    if (!st && row->check) st = row->check(&t, err);
    if (!st) *out = t;
    return st;
}

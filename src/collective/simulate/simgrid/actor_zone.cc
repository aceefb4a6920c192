// SPDX-License-Identifier: Apache-2.0
// actor_zone.cc: the shim to SimGrid's C++ interface. It looks routes up in our topology instead of computing them, so
// that both engines load the same links. NetZoneImpl is a class of SimGrid's kernel and promises nothing between
// versions; the build asks for the version that this file was written for.
//
// Latencies. SimGrid gives messages that share a link bytes in inverse proportion to their latencies, as TCP does.
// Unless that is asked for (head.tcp) its links have no latency, and the rank that waits for a message adds it
// (actor_player.c): shares are then max-min fair.
#include "actor_zone.h"

#include <simgrid/Exception.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

static_assert(SIMGRID_VERSION_MAJOR == 3 && SIMGRID_VERSION_MINOR == 32, "written for SimGrid 3.32");

namespace sg4 = simgrid::s4u;
using simgrid::kernel::routing::NetPoint;
using simgrid::kernel::routing::NetZoneImpl;
using simgrid::kernel::routing::Route;

namespace {

// A host is rank * naliases + alias; the alias of the sender selects the route.
class Network final : public NetZoneImpl {
    const tutti_actor_problem *problem;
    std::vector<simgrid::kernel::resource::StandardLinkImpl *> links; // the last one takes no time

    const tutti_actor_pair *find(int32_t src, int32_t alias, int32_t dst) const
    {
        const tutti_actor_pair *end = problem->pairs + problem->head->npairs, wanted = {src, alias, dst, 0, 0};
        auto before = [](const tutti_actor_pair &a, const tutti_actor_pair &b) {
            return a.src != b.src ? a.src < b.src : a.alias != b.alias ? a.alias < b.alias : a.dst < b.dst;
        };
        const tutti_actor_pair *at = std::lower_bound(problem->pairs, end, wanted, before);
        return at != end && !before(wanted, *at) ? at : nullptr;
    }

public:
    std::vector<sg4::Host *> hosts;

    explicit Network(const tutti_actor_problem *p) : NetZoneImpl("tutti"), problem(p)
    {
        for (int64_t i = 0; i < p->head->nlinks; i++) add_link("l" + std::to_string(i), p->links[i].bytes_per_s);
        add_link("own", 1e18);
        for (int32_t i = 0; i < p->head->nranks * p->head->naliases; i++)
            hosts.push_back(create_host("h" + std::to_string(i), {1e9})->seal());
    }

    void add_link(const std::string &name, double bytes_per_s)
    {
        sg4::Link *link = create_link(name, {bytes_per_s});
        const size_t i = links.size();
        if (problem->head->tcp && i < static_cast<size_t>(problem->head->nlinks)) link->set_latency(problem->links[i].latency_s);
        if (name == "own") link->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
        link->seal();
        links.push_back(link->get_impl());
    }

    void get_local_route(const NetPoint *src, const NetPoint *dst, Route *into, double *latency) override
    {
        const int32_t n = problem->head->naliases, from = static_cast<int32_t>(src->id()), to = static_cast<int32_t>(dst->id());
        const tutti_actor_pair *pair = find(from / n, from % n, to / n);
        if (!pair || !pair->nhops) into->link_list_.push_back(links.back());
        for (int32_t h = 0; pair && h < pair->nhops; h++) {
            const int32_t link = problem->hops[pair->first_hop + h];
            into->link_list_.push_back(links[static_cast<size_t>(link)]);
            if (latency && problem->head->tcp) *latency += problem->links[link].latency_s;
        }
    }

    void get_graph(const s_xbt_graph_t *, std::map<std::string, xbt_node_t, std::less<>> *,
                   std::map<std::string, xbt_edge_t, std::less<>> *) override
    {
    }
};

// Dummy content of a message and its destination; nothing reads them.
char payload;
void *nowhere;

} // namespace

struct tutti_zone {
    const tutti_actor_problem *problem;
    sg4::Engine *engine;
    Network *network;
    std::vector<sg4::Mailbox *> boxes; // line * nparts + part
    bool carried;                      // actors of their own carry messages that need the host of an alias

    int32_t nparts() const { return problem->head->nparts; }
    sg4::Mailbox *box(int32_t line, int32_t part) const { return boxes[static_cast<size_t>(line) * nparts() + part]; }
    sg4::Host *host(int32_t rank, int32_t alias) const { return network->hosts[rank * problem->head->naliases + alias]; }
};

struct tutti_wait_set {
    std::vector<sg4::CommPtr> comms;
    std::vector<int32_t> tags;

    void add(sg4::CommPtr comm, int32_t tag)
    {
        comms.push_back(std::move(comm));
        tags.push_back(tag);
    }

    int32_t take(ssize_t at)
    {
        if (at < 0) return -1;
        const int32_t tag = tags[static_cast<size_t>(at)];
        comms[static_cast<size_t>(at)] = std::move(comms.back());
        comms.pop_back();
        tags[static_cast<size_t>(at)] = tags.back();
        tags.pop_back();
        return tag;
    }
};

static uint64_t whole(double bytes, int32_t part, int32_t nparts)
{
    const int64_t n = static_cast<int64_t>(bytes);
    return static_cast<uint64_t>(n * (part + 1) / nparts - n * part / nparts);
}

tutti_zone *tutti_zone_create(const tutti_actor_problem *p)
{
    std::vector<std::string> words = {"tutti-simgrid", "--log=root.thres:critical", "--log=no_loc",
                                      p->head->tcp ? "--cfg=network/model:LV08" : "--cfg=network/model:CM02"};
    if (!p->head->tcp) {
        words.emplace_back("--cfg=network/TCP-gamma:0");
        words.emplace_back("--cfg=network/crosstraffic:0");
    }
    char number[40];
    snprintf(number, sizeof number, "--cfg=surf/precision:%.3g", p->head->precision_s);
    words.emplace_back(number);
    std::vector<char *> argv;
    for (auto &word : words) argv.push_back(&word[0]);
    int argc = static_cast<int>(argv.size());
    argv.push_back(nullptr);
    auto *z = new tutti_zone{p, new sg4::Engine(&argc, argv.data()), nullptr, {}, false};
    z->network = new Network(p);
    z->network->get_iface()->seal();
    z->carried = p->head->naliases > 1 || p->head->nparts > 1;
    for (int64_t i = 0; i < p->head->nlines * p->head->nparts; i++)
        z->boxes.push_back(sg4::Mailbox::by_name(std::to_string(i)));
    return z;
}

void tutti_zone_run(tutti_zone *z, void (*play)(void *with, tutti_zone *z, int32_t rank, tutti_wait_set *set),
                    void *with)
{
    std::vector<tutti_wait_set> sets(static_cast<size_t>(z->problem->head->nranks));
    std::vector<sg4::ActorPtr> actors;
    for (int32_t r = 0; r < z->problem->head->nranks; r++) {
        tutti_wait_set *set = &sets[static_cast<size_t>(r)];
        actors.push_back(sg4::Actor::create("r", z->host(r, 0), [=] {
            try {
                play(with, z, r, set);
            } catch (const simgrid::Exception &) { // an actor that hangs was ended, and this one waited for it
            }
        }));
    }
    for (int64_t l = 0; l < z->problem->head->nlines; l++)
        for (int32_t part = 0; z->problem->lines[l].eager && part < z->nparts(); part++)
            z->box(static_cast<int32_t>(l), part)->set_receiver(actors[static_cast<size_t>(z->problem->lines[l].dst)]);
    z->engine->run();
}

// Carries flows that begin at another host than their sender's: an actor there sends them. The last flow of a message
// tells the sender.
static void carry(tutti_zone *z, int32_t line, double bytes, sg4::Mailbox *told)
{
    const tutti_actor_line *l = &z->problem->lines[line];
    auto left = std::make_shared<int32_t>(z->nparts());
    for (int32_t part = 0; part < z->nparts(); part++) {
        sg4::Host *from = z->host(l->src, z->problem->aliases[l->first_alias + part]);
        sg4::Actor::create("c", from, [=] {
            z->box(line, part)->put(&payload, whole(bytes, part, z->nparts()));
            if (--*left == 0 && told) told->put_init(&payload, 0)->detach();
        });
    }
}

void tutti_zone_send(tutti_zone *z, tutti_wait_set *set, int32_t line, double bytes, int32_t tag)
{
    if (!z->carried) {
        set->add(z->box(line, 0)->put_async(&payload, whole(bytes, 0, 1)), tag);
        return;
    }
    sg4::Mailbox *told = sg4::Mailbox::by_name("told" + std::to_string(line));
    carry(z, line, bytes, told);
    set->add(told->get_async(&nowhere), tag);
}

void tutti_zone_receive(tutti_zone *z, tutti_wait_set *set, int32_t line, int32_t tag)
{
    for (int32_t part = 0; part < z->nparts(); part++) set->add(z->box(line, part)->get_async(&nowhere), tag);
}

void tutti_zone_signal(tutti_zone *z, int32_t line, double bytes)
{
    if (z->carried)
        carry(z, line, bytes, nullptr);
    else
        z->box(line, 0)->put_init(&payload, whole(bytes, 0, 1))->detach();
}

void tutti_zone_load(tutti_zone *z, tutti_wait_set *set, const tutti_actor_load *load, int32_t tag)
{
    set->add(sg4::Comm::sendto_async(z->host(load->src, 0), z->host(load->dst, 0), static_cast<uint64_t>(load->bytes)), tag);
}

int64_t tutti_wait_set_size(const tutti_wait_set *set)
{
    return static_cast<int64_t>(set->comms.size());
}

int32_t tutti_wait_set_next(tutti_wait_set *set, double until)
{
    if (until < 0 && set->comms.size() == 1) {
        set->comms[0]->wait();
        return set->take(0);
    }
    return set->take(sg4::Comm::wait_any_for(set->comms, until < 0 ? -1 : std::max(0.0, until - sg4::Engine::get_clock())));
}

double tutti_zone_now(void)
{
    return sg4::Engine::get_clock();
}

void tutti_zone_sleep_until(double until)
{
    sg4::this_actor::sleep_until(until);
}

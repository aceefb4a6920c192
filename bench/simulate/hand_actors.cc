// SPDX-License-Identifier: Apache-2.0
// hand_actors.cc: halving-doubling as somebody would write it for SimGrid alone: an actor a rank, a mailbox for each pair, SimGrid's own star.
// usage: hand_actors RANKS BYTES. Figures are those of bench/simulate/run_simulate.py's star. Prints the simulated seconds.
#include <simgrid/s4u.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

constexpr double BYTES_PER_S = 1.25e9, LATENCY_S = 5e-6, ADD_BYTES_PER_S = 1e10;
char payload;

sg4::Mailbox *box(int from, int to)
{
    return sg4::Mailbox::by_name(std::to_string(from) + ">" + std::to_string(to));
}

void exchange(int rank, int peer, double bytes, double work_s)
{
    auto sent = box(rank, peer)->put_async(&payload, static_cast<uint64_t>(bytes));
    box(peer, rank)->get<char>();
    sent->wait();
    if (work_s > 0) sg4::this_actor::sleep_for(work_s);
}

void play(int rank, int nranks, double bytes)
{
    int mask = 1;
    for (bytes /= 2; mask < nranks; mask *= 2, bytes /= 2) exchange(rank, rank ^ mask, bytes, bytes / ADD_BYTES_PER_S);
    for (mask /= 2, bytes *= 2; mask; mask /= 2, bytes *= 2) exchange(rank, rank ^ mask, bytes, 0);
}

sg4::LinkInRoute one_way(sg4::NetZone *zone, const std::string &name, double latency_s)
{
    return sg4::LinkInRoute(zone->create_link(name, BYTES_PER_S)->set_latency(latency_s)->seal());
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    const int nranks = std::atoi(argv[1]);
    const double bytes = std::atof(argv[2]);
    char log[] = "--log=root.thres:critical", model[] = "--cfg=network/model:CM02", gamma[] = "--cfg=network/TCP-gamma:0",
         cross[] = "--cfg=network/crosstraffic:0", precision[] = "--cfg=surf/precision:1e-12";
    std::vector<char *> words = {argv[0], log, model, gamma, cross, precision, nullptr};
    int nwords = 6;
    sg4::Engine engine(&nwords, words.data());
    sg4::NetZone *zone = sg4::create_star_zone("star");
    for (int r = 0; r < nranks; r++) {
        sg4::Host *host = zone->create_host("h" + std::to_string(r), 1e9)->seal();
        const auto up = one_way(zone, "up" + std::to_string(r), LATENCY_S), down = one_way(zone, "down" + std::to_string(r), 0);
        zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {up}, false);
        zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {down}, false);
        sg4::Actor::create("r", host, [=] { play(r, nranks, bytes); });
    }
    zone->seal();
    engine.run();
    std::printf("%.12g\n", sg4::Engine::get_clock());
    return 0;
}

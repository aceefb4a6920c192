// SPDX-License-Identifier: Apache-2.0
// ccl_allreduce.cc: the peer oneCCL of ./dev bench allreduce: ccl::allreduce of floats in plain memory, ranks of one host. Built by
// the benchmark against the CPU library of PyPI's oneccl-devel.
//
// usage: ccl_allreduce RANK RANKS FILE BYTES...; the ranks meet through FILE; rank 0 prints "BYTES MICROSECONDS" a line, measured
// as mpi_allreduce.c does.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "oneapi/ccl.hpp"

// What the static library calls of Intel's tracing interface: pointers that are null when nobody traces.
extern "C" {
#define NOBODY_TRACES(name) void *__itt_##name##_ptr__3_0 = nullptr;
NOBODY_TRACES(domain_create)
NOBODY_TRACES(event_create)
NOBODY_TRACES(event_end)
NOBODY_TRACES(event_start)
NOBODY_TRACES(metadata_add)
NOBODY_TRACES(string_handle_create)
NOBODY_TRACES(task_begin)
NOBODY_TRACES(task_end)
NOBODY_TRACES(thread_set_name)
}

namespace
{

constexpr int rounds = 7;
constexpr double round_s = 0.02;

double now_s()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double time_round(ccl::communicator &comm, const std::vector<float> &in, std::vector<float> &out, long iterations)
{
    double own, slowest;
    ccl::barrier(comm);
    double begin = now_s();
    for (long i = 0; i < iterations; i++)
        ccl::allreduce(in.data(), out.data(), in.size(), ccl::reduction::sum, comm).wait();
    own = (now_s() - begin) / static_cast<double>(iterations);
    ccl::allreduce(&own, &slowest, 1, ccl::reduction::max, comm).wait();
    return slowest;
}

double time_size(ccl::communicator &comm, long bytes)
{
    std::vector<float> in(static_cast<size_t>(bytes) / sizeof(float)), out(in.size());
    for (size_t i = 0; i < in.size(); i++) in[i] = static_cast<float>(i % 7);
    time_round(comm, in, out, 2);
    double once = time_round(comm, in, out, 3);
    if (once < 1e-3) once = time_round(comm, in, out, 20);
    for (size_t i = 0; i < in.size(); i++)
        if (out[i] != static_cast<float>(comm.size()) * in[i]) std::exit(2);
    if (once < round_s) once = time_round(comm, in, out, static_cast<long>(round_s / once)); // what is found out by doing is
    long iterations = std::max(1L, static_cast<long>(round_s / once));
    std::vector<double> times;
    for (int r = 0; r < rounds; r++) times.push_back(time_round(comm, in, out, iterations));
    std::sort(times.begin(), times.end());
    return times[rounds / 2];
}

// Rank 0 writes the address under another name and renames it, so that who reads it reads all of it.
ccl::shared_ptr_class<ccl::kvs> meet(int rank, const char *path)
{
    ccl::kvs::address_type address;
    if (rank == 0) {
        auto kvs = ccl::create_main_kvs();
        std::string temporary = std::string(path) + ".tmp";
        address = kvs->get_address();
        FILE *f = std::fopen(temporary.c_str(), "wb");
        if (!f || std::fwrite(address.data(), 1, address.size(), f) != address.size() || std::fclose(f)) std::exit(1);
        if (std::rename(temporary.c_str(), path)) std::exit(1);
        return kvs;
    }
    for (int tries = 0; tries < 1000; tries++) {
        if (FILE *f = std::fopen(path, "rb")) {
            size_t got = std::fread(address.data(), 1, address.size(), f);
            std::fclose(f);
            if (got == address.size()) return ccl::create_kvs(address);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::exit(1);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 5) return 2;
    int rank = std::atoi(argv[1]), nranks = std::atoi(argv[2]);
    ccl::init();
    auto kvs = meet(rank, argv[3]);
    auto comm = ccl::create_communicator(nranks, rank, kvs);
    for (int i = 4; i < argc; i++) {
        double seconds = time_size(comm, std::atol(argv[i]));
        if (rank == 0) std::printf("%s %.4f\n", argv[i], 1e6 * seconds);
        std::fflush(stdout);
    }
    return 0;
}

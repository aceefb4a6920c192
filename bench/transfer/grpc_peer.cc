// SPDX-License-Identifier: Apache-2.0
// grpc_peer.cc: bytes from one process to another by C++ gRPC over TCP, in each of the ways that gRPC offers, to find its best.
//
//   grpc_peer serve                                prints its port, serves until stdin ends
//   grpc_peer call PORT VARIANT ROUNDS BYTES,..    "VARIANT MICROSECONDS" a round: from the first byte of the first message until
//                                                  the server's answer to the last has come
//
// Variants:
//   bytes    unary call, the tensor as `bytes` of a protobuf message; the server copies it to its place
//   unary    unary call, the tensor as slices that gRPC neither copies nor parses (ByteBuffer); the server leaves it where it lies
//   stream   one stream for all, otherwise as `unary`; the next message is written while answers to earlier ones are on their way
//   place    as `stream`, but the server copies the slices to the tensor's place, where something can be computed with them
// Raw variants use completion queues polled by the threads that wait, which spares gRPC's hand-overs between threads.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "transfer.grpc.pb.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPlace = std::size_t{1} << 28;  // the largest tensor

void *Tag(std::intptr_t n) { return reinterpret_cast<void *>(n); }

// ---- the server ----

class TypedService final : public tutti::bench::Transfer::Service {
 public:
  explicit TypedService(std::vector<char> &place) : place_(place) {}
  grpc::Status Put(grpc::ServerContext *, const tutti::bench::Tensor *in, tutti::bench::Taken *) override {
    std::memcpy(place_.data(), in->data().data(), std::min(in->data().size(), place_.size()));
    return grpc::Status::OK;
  }

 private:
  std::vector<char> &place_;
};

void CopyToPlace(const grpc::ByteBuffer &in, std::vector<char> &place) {
  std::vector<grpc::Slice> slices;
  if (!in.Dump(&slices).ok()) return;
  std::size_t at = 0;
  for (const grpc::Slice &slice : slices) {
    if (at + slice.size() > place.size()) return;
    std::memcpy(place.data() + at, slice.begin(), slice.size());
    at += slice.size();
  }
}

// One call at a time, each step waited for: the client does nothing else either.
class RawServer {
 public:
  RawServer(grpc::AsyncGenericService &service, std::unique_ptr<grpc::ServerCompletionQueue> queue)
      : service_(service), queue_(std::move(queue)), place_(kPlace) {}

  void Run() {
    while (ServeCall()) {
    }
  }
  void Shutdown() { queue_->Shutdown(); }

 private:
  bool Step() {
    void *tag;
    bool ok;
    return queue_->Next(&tag, &ok) && ok;
  }

  bool ServeCall() {
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter stream(&context);
    service_.RequestCall(&context, &stream, queue_.get(), queue_.get(), Tag(1));
    if (!Step()) return false;
    const bool unary = context.method() == "/raw/unary", place = context.method() == "/raw/place";
    for (;;) {
      grpc::ByteBuffer in;
      stream.Read(&in, Tag(2));
      if (!Step()) break;
      if (place) CopyToPlace(in, place_);
      const std::uint64_t length = in.Length();
      const grpc::Slice slice(&length, sizeof length);
      const grpc::ByteBuffer answer(&slice, 1);
      if (unary) {
        stream.WriteAndFinish(answer, grpc::WriteOptions(), grpc::Status::OK, Tag(3));
        Step();
        return true;
      }
      stream.Write(answer, Tag(3));
      if (!Step()) break;
    }
    stream.Finish(grpc::Status::OK, Tag(4));
    Step();
    return true;
  }

  grpc::AsyncGenericService &service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::vector<char> place_;
};

int Serve() {
  std::vector<char> typed_place(kPlace);
  TypedService typed(typed_place);
  grpc::AsyncGenericService generic;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 16 << 20);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 256 << 20);
  builder.RegisterService(&typed);
  builder.RegisterAsyncGenericService(&generic);
  std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  RawServer raw(generic, std::move(queue));
  std::thread thread([&raw] { raw.Run(); });
  std::printf("%d %s\n", port, grpc::Version().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  server->Shutdown(std::chrono::system_clock::now());
  raw.Shutdown();
  thread.join();
  return 0;
}

// ---- the client ----

using Sizes = std::vector<std::size_t>;

class Client {
 public:
  explicit Client(const std::string &port) : memory_(kPlace, 'x') {
    grpc::ChannelArguments arguments;
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 16 << 20);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 256 << 20);
    arguments.SetInt(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, 64 << 20);
    arguments.SetString(GRPC_ARG_OPTIMIZATION_TARGET, "throughput");
    channel_ = grpc::CreateCustomChannel("127.0.0.1:" + port, grpc::InsecureChannelCredentials(), arguments);
    typed_ = tutti::bench::Transfer::NewStub(channel_);
    raw_ = std::make_unique<grpc::GenericStub>(channel_);
  }

  bool Bytes(const Sizes &sizes) {
    for (std::size_t size : sizes) {
      grpc::ClientContext context;
      tutti::bench::Tensor tensor;
      tutti::bench::Taken taken;
      tensor.mutable_data()->assign(memory_.data(), size);
      if (!typed_->Put(&context, tensor, &taken).ok()) return false;
    }
    return true;
  }

  bool Unary(const Sizes &sizes) {
    for (std::size_t size : sizes) {
      grpc::ClientContext context;
      grpc::ByteBuffer answer;
      grpc::Status status;
      const grpc::ByteBuffer message = Borrow(size);
      auto call = raw_->PrepareUnaryCall(&context, "/raw/unary", message, &queue_);
      call->StartCall();
      call->Finish(&answer, &status, Tag(1));
      if (!Next(nullptr) || !status.ok() || Answered(answer) != size) return false;
    }
    return true;
  }

  bool OpenStream(const char *method) {
    stream_context_ = std::make_unique<grpc::ClientContext>();
    stream_ = raw_->PrepareCall(stream_context_.get(), method, &queue_);
    stream_->StartCall(Tag(1));
    return Next(nullptr);
  }

  // One write and one read are under way at any time, which is what gRPC allows.
  bool Stream(const Sizes &sizes) {
    std::size_t written = 0, answered = 0;
    grpc::ByteBuffer answer;
    stream_->Write(Borrow(sizes[0]), Tag(kWritten));
    stream_->Read(&answer, Tag(kAnswered));
    while (written < sizes.size() || answered < sizes.size()) {
      std::intptr_t what;
      if (!Next(&what)) return false;
      if (what == kWritten && ++written < sizes.size()) stream_->Write(Borrow(sizes[written]), Tag(kWritten));
      if (what != kAnswered) continue;
      if (Answered(answer) != sizes[answered]) return false;
      if (++answered < sizes.size()) stream_->Read(&answer, Tag(kAnswered));
    }
    return true;
  }

  void CloseStream() {
    if (!stream_) return;
    grpc::Status status;
    stream_->WritesDone(Tag(1));
    Next(nullptr);
    stream_->Finish(&status, Tag(2));
    Next(nullptr);
  }

 private:
  static constexpr std::intptr_t kWritten = 1, kAnswered = 2;

  grpc::ByteBuffer Borrow(std::size_t size) const {
    const grpc::Slice slice(memory_.data(), size, grpc::Slice::STATIC_SLICE);
    return grpc::ByteBuffer(&slice, 1);
  }

  // The length that has arrived.
  static std::size_t Answered(const grpc::ByteBuffer &answer) {
    grpc::Slice slice;
    std::uint64_t length = 0;
    if (answer.DumpToSingleSlice(&slice).ok() && slice.size() == sizeof length)
      std::memcpy(&length, slice.begin(), sizeof length);
    return length;
  }

  bool Next(std::intptr_t *what) {
    void *tag;
    bool ok;
    if (!queue_.Next(&tag, &ok) || !ok) return false;
    if (what) *what = reinterpret_cast<std::intptr_t>(tag);
    return true;
  }

  std::vector<char> memory_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<tutti::bench::Transfer::Stub> typed_;
  std::unique_ptr<grpc::GenericStub> raw_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientContext> stream_context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

int Call(const std::string &port, const std::string &variant, int rounds, const std::string &list) {
  Sizes sizes;
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) sizes.push_back(std::stoull(item));
  if (sizes.empty() || *std::max_element(sizes.begin(), sizes.end()) > kPlace) return 2;
  Client client(port);
  const bool streams = variant == "stream" || variant == "place";
  if (!streams && variant != "bytes" && variant != "unary") return 2;
  if (streams && !client.OpenStream(variant == "place" ? "/raw/place" : "/raw/stream")) return 1;
  for (int round = 0; round < rounds; round++) {
    const auto begin = Clock::now();
    const bool good = streams ? client.Stream(sizes) : variant == "bytes" ? client.Bytes(sizes) : client.Unary(sizes);
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    if (!good) return 1;
    std::printf("%s %.3f\n", variant.c_str(), took.count());
  }
  client.CloseStream();
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "serve") return Serve();
  if (verb == "call" && argc == 6) return Call(argv[2], argv[3], std::atoi(argv[4]), argv[5]);
  std::fprintf(stderr, "usage: grpc_peer serve | call PORT bytes|unary|stream|place ROUNDS BYTES,..\n");
  return 2;
}

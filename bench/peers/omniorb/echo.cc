// omniORB's side of the bench: `echo serve [-ORB…]`, `echo drive REFERENCE [-ORB…]` and `echo tier SINK [-ORB…]`.
//
// It speaks the line protocol of bench/src/orders.rs: the server prints `ready REFERENCE` and ends when its
// standard input does; the client reads orders and answers each with one line.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench.hh"
#include "cuber.hh"

using Clock = std::chrono::steady_clock;

static uint64_t nanoseconds(Clock::duration d) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}

class EchoServant : public POA_Bench::Echoer {
 public:
  CORBA::LongLong echo(CORBA::LongLong v) override { return v; }
  void send(CORBA::LongLong) override { taken.fetch_add(1, std::memory_order_relaxed); }
  CORBA::ULongLong received() override { return taken.load(); }
  Bench::Octets* echo_octets(const Bench::Octets& data) override {
    // The C++ mapping wants a result that the ORB may free: this copy is what an application pays.
    return new Bench::Octets(data);
  }

 private:
  std::atomic<uint64_t> taken{0};
};

// A middle tier: asks the sink before it answers.
class TierServant : public POA_Bench::Echoer {
 public:
  explicit TierServant(Bench::Echoer_ptr s) : sink(Bench::Echoer::_duplicate(s)) {}
  CORBA::LongLong echo(CORBA::LongLong v) override { return sink->echo(v); }
  void send(CORBA::LongLong v) override { sink->send(v); }
  CORBA::ULongLong received() override { return sink->received(); }
  Bench::Octets* echo_octets(const Bench::Octets& data) override { return sink->echo_octets(data); }

 private:
  Bench::Echoer_var sink;
};

template <class Servant>
static int serve(CORBA::ORB_ptr orb, Servant* created) {
  CORBA::Object_var object = orb->resolve_initial_references("RootPOA");
  PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
  PortableServer::Servant_var<Servant> servant = created;
  PortableServer::ObjectId_var id = poa->activate_object(servant);
  Bench::Echoer_var reference = servant->_this();
  PortableServer::POAManager_var manager = poa->the_POAManager();
  manager->activate();
  CORBA::String_var text = orb->object_to_string(reference);
  std::cout << "ready " << text.in() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  orb->shutdown(true);
  orb->destroy();
  return 0;
}

static std::string latency(Bench::Echoer_ptr echo, long warm_up, long calls) {
  for (long i = 0; i < warm_up; i++) echo->echo(i);
  std::vector<uint64_t> samples(calls);
  auto before = Clock::now();
  for (long i = 0; i < calls; i++) {
    if (echo->echo(i) != i) return "error the echo came back changed";
    auto after = Clock::now();
    samples[i] = nanoseconds(after - before);
    before = after;
  }
  std::map<uint64_t, uint64_t> counts;
  for (auto s : samples) counts[s]++;
  std::ostringstream out;
  out << "samples";
  for (auto& c : counts) out << ' ' << c.first << ':' << c.second;
  return out.str();
}

static std::string threads(Bench::Echoer_ptr echo, long count, long warm_up_ms, long window_ms) {
  std::atomic<bool> measuring{false}, over{false};
  std::atomic<uint64_t> total{0};
  std::atomic<bool> wrong{false};
  std::vector<std::thread> callers;
  for (long t = 0; t < count; t++) {
    callers.emplace_back([&] {
      uint64_t calls = 0;
      try {
        while (!over.load(std::memory_order_relaxed)) {
          if (echo->echo(42) != 42) wrong = true;
          if (measuring.load(std::memory_order_relaxed)) calls++;
        }
      } catch (CORBA::Exception& e) {
        if (!wrong.exchange(true)) std::cerr << "omniORB client thread: " << e._name() << std::endl;
      }
      total += calls;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(warm_up_ms));
  auto before = Clock::now();
  measuring = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(window_ms));
  over = true;
  auto time = Clock::now() - before;
  for (auto& caller : callers) caller.join();
  if (wrong) return "error a call failed or came back changed";
  std::ostringstream out;
  out << "rate " << total.load() << ' ' << nanoseconds(time);
  return out.str();
}

static std::string oneways(Bench::Echoer_ptr echo, long window_ms) {
  uint64_t taken_before = echo->received();
  uint64_t sent = 0;
  auto before = Clock::now();
  auto end = before + std::chrono::milliseconds(window_ms);
  while (Clock::now() < end) {
    for (int i = 0; i < 100; i++) echo->send(i);
    sent += 100;
  }
  while (echo->received() < taken_before + sent) {
  }
  auto time = Clock::now() - before;
  std::ostringstream out;
  out << "rate " << sent << ' ' << nanoseconds(time);
  return out.str();
}

// Counts replies and adds up what they brought.
class Handler : public POA_Bench::AMI_EchoerHandler {
 public:
  void echo(CORBA::LongLong v) override {
    sum.fetch_add(v, std::memory_order_relaxed);
    replies.fetch_add(1, std::memory_order_release);
  }
  void received(CORBA::ULongLong) override {}
  void echo_octets(const Bench::Octets&) override {}
  void echo_excep(Messaging::ExceptionHolder*) override { failures++; }
  void received_excep(Messaging::ExceptionHolder*) override {}
  void echo_octets_excep(Messaging::ExceptionHolder*) override {}

  std::atomic<uint64_t> sum{0}, replies{0}, failures{0};
};

static std::string pipelined(CORBA::ORB_ptr orb, Bench::Echoer_ptr echo, uint64_t calls) {
  CORBA::Object_var object = orb->resolve_initial_references("RootPOA");
  PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
  PortableServer::POAManager_var manager = poa->the_POAManager();
  manager->activate();
  Handler* handler = new Handler;
  PortableServer::ObjectId_var id = poa->activate_object(handler);
  Bench::AMI_EchoerHandler_var reference = handler->_this();
  auto before = Clock::now();
  for (uint64_t i = 0; i < calls; i++) echo->sendc_echo(reference, i);
  while (handler->replies.load(std::memory_order_acquire) + handler->failures < calls) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (Clock::now() - before > std::chrono::seconds(50)) return "error not answered within 50 s";
  }
  auto time = Clock::now() - before;
  if (handler->failures || handler->sum != calls * (calls - 1) / 2) {
    return "error calls failed or came back changed";
  }
  std::ostringstream out;
  out << "rate " << calls << ' ' << nanoseconds(time);
  return out.str();
}

static std::string octets(Bench::Echoer_ptr echo, long size, long warm_up_ms, long window_ms) {
  Bench::Octets data;
  data.length(size);
  for (long i = 0; i < size; i++) data[i] = CORBA::Octet(i * 31);
  uint64_t calls = 0;
  auto start = Clock::now() + std::chrono::milliseconds(warm_up_ms);
  do {
    Bench::Octets_var back = echo->echo_octets(data);
    if (back->length() != data.length() ||
        memcmp(back->get_buffer(), data.get_buffer(), size) != 0) {
      return "error the octets came back changed";
    }
  } while (Clock::now() < start);
  auto before = Clock::now();
  auto end = before + std::chrono::milliseconds(window_ms);
  auto now = before;
  do {
    Bench::Octets_var back = echo->echo_octets(data);
    if (back->length() != data.length()) return "error octets were lost";
    calls++;
    now = Clock::now();
  } while (now < end);
  std::ostringstream out;
  out << "rate " << calls << ' ' << nanoseconds(now - before);
  return out.str();
}

class Cubing : public POA_Collocated::Cuber {
 public:
  void noop() override {}
  Collocated::Longs* cube(const Collocated::Longs& values) override {
    CORBA::ULong length = values.length();
    Collocated::Longs* cubes = new Collocated::Longs(length);
    cubes->length(length);
    // As sequences are best used: without the check of bounds at each element.
    const CORBA::Long* from = values.get_buffer();
    CORBA::Long* to = cubes->get_buffer();
    for (CORBA::ULong i = 0; i < length; i++) {
      uint32_t value = from[i];
      to[i] = CORBA::Long(value * value * value);
    }
    return cubes;
  }
};

static uint64_t thread_nanoseconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return uint64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

// Calls of an object of this process, through its reference: empty ones, or with so many longs.
static std::string local(CORBA::ORB_ptr orb, long longs, long window_ms) {
  CORBA::Object_var object = orb->resolve_initial_references("RootPOA");
  PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
  PortableServer::POAManager_var manager = poa->the_POAManager();
  manager->activate();
  PortableServer::Servant_var<Cubing> servant = new Cubing;
  PortableServer::ObjectId_var id = poa->activate_object(servant);
  Collocated::Cuber_var cuber = servant->_this();
  Collocated::Longs values;
  values.length(longs);
  for (long i = 0; i < longs; i++) values[i] = i;
  uint64_t calls = 0, time = 0;
  for (uint64_t window : {window_ms * 1000000 / 5, window_ms * 1000000}) {
    uint64_t before = thread_nanoseconds();
    calls = 0;
    do {
      if (longs == 0) {
        for (int i = 0; i < 1000; i++) cuber->noop();
      } else {
        for (int i = 0; i < 1000; i++) Collocated::Longs_var cubes = cuber->cube(values);
      }
      calls += 1000;
      time = thread_nanoseconds() - before;
    } while (time < window);
  }
  poa->deactivate_object(id);
  std::ostringstream out;
  out << "rate " << calls << ' ' << time;
  return out.str();
}

static int drive(CORBA::ORB_ptr orb, const char* reference) {
  CORBA::Object_var object = orb->string_to_object(reference);
  Bench::Echoer_var echo = Bench::Echoer::_narrow(object);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb;
    long a = 0, b = 0, c = 0;
    words >> verb >> a >> b >> c;
    std::string answer = "error omniORB's client does not know the order " + verb;
    try {
      if (verb == "latency") answer = latency(echo, a, b);
      if (verb == "threads") answer = threads(echo, a, b, c);
      if (verb == "oneways") answer = oneways(echo, a);
      if (verb == "pipelined") answer = pipelined(orb, echo, a);
      if (verb == "local") answer = local(orb, a, b);
      if (verb == "octets") answer = octets(echo, a, b, c);
    } catch (CORBA::Exception& e) {
      answer = std::string("error ") + e._name();
    }
    std::cout << answer << std::endl;
  }
  orb->destroy();
  return 0;
}

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    if (argc == 2 && strcmp(argv[1], "serve") == 0) return serve(orb, new EchoServant);
    if (argc == 3 && strcmp(argv[1], "tier") == 0) {
      CORBA::Object_var sink = orb->string_to_object(argv[2]);
      Bench::Echoer_var echo = Bench::Echoer::_unchecked_narrow(sink);
      return serve(orb, new TierServant(echo));
    }
    if (argc == 3 && strcmp(argv[1], "drive") == 0) return drive(orb, argv[2]);
    std::cerr << "usage: echo serve | echo drive REFERENCE | echo tier SINK" << std::endl;
  } catch (CORBA::Exception& e) {
    std::cerr << "omniORB: " << e._name() << std::endl;
  }
  return 1;
}

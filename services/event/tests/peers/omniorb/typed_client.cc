// Uses a typed channel through omniORB's stubs, as supplier and as consumer of Stock::Ticker,
// pushing and pulling; one line for each thing that was seen. The test compares the lines, and the
// other side of the channel. JacORB's client (TypedClient.java) prints the same.
// Arguments: the reference of the channel, then omniORB's own.
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>

#include "CosTypedEventChannelAdmin.hh"
#include "Stock.hh"

static std::mutex lock;
static std::condition_variable changed;
static std::deque<std::string> seen;  // by the push consumer
static std::deque<CORBA::Long> prices;  // to who pulls
static std::deque<CORBA::LongLong> ticks;

static std::string quoted(const CORBA::WChar* words) {
  std::string out = "\"";
  for (; *words; ++words) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, *words < 127 ? "%c" : "\\u%04x", int(*words));
    out += escaped;
  }
  return out + "\"";
}

static std::string price(const char* symbol, CORBA::Long cents) {
  return std::string("price ") + symbol + " " + std::to_string(cents);
}

static std::string offer(const Stock::Quote& data, const CORBA::WChar* remark, const CORBA::Any& extra,
                         const Stock::Reason& why) {
  std::ostringstream out;
  out << "offer '" << data.symbol.in() << "' " << data.cents << " " << int(data.at) << " [";
  for (CORBA::ULong i = 0; i < data.depth.length(); ++i) out << " " << data.depth[i];
  out << " ] " << quoted(remark) << " any ";
  CORBA::Long number;
  const char* words;
  if (extra >>= number) out << "long " << number;
  if (extra >>= words) out << "string " << words;
  switch (why._d()) {
    case Stock::XETRA: out << " text " << why.text(); break;
    case Stock::NYSE: out << " code " << why.code(); break;
    default: out << " other " << int(why._d()) << " " << int(why.other());
  }
  return out.str();
}

static std::string halt(CORBA::Octet first, CORBA::Double second) {
  std::ostringstream out;
  out << "halt " << int(first) << " " << second;
  return out.str();
}

static void saw(const std::string& what) {
  std::lock_guard<std::mutex> guard(lock);
  seen.push_back(what);
  changed.notify_all();
}

static std::string next() {
  std::unique_lock<std::mutex> guard(lock);
  if (!changed.wait_for(guard, std::chrono::seconds(120), [] { return !seen.empty(); })) return "nothing";
  std::string first = seen.front();
  seen.pop_front();
  return first;
}

class Ticker : public POA_Stock::Ticker {
  void tick(CORBA::LongLong at) { saw("tick " + std::to_string(at)); }
  void price(const char* symbol, CORBA::Long cents) { saw(::price(symbol, cents)); }
  void offer(const Stock::Quote& data, const CORBA::WChar* remark, const CORBA::Any& extra, const Stock::Reason& why) {
    saw(::offer(data, remark, extra, why));
  }
  void halt(CORBA::Octet first, CORBA::Double second) { saw(::halt(first, second)); }
  void closed() { saw("closed"); }
};

class Consumer : public POA_CosTypedEventComm::TypedPushConsumer {
 public:
  explicit Consumer(CORBA::Object_ptr typed) : typed(CORBA::Object::_duplicate(typed)) {}

 private:
  CORBA::Object_var typed;
  void push(const CORBA::Any&) { saw("an any"); }
  void disconnect_push_consumer() { saw("disconnected"); }
  CORBA::Object_ptr get_typed_consumer() { return CORBA::Object::_duplicate(typed); }
};

// Waits for what is to be given; for ever, if nothing comes.
template <class T>
static T wait_for(std::deque<T>& given) {
  std::unique_lock<std::mutex> guard(lock);
  changed.wait(guard, [&] { return !given.empty(); });
  T first = given.front();
  given.pop_front();
  return first;
}

static void never() {
  std::deque<int> nothing;
  wait_for(nothing);
}

class Source : public POA_Stock::PullTicker {
  void tick(CORBA::LongLong& at) { at = wait_for(ticks); }
  CORBA::Boolean try_tick(CORBA::LongLong& at) { at = 0; return false; }
  void price(CORBA::String_out symbol, CORBA::Long& cents) {
    cents = wait_for(prices);
    symbol = CORBA::string_dup("pulled");
  }
  CORBA::Boolean try_price(CORBA::String_out symbol, CORBA::Long& cents) {
    symbol = CORBA::string_dup("");
    cents = 0;
    return false;
  }
  void offer(Stock::Quote_out, CORBA::WString_out, CORBA::Any_OUT_arg, Stock::Reason_out) { never(); }
  CORBA::Boolean try_offer(Stock::Quote_out, CORBA::WString_out, CORBA::Any_OUT_arg, Stock::Reason_out) {
    throw CORBA::NO_IMPLEMENT();
  }
  void halt(CORBA::Octet&, CORBA::Double&) { never(); }
  CORBA::Boolean try_halt(CORBA::Octet&, CORBA::Double&) { throw CORBA::NO_IMPLEMENT(); }
  void closed() { never(); }
  CORBA::Boolean try_closed() { throw CORBA::NO_IMPLEMENT(); }
};

class Supplier : public POA_CosTypedEventComm::TypedPullSupplier {
 public:
  explicit Supplier(CORBA::Object_ptr typed) : typed(CORBA::Object::_duplicate(typed)) {}

 private:
  CORBA::Object_var typed;
  CORBA::Any* pull() { throw CORBA::NO_IMPLEMENT(); }
  CORBA::Any* try_pull(CORBA::Boolean& has_event) { has_event = false; return new CORBA::Any(); }
  void disconnect_pull_supplier() {}
  CORBA::Object_ptr get_typed_supplier() { return CORBA::Object::_duplicate(typed); }
};

static PortableServer::POA_var poa;

template <class S>
static CORBA::Object_ptr serve(S* servant) {
  PortableServer::ObjectId_var id = poa->activate_object(servant);
  return poa->id_to_reference(id);
}

static void push_all(Stock::Ticker_ptr ticker) {
  ticker->price("ACME", 4711);
  Stock::Quote data;
  data.symbol = CORBA::string_dup("EMCA");
  data.cents = -7;
  data.at = Stock::NYSE;
  data.depth.length(2);
  data.depth[0] = 1.5;
  data.depth[1] = -2;
  CORBA::Any extra;
  extra <<= CORBA::Long(70000);
  Stock::Reason why;
  why.text(CORBA::string_dup("darum"));
  ticker->offer(data, L"gr\u00f6\u00dfer", extra, why);
  data.symbol = CORBA::string_dup("");
  data.cents = 2147483647;
  data.at = Stock::LSE;
  data.depth.length(0);
  extra <<= "zwei";
  why.other(255);
  why._d(Stock::LSE);
  ticker->offer(data, L"", extra, why);
  ticker->halt(200, -0.25);
  ticker->closed();
  ticker->tick(-5000000000LL);
}

static void pull_all(Stock::PullTicker_ptr pulls) {
  CORBA::String_var symbol;
  CORBA::Long cents;
  pulls->price(symbol, cents);
  std::cout << "pulled: " << price(symbol, cents) << std::endl;
  for (int i = 0; i < 2; ++i) {
    Stock::Quote_var data;
    CORBA::WString_var remark;
    CORBA::Any_var extra;
    Stock::Reason_var why;
    pulls->offer(data, remark, extra, why);
    std::cout << "pulled: " << offer(data, remark, extra, why) << std::endl;
  }
  CORBA::Octet first;
  CORBA::Double second;
  pulls->halt(first, second);
  std::cout << "pulled: " << halt(first, second) << std::endl;
  pulls->closed();
  CORBA::LongLong at;
  pulls->tick(at);
  std::cout << "pulled: tick " << at << std::endl;
}

static void try_all(Stock::PullTicker_ptr pulls) {
  Stock::Quote_var data;
  CORBA::WString_var remark;
  CORBA::Any_var extra;
  Stock::Reason_var why;
  bool found = pulls->try_offer(data, remark, extra, why);
  std::cout << "try_offer: " << found << std::endl;
  CORBA::Octet first;
  CORBA::Double second;
  found = pulls->try_halt(first, second);
  std::cout << "try_halt: " << found << std::endl;
  std::cout << "try_closed: " << int(pulls->try_closed()) << std::endl;
}

static void refusals(CosTypedEventChannelAdmin::TypedSupplierAdmin_ptr suppliers,
                     CosTypedEventChannelAdmin::TypedConsumerAdmin_ptr consumers) {
  using namespace CosTypedEventChannelAdmin;
  try {
    TypedProxyPushConsumer_var none = suppliers->obtain_typed_push_consumer(Stock::HasOut::_PD_repoId);
  } catch (InterfaceNotSupported&) {
    std::cout << "InterfaceNotSupported" << std::endl;
  }
  try {
    CosEventChannelAdmin::ProxyPushSupplier_var none = consumers->obtain_typed_push_supplier("IDL:Nobody/Knows:1.0");
  } catch (NoSuchImplementation&) {
    std::cout << "NoSuchImplementation" << std::endl;
  }
  CosEventChannelAdmin::ProxyPushSupplier_var proxy = consumers->obtain_typed_push_supplier(Stock::Ticker::_PD_repoId);
  CORBA::Object_var object = serve(new Consumer(CORBA::Object::_nil()));
  CosEventComm::PushConsumer_var wrong = CosEventComm::PushConsumer::_narrow(object);
  try {
    proxy->connect_push_consumer(wrong);
  } catch (CosEventChannelAdmin::TypeError&) {
    std::cout << "TypeError" << std::endl;
  }
  proxy->disconnect_push_supplier();
}

static void use(CORBA::ORB_ptr orb, const char* reference) {
  using namespace CosTypedEventChannelAdmin;
  CORBA::Object_var object = orb->resolve_initial_references("RootPOA");
  poa = PortableServer::POA::_narrow(object);
  PortableServer::POAManager_var manager = poa->the_POAManager();
  manager->activate();
  object = orb->string_to_object(reference);
  TypedEventChannel_var channel = TypedEventChannel::_narrow(object);
  TypedConsumerAdmin_var consumers = channel->for_consumers();
  TypedSupplierAdmin_var suppliers = channel->for_suppliers();
  refusals(suppliers, consumers);

  object = serve(new Ticker());
  object = serve(new Consumer(object));
  CosEventComm::PushConsumer_var consumer = CosEventComm::PushConsumer::_narrow(object);
  CosEventChannelAdmin::ProxyPushSupplier_var to_consumer =
      consumers->obtain_typed_push_supplier(Stock::Ticker::_PD_repoId);
  to_consumer->connect_push_consumer(consumer);
  TypedProxyPullSupplier_var pull_proxy = consumers->obtain_typed_pull_supplier(Stock::PullTicker::_PD_repoId);
  pull_proxy->connect_pull_consumer(CosEventComm::PullConsumer::_nil());
  object = pull_proxy->get_typed_supplier();
  Stock::PullTicker_var pulls = Stock::PullTicker::_narrow(object);
  TypedProxyPushConsumer_var push_proxy = suppliers->obtain_typed_push_consumer(Stock::Ticker::_PD_repoId);
  push_proxy->connect_push_supplier(CosEventComm::PushSupplier::_nil());
  object = push_proxy->get_typed_consumer();
  Stock::Clock_var clock = Stock::Clock::_narrow(object);
  std::cout << "is a Clock: " << !CORBA::is_nil(clock) << std::endl;
  Stock::Ticker_var ticker = Stock::Ticker::_narrow(object);

  push_all(ticker);
  for (int i = 0; i < 6; ++i) std::cout << "pushed: " << next() << std::endl;
  pull_all(pulls);
  try_all(pulls);

  object = serve(new Source());
  object = serve(new Supplier(object));
  CosEventComm::PullSupplier_var source = CosEventComm::PullSupplier::_narrow(object);
  CosEventChannelAdmin::ProxyPullConsumer_var from_source =
      suppliers->obtain_typed_pull_consumer(Stock::PullTicker::_PD_repoId);
  from_source->connect_pull_supplier(source);
  {
    std::lock_guard<std::mutex> guard(lock);
    prices.push_back(3);
    changed.notify_all();
  }
  std::cout << "pull to push: " << next() << std::endl;
  {
    std::lock_guard<std::mutex> guard(lock);
    ticks.push_back(4);
    changed.notify_all();
  }
  std::cout << "pull to push: " << next() << std::endl;
  CORBA::String_var symbol;
  CORBA::Long cents;
  pulls->price(symbol, cents);
  CORBA::LongLong at;
  pulls->tick(at);
  std::cout << "pull to pull: " << price(symbol, cents) << ", tick " << at << std::endl;

  for (int i = 0; i < 6; ++i) std::cout << "from the test: " << next() << std::endl;
  pull_all(pulls);
  // The test closes our input when its own consumers have heard everything, too.
  std::string rest;
  std::getline(std::cin, rest);
  channel->destroy();
  std::cout << "destroyed: " << next() << std::endl;
}

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    use(orb, argv[1]);
    std::cout.flush();
    _exit(0);
  } catch (CORBA::Exception& e) {
    std::cout << "stopped by " << e._rep_id() << std::endl;
    _exit(1);
  }
}

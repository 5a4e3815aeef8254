// Uses a channel through omniORB's stubs, as supplier and as consumer, pushing and pulling; one
// line for each thing that was seen. The test compares the lines, and the other side of the
// channel. JacORB's client (EventClient.java) prints the same.
// Arguments: the reference of the channel, how many events come from the test, then omniORB's own.
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include <omniORB4/Naming.hh>

#include "CosEventChannelAdmin.hh"

static std::mutex lock;
static std::condition_variable changed;
static std::deque<std::string> seen;  // by the push consumer
static std::deque<CORBA::Any> to_give;  // to who pulls

template <typename Char>
static std::string quoted(const Char* words) {
  std::string out = "\"";
  for (; *words; words++) {
    unsigned long code = sizeof(Char) == 1 ? (unsigned char)*words : (unsigned long)*words;
    char escaped[16];
    std::snprintf(escaped, sizeof escaped, code < 127 ? "%c" : "\\u%04x", (unsigned)code);
    out += escaped;
  }
  return out + "\"";
}

static std::string text(const CORBA::Any& any) {
  std::ostringstream out;
  CORBA::Short small;
  CORBA::Long number;
  CORBA::LongLong large;
  CORBA::ULongLong huge;
  CORBA::Double real;
  CORBA::Boolean truth;
  CORBA::Char letter;
  const char* words;
  const CORBA::WChar* wide;
  const CORBA::OctetSeq* octets;
  const CosNaming::Name* name;
  const CORBA::Any* inner;
  CORBA::Object_var object;
  if (any >>= small) out << "short " << small;
  else if (any >>= number) out << "long " << number;
  else if (any >>= large) out << "long long " << large;
  else if (any >>= huge) out << "unsigned long long " << huge;
  else if (any >>= real) out << "double " << real;
  else if (any >>= CORBA::Any::to_boolean(truth)) out << "boolean " << (truth ? "true" : "false");
  else if (any >>= CORBA::Any::to_char(letter)) out << "char " << letter;
  else if (any >>= words) out << "string " << quoted(words);
  else if (any >>= wide) out << "wstring " << quoted(wide);
  else if (any >>= octets) {
    out << "octets";
    for (CORBA::ULong i = 0; i < octets->length(); i++) out << " " << int((*octets)[i]);
  } else if (any >>= name) {
    out << "name";
    for (CORBA::ULong i = 0; i < name->length(); i++)
      out << " " << (*name)[i].id << "." << (*name)[i].kind;
  } else if (any >>= inner) out << "any of " << text(*inner);
  else if (any >>= CORBA::Any::to_object(object))
    out << "object " << object->_is_a("IDL:omg.org/CosEventChannelAdmin/EventChannel:1.0");
  else out << "something else";
  return out.str();
}

template <typename Value>
static CORBA::Any any_of(Value value) {
  CORBA::Any any;
  any <<= value;
  return any;
}

static std::vector<CORBA::Any> all_events(CORBA::Object_ptr channel) {
  CORBA::OctetSeq octets(3);
  octets.length(3);
  octets[0] = 1, octets[1] = 2, octets[2] = 255;
  CosNaming::Name name(2);
  name.length(2);
  name[0].id = CORBA::string_dup("desk"), name[0].kind = CORBA::string_dup("wood");
  name[1].id = CORBA::string_dup("pen"), name[1].kind = CORBA::string_dup("");
  const CORBA::WChar wide[] = {'z', 'w', 0xf6, 'l', 'f', 0x20ac, 0};
  std::vector<CORBA::Any> events;
  events.push_back(any_of(CORBA::Short(-300)));
  events.push_back(any_of(CORBA::Long(70000)));
  events.push_back(any_of(CORBA::LongLong(-5000000000LL)));
  events.push_back(any_of(CORBA::ULongLong(9223372036854775813ULL)));
  events.push_back(any_of(CORBA::Double(2.5)));
  events.push_back(any_of(CORBA::Any::from_boolean(true)));
  events.push_back(any_of(CORBA::Any::from_char('c')));
  events.push_back(any_of("zw\xf6lf"));
  events.push_back(any_of(wide));
  events.push_back(any_of(octets));
  events.push_back(any_of(name));
  events.push_back(any_of(any_of(CORBA::Long(8))));
  events.push_back(any_of(channel));
  return events;
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

class Consumer : public POA_CosEventComm::PushConsumer {
  void push(const CORBA::Any& data) { saw(text(data)); }
  void disconnect_push_consumer() { saw("disconnected"); }
};

class Supplier : public POA_CosEventComm::PullSupplier {
  CORBA::Any* pull() {
    std::unique_lock<std::mutex> guard(lock);
    changed.wait(guard, [] { return !to_give.empty(); });
    return take();
  }
  CORBA::Any* try_pull(CORBA::Boolean& has_event) {
    std::lock_guard<std::mutex> guard(lock);
    has_event = !to_give.empty();
    return has_event ? take() : new CORBA::Any();
  }
  void disconnect_pull_supplier() {}
  static CORBA::Any* take() {
    CORBA::Any* any = new CORBA::Any(to_give.front());
    to_give.pop_front();
    return any;
  }
};

static void use(CORBA::ORB_ptr orb, const char* reference, int from_test) {
  using namespace CosEventChannelAdmin;
  CORBA::Object_var object = orb->resolve_initial_references("RootPOA");
  PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
  PortableServer::POAManager_var manager = poa->the_POAManager();
  manager->activate();
  object = orb->string_to_object(reference);
  EventChannel_var channel = EventChannel::_narrow(object);
  ConsumerAdmin_var consumers = channel->for_consumers();
  SupplierAdmin_var suppliers = channel->for_suppliers();

  Consumer* consumer = new Consumer();
  PortableServer::ObjectId_var id = poa->activate_object(consumer);
  CosEventComm::PushConsumer_var pushed = consumer->_this();
  ProxyPushSupplier_var to_consumer = consumers->obtain_push_supplier();
  to_consumer->connect_push_consumer(pushed);
  ProxyPullSupplier_var pulled = consumers->obtain_pull_supplier();
  pulled->connect_pull_consumer(CosEventComm::PullConsumer::_nil());
  ProxyPushConsumer_var push = suppliers->obtain_push_consumer();
  push->connect_push_supplier(CosEventComm::PushSupplier::_nil());
  try {
    push->connect_push_supplier(CosEventComm::PushSupplier::_nil());
  } catch (AlreadyConnected&) {
    std::cout << "AlreadyConnected" << std::endl;
  }
  ProxyPushSupplier_var other = consumers->obtain_push_supplier();
  try {
    other->connect_push_consumer(CosEventComm::PushConsumer::_nil());
  } catch (CORBA::BAD_PARAM&) {
    std::cout << "BAD_PARAM" << std::endl;
  }
  other->disconnect_push_supplier();

  std::vector<CORBA::Any> events = all_events(channel);
  CORBA::Boolean has_event;
  for (const CORBA::Any& event : events) {
    push->push(event);
    std::cout << "push to push: " << next() << std::endl;
    CORBA::Any_var got = pulled->pull();
    std::cout << "push to pull: " << text(got) << std::endl;
  }
  CORBA::Any_var got = pulled->try_pull(has_event);
  std::cout << "try_pull: " << int(has_event) << std::endl;

  Supplier* supplier = new Supplier();
  id = poa->activate_object(supplier);
  CosEventComm::PullSupplier_var source = supplier->_this();
  ProxyPullConsumer_var pulls = suppliers->obtain_pull_consumer();
  pulls->connect_pull_supplier(source);
  for (const CORBA::Any& event : events) {
    {
      std::lock_guard<std::mutex> guard(lock);
      to_give.push_back(event);
      changed.notify_all();
    }
    std::cout << "pull to push: " << next() << std::endl;
    got = pulled->pull();
    std::cout << "pull to pull: " << text(got) << std::endl;
  }
  for (int number = 0; number < from_test; number++) {
    std::cout << "from the test, pushed: " << next() << std::endl;
    do got = pulled->try_pull(has_event);
    while (!has_event);
    std::cout << "from the test, pulled: " << text(got) << std::endl;
  }
  {
    // The pull that waits ends before the channel does.
    std::lock_guard<std::mutex> guard(lock);
    to_give.push_back(any_of(CORBA::Long(4)));
    changed.notify_all();
  }
  std::cout << "last: " << next() << std::endl;
  channel->destroy();
  std::cout << "destroyed: " << next() << std::endl;
}

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    use(orb, argv[1], std::stoi(argv[2]));
    std::cout.flush();
    _exit(0);
  } catch (CORBA::Exception& e) {
    std::cout << "stopped by " << e._rep_id() << std::endl;
    return 1;
  }
}

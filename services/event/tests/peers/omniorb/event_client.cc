// Uses a channel through omniORB's stubs, as supplier and as consumer in all four models; one line
// for each thing that was seen. The test compares the lines, and the other side of the channel.
// Arguments: the reference of the channel, then omniORB's own.
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <mutex>
#include <string>

#include "CosEventChannelAdmin.hh"

static std::mutex lock;
static std::condition_variable changed;
static std::deque<std::string> seen;  // by the push consumer
static std::deque<CORBA::Long> to_give;  // to who pulls

static std::string text(const CORBA::Any& any) {
  CORBA::Long number;
  const char* words;
  if (any >>= number) return std::to_string(number);
  if (any >>= words) return std::string("\"") + words + "\"";
  return "something else";
}

static void saw(const std::string& what) {
  std::lock_guard<std::mutex> guard(lock);
  seen.push_back(what);
  changed.notify_all();
}

static std::string next() {
  std::unique_lock<std::mutex> guard(lock);
  if (!changed.wait_for(guard, std::chrono::seconds(30), [] { return !seen.empty(); })) return "nothing";
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
    CORBA::Any* any = new CORBA::Any();
    *any <<= to_give.front();
    to_give.pop_front();
    return any;
  }
  CORBA::Any* try_pull(CORBA::Boolean& has_event) {
    has_event = false;
    return new CORBA::Any();
  }
  void disconnect_pull_supplier() {}
};

static void use(CORBA::ORB_ptr orb, const char* reference) {
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
  try {
    ProxyPushSupplier_var other = consumers->obtain_push_supplier();
    other->connect_push_consumer(CosEventComm::PushConsumer::_nil());
  } catch (CORBA::BAD_PARAM&) {
    std::cout << "BAD_PARAM" << std::endl;
  }

  CORBA::Any any;
  any <<= CORBA::Long(1);
  push->push(any);
  std::cout << "push to push: " << next() << std::endl;
  CORBA::Any_var got = pulled->pull();
  std::cout << "push to pull: " << text(got) << std::endl;
  any <<= "zwei";
  push->push(any);
  std::cout << "a string: " << next() << std::endl;
  CORBA::Boolean has_event;
  got = pulled->try_pull(has_event);
  std::cout << "try_pull: " << int(has_event) << " " << text(got) << std::endl;
  got = pulled->try_pull(has_event);
  std::cout << "try_pull: " << int(has_event) << std::endl;

  Supplier* supplier = new Supplier();
  id = poa->activate_object(supplier);
  CosEventComm::PullSupplier_var source = supplier->_this();
  ProxyPullConsumer_var pulls = suppliers->obtain_pull_consumer();
  pulls->connect_pull_supplier(source);
  {
    std::lock_guard<std::mutex> guard(lock);
    to_give.push_back(3);
    changed.notify_all();
  }
  std::cout << "pull to push: " << next() << std::endl;
  got = pulled->pull();
  std::cout << "pull to pull: " << text(got) << std::endl;
  std::cout << "from the test: " << next() << std::endl;
  {
    // The pull that waits ends before the channel does.
    std::lock_guard<std::mutex> guard(lock);
    to_give.push_back(4);
    changed.notify_all();
  }
  std::cout << "pull to push: " << next() << std::endl;
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
    return 1;
  }
}

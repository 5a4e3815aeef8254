// The supplier and the consumers of `event-throughput` over omniEvents, with omniORB.
//
//   omnievents supply CORBALOC OCTETS [oneway] [-ORB...]
//   omnievents consume CORBALOC CONSUMERS [-ORB...]
//
// omniEvents answers each push at once and delivers from threads of its own. `oneway` sends the
// same request without asking for an answer: the omniORB way of not waiting, with an interface of
// the same repository id whose `push` is oneway (`unanswered.idl`).

#include <cstdlib>
#include <string>

#include "CosEventChannelAdmin.hh"
#include "CosEventComm.hh"
#include "octets.hh"
#include "unanswered.hh"
#include "process.h"

class Consumer : public POA_CosEventComm::PushConsumer {
 public:
  Consumer(events::Tally& tally, size_t number) : tally_(tally), number_(number) {}

  void push(const CORBA::Any& data) override {
    const Bench::Octets* octets = nullptr;
    if (data >>= octets) {
      tally_.took(number_, octets->get_buffer(), octets->length());
    } else {
      tally_.took(number_, nullptr, 0);
    }
  }

  void disconnect_push_consumer() override {}

 private:
  events::Tally& tally_;
  size_t number_;
};

static int supply(CosEventChannelAdmin::EventChannel_ptr channel, size_t length, bool oneway) {
  CosEventChannelAdmin::SupplierAdmin_var admin = channel->for_suppliers();
  CosEventChannelAdmin::ProxyPushConsumer_var proxy = admin->obtain_push_consumer();
  proxy->connect_push_supplier(CosEventComm::PushSupplier::_nil());
  Unanswered::PushConsumer_var fast = Unanswered::PushConsumer::_unchecked_narrow(proxy);
  Bench::Octets octets;
  octets.length(CORBA::ULong(length));
  events::supply(
      length,
      [&](const std::vector<unsigned char>& event) {
        std::memcpy(octets.get_buffer(), event.data(), length);
        CORBA::Any data;
        data <<= octets;
        if (oneway) {
          fast->push(data);
        } else {
          proxy->push(data);
        }
      },
      [] {});
  return 0;
}

static int consume(CORBA::ORB_ptr orb, CosEventChannelAdmin::EventChannel_ptr channel,
                   size_t consumers) {
  CORBA::Object_var root = orb->resolve_initial_references("RootPOA");
  PortableServer::POA_var poa = PortableServer::POA::_narrow(root);
  PortableServer::POAManager_var manager = poa->the_POAManager();
  manager->activate();
  events::Tally tally(consumers);
  CosEventChannelAdmin::ConsumerAdmin_var admin = channel->for_consumers();
  for (size_t number = 0; number < consumers; number++) {
    CosEventChannelAdmin::ProxyPushSupplier_var proxy = admin->obtain_push_supplier();
    Consumer* servant = new Consumer(tally, number);
    PortableServer::ObjectId_var id = poa->activate_object(servant);
    CosEventComm::PushConsumer_var reference = servant->_this();
    proxy->connect_push_consumer(reference);
  }
  events::say("ready");
  events::wait_for_the_end();
  std::_Exit(0);
}

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    if (argc < 4) return 2;
    std::string role = argv[1];
    size_t number = std::stoul(argv[3]);
    bool oneway = argc > 4 && std::string(argv[4]) == "oneway";
    CORBA::Object_var object = orb->string_to_object(argv[2]);
    CosEventChannelAdmin::EventChannel_var channel =
        CosEventChannelAdmin::EventChannel::_narrow(object);
    if (role == "supply") return supply(channel, number, oneway);
    return consume(orb, channel, number);
  } catch (CORBA::Exception& e) {
    std::fprintf(stderr, "omnievents: %s\n", e._name());
    return 1;
  }
}

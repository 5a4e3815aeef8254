// The publisher and the subscribers of `event-throughput` over IceStorm, with Ice for C++.
//
//   icestorm supply TOPICMANAGER OCTETS twoway|oneway|batch
//   icestorm consume TOPICMANAGER SUBSCRIBERS twoway|oneway|batch
//
// `twoway`: the publisher waits for each answer, and IceStorm for those of the subscribers, in
// order. `oneway`: nobody does. `batch`: Ice's batched oneways, many requests in one message.

#include <Ice/Ice.h>
#include <IceStorm/IceStorm.h>

#include <string>

#include "icestorm.h"
#include "process.h"

class ConsumerI : public Bench::Consumer {
 public:
  ConsumerI(events::Tally& tally, size_t number) : tally_(tally), number_(number) {}

  void push(std::pair<const Ice::Byte*, const Ice::Byte*> data, const Ice::Current&) override {
    tally_.took(number_, data.first, size_t(data.second - data.first));
  }

 private:
  events::Tally& tally_;
  size_t number_;
};

static std::shared_ptr<IceStorm::TopicPrx> topic_of(const Ice::CommunicatorPtr& communicator,
                                                    const std::string& manager) {
  auto topics = Ice::checkedCast<IceStorm::TopicManagerPrx>(communicator->stringToProxy(manager));
  try {
    return topics->retrieve("events");
  } catch (const IceStorm::NoSuchTopic&) {
    return topics->create("events");
  }
}

template <class Prx>
static Prx in_mode(const Prx& proxy, const std::string& mode) {
  if (mode == "oneway") return proxy->ice_oneway();
  if (mode == "batch") return proxy->ice_batchOneway();
  return proxy->ice_twoway();
}

int main(int argc, char** argv) {
  try {
    auto properties = Ice::createProperties();
    properties->setProperty("Ice.Override.Compress", "0");
    Ice::InitializationData data;
    data.properties = properties;
    Ice::CommunicatorHolder holder(argc, argv, data);
    auto communicator = holder.communicator();
    if (argc < 5) return 2;
    std::string role = argv[1], mode = argv[4];
    size_t number = std::stoul(argv[3]);
    auto topic = topic_of(communicator, argv[2]);
    if (role == "supply") {
      auto publisher =
          Ice::uncheckedCast<Bench::ConsumerPrx>(in_mode(topic->getPublisher(), mode));
      size_t unsent = 0;
      events::supply(
          number,
          [&](const std::vector<unsigned char>& octets) {
            publisher->push({octets.data(), octets.data() + octets.size()});
            // A batch of about 64 KiB.
            unsent += octets.size() + 32;
            if (mode == "batch" && unsent >= 65536) {
              publisher->ice_flushBatchRequests();
              unsent = 0;
            }
          },
          [&] {
            if (mode == "batch") publisher->ice_flushBatchRequests();
          });
    } else {
      auto adapter = communicator->createObjectAdapterWithEndpoints("c", "tcp -h 127.0.0.1");
      events::Tally tally(number);
      adapter->activate();
      for (size_t at = 0; at < number; at++) {
        auto proxy = adapter->addWithUUID(std::make_shared<ConsumerI>(tally, at));
        IceStorm::QoS qos;
        if (mode == "twoway") qos["reliability"] = "ordered";
        topic->subscribeAndGetPublisher(qos, in_mode(proxy, mode));
      }
      events::say("ready");
      events::wait_for_the_end();
      std::_Exit(0);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "icestorm: %s\n", e.what());
    return 1;
  }
  return 0;
}

// The supplier and the consumers of `event-throughput` over a NATS server, with NATS's C client.
//
//   nats supply URL OCTETS
//   nats consume URL CONSUMERS per-thread|pool
//
// NATS's own way: publishing writes into the client's buffer, which goes out when it is full or by
// the client's flusher; nothing is acknowledged. Consumers are subscriptions of one connection.
// Whatever limits messages that wait is raised, since the server and the client would drop what
// is beyond it.

#include <nats/nats.h>

#include <string>

#include "process.h"

static void must(natsStatus status, const char* what) {
  if (status == NATS_OK) return;
  std::fprintf(stderr, "nats: %s: %s\n", what, natsStatus_GetText(status));
  std::exit(1);
}

static natsConnection* connect(const char* url, bool pool) {
  natsOptions* options = nullptr;
  must(natsOptions_Create(&options), "options");
  must(natsOptions_SetURL(options, url), "url");
  must(natsOptions_SetMaxPendingMsgs(options, 2000000), "max pending");
  if (pool) must(natsOptions_UseGlobalMessageDelivery(options, true), "pool");
  natsConnection* connection = nullptr;
  must(natsConnection_Connect(&connection, options), "connect");
  natsOptions_Destroy(options);
  return connection;
}

struct Consumer {
  events::Tally* tally;
  size_t number;
};

static void took(natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
  auto* consumer = static_cast<Consumer*>(closure);
  consumer->tally->took(consumer->number,
                        reinterpret_cast<const unsigned char*>(natsMsg_GetData(message)),
                        size_t(natsMsg_GetDataLength(message)));
  natsMsg_Destroy(message);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::string role = argv[1];
  must(nats_Open(-1), "open");
  size_t number = std::stoul(argv[3]);
  if (role == "supply") {
    natsConnection* connection = connect(argv[2], false);
    events::supply(
        number,
        [&](const std::vector<unsigned char>& octets) {
          must(natsConnection_Publish(connection, "events", octets.data(), int(octets.size())),
               "publish");
        },
        [&] { must(natsConnection_FlushTimeout(connection, 600000), "flush"); });
  } else {
    bool pool = argc > 4 && std::string(argv[4]) == "pool";
    if (pool) must(nats_SetMessageDeliveryPoolSize(2), "pool size");
    natsConnection* connection = connect(argv[2], pool);
    events::Tally tally(number);
    std::vector<Consumer> consumers(number);
    for (size_t at = 0; at < number; at++) {
      consumers[at] = Consumer{&tally, at};
      natsSubscription* subscription = nullptr;
      must(natsConnection_Subscribe(&subscription, connection, "events", took, &consumers[at]),
           "subscribe");
      must(natsSubscription_SetPendingLimits(subscription, -1, -1), "limits");
    }
    must(natsConnection_Flush(connection), "flush");
    events::say("ready");
    events::wait_for_the_end();
    std::_Exit(0);
  }
  return 0;
}

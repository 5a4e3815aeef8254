// The client side of the asynchronous part of the catalogue: AMI with handlers and pollers, DII,
// time-outs. Features of the same names are in Asynchronous.java and in src/peer.
#include "async_client.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <set>
#include <thread>

#include "asynchrony.h"

namespace {

CORBA::ORB_var orb;
Host_var host;
Calls_var calls;
const unsigned LONG_TIME = 20000;  // ms

void expect(bool condition, const std::string& what) {
  if (!condition) throw Different(what);
}

Calls_var fresh_calls() {
  if (CORBA::is_nil(calls)) calls = host->get_calls();
  return calls;
}

RecordingHandler* new_handler() { return new RecordingHandler; }

AMI_CallsHandler_var reference(RecordingHandler* handler) {
  PortableServer::ObjectId_var id = root_poa->activate_object(handler);
  CORBA::Object_var o = root_poa->id_to_reference(id);
  return AMI_CallsHandler::_narrow(o);
}

Delivery next(Deliveries& from, const char* operation) {
  Delivery d;
  if (!from.next(LONG_TIME, d)) throw Different(std::string("no reply of ") + operation);
  check_text("operation", d.operation, operation);
  return d;
}

Numbers added(CORBA::Long number) { return numbers_of(1 + number, 3); }

void check_numbers(const char* what, const Numbers& got, const Numbers& wanted) {
  check(std::string(std::string(what) + " length").c_str(), got.length(), wanted.length());
  for (CORBA::ULong i = 0; i < got.length(); i++) check(what, got[i], wanted[i]);
}

void check_item(const char* what, const Item& got, CORBA::Long n) {
  const Item wanted = item_of(n);
  check_text(what, got.name, wanted.name.in());
  check(what, got.number, wanted.number);
  check(what, got.weight, wanted.weight);
  check_numbers(what, got.parts, wanted.parts);
}

void check_work(const Delivery& d, CORBA::Long n) {
  check_text("operation", d.operation, "work");
  check_text("raised", d.raised, "");
  check_item("result", d.result, n);
  check_numbers("some", d.some, added(n));
  check_text("text", d.text, "work " + std::to_string(n));
}

const char* const RAISED[] = {"", "Refused refused 77 item 3", "Nothing", "BAD_PARAM 4f4d0007 COMPLETED_YES"};

// ------------------------------------------------------------------ AMI, call-back

void ami_results() {
  Calls_var it = fresh_calls();
  RecordingHandler* handler = new_handler();
  AMI_CallsHandler_var to = reference(handler);
  for (CORBA::Long n = 0; n < 12; n++) {
    it->sendc_work(to, n, numbers_of(1, 3));
    check_work(next(handler->deliveries, "work"), n);
  }
  it->sendc_from_base(to, 5);
  check_text("text", next(handler->deliveries, "from_base").text, "base 5");
  it->sendc_pause(to);
  next(handler->deliveries, "pause");
  it->sendc_delayed(to, 31, 5);
  check("delayed", next(handler->deliveries, "delayed").result.number, CORBA::Long(31));
}

void ami_attributes() {
  Calls_var it = fresh_calls();
  RecordingHandler* handler = new_handler();
  AMI_CallsHandler_var to = reference(handler);
  it->sendc_set_level(to, 7);
  check_text("raised", next(handler->deliveries, "set_level").raised, "");
  it->sendc_get_level(to);
  check("level", next(handler->deliveries, "get_level").result.number, CORBA::Long(7));
  it->sendc_get_title(to);
  check_text("title", next(handler->deliveries, "get_title").text, "asynchrony");
  it->sendc_set_level(to, 13);
  check_text("raised", next(handler->deliveries, "set_level").raised, "NO_PERMISSION 0000000d COMPLETED_NO");
}

void ami_exceptions() {
  Calls_var it = fresh_calls();
  RecordingHandler* handler = new_handler();
  AMI_CallsHandler_var to = reference(handler);
  for (CORBA::Long n = 1; n <= 3; n++) {
    it->sendc_work(to, -n, numbers_of(1, 3));
    check_text("raised", next(handler->deliveries, "work").raised, RAISED[n]);
  }
}

void ami_anys() {
  Calls_var it = fresh_calls();
  RecordingHandler* handler = new_handler();
  AMI_CallsHandler_var to = reference(handler);
  CORBA::Any any;
  any <<= item_of(9);
  it->sendc_echo(to, any);
  check_item("echo", next(handler->deliveries, "echo").result, 9);
}

void ami_nil_handler() {
  Calls_var it = fresh_calls();
  it->level(1);
  it->sendc_set_level(AMI_CallsHandler::_nil(), 21);
  for (int i = 0; i < 500 && it->level() != 21; i++) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  check("level", it->level(), CORBA::Long(21));
}

void ami_pipelined() {
  Calls_var it = fresh_calls();
  RecordingHandler* handler = new_handler();
  AMI_CallsHandler_var to = reference(handler);
  const CORBA::Long count = 500;
  for (CORBA::Long n = 0; n < count; n++) it->sendc_work(to, n, numbers_of(1, 3));
  std::set<CORBA::Long> seen;
  for (CORBA::Long i = 0; i < count; i++) {
    Delivery d = next(handler->deliveries, "work");
    check_work(d, d.result.number);
    expect(seen.insert(d.result.number).second, "a reply came twice");
  }
  Delivery d;
  expect(!handler->deliveries.next(20, d), "a reply too many");
}

void ami_held() {
  Calls_var it = fresh_calls();
  // each takes a thread and a connection here
  const CORBA::Long count = static_cast<CORBA::Long>(std::min<CORBA::ULong>(it->held_at_most(), 8));
  expect(count > 0, "this servant cannot hold requests");
  RecordingHandler* handler = new_handler();
  AMI_CallsHandler_var to = reference(handler);
  for (CORBA::Long n = 0; n < count; n++) it->sendc_hold(to, n);
  it->sendc_work(to, 3, numbers_of(1, 3));
  // overtakes those before it
  check_work(next(handler->deliveries, "work"), 3);
  for (int i = 0; i < 1000 && it->held() != CORBA::ULong(count); i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  check("held", it->held(), CORBA::ULong(count));
  it->release();
  std::set<CORBA::Long> seen;
  for (CORBA::Long n = 0; n < count; n++)
    expect(seen.insert(next(handler->deliveries, "hold").result.number).second, "a reply came twice");
  check("seen", *seen.begin() + *seen.rbegin(), count - 1);
}

void ami_nested() {
  Calls_var it = fresh_calls();
  RecordingHandler* handler = new_handler();
  AMI_CallsHandler_var to = reference(handler);
  handler->meanwhile = [it, to](const Delivery& d) {
    const CORBA::Long n = d.result.number;
    if (n >= 19) return;
    CORBA::String_var text = it->from_base(n);
    if ("base " + std::to_string(n) == text.in()) it->sendc_work(to, n + 1, numbers_of(1, 3));
  };
  it->sendc_work(to, 0, numbers_of(1, 3));
  for (CORBA::Long n = 0; n < 20; n++) {
    Delivery d = next(handler->deliveries, "work");
    check_work(d, d.result.number);
  }
}

void ami_entertain() {
  Calls_var it = fresh_calls();
  RecordingHandler* handler = new_handler();
  AMI_CallsHandler_var to = reference(handler);
  VisitorServant* servant = new VisitorServant;
  Visitor_var visitor = servant->_this();
  it->sendc_entertain(to, visitor, 6);
  check("depth", next(handler->deliveries, "entertain").result.number, CORBA::Long(6));
}

void ami_gone(CORBA::Object_ptr gone) {
  Calls_var it = Asynchrony::Calls::_unchecked_narrow(gone);
  RecordingHandler* handler = new_handler();
  AMI_CallsHandler_var to = reference(handler);
  it->sendc_pause(to);
  const std::string raised = next(handler->deliveries, "pause").raised.in();
  expect(raised.compare(0, 17, "OBJECT_NOT_EXIST ") == 0, "raised " + raised);
  expect(raised.find("COMPLETED_NO") != std::string::npos, "raised " + raised);
}

void ami_timeout() {
  Calls_var it = fresh_calls();
  RecordingHandler* handler = new_handler();
  AMI_CallsHandler_var to = reference(handler);
  Calls_var hasty = host->get_calls();
  omniORB::setClientCallTimeout(hasty, 60);
  for (int i = 0; i < 3; i++) {
    hasty->sendc_delayed(to, 1, 300);
    const std::string raised = next(handler->deliveries, "delayed").raised.in();
    expect(raised.compare(0, 8, "TIMEOUT ") == 0, "raised " + raised);
    it->sendc_work(to, i, numbers_of(1, 3));
    check_work(next(handler->deliveries, "work"), i);
  }
}

// ------------------------------------------------------------------ AMI, pollers

typedef _CORBA_Value_Var<AMI_CallsPoller, AMI_CallsPoller_Helper> PollerVar;
const CORBA::ULong FOREVER = 0xffffffff;

void poll_work(AMI_CallsPoller* poller, CORBA::Long n) {
  Item_var result;
  Numbers_var some;
  CORBA::String_var text;
  poller->work(FOREVER, result.out(), some.out(), text.out());
  check_item("result", result, n);
  check_numbers("some", some, added(n));
  check_text("text", text, "work " + std::to_string(n));
}

void poller_results() {
  Calls_var it = fresh_calls();
  std::vector<PollerVar> pollers;
  for (CORBA::Long n = 0; n < 40; n++) pollers.push_back(it->sendp_work(n, numbers_of(1, 3)));
  for (CORBA::Long n = 39; n >= 0; n--) poll_work(pollers[n], n);
  it->level(5);
  _CORBA_Value_Var<AMI_BasePoller, AMI_BasePoller_Helper> poller = it->sendp_get_level();
  CORBA::Long level = 0;
  poller->get_level(FOREVER, level);
  check("level", level, CORBA::Long(5));
}

void poller_exceptions() {
  Calls_var it = fresh_calls();
  for (CORBA::Long n = 1; n <= 3; n++) {
    PollerVar poller = it->sendp_work(-n, numbers_of(1, 3));
    const std::string raised = raised_by([&] { poll_work(poller, 0); });
    check_text("raised", raised.c_str(), RAISED[n]);
  }
}

void poller_times() {
  Calls_var it = fresh_calls();
  PollerVar poller = it->sendp_delayed(8, 300);
  CORBA::Long n = 0;
  expect(!poller->is_ready(0), "ready at once");
  std::string raised = raised_by([&] { poller->delayed(0, n); });
  expect(raised.compare(0, 12, "NO_RESPONSE ") == 0, "raised " + raised);
  raised = raised_by([&] { poller->delayed(20, n); });
  expect(raised.compare(0, 8, "TIMEOUT ") == 0, "raised " + raised);
  expect(poller->is_ready(LONG_TIME), "not ready");
  poller->delayed(FOREVER, n);
  check("delayed", n, CORBA::Long(8));
}

void poller_set() {
  Calls_var it = fresh_calls();
  PollerVar early = it->sendp_delayed(2, 20), late = it->sendp_delayed(1, 400);
  CORBA::PollableSet_var set = late->create_pollable_set();
  set->add_pollable(early);
  check("left", set->number_left(), CORBA::UShort(2));
  for (CORBA::Long wanted : {2, 1}) {
    CORBA::Pollable* ready = set->get_ready_pollable(LONG_TIME);
    AMI_CallsPoller* poller = AMI_CallsPoller::_downcast(ready);
    CORBA::Long n = 0;
    poller->delayed(FOREVER, n);
    check("delayed", n, wanted);
  }
  check("left", set->number_left(), CORBA::UShort(0));
}

// ------------------------------------------------------------------ handlers in another process

std::vector<CORBA::Long> work_numbers(bool exceptions) {
  if (exceptions) return {-1, -2, -3};
  return {4, 8};
}

void check_recorded(Recorder_ptr recorder, CORBA::Long n) {
  Delivery_var d;
  bool came = false;
  // A little at a time: the reply may have to come over the connection that this waits on.
  for (int i = 0; i < 40 && !came; i++) came = recorder->next(25, d.out());
  expect(came, "the handler was not called");
  if (n < 0) check_text("raised", d->raised, RAISED[-n]);
  else check_work(d, n);
}

void deliver(bool exceptions) {
  Recorder_var recorder = host->get_recorder();
  CORBA::Object_var to = recorder->handler();
  for (CORBA::Long n : work_numbers(exceptions)) {
    deliver_to(to, n);
    check_recorded(recorder, n);
  }
}

void remote_handler(bool exceptions) {
  Calls_var it = fresh_calls();
  Recorder_var recorder = host->get_recorder();
  CORBA::Object_var object = recorder->handler();
  AMI_CallsHandler_var to = AMI_CallsHandler::_unchecked_narrow(object);
  for (CORBA::Long n : work_numbers(exceptions)) {
    it->sendc_work(to, n, numbers_of(1, 3));
    check_recorded(recorder, n);
  }
}

void sent_by_server(bool through_ami, bool exceptions) {
  Recorder_var recorder = host->get_recorder();
  Calls_var target = fresh_calls();
  RecordingHandler* handler = new_handler();
  AMI_CallsHandler_var to = reference(handler);
  for (CORBA::Long n : work_numbers(exceptions)) {
    if (through_ami) recorder->send(target, to, n);
    else recorder->deliver(to, n);
    Delivery d;
    expect(handler->deliveries.next(through_ami && exceptions ? 1000 : LONG_TIME, d), "the handler was not called");
    check_text("operation", d.operation, "work");
    if (exceptions) check_text("raised", d.raised, RAISED[-n]);
    else check_work(d, n);
  }
}

// ------------------------------------------------------------------ DII

CORBA::Request_var dii_work(CORBA::Long n) {
  Calls_var it = fresh_calls();
  CORBA::Request_var r = it->_request("work");
  r->add_in_arg() <<= n;
  r->add_inout_arg() <<= numbers_of(1, 3);
  r->add_out_arg().replace(CORBA::_tc_string, nullptr);
  r->set_return_type(_tc_Item);
  r->exceptions()->add(_tc_Refused);
  r->exceptions()->add(_tc_Nothing);
  return r;
}

void raise_of(CORBA::Request_ptr r) {
  CORBA::Exception* e = r->env()->exception();
  if (!e) return;
  if (CORBA::UnknownUserException* unknown = CORBA::UnknownUserException::_downcast(e)) {
    const Refused* refused;
    if (unknown->exception() >>= refused) throw *refused;
    const Nothing* nothing;
    if (unknown->exception() >>= nothing) throw *nothing;
  }
  e->_raise();
}

void check_dii_work(CORBA::Request_ptr r, CORBA::Long n) {
  raise_of(r);
  const Item* item;
  expect(r->return_value() >>= item, "the result is no Item");
  check_item("result", *item, n);
  const Numbers* some;
  expect(*r->arguments()->item(1)->value() >>= some, "the inout is no Numbers");
  check_numbers("some", *some, added(n));
  const char* text;
  expect(*r->arguments()->item(2)->value() >>= text, "the out is no string");
  check_text("text", text, "work " + std::to_string(n));
}

void dii_results() {
  Calls_var it = fresh_calls();
  for (CORBA::Long n = 0; n < 6; n++) {
    CORBA::Request_var r = dii_work(n);
    r->invoke();
    check_dii_work(r, n);
  }
  CORBA::Request_var set = it->_request("_set_level");
  set->add_in_arg() <<= CORBA::Long(17);
  set->set_return_type(CORBA::_tc_void);
  set->invoke();
  raise_of(set);
  CORBA::Request_var get = it->_request("_get_level");
  get->set_return_type(CORBA::_tc_long);
  get->invoke();
  raise_of(get);
  CORBA::Long level;
  expect(get->return_value() >>= level, "the level is no long");
  check("level", level, CORBA::Long(17));
}

void dii_exceptions() {
  for (CORBA::Long n = 1; n <= 3; n++) {
    CORBA::Request_var r = dii_work(-n);
    const std::string raised = raised_by([&] {
      r->invoke();
      raise_of(r);
    });
    check_text("raised", raised.c_str(), RAISED[n]);
  }
}

void dii_deferred() {
  Calls_var it = fresh_calls();
  CORBA::Request_var late = it->_request("delayed");
  late->add_in_arg() <<= CORBA::Long(6);
  late->add_in_arg() <<= CORBA::ULong(200);
  late->set_return_type(CORBA::_tc_long);
  late->send_deferred();
  expect(!late->poll_response(), "answered at once");
  CORBA::Request_var r = dii_work(5);
  r->send_deferred();
  r->get_response();
  check_dii_work(r, 5);
  late->get_response();
  raise_of(late);
  CORBA::Long n;
  expect(late->return_value() >>= n, "the result is no long");
  check("delayed", n, CORBA::Long(6));
}

void dii_multiple() {
  const CORBA::Long count = 30;
  CORBA::ORB::RequestSeq requests;
  requests.length(count);
  for (CORBA::Long n = 0; n < count; n++) requests[n] = CORBA::Request::_duplicate(dii_work(n));
  orb->send_multiple_requests_deferred(requests);
  std::set<CORBA::Long> seen;
  for (CORBA::Long i = 0; i < count; i++) {
    CORBA::Request_var r;
    orb->get_next_response(r.out());
    CORBA::Long n;
    *r->arguments()->item(0)->value() >>= n;
    check_dii_work(r, n);
    expect(seen.insert(n).second, "a response came twice");
  }
}

void dii_oneway() {
  Calls_var it = fresh_calls();
  it->forget();
  for (CORBA::Long n = 0; n < 5; n++) {
    CORBA::Request_var r = it->_request("tell");
    r->add_in_arg() <<= n;
    r->add_in_arg() <<= CORBA::ULong(0);
    r->send_oneway();
  }
  CORBA::Boolean in_order;
  for (int i = 0; i < 500 && it->told(in_order) < 5; i++) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  check("told", it->told(in_order), CORBA::Long(5));
}

void dii_any() {
  Calls_var it = fresh_calls();
  CORBA::Request_var r = it->_request("echo");
  CORBA::Any inner;
  inner <<= item_of(7);
  r->add_in_arg() <<= inner;
  r->set_return_type(CORBA::_tc_any);
  r->invoke();
  raise_of(r);
  const CORBA::Any* back;
  expect(r->return_value() >>= back, "the result is no any");
  const Item* item;
  expect(*back >>= item, "the any holds no Item");
  check_item("echo", *item, 7);
}

// ------------------------------------------------------------------ the rest

// What AMI and DII are compared with: the same without them.
void static_results() {
  Calls_var it = fresh_calls();
  for (CORBA::Long n = 0; n < 6; n++) {
    Numbers some = numbers_of(1, 3);
    CORBA::String_var text;
    Item_var item = it->work(n, some, text.out());
    check_item("result", item, n);
    check_numbers("some", some, added(n));
    check_text("text", text, "work " + std::to_string(n));
  }
  for (CORBA::Long n = 1; n <= 3; n++) {
    const std::string raised = raised_by([&] {
      Numbers some;
      CORBA::String_var text;
      it->work(-n, some, text.out());
    });
    check_text("raised", raised.c_str(), RAISED[n]);
  }
  check_text("title", CORBA::String_var(it->title()), "asynchrony");
  check_text("raised", raised_by([&] { it->level(13); }).c_str(), "NO_PERMISSION 0000000d COMPLETED_NO");
  CORBA::Any any;
  any <<= item_of(9);
  CORBA::Any_var back = it->echo(any);
  const Item* item;
  expect(back >>= item, "the any holds no Item");
  check_item("echo", *item, 9);
}

void entertain() {
  Calls_var it = fresh_calls();
  VisitorServant* servant = new VisitorServant;
  Visitor_var visitor = servant->_this();
  check("depth", it->entertain(visitor, 6), CORBA::Long(6));
}

void oneway_order() {
  Calls_var it = fresh_calls();
  it->forget();
  const CORBA::Long count = 300;
  for (CORBA::Long n = 100; n < 100 + count; n++) it->tell(n, 0);
  CORBA::Boolean in_order;
  for (int i = 0; i < 500 && it->told(in_order) < count; i++) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  check("told", it->told(in_order), count);
  expect(in_order, "not in order");
}

void timeout() {
  Calls_var hasty = host->get_calls();
  omniORB::setClientCallTimeout(hasty, 60);
  Calls_var it = fresh_calls();
  for (CORBA::Long n = 0; n < 4; n++) {
    const std::string raised = raised_by([&] { hasty->delayed(1, 250); });
    expect(raised.compare(0, 8, "TIMEOUT ") == 0, "raised " + raised);
    Numbers some = numbers_of(1, 3);
    CORBA::String_var text;
    Item_var item = it->work(n, some, text.out());
    check_item("result", item, n);
  }
}

}  // namespace

void async_features(CORBA::ORB_ptr the_orb, Root_ptr root, const AddFeature& add) {
  orb = CORBA::ORB::_duplicate(the_orb);
  CORBA::Object_var object = root->get_asynchrony();
  host = Host::_narrow(object);
  if (CORBA::is_nil(host)) return;
  add("static_results", static_results);
  add("entertain", entertain);
  add("ami_results", ami_results);
  add("ami_attributes", ami_attributes);
  add("ami_exceptions", ami_exceptions);
  add("ami_anys", ami_anys);
  add("ami_nil_handler", ami_nil_handler);
  add("ami_pipelined", ami_pipelined);
  add("ami_held", ami_held);
  add("ami_nested", ami_nested);
  add("ami_entertain", ami_entertain);
  add("ami_timeout", ami_timeout);
  Root_var kept = Root::_duplicate(root);
  add("ami_gone", [kept] {
    References_var references = kept->get_references();
    Named_var gone = references->gone();
    ami_gone(gone);
  });
  add("poller_results", poller_results);
  add("poller_exceptions", poller_exceptions);
  add("poller_times", poller_times);
  add("poller_set", poller_set);
  add("remote_handler", [] { remote_handler(false); });
  add("remote_handler_exceptions", [] { remote_handler(true); });
  add("remote_reply", [] { sent_by_server(true, false); });
  add("remote_reply_exceptions", [] { sent_by_server(true, true); });
  add("delivered", [] { sent_by_server(false, false); });
  add("delivered_exceptions", [] { sent_by_server(false, true); });
  add("deliver", [] { deliver(false); });
  add("deliver_exceptions", [] { deliver(true); });
  add("dii_results", dii_results);
  add("dii_exceptions", dii_exceptions);
  add("dii_deferred", dii_deferred);
  add("dii_multiple", dii_multiple);
  add("dii_oneway", dii_oneway);
  add("dii_any", dii_any);
  add("oneway_order", oneway_order);
  add("timeout", timeout);
}

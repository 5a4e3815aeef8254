// The servants of the asynchronous part of the catalogue, plain and dynamic, and its reply handler.
#include "asynchrony.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "servants.h"

Numbers numbers_of(CORBA::Long first, CORBA::ULong count) {
  Numbers r;
  r.length(count);
  for (CORBA::ULong i = 0; i < count; i++) r[i] = first + static_cast<CORBA::Long>(i);
  return r;
}

Item item_of(CORBA::Long n) {
  Item r;
  r.name = ("item " + std::to_string(n)).c_str();
  r.number = n;
  r.weight = n / 2.0;
  r.parts = numbers_of(n, static_cast<CORBA::ULong>(n % 5));
  return r;
}

static Refused refused() {
  Refused r;
  r.why = CORBA::string_dup("refused");
  r.code = 77;
  r.what = item_of(3);
  return r;
}

static CORBA::BAD_PARAM bad_param() { return CORBA::BAD_PARAM(0x4f4d0007, CORBA::COMPLETED_YES); }

Item work_of(CORBA::Long number, Numbers& some, std::string& text) {
  if (number == -1) throw refused();
  if (number == -2) throw Nothing();
  if (number == -3) throw bad_param();
  for (CORBA::ULong i = 0; i < some.length(); i++) some[i] += number;
  text = "work " + std::to_string(number);
  return item_of(number);
}

std::string raised_by(const std::function<void()>& act) {
  try {
    act();
    return "";
  } catch (const Refused& r) {
    return std::string("Refused ") + r.why.in() + " " + std::to_string(r.code) + " " + r.what.name.in();
  } catch (const Nothing&) {
    return "Nothing";
  } catch (const CORBA::SystemException& e) {
    char minor[16];
    std::snprintf(minor, sizeof minor, " %08x ", e.minor());
    const char* completed[] = {"COMPLETED_YES", "COMPLETED_NO", "COMPLETED_MAYBE"};
    return std::string(e._name()) + minor + completed[e.completed()];
  } catch (const CORBA::Exception& e) {
    return std::string("unexpected ") + e._name();
  }
}

// ------------------------------------------------------------------ the exception holder

// omniORB's own has no state, so it cannot travel: here is the standard's.
class StandardHolder : public virtual Messaging::ExceptionHolder, public virtual CORBA::DefaultValueRefCountBase {
 public:
  StandardHolder() {}
  explicit StandardHolder(const CORBA::Exception& e) {
    cdrMemoryStream body;
    const CORBA::SystemException* system = CORBA::SystemException::_downcast(&e);
    is_system_ = system != nullptr;
    body.marshalRawString(e._rep_id());
    if (system) {
      CORBA::ULong minor = system->minor();
      minor >>= body;
      CORBA::ULong completed = system->completed();
      completed >>= body;
    } else {
      dynamic_cast<const CORBA::UserException&>(e)._NP_marshal(body);
    }
    is_little_ = omni::myByteOrder;
    const unsigned char* octets = static_cast<const unsigned char*>(body.bufPtr());
    exception_.length(body.bufSize());
    std::memcpy(exception_.get_buffer(), octets, body.bufSize());
  }

  void raise_exception() override {
    cdrMemoryStream body(exception_.get_buffer(), exception_.length());
    body.setByteSwapFlag(is_little_);
    CORBA::String_var id = body.unmarshalRawString();
    if (!is_system_) {
      if (!std::strcmp(id, Refused::_PD_repoId)) {
        Refused r;
        r <<= body;
        throw r;
      }
      if (!std::strcmp(id, Nothing::_PD_repoId)) throw Nothing();
      throw CORBA::UNKNOWN(1, CORBA::COMPLETED_YES);
    }
    CORBA::ULong minor, completed;
    minor <<= body;
    completed <<= body;
    if (std::strstr(id, "/BAD_PARAM:")) throw CORBA::BAD_PARAM(minor, CORBA::CompletionStatus(completed));
    if (std::strstr(id, "/TIMEOUT:")) throw CORBA::TIMEOUT(minor, CORBA::CompletionStatus(completed));
    throw CORBA::UNKNOWN(minor, CORBA::CompletionStatus(completed));
  }
  void _PR_marshal_state(cdrStream& s) const override {
    s.marshalBoolean(is_system_);
    s.marshalBoolean(is_little_);
    exception_ >>= s;
  }
  void _PR_unmarshal_state(cdrStream& s) override {
    is_system_ = s.unmarshalBoolean();
    is_little_ = s.unmarshalBoolean();
    exception_ <<= s;
  }

 private:
  CORBA::Boolean is_system_ = false, is_little_ = false;
  CORBA::OctetSeq exception_;
};

class HolderFactory : public CORBA::ValueFactoryBase {
 public:
  CORBA::ValueBase* create_for_unmarshal() override { return new StandardHolder; }
};

void register_exception_holder(CORBA::ORB_ptr orb) {
  CORBA::ValueFactoryBase_var factory = new HolderFactory;
  orb->register_value_factory("IDL:omg.org/Messaging/ExceptionHolder:1.0", factory);
}

// ------------------------------------------------------------------ the reply handler

void Deliveries::put(const Delivery& delivery) {
  std::lock_guard<std::mutex> guard(lock_);
  queue_.push_back(delivery);
  came_.notify_all();
}

bool Deliveries::next(unsigned milliseconds, Delivery& into) {
  std::unique_lock<std::mutex> guard(lock_);
  if (!came_.wait_for(guard, std::chrono::milliseconds(milliseconds), [this] { return !queue_.empty(); }))
    return false;
  into = queue_.front();
  queue_.pop_front();
  return true;
}

static Delivery empty(const char* operation) {
  Delivery d;
  d.operation = operation;
  d.result = item_of(0);
  return d;
}

void RecordingHandler::keep(const Delivery& d) {
  if (meanwhile) meanwhile(d);
  deliveries.put(d);
}
void RecordingHandler::work(const Item& result, const Numbers& some, const char* text) {
  Delivery d = empty("work");
  d.result = result;
  d.some = some;
  d.text = text;
  keep(d);
}
void RecordingHandler::echo(const CORBA::Any& value) {
  Delivery d = empty("echo");
  const Item* item;
  if (value >>= item) d.result = *item;
  keep(d);
}
void RecordingHandler::number(const char* operation, CORBA::Long n) {
  Delivery d = empty(operation);
  d.result.number = n;
  keep(d);
}
void RecordingHandler::said(const char* operation, const char* text) {
  Delivery d = empty(operation);
  d.text = text;
  keep(d);
}
void RecordingHandler::raised(const char* operation, Messaging::ExceptionHolder* holder) {
  Delivery d = empty(operation);
  d.raised = raised_by([holder] { holder->raise_exception(); }).c_str();
  keep(d);
}

// ------------------------------------------------------------------ plain servants

void deliver_to(CORBA::Object_ptr to, CORBA::Long number) {
  // JacORB's handlers have other repository ids: without the prefix.
  AMI_CallsHandler_var handler = AMI_CallsHandler::_unchecked_narrow(to);
  if (CORBA::is_nil(handler)) throw CORBA::BAD_PARAM(1, CORBA::COMPLETED_NO);
  Numbers some = numbers_of(1, 3);
  std::string text;
  try {
    Item item = work_of(number, some, text);
    handler->work(item, some, text.c_str());
  } catch (const CORBA::Exception& e) {
    if (number >= 0) throw;
    Messaging::ExceptionHolder_var holder = new StandardHolder(e);
    handler->work_excep(holder);
  }
}

namespace {

// What Calls servants remember, plain or dynamic.
class State {
 public:
  CORBA::Long level() { return level_; }
  void level(CORBA::Long n) {
    if (n == 13) throw CORBA::NO_PERMISSION(13, CORBA::COMPLETED_NO);
    level_ = n;
  }
  void tell(CORBA::Long number, CORBA::ULong milliseconds) {
    if (number == 13) throw CORBA::NO_PERMISSION(13, CORBA::COMPLETED_NO);
    if (milliseconds) std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    std::lock_guard<std::mutex> guard(lock_);
    told_++;
    in_order_ = in_order_ && number > last_;
    last_ = number;
  }
  CORBA::Long told(CORBA::Boolean& in_order) {
    std::lock_guard<std::mutex> guard(lock_);
    in_order = in_order_;
    return told_;
  }
  void forget() {
    std::lock_guard<std::mutex> guard(lock_);
    told_ = 0;
    in_order_ = true;
    last_ = -1;
  }
  CORBA::Long delayed(CORBA::Long number, CORBA::ULong milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return number;
  }

 private:
  std::mutex lock_;
  CORBA::Long level_ = 0, told_ = 0, last_ = -1;
  bool in_order_ = true;
};

std::string base_of(CORBA::Long n) { return "base " + std::to_string(n); }

class CallsServant : public POA_Asynchrony::Calls {
 public:
  CORBA::Long level() override { return state_.level(); }
  void level(CORBA::Long n) override { state_.level(n); }
  char* title() override { return CORBA::string_dup("asynchrony"); }
  char* from_base(CORBA::Long n) override { return CORBA::string_dup(base_of(n).c_str()); }
  Item* work(CORBA::Long number, Numbers& some, CORBA::String_out text) override {
    std::string said;
    Item_var r = new Item(work_of(number, some, said));
    text = CORBA::string_dup(said.c_str());
    return r._retn();
  }
  void pause() override {}
  CORBA::Long delayed(CORBA::Long n, CORBA::ULong ms) override { return state_.delayed(n, ms); }
  CORBA::Any* echo(const CORBA::Any& value) override { return new CORBA::Any(value); }
  void tell(CORBA::Long n, CORBA::ULong ms) override { state_.tell(n, ms); }
  CORBA::Long told(CORBA::Boolean& in_order) override { return state_.told(in_order); }
  void forget() override { state_.forget(); }

  CORBA::Long hold(CORBA::Long n) override {
    std::unique_lock<std::mutex> guard(lock_);
    held_++;
    const unsigned turn = turn_;
    gone_.wait(guard, [&] { return turn_ != turn; });
    held_--;
    return n;
  }
  CORBA::ULong held_at_most() override { return 8; }
  CORBA::ULong held() override {
    std::lock_guard<std::mutex> guard(lock_);
    return held_;
  }
  void release() override {
    std::lock_guard<std::mutex> guard(lock_);
    turn_++;
    gone_.notify_all();
  }
  CORBA::Long entertain(Visitor_ptr guest, CORBA::Long depth) override {
    Calls_var self = _this();
    return depth == 0 ? 0 : guest->visit(self, depth - 1) + 1;
  }

 private:
  State state_;
  std::mutex lock_;
  std::condition_variable gone_;
  CORBA::ULong held_ = 0;
  unsigned turn_ = 0;
};

// ------------------------------------------------------------------ a dynamic servant

class DynamicCalls : public PortableServer::DynamicImplementation {
 public:
  void invoke(CORBA::ServerRequest_ptr request) override {
    try {
      const std::string operation = request->operation();
      if (!attributes(operation, request) && !operations(operation, request) && !oneways(operation, request))
        throw CORBA::BAD_OPERATION(0, CORBA::COMPLETED_NO);
    } catch (const CORBA::Exception& e) {
      CORBA::Any any;
      if (const Refused* r = dynamic_cast<const Refused*>(&e)) any <<= *r;
      else if (const Nothing* n = dynamic_cast<const Nothing*>(&e)) any <<= *n;
      else any <<= dynamic_cast<const CORBA::SystemException&>(e);
      request->set_exception(any);
    }
  }
  char* _primary_interface(const PortableServer::ObjectId&, PortableServer::POA_ptr) override {
    return CORBA::string_dup(Asynchrony::Calls::_PD_repoId);
  }

 private:
  State state_;

  // The arguments that have these types, all `in`.
  static CORBA::NVList_ptr take(CORBA::ServerRequest_ptr request, const std::vector<CORBA::TypeCode_ptr>& types) {
    CORBA::NVList_ptr list;
    omni_orb()->create_list(0, list);
    for (CORBA::TypeCode_ptr type : types) list->add(CORBA::ARG_IN)->value()->replace(type, nullptr);
    request->arguments(list);
    return list;
  }
  static CORBA::ORB_ptr omni_orb() {
    static CORBA::ORB_var orb = [] {
      int argc = 0;
      return CORBA::ORB_init(argc, nullptr);
    }();
    return orb;
  }
  template <class T>
  static T at(CORBA::NVList_ptr list, CORBA::ULong index) {
    T value;
    if (!(*list->item(index)->value() >>= value)) throw CORBA::MARSHAL(0, CORBA::COMPLETED_NO);
    return value;
  }
  template <class T>
  static void result(CORBA::ServerRequest_ptr request, T value) {
    CORBA::Any any;
    any <<= value;
    request->set_result(any);
  }
  bool attributes(const std::string& operation, CORBA::ServerRequest_ptr request) {
    if (operation == "_get_level") {
      take(request, {});
      result<CORBA::Long>(request, state_.level());
    } else if (operation == "_set_level") {
      state_.level(at<CORBA::Long>(take(request, {CORBA::_tc_long}), 0));
    } else if (operation == "_get_title") {
      take(request, {});
      result<const char*>(request, "asynchrony");
    } else {
      return false;
    }
    return true;
  }
  bool operations(const std::string& operation, CORBA::ServerRequest_ptr request) {
    if (operation == "from_base") {
      CORBA::Long n = at<CORBA::Long>(take(request, {CORBA::_tc_long}), 0);
      result<const char*>(request, base_of(n).c_str());
    } else if (operation == "work") {
      work(request);
    } else if (operation == "pause") {
      take(request, {});
    } else if (operation == "delayed") {
      CORBA::NVList_ptr list = take(request, {CORBA::_tc_long, CORBA::_tc_ulong});
      result<CORBA::Long>(request, state_.delayed(at<CORBA::Long>(list, 0), at<CORBA::ULong>(list, 1)));
    } else if (operation == "echo") {
      CORBA::NVList_ptr list = take(request, {CORBA::_tc_any});
      CORBA::Any any;
      any <<= *at<const CORBA::Any*>(list, 0);
      request->set_result(any);
    } else {
      return false;
    }
    return true;
  }
  void work(CORBA::ServerRequest_ptr request) {
    CORBA::NVList_ptr list;
    omni_orb()->create_list(0, list);
    list->add(CORBA::ARG_IN)->value()->replace(CORBA::_tc_long, nullptr);
    list->add(CORBA::ARG_INOUT)->value()->replace(_tc_Numbers, nullptr);
    list->add(CORBA::ARG_OUT)->value()->replace(CORBA::_tc_string, nullptr);
    request->arguments(list);
    Numbers some = *at<const Numbers*>(list, 1);
    std::string text;
    Item item = work_of(at<CORBA::Long>(list, 0), some, text);
    *list->item(1)->value() <<= some;
    *list->item(2)->value() <<= text.c_str();
    CORBA::Any any;
    any <<= item;
    request->set_result(any);
  }
  bool oneways(const std::string& operation, CORBA::ServerRequest_ptr request) {
    if (operation == "tell") {
      CORBA::NVList_ptr list = take(request, {CORBA::_tc_long, CORBA::_tc_ulong});
      state_.tell(at<CORBA::Long>(list, 0), at<CORBA::ULong>(list, 1));
    } else if (operation == "forget") {
      take(request, {});
      state_.forget();
    } else if (operation == "told") {
      CORBA::NVList_ptr list;
      omni_orb()->create_list(0, list);
      list->add(CORBA::ARG_OUT)->value()->replace(CORBA::_tc_boolean, nullptr);
      request->arguments(list);
      CORBA::Boolean in_order;
      CORBA::Long count = state_.told(in_order);
      *list->item(0)->value() <<= CORBA::Any::from_boolean(in_order);
      result<CORBA::Long>(request, count);
    } else {
      return false;
    }
    return true;
  }
};

// ------------------------------------------------------------------ the way in

class RecorderServant : public POA_Asynchrony::Recorder {
 public:
  CORBA::Object_ptr handler() override { return handler_._this(); }
  CORBA::Boolean next(CORBA::ULong milliseconds, Delivery_out what) override {
    Delivery_var d = new Delivery;
    d->result = item_of(0);
    bool came = handler_.deliveries.next(milliseconds, d.inout());
    what = d._retn();
    return came;
  }
  void deliver(CORBA::Object_ptr to, CORBA::Long number) override { deliver_to(to, number); }
  void send(Calls_ptr target, CORBA::Object_ptr to, CORBA::Long number) override {
    // JacORB's handlers have other repository ids: without the prefix.
    AMI_CallsHandler_var handler = AMI_CallsHandler::_unchecked_narrow(to);
    if (CORBA::is_nil(handler)) throw CORBA::BAD_PARAM(1, CORBA::COMPLETED_NO);
    target->sendc_work(handler, number, numbers_of(1, 3));
  }

 private:
  RecordingHandler handler_;
};

class HostServant : public POA_Asynchrony::Host {
 public:
  explicit HostServant(bool dynamic) {
    PortableServer::Servant calls;
    if (dynamic) calls = new DynamicCalls;
    else calls = new CallsServant;
    PortableServer::ObjectId_var id = root_poa->activate_object(calls);
    calls_ = root_poa->id_to_reference(id);
  }
  Calls_ptr get_calls() override { return Asynchrony::Calls::_unchecked_narrow(calls_); }
  Recorder_ptr get_recorder() override { return recorder_._this(); }

 private:
  CORBA::Object_var calls_;
  RecorderServant recorder_;
};

}  // namespace

CORBA::Object_ptr start_host(bool dynamic) {
  PortableServer::ObjectId_var id = root_poa->activate_object(new HostServant(dynamic));
  return root_poa->id_to_reference(id);
}

// What both sides of the asynchronous part of the catalogue share: its rules, servants and handlers.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "asynchrony.hh"

using namespace Asynchrony;

// The rules of asynchrony.idl.
Item item_of(CORBA::Long n);
Numbers numbers_of(CORBA::Long first, CORBA::ULong count);
// Answers as `work` has to; `some` is inout.
Item work_of(CORBA::Long number, Numbers& some, std::string& text);
// "Refused refused 77 item 3" and so on, of what `act` raises; "" when nothing.
std::string raised_by(const std::function<void()>& act);

// Calls `work` or `work_excep` of that AMI_CallsHandler.
void deliver_to(CORBA::Object_ptr handler, CORBA::Long number);

// Registers what omniORB lacks: ExceptionHolder with the state of the standard.
void register_exception_holder(CORBA::ORB_ptr orb);

// Where reply handlers put what they are told.
class Deliveries {
 public:
  void put(const Delivery& delivery);
  bool next(unsigned milliseconds, Delivery& into);

 private:
  std::mutex lock_;
  std::condition_variable came_;
  std::deque<Delivery> queue_;
};

class RecordingHandler : public POA_Asynchrony::AMI_CallsHandler {
 public:
  Deliveries deliveries;
  // Called in the upcall, before the delivery is kept.
  std::function<void(const Delivery&)> meanwhile;

  void work(const Item& result, const Numbers& some, const char* text) override;
  void work_excep(Messaging::ExceptionHolder* holder) override { raised("work", holder); }
#define NUMBER(T, OP)                                                                       \
  void OP(T n) override { number(#OP, static_cast<CORBA::Long>(n)); }                       \
  void OP##_excep(Messaging::ExceptionHolder* holder) override { raised(#OP, holder); }
#define NOTHING(OP)                                                                         \
  void OP() override { number(#OP, 0); }                                                    \
  void OP##_excep(Messaging::ExceptionHolder* holder) override { raised(#OP, holder); }
#define TEXT(OP)                                                                            \
  void OP(const char* text) override { said(#OP, text); }                                   \
  void OP##_excep(Messaging::ExceptionHolder* holder) override { raised(#OP, holder); }
  NUMBER(CORBA::Long, get_level)
  NUMBER(CORBA::Long, delayed)
  NUMBER(CORBA::Long, hold)
  NUMBER(CORBA::ULong, held_at_most)
  NUMBER(CORBA::ULong, held)
  NUMBER(CORBA::Long, entertain)
  NOTHING(set_level)
  NOTHING(pause)
  NOTHING(forget)
  NOTHING(release)
  TEXT(get_title)
  TEXT(from_base)
  void told(CORBA::Long n, CORBA::Boolean) override { number("told", n); }
  void told_excep(Messaging::ExceptionHolder* holder) override { raised("told", holder); }
  // Keeps the item in the any.
  void echo(const CORBA::Any& value) override;
  void echo_excep(Messaging::ExceptionHolder* holder) override { raised("echo", holder); }
#undef NUMBER
#undef NOTHING
#undef TEXT

 private:
  void keep(const Delivery& delivery);
  void number(const char* operation, CORBA::Long n);
  void said(const char* operation, const char* text);
  void raised(const char* operation, Messaging::ExceptionHolder* holder);
};

class VisitorServant : public POA_Asynchrony::Visitor {
 public:
  CORBA::Long visit(Calls_ptr host, CORBA::Long depth) override {
    Visitor_var self = _this();
    return depth == 0 ? 0 : host->entertain(self, depth - 1) + 1;
  }
};

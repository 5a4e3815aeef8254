// The servants of the catalogue, for the server; the client uses NamedServant and CallbackServant.
#pragma once

#include <string>

#include "values.h"

// Activates a Named of that name, once for each name, in the root POA.
Named_ptr named(const std::string& name);
CORBA::Object_ptr start_server(CORBA::ORB_ptr orb);

extern PortableServer::POA_var root_poa;
// Whether the Calls of the Host are served by a dynamic servant (--style dsi).
extern bool dynamic_calls;
// The Asynchrony::Host, of asynchrony.cc.
CORBA::Object_ptr start_host(bool dynamic);

// n-th values of the reference types, pointing to objects of the side `who`.
NamedSeq v_named_seq(long n, const char* who);
Holder v_holder(long n, const char* who);
void check_named(const char* what, Named_ptr got, long n, const char* who);
void check_object(const char* what, CORBA::Object_ptr got, long n, const char* who);
void check_named_seq(const char* what, const NamedSeq& got, long n, const char* who);
void check_holder(const char* what, const Holder& got, long n, const char* who);

// What Bulk passes: `count` elements that depend on the seed.
OctetSeq* bulk_octets(CORBA::ULong count, unsigned seed);
LongSeq* bulk_longs(CORBA::ULong count, unsigned seed);
DoubleSeq* bulk_doubles(CORBA::ULong count, unsigned seed);
char* bulk_string(CORBA::ULong count, unsigned seed);
TextSeq* bulk_texts(CORBA::ULong count, unsigned seed);
PersonSeq* bulk_people(CORBA::ULong count, unsigned seed);
template <class T>
void check_bulk(const char* what, const T& got, const T& wanted) {
  if (got.length() != wanted.length())
    throw Different(std::string(what) + ": got " + std::to_string(got.length()) +
                    " elements, expected " + std::to_string(wanted.length()));
  for (CORBA::ULong i = 0; i < got.length(); i++)
    if (got[i] != wanted[i]) throw Different(std::string(what) + ": element " + std::to_string(i) + " differs");
}
void check_bulk(const char* what, const TextSeq& got, const TextSeq& wanted);

class NamedServant : public POA_Interop::Named {
 public:
  explicit NamedServant(const std::string& name) : name_(name) {}
  char* name() override { return CORBA::string_dup(name_.c_str()); }

 private:
  std::string name_;
};

class CallbackServant : public POA_Interop::Callback {
 public:
  CORBA::Long ping(References_ptr server, CORBA::Long depth) override;
};

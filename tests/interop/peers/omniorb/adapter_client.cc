// The client side of adapters.idl, and of the restart of a server. Features of the same names are in
// AdapterClient.java and in src/peer.
#include "adapter_client.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "adapters.hh"

using namespace Adapters;

namespace {

CORBA::ORB_var orb;
Root_var root;

void expect(bool condition, const std::string& what) {
  if (!condition) throw Different(what);
}

Yard_var get_yard() {
  CORBA::Object_var o = root->get_yard();
  Yard_var yard = Yard::_narrow(o);
  expect(!CORBA::is_nil(yard), "the server has no Yard");
  return yard;
}

Item_var get_item(Kind which, const char* id) { return get_yard()->get_item(which, id); }

Item_var of_url(const char* url) {
  CORBA::Object_var o = orb->string_to_object(url);
  Item_var it = Item::_narrow(o);
  expect(!CORBA::is_nil(it), std::string(url) + " is no Item");
  return it;
}

void check_who(Item_ptr it, const char* wanted) {
  CORBA::String_var who = it->who();
  check_text("who", who, wanted);
}

void check_calls(Item_ptr it, CORBA::Long wanted) { check("calls", it->calls(), wanted); }

void check_history(Yard_ptr yard, const char* id, const char* wanted) {
  CORBA::String_var got = yard->history(id);
  // Servant managers may be told of an end after the client has its reply.
  for (int i = 0; i < 500 && std::strlen(got) < std::strlen(wanted); i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    got = yard->history(id);
  }
  check_text("history", got, wanted);
}

template <class E, class F>
E raised(const char* what, F call) {
  try {
    call();
  } catch (const E& e) {
    expect(e.completed() == CORBA::COMPLETED_NO, std::string(what) + ": completion status");
    return e;
  }
  throw Different(std::string(what) + ": no exception");
}

void check_gone(Item_ptr it) {
  raised<CORBA::OBJECT_NOT_EXIST>("OBJECT_NOT_EXIST", [it] { it->calls(); });
  expect(it->_non_existent(), "_non_existent says that it is there");
}

void managers(const AddFeature& feature) {
  feature("poa_default_servant", [] {
    Item_var one = get_item(shared, "gamma"), two = get_item(shared, "delta");
    check_who(one, "shared/gamma");
    check_who(two, "shared/delta");
    check_calls(one, 1);
    check_calls(two, 2);
    check_calls(one, 3);
  });
  feature("poa_locator", [] {
    Item_var it = get_item(located, "eta");
    Yard_var yard = get_yard();
    check_who(it, "located/eta");
    check_history(yard, "eta", "preinvoke who; postinvoke who");
    check_calls(it, 1);
    check_history(yard, "eta", "preinvoke who; postinvoke who; preinvoke calls; postinvoke calls");
    check_calls(it, 1);
  });
  feature("poa_activator", [] {
    Item_var it = get_item(on_demand, "theta");
    Yard_var yard = get_yard();
    CORBA::String_var before = yard->history("theta");
    check_text("history", before, "");
    check_who(it, "archive/boxes/theta");
    check_calls(it, 1);
    check_calls(it, 2);
    check_history(yard, "theta", "incarnate");
    yard->deactivate(on_demand, "theta");
    check_history(yard, "theta", "incarnate; etherealize false false");
    check_calls(it, 1);
    check_history(yard, "theta", "incarnate; etherealize false false; incarnate");
  });
}

void objects(const AddFeature& feature) {
  feature("poa_kept", [] {
    Item_var it = get_item(kept, "alpha");
    check_who(it, "kept/alpha");
    check_calls(it, 1);
    check_calls(it, 2);
    get_yard()->deactivate(kept, "alpha");
    check_gone(it);
  });
  feature("poa_stable", [] {
    Item_var it = get_item(stable, "beta");
    check_who(it, "stable/beta");
    check_calls(it, 1);
    get_yard()->deactivate(stable, "beta");
    check_gone(it);
    Item_var again = get_item(stable, "beta");
    check_calls(again, 1);
    check_calls(it, 2);
  });
  feature("poa_ended", [] {
    Yard_var yard = get_yard();
    Item_var of_deactivated = yard->get_ended(deactivated), of_destroyed = yard->get_ended(destroyed);
    check_gone(of_deactivated);
    check_gone(of_destroyed);
    Item_var of_inactive = yard->get_ended(inactive);
    raised<CORBA::OBJ_ADAPTER>("OBJ_ADAPTER", [&] { of_inactive->calls(); });
  });
  feature("corbaloc_keys", [] {
    const char* id = "cheese & ham %41/1";
    CORBA::String_var url = get_yard()->get_url(stable, id);
    expect(std::strstr(url, "%25"), "the per cent sign of the id is not escaped");
    Item_var it = of_url(url);
    check_who(it, "stable/cheese & ham %41/1");
    check_calls(it, 1);
    Item_var again = get_item(stable, id);
    check_calls(again, 2);
  });
  feature("corbaloc_names", [] {
    CORBA::String_var url = get_yard()->get_name_url();
    Item_var it = of_url(url);
    check_who(it, "stable/by name");
  });
}

void states(const AddFeature& feature) {
  feature("poa_holding", [] {
    Yard_var yard = get_yard();
    Item_var it = yard->get_gated();
    const CORBA::Long before = it->calls();
    yard->hold();
    std::atomic<bool> is_served(false);
    CORBA::Long got = 0;
    std::thread caller([&] {
      try {
        got = it->calls();
      } catch (const CORBA::SystemException&) {
        got = -1;
      }
      is_served = true;
    });
    for (int i = 0; i < 500 && yard->held() != 1; i++) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const CORBA::ULong held = yard->held();
    const bool too_early = is_served;
    yard->activate();
    caller.join();
    check("held", held, CORBA::ULong(1));
    expect(!too_early, "the request was not held");
    check("held, then served", got, before + 1);
    check("held", yard->held(), CORBA::ULong(0));
    check_who(it, "gated/item");
  });
  feature("poa_discarding", [] {
    Yard_var yard = get_yard();
    Item_var it = yard->get_gated();
    const CORBA::Long before = it->calls();
    yard->discard();
    CORBA::ULong minor = 0;
    try {
      minor = raised<CORBA::TRANSIENT>("TRANSIENT", [&] { it->calls(); }).minor();
    } catch (...) {
      yard->activate();
      throw;
    }
    yard->activate();
    check("minor code", minor, CORBA::ULong(0x4f4d0001));
    check_calls(it, before + 1);
  });
}

// A call on the connection that died may fail: COMM_FAILURE or TRANSIENT, then a new connection is made.
template <class F>
auto again(F call) -> decltype(call()) {
  for (int attempt = 1;; attempt++) {
    try {
      return call();
    } catch (const CORBA::COMM_FAILURE&) {
      if (attempt == 3) throw;
    } catch (const CORBA::TRANSIENT&) {
      if (attempt == 3) throw;
    }
  }
}

typedef std::function<void()> Afterwards;

Afterwards persistent_reference() {
  Counter_var it = root->get_counter();
  check("first", it->increment(), CORBA::Long(1));
  check("second", it->increment(), CORBA::Long(2));
  CORBA::String_var before = it->incarnation();
  return [it, before] {
    check("third", again([&] { return it->increment(); }), CORBA::Long(1));
    CORBA::String_var after = it->incarnation();
    expect(std::strcmp(before, after) != 0, "the same process answers");
  };
}

// The object ended with its process, and no other server answers for it.
Afterwards transient_reference() {
  Top_var it = root->get_only_top();
  CORBA::String_var s = it->from_top(1);
  check_text("from_top", s, "only top 1");
  return [it] {
    raised<CORBA::OBJECT_NOT_EXIST>("OBJECT_NOT_EXIST", [it] {
      again([it] { return CORBA::String_var(it->from_top(2)); });
    });
    expect(it->_non_existent(), "_non_existent says that it is there");
  };
}

// In the new process nothing is there until the reference is called: its POAs are made by adapter activators,
// its servant by a servant activator.
Afterwards on_demand_reference() {
  Item_var it = get_item(on_demand, "epsilon");
  check_calls(it, 1);
  check_calls(it, 2);
  CORBA::String_var before = it->incarnation();
  Yard_var yard = get_yard();
  return [it, yard, before] {
    CORBA::String_var archive = again([&] { return CORBA::String_var(yard->history("archive")); });
    check_text("archive before", archive, "");
    check_calls(it, 1);
    check_who(it, "archive/boxes/epsilon");
    check_history(yard, "archive", "unknown_adapter");
    check_history(yard, "boxes", "unknown_adapter");
    check_history(yard, "epsilon", "incarnate");
    CORBA::String_var after = it->incarnation();
    expect(std::strcmp(before, after) != 0, "the same process answers");
  };
}

// The URL of a persistent object is good in the next life, too: kept as text, and as a reference.
Afterwards corbaloc_reference() {
  CORBA::String_var url = get_yard()->get_url(on_demand, "zeta");
  Item_var it = of_url(url);
  check_calls(it, 1);
  check_who(it, "archive/boxes/zeta");
  return [it, url] {
    check("calls", again([&] { return it->calls(); }), CORBA::Long(1));
    Item_var other = of_url(url);
    check_calls(other, 2);
    check_who(it, "archive/boxes/zeta");
  };
}

}  // namespace

void adapter_features(CORBA::ORB_ptr the_orb, Root_ptr the_root, const AddFeature& add) {
  orb = CORBA::ORB::_duplicate(the_orb);
  root = Root::_duplicate(the_root);
  objects(add);
  managers(add);
  states(add);
}

std::vector<RestartFeature> restart_features(CORBA::ORB_ptr the_orb, Root_ptr the_root) {
  orb = CORBA::ORB::_duplicate(the_orb);
  root = Root::_duplicate(the_root);
  return {{"restart", persistent_reference},
          {"restart_transient", transient_reference},
          {"restart_on_demand", on_demand_reference},
          {"restart_corbaloc", corbaloc_reference}};
}

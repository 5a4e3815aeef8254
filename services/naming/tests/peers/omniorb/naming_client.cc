// Uses a naming service through omniORB's stubs: every operation and exception, one line each.
// The test compares the lines; JacORB's client (NamingClient.java) prints the same.
#include <omniORB4/CORBA.h>
#include <omniORB4/Naming.hh>

#include <iostream>
#include <string>

using namespace CosNaming;

static Name name(std::initializer_list<std::pair<const char*, const char*>> parts) {
  Name n;
  n.length(parts.size());
  CORBA::ULong i = 0;
  for (auto& part : parts) {
    n[i].id = part.first;
    n[i++].kind = part.second;
  }
  return n;
}

static std::string text(const Name& n) {
  std::string out;
  for (CORBA::ULong i = 0; i < n.length(); i++) out += (i ? "/" : "") + std::string(n[i].id) + "|" + std::string(n[i].kind);
  return out;
}

static const char* why(NamingContext::NotFoundReason reason) {
  switch (reason) {
    case NamingContext::missing_node: return "missing_node";
    case NamingContext::not_context: return "not_context";
    default: return "not_object";
  }
}

template <typename F>
static void refused(const char* what, F body) {
  try {
    body();
    std::cout << what << ": done" << std::endl;
  } catch (NamingContext::NotFound& e) {
    std::cout << what << ": NotFound " << why(e.why) << " " << text(e.rest_of_name) << std::endl;
  } catch (NamingContext::CannotProceed& e) {
    std::cout << what << ": CannotProceed " << text(e.rest_of_name) << " " << !CORBA::is_nil(e.cxt) << std::endl;
  } catch (NamingContext::InvalidName&) {
    std::cout << what << ": InvalidName" << std::endl;
  } catch (NamingContext::AlreadyBound&) {
    std::cout << what << ": AlreadyBound" << std::endl;
  } catch (NamingContext::NotEmpty&) {
    std::cout << what << ": NotEmpty" << std::endl;
  } catch (NamingContextExt::InvalidAddress&) {
    std::cout << what << ": InvalidAddress" << std::endl;
  }
}

static int use(CORBA::ORB_ptr orb) {
  CORBA::Object_var found = orb->resolve_initial_references("NameService");
  NamingContextExt_var root = NamingContextExt::_narrow(found);
  if (CORBA::is_nil(root)) return 1;
  NamingContext_var desk = root->bind_new_context(name({{"desk", ""}}));
  NamingContext_var drawer = desk->bind_new_context(name({{"drawer", "d"}}));
  root->bind(name({{"desk", ""}, {"pen", "ink"}}), drawer);
  CORBA::Object_var pen = root->resolve(name({{"desk", ""}, {"pen", "ink"}}));
  std::cout << "resolve: " << pen->_is_equivalent(drawer) << pen->_is_a("IDL:omg.org/CosNaming/NamingContext:1.0") << std::endl;
  refused("bind again", [&] { root->bind(name({{"desk", ""}, {"pen", "ink"}}), drawer); });
  refused("rebind", [&] { root->rebind(name({{"desk", ""}, {"pen", "ink"}}), desk); });
  refused("rebind a context", [&] { root->rebind(name({{"desk", ""}, {"drawer", "d"}}), desk); });
  refused("rebind_context of an object", [&] { root->rebind_context(name({{"desk", ""}, {"pen", "ink"}}), desk); });
  refused("rebind_context", [&] { root->rebind_context(name({{"desk", ""}, {"drawer", "d"}}), drawer); });
  refused("missing", [&] { root->resolve(name({{"desk", ""}, {"missing_name", "x"}, {"y", ""}})); });
  refused("not a context", [&] { root->resolve(name({{"desk", ""}, {"pen", "ink"}, {"y", ""}})); });
  refused("empty", [&] { root->resolve(Name()); });
  refused("not empty", [&] { desk->destroy(); });
  NamingContext_var loose = root->new_context();
  refused("bind_context", [&] { root->bind_context(name({{"loose", ""}}), loose); });
  refused("bind_context again", [&] { root->bind_context(name({{"loose", ""}}), loose); });
  for (int i = 0; i < 7; i++) loose->bind(name({{(std::string("n") + char('0' + i)).c_str(), ""}}), pen);
  BindingList_var listed;
  BindingIterator_var rest;
  loose->list(3, listed.out(), rest.out());
  std::cout << "list: " << listed->length() << " " << text(listed[0u].binding_name) << " " << (listed[0u].binding_type == nobject);
  BindingList_var more;
  CORBA::Boolean has = rest->next_n(2, more.out());
  Binding_var one;
  CORBA::Boolean has_one = rest->next_one(one.out());
  std::cout << ", " << int(has) << more->length() << ", " << int(has_one) << " " << text(one->binding_name);
  has = rest->next_n(10, more.out());
  std::cout << ", " << int(has) << more->length() << std::endl;
  rest->destroy();
  CORBA::String_var sn = root->to_string(name({{"a/b", "c.d"}, {"", "k"}}));
  std::cout << "to_string: " << sn << std::endl;
  Name_var n = root->to_name("a\\/b.c\\.d/.k");
  std::cout << "to_name: " << text(n) << std::endl;
  CORBA::String_var url = root->to_url(":host:4711/key", "a\\/b/<c>");
  std::cout << "to_url: " << url << std::endl;
  refused("to_url without an address", [&] { CORBA::String_var u = root->to_url("", "a"); });
  refused("to_name of nonsense", [&] { Name_var u = root->to_name("a//b"); });
  CORBA::Object_var again = root->resolve_str("desk/drawer.d");
  std::cout << "resolve_str: " << again->_is_equivalent(drawer) << std::endl;
  CORBA::Object_var by_url = orb->string_to_object("corbaname:rir:#desk/drawer.d");
  std::cout << "corbaname: " << by_url->_is_equivalent(drawer) << std::endl;
  refused("unbind", [&] { root->unbind(name({{"desk", ""}, {"pen", "ink"}})); });
  refused("unbind again", [&] { root->unbind(name({{"desk", ""}, {"pen", "ink"}})); });
  refused("destroy", [&] { drawer->destroy(); });
  try {
    drawer->new_context();
  } catch (CORBA::OBJECT_NOT_EXIST&) {
    std::cout << "destroyed: OBJECT_NOT_EXIST" << std::endl;
  }
  return 0;
}

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    int status = use(orb);
    orb->destroy();
    return status;
  } catch (CORBA::Exception& e) {
    std::cout << "stopped by " << e._rep_id() << std::endl;
    return 1;
  }
}

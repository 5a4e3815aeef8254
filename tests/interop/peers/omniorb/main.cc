// The omniORB peer of Corbie's interoperability tests.
//
//   omni_peer server [--latin1] [--bidirectional] [--style plain|dsi] [-ORB...]
//                                                   prints "ior IOR:..." and "ready"; ends when stdin closes
//   omni_peer client REFERENCE [--feature NAME]... [--bulk OCTETS] [--restart] [--latin1]
//                                                   [--bidirectional] [-ORB...]
//                                                   prints "ok NAME" or "FAIL NAME reason" for each feature

#include <unistd.h>

#include <iostream>

#include "asynchrony.h"
#include "client.h"

static int serve(CORBA::ORB_ptr orb) {
  CORBA::Object_var root = start_server(orb);
  CORBA::String_var ior = orb->object_to_string(root);
  std::cout << "ior " << ior << std::endl << "ready" << std::endl;
  char c;
  while (read(0, &c, 1) > 0) {
  }
  return 0;
}

// omniORB wants the policy on both sides: a server takes an offer for an object of such a POA.
static PortableServer::POA_ptr bidirectional_poa(CORBA::ORB_ptr orb, PortableServer::POAManager_ptr manager) {
  CORBA::Any both;
  both <<= BiDirPolicy::BOTH;
  CORBA::PolicyList policies;
  policies.length(2);
  policies[0] = orb->create_policy(BiDirPolicy::BIDIRECTIONAL_POLICY_TYPE, both);
  policies[1] = root_poa->create_implicit_activation_policy(PortableServer::IMPLICIT_ACTIVATION);
  return root_poa->create_POA("bidirectional", manager, policies);
}

static int run(int argc, char** argv) {
  for (int i = 1; i < argc; i++)
    if (std::string(argv[i]) == "--latin1") native_latin1 = true;
  for (int i = 1; i + 1 < argc; i++)
    if (std::string(argv[i]) == "--style") dynamic_calls = std::string(argv[i + 1]) == "dsi";
  const char* defaults[][2] = {{"nativeCharCodeSet", native_latin1 ? "ISO-8859-1" : "UTF-8"},
                               {"clientCallTimeOutPeriod", "60000"},
                               // 10 MiB of strings need more than the 2 MiB that it takes from stock
                               {"giopMaxMsgSize", "134217728"},
                               // each nested call-back needs a connection of its own: 5 from stock
                               {"maxGIOPConnectionPerServer", "100"},
                               {0, 0}};
  CORBA::ORB_var orb = CORBA::ORB_init(argc, argv, "omniORB4", defaults);
  register_exception_holder(orb);
  CORBA::Object_var o = orb->resolve_initial_references("RootPOA");
  root_poa = PortableServer::POA::_narrow(o);
  PortableServer::POAManager_var manager = root_poa->the_POAManager();
  manager->activate();
  for (int i = 1; i < argc; i++)
    if (std::string(argv[i]) == "--bidirectional") root_poa = bidirectional_poa(orb, manager);
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "server") {
    serve(orb);
    _exit(0);
  }
  if (mode != "client" || argc < 3) {
    std::cerr << "usage: omni_peer server|client REFERENCE ..." << std::endl;
    return 2;
  }
  ClientOptions options;
  for (int i = 3; i < argc; i++) {
    const std::string a = argv[i];
    if (a == "--feature" && i + 1 < argc) options.features.insert(argv[++i]);
    if (a == "--bulk" && i + 1 < argc) options.bulk = static_cast<CORBA::ULong>(std::stoul(argv[++i]));
    if (a == "--restart") options.restart = true;
  }
  CORBA::Object_var target = orb->string_to_object(argv[2]);
  int failed = run_client(orb, target, options);
  // Connections of the peer may still be open: do not wait for them.
  std::cout.flush();
  _exit(failed ? 1 : 0);
}

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Different& d) {
    std::cout << "FATAL " << d.what() << std::endl;
  } catch (const CORBA::SystemException& e) {
    const char* minor = e.NP_minorString();
    std::cout << "FATAL " << e._name() << " " << (minor ? minor : "") << std::endl;
  } catch (const CORBA::Exception& e) {
    std::cout << "FATAL " << e._name() << std::endl;
  }
  _exit(3);
}

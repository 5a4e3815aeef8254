// The client side of the catalogue.
#pragma once

#include <set>
#include <string>

#include "servants.h"

struct ClientOptions {
  std::set<std::string> features;  // empty: all
  CORBA::ULong bulk = 10u << 20;   // octets
  bool restart = false;            // wait for a line on stdin in the middle
};

// Prints one line for each feature; the result is the number of failures.
int run_client(CORBA::ORB_ptr orb, CORBA::Object_ptr target, const ClientOptions& options);

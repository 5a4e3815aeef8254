// The client's features of adapters.idl.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "servants.h"

typedef std::function<void(const std::string&, std::function<void()>)> AddFeature;

// Adds its features, unless the server has no Yard.
void adapter_features(CORBA::ORB_ptr orb, Root_ptr root, const AddFeature& add);

// A feature that does something before the server is restarted, and gives what is done afterwards.
struct RestartFeature {
  std::string name;
  std::function<std::function<void()>()> prepare;
};
std::vector<RestartFeature> restart_features(CORBA::ORB_ptr orb, Root_ptr root);

// The client side of the asynchronous part of the catalogue.
#pragma once

#include <functional>
#include <string>

#include "servants.h"

typedef std::function<void(const std::string&, std::function<void()>)> AddFeature;

// Adds its features, unless the server has no Host.
void async_features(CORBA::ORB_ptr orb, Root_ptr root, const AddFeature& add);

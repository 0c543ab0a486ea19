// SPDX-License-Identifier: MIT
#include "simt/caller.hpp"

namespace heapwood::simt {

void wait_for_stream(const DeviceId&, std::uintptr_t) {}

CallerDevice::CallerDevice(const DeviceId&) {}
CallerDevice::~CallerDevice() = default;

}  // namespace heapwood::simt

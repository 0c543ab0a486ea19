// SPDX-License-Identifier: MIT
#include "simt/gl_interop.hpp"

namespace heapwood::simt {

namespace {
constexpr const char* reason = "this program was built without CUDA";
}

GlDevices gl_devices() { return {{}, reason}; }
std::unique_ptr<GlBuffer> share_gl_buffer(const DeviceId&, unsigned) {
  throw Error(Exit::device, reason);
}

}  // namespace heapwood::simt

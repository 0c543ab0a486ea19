// SPDX-License-Identifier: MIT
// An OpenGL context without a window, through EGL: for tests of the viewer's OpenGL code, also on
// machines without a display. epoxy loads EGL, so that the program also starts without it.
#pragma once

#include <epoxy/egl.h>

#include <memory>
#include <string>

namespace heapwood::tests {

class GlContext {
 public:
  // Makes a context on the GPU with this CUDA number, or on any device if it is -1. On failure
  // returns nullptr and sets `reason`.
  static std::unique_ptr<GlContext> make(int cuda_device, std::string& reason) {
    auto context = std::unique_ptr<GlContext>(new GlContext);
    reason = context->open(cuda_device);
    if (!reason.empty()) context.reset();
    return context;
  }
  ~GlContext() {
    if (display_ == EGL_NO_DISPLAY) return;
    eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglTerminate(display_);
  }
  GlContext(const GlContext&) = delete;
  GlContext& operator=(const GlContext&) = delete;

 private:
  GlContext() = default;

  std::string open(int cuda_device) {
    if (!epoxy_has_egl()) return "no EGL";
    if (!epoxy_has_egl_extension(EGL_NO_DISPLAY, "EGL_EXT_device_enumeration") &&
        !epoxy_has_egl_extension(EGL_NO_DISPLAY, "EGL_EXT_device_base"))
      return "EGL lists no devices";
    EGLDeviceEXT devices[32] = {};
    EGLint count = 0;
    if (!eglQueryDevicesEXT(32, devices, &count) || count == 0) return "EGL knows no device";
    std::string reason = "none of EGL's " + std::to_string(count) + " devices is the GPU";
    for (EGLint i = 0; i < count; ++i) {
      EGLAttrib number = -1;
      const bool is_cuda = eglQueryDeviceAttribEXT(devices[i], EGL_CUDA_DEVICE_NV, &number);
      if (cuda_device >= 0 && (!is_cuda || number != cuda_device)) continue;
      reason = open_on(eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT, devices[i], nullptr));
      if (reason.empty()) return "";
    }
    return reason;
  }

  std::string open_on(EGLDisplay display) {
    if (display == EGL_NO_DISPLAY) return "EGL has no display for the device";
    EGLint major = 0, minor = 0;
    if (!eglInitialize(display, &major, &minor)) return "eglInitialize fails";
    display_ = display;
    if (!eglBindAPI(EGL_OPENGL_API)) return "EGL has no OpenGL";
    const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT,
                             EGL_NONE};
    EGLConfig config{};
    EGLint count = 0;
    if (!eglChooseConfig(display, wanted, &config, 1, &count) || count == 0)
      return "EGL has no fitting configuration";
    const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION_KHR,
                              3,
                              EGL_CONTEXT_MINOR_VERSION_KHR,
                              3,
                              EGL_CONTEXT_OPENGL_PROFILE_MASK_KHR,
                              EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT_KHR,
                              EGL_NONE};
    const EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
    if (context == EGL_NO_CONTEXT) return "EGL makes no context of OpenGL 3.3";
    const EGLint size[] = {EGL_WIDTH, 16, EGL_HEIGHT, 16, EGL_NONE};
    const EGLSurface surface = eglCreatePbufferSurface(display, config, size);
    return eglMakeCurrent(display, surface, surface, context)
               ? ""
               : "EGL's context cannot be made current";
  }

  EGLDisplay display_ = EGL_NO_DISPLAY;
};

}  // namespace heapwood::tests

// SPDX-License-Identifier: MIT
// An OpenGL context without a window, through EGL: for tests of the viewer's OpenGL code, also on
// machines without a display.
#pragma once

#include <dlfcn.h>

#include <EGL/egl.h>
// Must follow egl.h.
#include <EGL/eglext.h>

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
    call<PFNEGLMAKECURRENTPROC>("eglMakeCurrent")(display_, EGL_NO_SURFACE, EGL_NO_SURFACE,
                                                  EGL_NO_CONTEXT);
    call<PFNEGLTERMINATEPROC>("eglTerminate")(display_);
  }
  GlContext(const GlContext&) = delete;
  GlContext& operator=(const GlContext&) = delete;

 private:
  GlContext() = default;

  // Loads a function by name, so that the program also starts without EGL.
  template <class Function>
  Function call(const char* name) const {
    if (void* found = dlsym(library_, name)) return reinterpret_cast<Function>(found);
    using Find = void (*(*)(const char*))();
    return reinterpret_cast<Function>(
        reinterpret_cast<Find>(dlsym(library_, "eglGetProcAddress"))(name));
  }

  std::string open(int cuda_device) {
    library_ = dlopen("libEGL.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library_) return "no EGL: " + std::string(dlerror());
    const auto query = call<PFNEGLQUERYDEVICESEXTPROC>("eglQueryDevicesEXT");
    const auto attribute = call<PFNEGLQUERYDEVICEATTRIBEXTPROC>("eglQueryDeviceAttribEXT");
    const auto display_of = call<PFNEGLGETPLATFORMDISPLAYEXTPROC>("eglGetPlatformDisplayEXT");
    if (!query || !attribute || !display_of) return "EGL lists no devices";
    EGLDeviceEXT devices[32] = {};
    EGLint count = 0;
    if (!query(32, devices, &count) || count == 0) return "EGL knows no device";
    std::string reason = "none of EGL's " + std::to_string(count) + " devices is the GPU";
    for (EGLint i = 0; i < count; ++i) {
      EGLAttrib number = -1;
      const bool is_cuda = attribute(devices[i], EGL_CUDA_DEVICE_NV, &number);
      if (cuda_device >= 0 && (!is_cuda || number != cuda_device)) continue;
      const EGLDisplay display = display_of(EGL_PLATFORM_DEVICE_EXT, devices[i], nullptr);
      reason = display == EGL_NO_DISPLAY ? "EGL has no display for the device" : open_on(display);
      if (reason.empty()) return "";
    }
    return reason;
  }

  std::string open_on(EGLDisplay display) {
    EGLint major = 0, minor = 0;
    if (!call<PFNEGLINITIALIZEPROC>("eglInitialize")(display, &major, &minor))
      return "eglInitialize fails";
    display_ = display;
    if (!call<PFNEGLBINDAPIPROC>("eglBindAPI")(EGL_OPENGL_API)) return "EGL has no OpenGL";
    const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT,
                             EGL_NONE};
    EGLConfig config{};
    EGLint count = 0;
    if (!call<PFNEGLCHOOSECONFIGPROC>("eglChooseConfig")(display, wanted, &config, 1, &count) ||
        count == 0) {
      return "EGL has no fitting configuration";
    }
    const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION,
                              3,
                              EGL_CONTEXT_MINOR_VERSION,
                              3,
                              EGL_CONTEXT_OPENGL_PROFILE_MASK,
                              EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                              EGL_NONE};
    const EGLContext context =
        call<PFNEGLCREATECONTEXTPROC>("eglCreateContext")(display, config, EGL_NO_CONTEXT, version);
    if (context == EGL_NO_CONTEXT) return "EGL makes no context of OpenGL 3.3";
    const EGLint size[] = {EGL_WIDTH, 16, EGL_HEIGHT, 16, EGL_NONE};
    const EGLSurface surface =
        call<PFNEGLCREATEPBUFFERSURFACEPROC>("eglCreatePbufferSurface")(display, config, size);
    if (!call<PFNEGLMAKECURRENTPROC>("eglMakeCurrent")(display, surface, surface, context)) {
      return "EGL's context cannot be made current";
    }
    return "";
  }

  void* library_ = nullptr;
  EGLDisplay display_ = EGL_NO_DISPLAY;
};

}  // namespace heapwood::tests

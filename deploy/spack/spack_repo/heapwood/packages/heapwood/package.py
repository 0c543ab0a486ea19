# SPDX-License-Identifier: MIT
"""Spack 1.0 and later (docs/sweeps.md):

    spack repo add deploy/spack/spack_repo/heapwood
    spack install heapwood cuda_arch=90
"""

import os
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Heapwood(CMakePackage, CudaPackage):
    """A k-d tree ray tracer that exercises GPU memory allocators, and a library of allocators."""

    # The checkout that this file is in: seven folders up.
    git = pathlib.Path(os.path.abspath(__file__)).parents[6].as_uri()

    license("MIT")

    version("main", branch="main")

    variant("cuda", default=True, description="Build for GPUs, not for CPU threads only")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("git", type="build")  # results have the commit
    # Needed without GPUs, too: CPU threads use the atomic operations of its libcu++.
    depends_on("cuda@12.4:", type="build", when="~cuda")
    depends_on("cuda@12.4:", when="+cuda")
    # These are header-only for this package: the program needs none of them at run time.
    depends_on("fmt@9:", type="build")
    depends_on("cli11@2.1:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("robin-map", type="build")
    depends_on("stb", type="build")
    depends_on("tinyobjloader@1.0.7:", type="build")  # reads colours of vertices

    conflicts("%gcc@:11", msg="C++20")
    conflicts("cuda_arch=none", when="+cuda", msg="choose a GPU: cuda_arch=90")

    def stb_include(self):
        """The sources include <stb/stb_image_write.h>; Spack's stb may have no folder stb."""
        include = self.spec["stb"].prefix.include
        if os.path.isdir(os.path.join(include, "stb")):
            return include
        folder = os.path.join(self.stage.path, "stb-include")
        mkdirp(folder)
        if not os.path.exists(os.path.join(folder, "stb")):
            symlink(include, os.path.join(folder, "stb"))
        return folder

    def libcudacxx_flags(self):
        """CUDA 13 has libcu++ in include/cccl, earlier versions in include."""
        include = self.spec["cuda"].prefix.include
        folders = [os.path.join(include, "cccl"), include]
        return " ".join(f"-isystem {folder}" for folder in folders if os.path.isdir(folder))

    def cmake_args(self):
        args = [
            self.define("HEAPWOOD_CUDA_MODE", "on" if self.spec.satisfies("+cuda") else "off"),
            self.define("HEAPWOOD_VIEWER_MODE", "off"),
            self.define("BUILD_TESTING", False),
            self.define("STB_INCLUDE", self.stb_include()),
            self.define("TINYOBJLOADER_INCLUDE", self.spec["tinyobjloader"].prefix.include),
            self.define("CMAKE_CXX_FLAGS", self.libcudacxx_flags()),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES",
                                    self.spec.variants["cuda_arch"].value))
        return args

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_installed(self):
        heapwood = Executable(os.path.join(self.prefix.bin, "heapwood"))
        heapwood("bench", "statue:2k", "--device", "cpu", "--runs", "2")

# SPDX-License-Identifier: MIT
"""The package's exceptions. Each is also the built-in one that describes it best."""


class Error(Exception):
    """Base class: a query, a build or a command failed while running."""


class SceneError(Error, ValueError):
    """Vertices and triangles are not a mesh, or a scene's file cannot be read."""


class DeviceError(Error, RuntimeError):
    """A device does not exist or is unusable, or an array is on another one."""


class OutOfMemory(Error, MemoryError):
    """Memory of the host or the device is exhausted."""

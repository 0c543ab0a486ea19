# SPDX-License-Identifier: MIT
"""Ray queries in triangle meshes, on CPU threads and on GPUs without RT cores.

    import heapwood as hw

    scene = hw.Scene(vertices, triangles)
    hits = scene.cast_rays(rays)        # (N, 6): origin and direction
    hits.t_hit, hits.primitive_ids, hits.primitive_uvs, hits.primitive_normals

docs/python.md describes everything. Importing the package starts no CUDA.
"""

from ._errors import DeviceError, Error, OutOfMemory, SceneError
from ._heap import Heap, HeapStats, include_dir
from ._meshes import MeshScene, SceneBatch
from ._scene import INVALID_ID, ClosestPoints, RayHits, RayLists, Scene, Tree, load_mesh
from ._version import __version__

__all__ = [
    "INVALID_ID", "ClosestPoints", "DeviceError", "Error", "Heap", "HeapStats", "MeshScene",
    "OutOfMemory", "RayHits", "RayLists", "Scene", "SceneBatch", "SceneError", "Tree",
    "__version__", "include_dir", "load_mesh",
]

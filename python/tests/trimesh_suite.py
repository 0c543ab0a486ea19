# SPDX-License-Identifier: MIT
"""A plugin of pytest for trimesh's own ray tests, which then test heapwood.trimesh.

    pytest -p trimesh_suite test_ray.py test_ray_upstream.py

trimesh's source package has no models: simple ones are made here, tests of others are skipped.
"""

import logging
import sys
import time
import types

import numpy as np
import pytest
import trimesh
import trimesh.ray
from heapwood.trimesh import RayMeshIntersector

# Why each of these is left out.
LEFT_OUT = {
    "test_rays": "needs models and rays",
    "test_on_edge": "needs a model",
    "test_contains_cavity": "needs manifold3d",
}
MODELS = {
    "unit_cube.STL": trimesh.creation.box,
    "unit_sphere.STL": lambda: trimesh.creation.icosphere(5, 0.5),
}


def get_mesh(name, **_):
    if name not in MODELS:
        pytest.skip(f"needs {name}")
    return MODELS[name]()


def module(name: str, **members) -> types.ModuleType:
    made = types.ModuleType(name)
    made.__dict__.update(members)
    return sys.modules.setdefault(name, made)


def use_heapwood(self, *args, **options):
    construct(self, *args, **options)
    self.ray = RayMeshIntersector(self)


trimesh.ray.has_embree = True
engine = module("trimesh.ray.ray_pyembree", RayMeshIntersector=RayMeshIntersector)
trimesh.ray.ray_pyembree = engine
trimesh.ray.ray_triangle.RayMeshIntersector = RayMeshIntersector
construct, trimesh.Trimesh.__init__ = trimesh.Trimesh.__init__, use_heapwood
random = np.random.default_rng(0).random
module("generic", np=np, trimesh=trimesh, time=time, log=logging.getLogger(), get_mesh=get_mesh,
       random=random, norm=np.linalg.norm)  # fmt: skip


def pytest_collection_modifyitems(items):
    for item in items:
        if item.name in LEFT_OUT:
            item.add_marker(pytest.mark.skip(reason=LEFT_OUT[item.name]))

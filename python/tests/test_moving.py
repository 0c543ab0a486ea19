# SPDX-License-Identifier: MIT
"""Several meshes that move, and gradients for PyTorch."""

import copy
import pickle

import numpy as np
import pytest
from meshes import cube, devices, needs_gpu, random_rays, soup, sphere

import heapwood as hw

MESHES = [sphere(), cube(), soup(50), sphere(6, 0.5)]


def poses(spread: float = 4.0, seed: int = 3) -> np.ndarray:
    """Rotations and translations of MESHES."""
    random = np.random.default_rng(seed)
    matrices = np.tile(np.eye(4), (4, 1, 1))
    matrices[:, :3, :3] = np.linalg.qr(random.normal(size=(4, 3, 3)))[0]
    matrices[:, :3, 3] = spread * random.normal(size=(4, 3))
    return matrices


def placed(meshes, matrices, device: str = "cpu") -> hw.Scene:
    """The meshes as one, as NumPy places them."""
    vertices, triangles, count = [], [], 0
    for (v, t), m in zip(meshes, matrices):
        vertices.append(v @ m[:3, :3].T + m[:3, 3])
        triangles.append(t + count)
        count += len(v)
    return hw.Scene(np.concatenate(vertices), np.concatenate(triangles), device=device)


def assert_same_hits(hits, expected) -> None:
    """Equal, but for rays that graze an edge."""
    same = hits.primitive_ids == expected.primitive_ids
    assert same.mean() > 0.998 and (hits.primitive_ids != hw.INVALID_ID).any()
    np.testing.assert_allclose(hits.t_hit[same], expected.t_hit[same], rtol=1e-3, atol=1e-5)


@devices
@pytest.mark.parametrize("far", [0.0, 5e5])
def test_moved_meshes_are_hit_where_they_are(device, far):
    scene = hw.MeshScene(MESHES, device=device)
    rays = random_rays(2000, scale=8, centre=(far, 0, 0))
    for seed in (3, 4):
        matrices = poses(seed=seed)
        matrices[:, 0, 3] += far
        scene.move(matrices)
        assert_same_hits(scene.cast_rays(rays), placed(MESHES, matrices, device).cast_rays(rays))


def test_new_vertices_are_placed_as_the_old_ones():
    matrices, rays = poses(), random_rays(1000, scale=8)
    scene = hw.MeshScene(MESHES, transforms=matrices, device="cpu")
    with pytest.raises(hw.SceneError, match="vertices: vertex 0 is not finite"):
        scene.update(np.full((scene.vertex_count, 3), np.nan))
    with pytest.raises(ValueError, match="as many as the scene has"):
        scene.update(np.zeros((3, 3)))
    with pytest.raises(hw.SceneError, match="the scene is .* long"):
        scene.move(matrices * 1e16)
    assert_same_hits(scene.cast_rays(rays), placed(MESHES, matrices).cast_rays(rays))
    smaller = [(0.5 * v, t) for v, t in MESHES]
    given = np.concatenate([v for v, _ in smaller])
    scene.update(given)
    given += 10  # the scene has copies
    matrices += 10
    for again in (scene, copy.copy(scene), pickle.loads(pickle.dumps(scene))):
        again.move(poses(seed=4)[:, :3])
        expected = placed(smaller, poses(seed=4))
        assert_same_hits(again.cast_rays(rays), expected.cast_rays(rays))
        np.testing.assert_allclose(again.vertices, expected.vertices, atol=1e-6)


def test_triangles_know_their_mesh():
    scene = hw.MeshScene(MESHES, transforms=poses(), device="cpu")
    rays, first = random_rays(1000, scale=8), np.cumsum([0, *(len(t) for _, t in MESHES)])
    for ids in scene.cast_rays(rays).primitive_ids, scene.list_intersections(rays).primitive_ids:
        meshes, triangles = scene.split_ids(ids)
        found = ids != hw.INVALID_ID
        assert set(meshes[found]) == {0, 1, 2, 3}
        np.testing.assert_array_equal(first[meshes[found]] + triangles[found], ids[found])
        assert (triangles[found] < np.diff(first)[meshes[found]]).all()
        assert (meshes[~found] == -1).all() and (triangles[~found] == -1).all()
    assert [int(part) for part in scene.split_ids(int(first[2]))] == [2, 0]


def test_only_triangles_decide_where_a_scene_is():
    # An empty mesh, and a vertex that no triangle has, are far from the mesh that moves.
    vertices = np.concatenate([cube()[0], [[np.nan] * 3]])
    far = np.tile(np.eye(4), (2, 1, 1))
    far[0, :3, 3] = 1e9
    scene = hw.MeshScene([(vertices, cube()[1]), ([], [])], device="cpu")
    scene.move(far)
    hits = scene.cast_rays(np.array([1e9 + 0.1, 1e9 + 0.2, 1e9 + 5]), np.array([0, 0, -1.0]))
    assert hits.t_hit == pytest.approx(4.5)


@needs_gpu
def test_moving_meshes_of_torch():
    torch = pytest.importorskip("torch")
    meshes = [tuple(torch.tensor(a, device="cuda") for a in mesh) for mesh in MESHES]
    scene = hw.MeshScene(meshes, transforms=poses(seed=4), keep_workspace=False, prefer="update")
    scene.move(torch.tensor(poses(), device="cuda"))
    other = hw.MeshScene(MESHES, transforms=poses(), device="cpu", prefer="update")
    assert scene.tree.hash == other.tree.hash
    assert copy.copy(scene).tree.hash == other.tree.hash
    ids = scene.cast_rays(torch.tensor(random_rays(4000, scale=8), device="cuda")).primitive_ids
    mine, theirs = scene.split_ids(ids), other.split_ids(ids.cpu().numpy().view(np.uint32))
    for found, expected in zip(mine, theirs):
        np.testing.assert_array_equal(found.cpu(), expected)


def test_wrong_meshes_and_transforms():
    vertices, triangles = cube()
    for wrong in (-1, 8):
        broken = np.where(np.arange(36).reshape(12, 3) == 5, wrong, triangles)
        with pytest.raises(hw.SceneError, match="triangles: those of mesh 1 refer to vertices"):
            hw.MeshScene([(vertices, triangles), (vertices, broken), (vertices, triangles)])
    with pytest.raises(ValueError, match="meshes: there are none"):
        hw.MeshScene([])
    with pytest.raises(TypeError, match="stream: a MeshScene joins arrays"):
        hw.MeshScene(MESHES, stream=1)
    scene = hw.MeshScene(MESHES, device="cpu")
    with pytest.raises(ValueError, match=r"transforms: shape \(4, 4\): expected \(4, 4, 4\)"):
        scene.move(np.eye(4))
    with pytest.raises(TypeError, match="transforms: complex128: expected real numbers"):
        scene.move(np.full((4, 3, 4), 1j))
    with pytest.raises(hw.SceneError, match="transforms: a placed vertex is not finite"):
        scene.move(np.full((4, 3, 4), np.nan))


@devices
def test_gradients(device):
    torch = pytest.importorskip("torch")
    from heapwood.torch import cast_rays

    vertices, triangles = sphere(20)
    given = torch.tensor(vertices, device=device, requires_grad=True)
    scene = hw.Scene(given.detach(), triangles, device=device)
    rays = torch.tensor(random_rays(500, scale=4), device=device)
    origins, directions = (part.clone().requires_grad_() for part in rays.split(3, dim=1))
    hits = cast_rays(scene, given, origins, directions)
    found = torch.isfinite(hits.t_hit)
    assert found.any() and not found.all()
    plain = scene.cast_rays(rays)
    for name, error in ("t_hit", 1e-4), ("primitive_uvs", 1e-3):
        torch.testing.assert_close(hits[name].detach(), torch.as_tensor(plain[name]), rtol=1e-4,
                                   atol=error, check_dtype=False)
    hits.t_hit[found].sum().backward()
    # A derivative along a random direction, by a difference. Gradients are of the triangles hit.
    step = 1e-6 * torch.randn_like(given)
    moved = cast_rays(scene, given + step, origins, directions)
    difference = (moved.t_hit - hits.t_hit)[found].sum()
    assert float((given.grad * step).sum()) == pytest.approx(float(difference.detach()), rel=1e-2)
    # A ray that starts one direction further on is one unit shorter.
    along = (origins.grad * directions).sum(-1).detach().cpu()
    np.testing.assert_allclose(along[found.cpu()], -1, atol=1e-6)
    assert (along[~found.cpu()] == 0).all()

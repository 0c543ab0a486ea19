# SPDX-License-Identifier: MIT
"""Several meshes that move, worlds, one-sided triangles, and gradients for PyTorch."""

import pickle

import numpy as np
import pytest
from meshes import brute_force, cube, devices, needs_gpu, random_rays, soup, sphere

import heapwood as hw

MESHES = [sphere(), cube(), soup(50), sphere(6, 0.5)]
WORLDS = [0, 3, 3, 1]


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
    with pytest.raises(hw.SceneError, match="not finite"):
        scene.update(np.full((scene.vertex_count, 3), np.nan))
    with pytest.raises(ValueError, match="as many as the scene has"):
        scene.update(np.zeros((3, 3)))
    assert_same_hits(scene.cast_rays(rays), placed(MESHES, matrices).cast_rays(rays))
    smaller = [(0.5 * v, t) for v, t in MESHES]
    scene.update(np.concatenate([v for v, _ in smaller]))
    assert_same_hits(scene.cast_rays(rays), placed(smaller, matrices).cast_rays(rays))


@devices
@pytest.mark.parametrize("t_max", [np.inf, 3.0])
def test_a_ray_meets_the_meshes_of_its_world_only(device, t_max):
    matrices = poses(spread=1)
    scene = hw.MeshScene(MESHES, transforms=matrices, worlds=WORLDS, device=device)
    rays, of_ray = random_rays(4000, scale=3), np.arange(4000) % 4
    hits = scene.cast_rays(**scene.rays_in(of_ray, rays[:, :3], rays[:, 3:], t_max=t_max))
    for world in range(4):
        inside, mine = [k for k in range(4) if WORLDS[k] == world], of_ray == world
        if not inside:
            assert (hits.primitive_ids[mine] == hw.INVALID_ID).all()
            continue
        alone = placed([MESHES[k] for k in inside], matrices[inside])
        expected = alone.cast_rays(rays[mine], t_max=t_max)
        meshes, triangles = scene.split_ids(hits.primitive_ids[mine])
        counts = [len(MESHES[k][1]) for k in inside]
        first = np.zeros(5, int)
        first[inside] = np.cumsum([0, *counts[:-1]])
        found = hits.primitive_ids[mine] != hw.INVALID_ID
        assert (meshes[~found] == -1).all() and (triangles[~found] == -1).all()
        assert found.any() and set(meshes[found]) <= set(inside)
        ids = np.where(found, first[meshes] + triangles, hw.INVALID_ID).astype(np.uint32)
        assert_same_hits(hw.RayHits(t_hit=hits.t_hit[mine], primitive_ids=ids), expected)
    one = scene.cast_rays(**scene.rays_in(3, rays[3, :3], rays[:, 3:], t_max=t_max))
    assert one.t_hit.shape == (4000,) and one.t_hit[3] == hits.t_hit[3]


@needs_gpu
def test_moving_meshes_of_torch():
    torch = pytest.importorskip("torch")
    meshes = [tuple(torch.tensor(a, device="cuda") for a in mesh) for mesh in MESHES]
    scene = hw.MeshScene(meshes, worlds=WORLDS, keep_workspace=False)
    scene.move(torch.tensor(poses(), device="cuda"))
    other = hw.MeshScene(MESHES, worlds=WORLDS, transforms=poses(), device="cpu")
    assert scene.tree.hash == other.tree.hash
    worlds, rays = np.arange(4000) % 4, random_rays(4000, scale=8)
    given = torch.tensor(worlds, device="cuda"), *torch.tensor(rays, device="cuda").split(3, dim=1)
    hits = scene.cast_rays(**scene.rays_in(*given))
    expected = other.cast_rays(**other.rays_in(worlds, rays[:, :3], rays[:, 3:]))
    ids = hits.primitive_ids.cpu().numpy().view(np.uint32)
    assert_same_hits(hw.RayHits(t_hit=hits.t_hit.cpu().numpy(), primitive_ids=ids), expected)
    for mine, theirs in zip(scene.split_ids(hits.primitive_ids), other.split_ids(ids)):
        np.testing.assert_array_equal(mine.cpu(), theirs)


def test_mesh_scenes_can_be_pickled():
    scene = hw.MeshScene(MESHES, transforms=poses()[:, :3], worlds=WORLDS, device="cpu")
    again = pickle.loads(pickle.dumps(scene))
    assert again.tree.hash == scene.tree.hash
    np.testing.assert_array_equal(again.bounds, scene.bounds)


def test_wrong_meshes_and_transforms():
    with pytest.raises(ValueError, match="meshes: there are none"):
        hw.MeshScene([])
    with pytest.raises(ValueError, match="worlds: .*expected 4 whole numbers"):
        hw.MeshScene(MESHES, worlds=[0, 1])
    scene = hw.MeshScene(MESHES, device="cpu")
    with pytest.raises(ValueError, match=r"transforms: shape \(4, 4\): expected \(4, 4, 4\)"):
        scene.move(np.eye(4))
    with pytest.raises(hw.SceneError, match="transforms: a placed mesh is not finite"):
        scene.move(np.full((4, 3, 4), np.nan))
    with pytest.raises(ValueError, match="without worlds"):
        scene.rays_in(0, [[0, 0, 0]], [[0, 0, 1]])


@devices
@pytest.mark.parametrize("watertight", [False, True])
@pytest.mark.parametrize("cull", ["back", "front"])
def test_culled_triangles_are_not_hit(device, cull, watertight):
    vertices, triangles = soup(300)
    rays = random_rays(2000, centre=(0.5, 0.5, 0.5))
    scene = hw.Scene(vertices, triangles, watertight=watertight, device=device)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    from_front = rays[:, 3:] @ np.cross(b - a, c - a).T < 0
    counts = from_front == (cull == "back")
    expected = np.where(counts, brute_force(vertices, triangles, rays), np.inf)
    ids = np.where(np.isfinite(expected.min(axis=1)), expected.argmin(axis=1), hw.INVALID_ID)
    hits = scene.cast_rays(rays, cull=cull)
    assert_same_hits(hits, hw.RayHits(t_hit=expected.min(axis=1), primitive_ids=ids))
    assert np.mean(scene.cast_rays(rays).primitive_ids != hits.primitive_ids) > 0.1
    assert np.mean(scene.test_occlusions(rays, cull=cull) == np.isfinite(hits.t_hit)) > 0.999
    with pytest.raises(ValueError, match="cull: 'both': expected"):
        scene.cast_rays(rays, cull="both")


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

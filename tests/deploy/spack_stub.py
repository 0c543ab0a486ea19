# SPDX-License-Identifier: MIT
"""Loads deploy/spack's package.py with stand-ins for Spack's modules and prints the arguments that
it gives to cmake, one per line:

    spack_stub.py PACKAGE_PY cpu|cuda PREFIX STAGE

Checks names, directives and paths, not Spack's own semantics: names that package.py uses must be
among those that it imports from Spack.
"""

import importlib.util
import os
import sys
import types
from types import SimpleNamespace

path, kind, prefix, stage = sys.argv[1:]
directives = []


def directive(name):
    return lambda *args, **kwargs: directives.append((name, args, kwargs))


def decorator(*_args, **_kwargs):
    return lambda function: function


class Base:
    def define(self, name, value):
        if isinstance(value, bool):
            value = 'ON' if value else 'OFF'
        return f'-D{name}={value if isinstance(value, str) else ";".join(value)}'


def module(name, **names):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(names)


for name in ('spack', 'spack_repo', 'spack_repo.builtin', 'spack_repo.builtin.build_systems'):
    module(name)
module('spack_repo.builtin.build_systems.cmake', CMakePackage=type('CMakePackage', (Base,), {}))
module('spack_repo.builtin.build_systems.cuda', CudaPackage=type('CudaPackage', (), {}))
module('spack.package', run_after=decorator, on_package_attributes=decorator, symlink=os.symlink,
       mkdirp=lambda folder: os.makedirs(folder, exist_ok=True), Executable=None,
       **{name: directive(name)
          for name in ('license', 'version', 'variant', 'depends_on', 'conflicts')})

spec = importlib.util.spec_from_file_location('package', path)
package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
heapwood = package.Heapwood()

root = heapwood.git.removeprefix('file://')
assert os.path.isfile(os.path.join(root, 'CMakePresets.json')), heapwood.git
assert ('version', ('main',), {'branch': 'main'}) in directives, directives


class Spec:
    variants = {'cuda_arch': SimpleNamespace(value=('80', '90'))}

    def __getitem__(self, name):
        wanted = [args[0].split('@')[0] for directive, args, _ in directives
                  if directive == 'depends_on']
        assert name in wanted, f'{name} is not a dependency'
        return SimpleNamespace(prefix=SimpleNamespace(include=prefixes[name]))

    def satisfies(self, text):
        assert text == '+cuda', text
        return kind == 'cuda'


prefixes = {name: prefix if name != 'cuda' else os.path.join(stage, 'cuda')
            for name in ('stb', 'tinyobjloader', 'cuda')}
heapwood.spec = Spec()
heapwood.stage = SimpleNamespace(path=stage)
print('\n'.join(heapwood.cmake_args()))

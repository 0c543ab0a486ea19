# SPDX-License-Identifier: MIT
"""Runs the steps of deploy/container/Dockerfile in folders with chroot, where there is no container
engine:

    container.py DOCKERFILE CONTEXT WORK BASE [ARG=VALUE...]

BASE is a folder with a root file system, which stands for every image. Prints the folder of the
last stage and its entry point. Knows the instructions and forms that the Dockerfile uses, and stops
at any other.
"""

import json
import os
import re
import shutil
import subprocess
import sys


class Stage:
    def __init__(self, root):
        self.root, self.workdir, self.args, self.entry = root, '/', {}, None
        self.shell = ['/bin/sh', '-c']

    def path(self, name):
        return self.root + os.path.join(self.workdir, name)


def instructions(text):
    text = re.sub(r'^#.*\n', '', text, flags=re.M)
    for line in re.sub(r'\\\n', ' ', text).splitlines():
        if line.strip():
            yield line.split(None, 1)


def copy(source, target):
    if os.path.isdir(source):
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(source, target)


def main(dockerfile, context, work, base, *values):
    given = dict(value.split('=', 1) for value in values)
    known, stages, stage = {}, {}, None
    ignored = [line.strip() for line in open(dockerfile + '.dockerignore')
               if line.strip() and not line.startswith('#')]
    for word, rest in instructions(open(dockerfile).read()):
        print(f'step: {word} {rest[:100]}', flush=True)
        if word == 'ARG':
            name, default = rest.split('=', 1)
            (stage.args if stage else known)[name] = given.get(name, default)
        elif word == 'FROM':
            image, name = re.fullmatch(r'\$\{(\w+)\}(?: AS (\w+))?', rest).groups()
            assert image in known, image
            stage = Stage(os.path.join(work, name or 'last'))
            stages[name] = stage
            subprocess.run(['cp', '-a', base, stage.root], check=True)
        elif word == 'SHELL':
            stage.shell = json.loads(rest)
        elif word == 'WORKDIR':
            stage.workdir = rest
            os.makedirs(stage.path(''), exist_ok=True)
        elif word == 'COPY' and rest == '. .':
            command = ['tar', '-C', context, '-c']
            # A pattern without **/ is of the context's own folder.
            command += ['--anchored', '--no-wildcards-match-slash']
            command += [f'--exclude=./{name}' for name in ignored if not name.startswith('**/')]
            command += ['--no-anchored'] + [f'--exclude={name[3:]}' for name in ignored
                                            if name.startswith('**/')]
            pack = subprocess.Popen(command + ['.'], stdout=subprocess.PIPE)
            subprocess.run(['tar', '-C', stage.path(''), '--no-same-owner', '-x'],
                           stdin=pack.stdout, check=True)
            assert pack.wait() == 0
        elif word == 'COPY' and rest.startswith('--from='):
            name, source, target = re.fullmatch(r'--from=(\w+) (/\S+) (/\S+)', rest).groups()
            copy(stages[name].root + source, stage.root + target)
        elif word == 'COPY':
            source, target = rest.split()
            copy(os.path.join(context, source), stage.path(target))
        elif word == 'RUN':
            environment = {'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
                           'HOME': '/root', **stage.args}
            # /proc, as in a container; unmounted with the name space.
            outside = 'mount -t proc proc "$0/proc"; exec chroot "$0" "$@"'
            subprocess.run(['unshare', '--mount', 'sh', '-c', outside, stage.root, '/bin/sh', '-c',
                            f'cd {stage.workdir} && exec "$@"', 'sh', *stage.shell, rest],
                           env=environment, check=True)
        elif word == 'ENTRYPOINT':
            stage.entry = json.loads(rest)
        else:
            sys.exit(f'error: {dockerfile}: {word}: unknown to container.py')
    print(f'root {stage.root}')
    print(f'entry {stage.entry[0]}')


main(*sys.argv[1:])

# SPDX-License-Identifier: MIT
"""An example of ReFrame tests: builds of scenes with allocators and pools (docs/sweeps.md).

    reframe -c deploy/reframe/heapwood_checks.py --exec-policy=serial --performance-report -r

(serial: without it, ReFrame's local back end times several tests at once.)

A test passes if the build is complete and the tree has the hash of a build with AtomicMalloc on
CPU threads. The parameters come from the environment, as words: HEAPWOOD_SCENES,
HEAPWOOD_ALLOCATORS and HEAPWOOD_POOLS; HEAPWOOD is the program.
"""

import json
import os
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import (deferrable, parameter, run_after, run_before, sanity_function,
                                   variable)


def words(name, default):
    # Scenes may be files, but a test runs in a folder of its own.
    return [os.path.abspath(word) if os.path.isfile(word) else word
            for word in os.environ.get(name, default).split()]


@rfm.simple_test
class HeapwoodBuild(rfm.RunOnlyRegressionTest):
    scene = parameter(words('HEAPWOOD_SCENES', 'atrium statue stadium pipes'))
    allocator = parameter(words('HEAPWOOD_ALLOCATORS', 'atomic scatter halloc heapwood cuda'))
    pool = parameter(words('HEAPWOOD_POOLS', 'fast auto'))
    heapwood = variable(str, value=os.environ.get('HEAPWOOD', 'heapwood'))
    device = variable(str, value='auto')
    threads = variable(int, value=0)  # of --device cpu; 0: all
    runs = variable(int, value=5)
    valid_systems = ['*']
    valid_prog_environs = ['*']
    sourcesdir = None
    time_limit = '15m'

    @run_after('setup')
    def set_commands(self):
        self.executable = shlex.quote(self.heapwood)
        scene = shlex.quote(self.scene)
        self.executable_opts = ['build', scene, '--allocator', self.allocator, '--pool', self.pool,
                                '--device', self.device, '--threads', str(self.threads),
                                '--runs', str(self.runs), '--json', 'result.json']
        self.postrun_cmds = [f'{self.executable} build {scene} --allocator atomic --device cpu'
                             ' --runs 1 --json reference.json > reference.txt']

    @deferrable
    def result(self, name):
        with open(os.path.join(self.stagedir, name)) as file:
            return json.load(file)['results'][0]

    @sanity_function
    def tree_is_the_reference(self):
        return sn.all([
            sn.assert_eq(self.result('result.json')['status'], 'ok', 'status {0}, expected {1}'),
            sn.assert_eq(self.result('result.json')['tree']['hash'],
                         self.result('reference.json')['tree']['hash'],
                         'the hash of the tree is {0}, that of the reference {1}'),
        ])

    @run_before('performance')
    def set_performance_variables(self):
        result = self.result('result.json').evaluate()
        figures = {'build_time': (result['median_ms'], 'ms'),
                   'high_water': (result['memory']['high_water_bytes'], 'B')}
        self.perf_variables = {name: sn.make_performance_function(sn.defer(value), unit)
                               for name, (value, unit) in figures.items()}

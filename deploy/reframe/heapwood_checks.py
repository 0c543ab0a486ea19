# SPDX-License-Identifier: MIT
"""ReFrame tests of heapwood: builds of scenes with allocators and pools (docs/sweeps.md).

    reframe -c deploy/reframe/heapwood_checks.py --exec-policy=serial --performance-report -r

(serial: without it, ReFrame's local back end times several tests at once.)

Sanity: the exit code, and a tree whose hash is that of a build with AtomicMalloc on CPU threads.
Performance: times and memory from the JSON file. There are no reference values and no settings of
a site: a site sets variables (-S), passes options to its scheduler (-J), or derives from
HeapwoodBuild.

Parameters are taken from the environment, as words: HEAPWOOD_SCENES, HEAPWOOD_ALLOCATORS and
HEAPWOOD_POOLS; HEAPWOOD is the program.
"""

import json
import os
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import (deferrable, parameter, run_after, run_before,
                                   sanity_function, variable)


def words(name, default):
    # Scenes may be files, but a test runs in a folder of its own.
    return [os.path.abspath(word) if os.path.isfile(word) else word
            for word in os.environ.get(name, default).split()]


@rfm.simple_test
class HeapwoodBuild(rfm.RunOnlyRegressionTest):
    scene = parameter(words('HEAPWOOD_SCENES', 'atrium statue stadium pipes'))
    allocator = parameter(words('HEAPWOOD_ALLOCATORS',
                                'atomic cfmmalloc scatter halloc xmalloc ouroboros-c-vl bulk '
                                'heapwood heapwood-pages cuda'))
    pool = parameter(words('HEAPWOOD_POOLS', 'fast auto'))

    heapwood = variable(str, value=os.environ.get('HEAPWOOD', 'heapwood'))
    device = variable(str, value='auto')
    threads = variable(int, value=0)  # of --device cpu; 0: all
    runs = variable(int, value=5)
    # Options that change the tree, such as ['--refs', 'ids'].
    tree_options = variable(typ.List[str], value=[])

    descr = 'k-d tree build: time and memory with an allocator'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    sourcesdir = None
    num_tasks = 1
    time_limit = '15m'
    keep_files = ['result.json', 'reference.json']

    @run_after('setup')
    def set_commands(self):
        scene = ['build', shlex.quote(self.scene), *self.tree_options]
        self.executable = shlex.quote(self.heapwood)
        self.executable_opts = [*scene, '--allocator', self.allocator, '--pool', self.pool,
                                '--device', self.device, '--threads', str(self.threads),
                                '--runs', str(self.runs), '--json', 'result.json']
        reference = [self.executable, *scene, '--allocator', 'atomic', '--device', 'cpu',
                     '--runs', '1', '--json', 'reference.json', '>', 'reference.txt']
        # Not every scheduler's back end knows exit codes, so the job prints them.
        self.postrun_cmds = ['echo "exit code: $?"', ' '.join(reference),
                             'echo "exit code of the reference: $?"']

    @deferrable
    def result(self, name):
        with open(os.path.join(self.stagedir, name)) as file:
            return json.load(file)['results'][0]

    @sanity_function
    def tree_is_the_reference(self):
        return sn.all([
            sn.assert_found(r'^exit code: 0$', self.stdout,
                            f'heapwood failed; see {self.stderr} in {self.stagedir}'),
            sn.assert_found(r'^exit code of the reference: 0$', self.stdout,
                            f'the reference build failed; see {self.stderr} in {self.stagedir}'),
            sn.assert_eq(self.result('result.json')['status'], 'ok', 'status {0}, expected {1}'),
            sn.assert_eq(self.result('result.json')['tree']['hash'],
                         self.result('reference.json')['tree']['hash'],
                         'the hash of the tree is {0}, that of the reference {1}'),
        ])

    @run_before('performance')
    def set_performance_variables(self):
        result = self.result('result.json').evaluate()
        memory = result.get('memory', {})
        figures = {
            'build_time': (result.get('median_ms'), 'ms'),
            'build_time_q1': (result.get('q1_ms'), 'ms'),
            'build_time_q3': (result.get('q3_ms'), 'ms'),
            'high_water': (memory.get('high_water_bytes'), 'B'),
            'address_high_water': (memory.get('address_high_water_bytes'), 'B'),
            'pool_size': (memory.get('pool_bytes'), 'B'),
            'external_fragmentation': (memory.get('external_fragmentation'), '1'),
            'refused': (result.get('allocations', {}).get('refused'), 'requests'),
        }
        # Figures that were not measured are absent.
        self.perf_variables = {name: sn.make_performance_function(sn.defer(value), unit)
                               for name, (value, unit) in figures.items() if value is not None}

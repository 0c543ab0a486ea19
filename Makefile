# `make demo` and `make test` do everything. The work is done in scripts/ and CMakePresets.json.
# CUDA=auto: on if there is a GPU. VIEWER=auto: on if its libraries are installed.
# For `make report`: RESULTS=results.json (scripts/report.sh).
# For `make deploy-test`: INSTALL=1 HEAPWOOD=program (docs/sweeps.md).
export CUDA VIEWER JOBS SCENES WERROR RESULTS V YES INSTALL HEAPWOOD

help:
	@echo 'make demo       build, bench every allocator on three scenes, render them (results in out/)'
	@echo 'make test       build, run the tests that need no GPU: every kind of test, 7 minutes'
	@echo 'make test-all   the same with the long tests (docs/testing.md)'
	@echo 'make python-test  build the Python package'"'"'s module, run its tests'
	@echo 'make report     build, measure the papers (quick), write out/report.html'
	@echo 'make view       build the viewer, open it on the first of SCENES'
	@echo 'make package    build a .deb and a .tar.gz of programs and headers (build/packages/)'
	@echo 'make check      format, spelling, conventions, headers, clang-tidy'
	@echo 'make format     format the sources with clang-format'
	@echo 'make tables     write the tables and plots of the documents from docs/results/'
	@echo 'make deploy-test  test deploy/slurm on virtual nodes; INSTALL=1 installs Slurm'
	@echo 'make clean      remove what was built and measured; keep downloads (nvcc, Python packages)'
	@echo 'make distclean  remove build/ and out/'
	@echo
	@echo 'Each of them installs missing packages first; on a terminal it asks before. Variables:'
	@echo '  CUDA=auto|on|off   VIEWER=auto|off   JOBS=N   V=1 (show every command'"'"'s output)'
	@echo '  YES=1 (install packages without asking)'
	@echo '  SCENES="atrium statue:1m my.obj"   RESULTS="results.json ..." (make report)'

demo:
	@scripts/demo.sh

test:
	@scripts/test.sh

test-all:
	@LONG_TESTS=ON scripts/test.sh

python-test:
	@python/test.sh

report:
	@scripts/report.sh

view:
	@scripts/view.sh

package:
	@scripts/package.sh

check:
	@scripts/check.sh

format:
	@scripts/check.sh format

tables:
	@scripts/docs_tables.py

deploy-test:
	@tests/deploy/slurm.sh || [ $$? = 77 ]

# build/nvcc is a link into build/nvcc-wheels, so both stay.
clean:
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 \
	  ! -name nvcc ! -name nvcc-wheels ! -name report-venv ! -name python-venv -exec rm -rf {} +
	rm -rf out

distclean:
	rm -rf build out

.PHONY: help demo test test-all python-test report view package check format tables deploy-test \
  clean distclean

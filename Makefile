# Two commands do all: `make demo` and `make test`. The work is in scripts/ and CMakePresets.json.
# Variables: CUDA=auto|on|off (auto: where a GPU answers), VIEWER=auto|off (auto: where its libraries are), JOBS=N,
# SCENES="atrium statue:1m my.obj"; of `make report` RESULTS="results.json ..." AGAINST="old.json ..." (scripts/report.sh).
export CUDA VIEWER JOBS SCENES WERROR RESULTS AGAINST

help:
	@echo 'make demo     install what is missing, build, bench every allocator on three scenes, render them (into out/)'
	@echo 'make test     install what is missing, build, run every test that needs no GPU'
	@echo 'make report   install what is missing, build, measure the papers'"'"' tables and figures (quick), make out/report.html'
	@echo 'make view     install what is missing, build the viewer, open it on the first of SCENES'
	@echo 'make check    format, spelling, rules of the house, headers, clang-tidy'
	@echo 'make format   rewrite the sources as .clang-format says'
	@echo 'make clean    remove build/ and out/'
	@echo
	@echo 'Variables: CUDA=auto|on|off  VIEWER=auto|off  JOBS=N  SCENES="atrium statue:1m my.obj"  RESULTS="results.json ..." (make report)'

demo:
	@scripts/demo.sh

test:
	@scripts/test.sh

report:
	@scripts/report.sh

view:
	@scripts/view.sh

check:
	@scripts/check.sh

format:
	@scripts/check.sh format

clean:
	rm -rf build out

.PHONY: help demo test report view check format clean

# Two commands do all: `make demo` and `make test`. The work is in scripts/ and CMakePresets.json.
# Variables: CUDA=auto|on|off (auto: where a GPU answers), JOBS=N, SCENES="atrium statue:1m my.obj".
export CUDA JOBS SCENES WERROR

help:
	@echo 'make demo     install what is missing, build, bench every allocator on three scenes, render them (into out/)'
	@echo 'make test     install what is missing, build, run every test that needs no GPU'
	@echo 'make view     install what is missing, build the viewer, open it on the first of SCENES'
	@echo 'make check    format, spelling, rules of the house, headers, clang-tidy'
	@echo 'make format   rewrite the sources as .clang-format says'
	@echo 'make clean    remove build/ and out/'
	@echo
	@echo 'Variables: CUDA=auto|on|off  JOBS=N  SCENES="atrium statue:1m my.obj"'

demo:
	@scripts/demo.sh

test:
	@scripts/test.sh

view:
	@scripts/view.sh

check:
	@scripts/check.sh

format:
	@scripts/check.sh format

clean:
	rm -rf build out

.PHONY: help demo test view check format clean

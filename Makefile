# make demo: set up, quantize a real network, check it, show what it costs.
# make test: set up, build the wheel, and pass every test against it.
# make check: set up, and pass the tests that find most mistakes in a minute or two.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DIGITS := docs/examples/digits
OUT := build/demo
SOURCES := $(shell git ls-files pyproject.toml __init__.py calibration toolkit targets runtime_c 2>/dev/null)

# Style, the layers, each part of the toolkit by itself, and a file made and run.
CHECK := tests/test_*.py $(addprefix tests/,accuracy calibration compress format golden onnx_export onnx_import oracle \
         passes plan preprocessing report) \
         $(addprefix tests/ops/,conv elementwise matmul move norm recurrent reduction) \
         $(patsubst %,tests/runtime/test_%.py,batches session threads verify verify_ops verify_reads) tests/cli/test_docs.py

.PHONY: demo test check packages develop bench runtime-wheel clean

demo: $(VENV)/demo
	mkdir -p $(OUT)
	$(BIN)/edgekit quantize $(DIGITS)/digits.onnx --calib $(DIGITS)/calib.npz -o $(OUT)/digits.edge --report $(OUT)/report.html
	$(BIN)/edgekit convert $(DIGITS)/digits.onnx -o $(OUT)/digits_float.edge
	$(BIN)/edgekit inspect $(OUT)/digits.edge
	$(BIN)/edgekit check $(OUT)/digits.edge --float $(DIGITS)/digits.onnx --data $(DIGITS)/eval.npz --labels label --layers

test: packages $(VENV)/test
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

check: $(VENV)/test
	$(BIN)/python -m pytest -q -n 2 --dist worksteal $(CHECK) $(ARGS)

# Cross compilers and emulators, where we may install them.
packages:
	tests/packages.sh

# Work on the sources: imports come from this folder, and a C edit is rebuilt at the next import.
develop: $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet "scikit-build-core>=1.1" "cffi>=2" cmake ninja
	$(BIN)/python -m pip install --no-build-isolation -Ceditable.rebuild=true -e '.[dev]'

# dist/edgekit_runtime-*.whl: what runs .edge files, without the toolkit.
runtime-wheel: $(VENV)/bin/python
	$(BIN)/python -m pip wheel --quiet --no-deps -w dist runtime_c/python

bench: $(VENV)/test
	$(BIN)/python tests/bench/host.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/demo: $(VENV)/bin/python $(SOURCES)
	$(BIN)/python -m pip install --quiet .
	touch $@

$(VENV)/test: $(VENV)/bin/python $(SOURCES)
	$(BIN)/python -m pip install --quiet '.[dev]'
	-$(BIN)/python -m pip install --quiet '.[fpga-emulator]'  # its tests are skipped without
	touch $@

clean:
	rm -rf build dist $(VENV)

"""What `bench` says is what was counted and measured; outputs and crossings are in order."""

from dataclasses import replace

import numpy as np

from edgekit.targets.fpga_opencl.config import Config
from edgekit.targets.fpga_opencl.partition import boundaries, partition
from edgekit.toolkit.build import build_file
from edgekit.toolkit.device.bench import bench
from edgekit.toolkit.device.build import compile_runtime, prepare
from edgekit.toolkit.device.emulate import _counts, _parse
from edgekit.toolkit.device.process import run
from edgekit.toolkit.device.session import EmulatedSession
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.strip import strip
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from edgekit.toolkit.runtime import Session

from . import fpga_layers


def test_instructions_are_between_the_marks_of_the_first_inference(model_file):
    """The markers themselves, one a mark, are taken off: 2 of each operator, 1 of the inference."""
    first = ["begin 5", "begin 10", "end 31", "begin 40", "end 91", "end 100"]
    again = ["begin 200", "begin 210", "end 222", "begin 230", "end 299", "end 300"]
    path, _ = model_file("digits")
    model = read(path.read_bytes())
    two = replace(model, ops=model.ops[:2])
    total, by_op = _counts("\n".join(first + again), two)
    assert by_op == [31 - 10 - 1, 91 - 40 - 1]
    assert total == 100 - 5 - 1 - 2 * 2


def test_flash_is_code_constants_and_the_model(ready, model_file):
    target = ready("cortex_m4")
    path, _ = model_file("digits")
    cost = bench(path, "cortex_m4")
    archive = compile_runtime(target, read(path.read_bytes()))
    printed = run([target.tool("objdump"), "-h", archive.library.parent / "reached.o"], "objdump")
    sizes = {"text": 0, "rodata": 0}
    for line in printed.splitlines():
        words = line.split()
        if len(words) == 7 and words[0].isdigit():
            name = words[1].split(".")[1]
            if name in sizes:
                sizes[name] += int(words[2], 16)
    model = prepare(path.read_bytes(), target)
    library = archive.size.library
    assert 0 < library < 1024 and {"memcpy", "memset"} >= set(archive.undefined)
    assert cost.flash == {**sizes, "library": library, "model": len(strip(model))}
    assert sizes["text"] > 4096 > sizes["rodata"] > 0
    heavy = max(cost.ops, key=lambda op: op.instructions)
    assert heavy.macs == max(op.macs for op in cost.ops)  # each operator has its own count
    assert [op.name for op in cost.ops] == [op.name for op in read(model).ops]
    assert cost.macs == sum(op.macs for op in cost.ops)


def two_outputs():
    """Outputs of one shape and type, which only their order tells apart."""
    kind = TensorType(np.dtype(np.int8), (1, 16))
    x, y, z = (Value(name, kind, quant=QuantParams((0.1,))) for name in "xyz")
    bounds = {"act_min": -np.inf, "act_max": np.inf}
    rng, nodes = np.random.default_rng(0), []
    for out in (y, z):
        w = rng.integers(-127, 128, (16, 16)).astype(np.int8)
        weights = constant(w, f"w{out.name}", QuantParams((0.003,) * 16, axis=0))
        nodes.append(Node("FullyConnected", [x, weights, None], [out], bounds, out.name))
    ports = [[Port(v.name, v, 1, v.shape) for v in values] for values in ((x,), (z, y))]
    return build_file(Graph(nodes, *ports))


def test_the_code_of_dense_layers_stays_small(ready):
    """Opening, verifying and running a file, and one operator: 2 % above what it was without the
    proof that whatever an operator reads was written before."""
    model = read(prepare(two_outputs(), ready("cortex_m4")))
    assert compile_runtime(ready("cortex_m4"), model).size.text <= 7912 * 1.02


def test_outputs_of_a_device_have_the_models_order(ready, tmp_path):
    target = ready("cortex_m4")
    path = tmp_path / "m.edge"
    path.write_bytes(two_outputs())
    host = Session(path)
    rng = np.random.default_rng(1)
    feeds = [{"x": rng.normal(0, 5, (1, 16)).astype(np.float32)} for _ in range(2)]
    session = EmulatedSession(path, target, feeds)
    for feed in feeds:
        got, wanted = session.run(feed), host.run(feed)
        assert list(got) == list(wanted) == ["z", "y"]
        assert (wanted["y"] != wanted["z"]).any()
        for name in wanted:
            np.testing.assert_array_equal(got[name], wanted[name])


def test_answers_are_taken_apart_in_the_models_order():
    model = read(two_outputs())
    data = np.arange(-8, 40, dtype=np.int8).tobytes()
    (z, y), end = _parse(model, data, 16)
    assert end == 48
    np.testing.assert_array_equal(z[0], np.arange(8, 24))
    np.testing.assert_array_equal(y[0], np.arange(24, 40))


def test_outputs_on_the_accelerator_cross_to_the_host_at_the_end():
    rng = np.random.default_rng(3)
    model = fpga_layers.conv(rng, 1, 9, 11, 5, 13, (3, 3), pads=(1, 1, 1, 1))
    data, (placed,) = partition(model, Config())
    assert placed.on_accelerator
    found = read(data)
    assert boundaries(found) == [
        (0, found.inputs[0].tensor, True),
        (1, found.outputs[0].tensor, False),
    ]


def test_outputs_that_the_host_made_cross_nothing():
    found = read(two_outputs())
    assert boundaries(found) == []
    data, placed = partition(found, Config())
    crossings = boundaries(read(data))
    assert all(p.on_accelerator for p in placed)
    last = [(op, tensor) for op, tensor, there in crossings if not there]
    assert last == [(2, io.tensor) for io in found.outputs]
    assert sum(there for _, _, there in crossings) == 1  # x goes there once

"""Every target answers with the same bytes as this machine, in the memory that was planned."""

import numpy as np
import pytest

from edgekit import targets
from edgekit.toolkit.build import build_file
from edgekit.toolkit.device.emulate import Device
from edgekit.toolkit.device.session import session_on
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from edgekit.toolkit.runtime import Session
from edgekit.toolkit.weight_codecs import Storage

from .conftest import LAYERS, MLPERF

MODELS = ("digits", *LAYERS, *MLPERF)
DEVICES = [
    (name, cpu)
    for name in targets.names()
    for cpu in (targets.load(name).cpus or (None,))
    if targets.load(name).emulator.startswith("qemu")
    and targets.load(name).compiler.endswith("gcc")
]


# What runs the portable code alone need not run all models.
@pytest.mark.parametrize(
    ("name", "cpu", "model"),
    [(*d, m) for d in DEVICES for m in (MODELS if targets.load(d[0]).tables else MODELS[:7])],
)
def test_a_device_answers_with_the_hosts_bytes(ready, model_file, name, cpu, model):
    target = ready(name)
    path, feeds = model_file(model)
    session = Session(path)
    with Device(path.read_bytes(), target, cpu) as device:
        ran = device.run([session.to_raw(feed) for feed in feeds], count=True)
        arena = device.model.memory.arena_bytes + device.model.memory.persistent_bytes
    assert len(ran.outputs) == len(feeds) == 20
    for feed, answers in zip(feeds, ran.outputs, strict=True):
        wanted = session.run_raw(feed)
        for io, answer in zip(session.outputs, answers, strict=True):
            np.testing.assert_array_equal(answer, wanted[io.name])
    assert ran.instructions > sum(ran.op_instructions) > 0
    if target.bare_metal:
        overhead = 12 * 4  # EK_SESSION_OVERHEAD with 32-bit pointers
        assert arena <= ran.session_bytes <= arena + overhead
        assert 0 < ran.stack_bytes < 2048


@pytest.mark.parametrize("name", ["aarch64_linux", "armv7_linux"])
def test_nibbles_that_are_packed_twice_the_size_of_the_file_have_room(ready, name):
    rng = np.random.default_rng(0)
    kind = TensorType(np.dtype(np.int8), (1, 1024))
    x, y = (Value(v, kind, quant=QuantParams((0.1,))) for v in "xy")
    w = rng.integers(-7, 8, (1024, 1024)).astype(np.int8)
    bounds = {"act_min": -np.inf, "act_max": np.inf, "storage": Storage("Nibbles")}
    weights = constant(w, "w", QuantParams((0.01,) * 1024, axis=0))
    node = Node("FullyConnected", [x, weights, None], [y], bounds, "y")
    data = build_file(Graph([node], *([Port(v.name, v, 1, v.shape)] for v in (x, y))))
    raw = rng.integers(-128, 128, kind.shape).astype(np.int8)
    with Device(data, ready(name)) as device:
        ran = device.run([[raw]])
    assert ran.session_bytes > 2 << 20 > 3 * len(data)
    (wanted,) = Session(data).run_raw({"x": raw}).values()
    np.testing.assert_array_equal(ran.outputs[0][0], wanted)


def test_outputs_have_their_names_and_samples_any_order(ready, tmp_path):
    """y3 = 3 x, and y2 = 2 x in each of two rows."""
    x, y3, y2 = (
        Value(name, TensorType(np.dtype(np.float32), (1, rows, 5)))
        for name, rows in (("x", 1), ("y3", 1), ("y2", 2))
    )
    free = {"act_min": -np.inf, "act_max": np.inf}
    nodes = [
        Node("Mul", [x, constant(np.full(shape, factor, np.float32), "c")], [y], free, y.name)
        for factor, shape, y in ((3, (1, 1, 1), y3), (2, (1, 2, 1), y2))
    ]
    ports = ([Port(v.name, v, 1, v.shape) for v in values] for values in ([x], [y3, y2]))
    path = tmp_path / "m.edge"
    path.write_bytes(build_file(Graph(nodes, *ports)))
    samples = [{"x": np.arange(5, dtype=np.float32)[None, None] * i} for i in (3, 6, -6)]
    device = session_on(path, ready("cortex_m4").name, samples)
    for feed in reversed(samples):
        got = device.run(feed)
        assert list(got) == ["y3", "y2"]
        np.testing.assert_array_equal(got["y2"], np.repeat(2 * feed["x"], 2, 1))
        np.testing.assert_array_equal(got["y3"], 3 * feed["x"])
    with pytest.raises(UserError, match="was not given this sample"):
        device.run(samples[0])

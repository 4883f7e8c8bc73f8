"""A decoder that writes one token a run, its keys and values in the session: onnxruntime's answers
in float32, the same tokens on every target in integers.
"""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import edgekit
from edgekit import targets
from edgekit.toolkit.device.emulate import Device
from edgekit.toolkit.runtime import Session

DEVICES = [name for name in targets.names() if targets.load(name).emulator.startswith("qemu")]
WORDS, SIZE, HEADS, LENGTH = 24, 20, 4, 12
STATE = [("keys", "keys_out"), ("values", "values_out")]


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], **attributes)


def save(path):
    """Embedding, attention over a cache, a gated layer, and the scores of the next token."""
    rng = np.random.default_rng(7)

    def weights(*shape):
        return rng.normal(0, 1.5 / np.sqrt(shape[0]), shape).astype(np.float32)

    each = SIZE // HEADS
    constants = {
        "words": weights(WORDS, SIZE) * 4, "places": weights(LENGTH, SIZE),
        **{name: weights(SIZE, SIZE) for name in ("wq", "wk", "wv", "wo", "wg", "wu")},
        "scores": weights(SIZE, WORDS), "root": np.float32(each**-0.5),
        "steps": np.arange(LENGTH), "never": np.float32(-1e4), "zero": np.float32(0),
        "query": np.array([HEADS, 1, each]), "cache": np.array([LENGTH, HEADS, each]),
        "row": np.array([1, SIZE]), "one": np.array([1, 1]),
    }  # fmt: skip
    nodes = [
        node("Gather", "words token", "word"), node("Gather", "places at", "place"),
        node("Add", "word place", "x"),
        *(node("MatMul", f"x w{p}", p) for p in "qkv"),
        node("Reshape", "at one", "where"),
        node("ScatterND", "keys where k", "keys_out"),
        node("ScatterND", "values where v", "values_out"),
        node("Reshape", "q query", "qh"),
        node("Reshape", "keys_out cache", "kh"), node("Transpose", "kh", "kt", perm=[1, 2, 0]),
        node("Reshape", "values_out cache", "vh"), node("Transpose", "vh", "vt", perm=[1, 0, 2]),
        node("MatMul", "qh kt", "products"), node("Mul", "products root", "scaled"),
        node("Greater", "steps at", "later"), node("Where", "later never zero", "mask"),
        node("Add", "scaled mask", "masked"), node("Softmax", "masked", "attention", axis=-1),
        node("MatMul", "attention vt", "heads"), node("Reshape", "heads row", "joined"),
        node("MatMul", "joined wo", "o"), node("Add", "x o", "y"),
        node("MatMul", "y wg", "g"), node("Sigmoid", "g", "gs"), node("Mul", "g gs", "silu"),
        node("MatMul", "y wu", "u"), node("Mul", "silu u", "gated"), node("Add", "y gated", "z"),
        node("MatMul", "z scores", "logits"),
    ]  # fmt: skip
    caches = [helper.make_tensor_value_info(n, 1, (LENGTH, SIZE)) for n in ("keys", "values")]
    outputs = [helper.make_tensor_value_info(n, 1, (LENGTH, SIZE)) for _, n in STATE]
    graph = helper.make_graph(
        nodes,
        "decoder",
        [*(helper.make_tensor_value_info(n, 7, (1,)) for n in ("token", "at")), *caches],
        [helper.make_tensor_value_info("logits", 1, (1, WORDS)), *outputs],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def steps(tokens):
    return [{"token": np.array([t]), "at": np.array([i])} for i, t in enumerate(tokens)]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    """The model, and a file of it in integers."""
    folder = tmp_path_factory.mktemp("decoder")
    save(folder / "m.onnx")
    rng = np.random.default_rng(8)
    samples = [s for _ in range(8) for s in steps(rng.integers(WORDS, size=LENGTH))]
    given = {"states": STATE, "sequence": LENGTH, "effort": "fast", "on_low_accuracy": "warn"}
    edgekit.quantize(folder / "m.onnx", samples, folder / "m.edge", **given)
    return folder / "m.onnx", folder / "m.edge"


def test_float_answers_are_those_of_onnxruntime(decoder, tmp_path):
    model, _ = decoder
    edgekit.convert(model, tmp_path / "m.edge", states=STATE)
    session, judge = Session(tmp_path / "m.edge"), onnxruntime.InferenceSession(model)
    caches = {name: np.zeros((LENGTH, SIZE), np.float32) for name, _ in STATE}
    for step in steps([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]):
        wanted, *kept = judge.run(None, step | caches)
        caches = dict(zip(caches, kept, strict=True))
        np.testing.assert_allclose(session.run(step)["logits"], wanted, rtol=1e-4, atol=1e-4)


def written(path):
    """The tokens that it writes behind a first one, and each step's raw inputs and answers."""
    session, tokens, raw, answers = Session(path, "ref"), [5], [], []
    for at in range(LENGTH):
        step = {"token": np.array([tokens[-1]]), "at": np.array([at])}
        raw.append(session.to_raw(step))
        answers.append(session.run_raw(step)["logits"])
        tokens.append(int(answers[-1].argmax()))
    return tokens, raw, answers


@pytest.mark.parametrize("name", DEVICES)
def test_every_target_writes_the_hosts_tokens(ready, decoder, name):
    tokens, raw, wanted = written(decoder[1])
    assert len(set(tokens)) > 2 and wanted[0].dtype == np.int8
    with Device(decoder[1].read_bytes(), ready(name)) as device:
        ran = device.run(raw)
    for (answer,), logits in zip(ran.outputs, wanted, strict=True):
        np.testing.assert_array_equal(answer, logits)

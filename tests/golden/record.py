"""Write the golden corpus: python tests/golden/record.py [--again] [NAME ...]

models/NAME.edge.gz is a model and answers/NAME.npz what it answers: the names, types and shapes of
its inputs and outputs, and for each sample the bytes of all inputs, and of all outputs, one behind
the other.

Files that are here are left alone, for old files must run for ever; a kind of operator that none
of them holds gets a new one. --again writes every file anew: for a new version of the format,
before a release.
"""

import gzip
import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

import edgekit
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.schema import DType
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Session

HERE = Path(__file__).parent
MODELS, ANSWERS = HERE / "models", HERE / "answers"
DIGITS = HERE.parents[1] / "docs" / "examples" / "digits"

MIXED = """
<ir_version: 8, opset_import: ["" : 17]>
mixed (float[1,3,12,12] x) => (float[1,6] probabilities, int64[1] label, float[1,6] log, float n) {
  a = Conv <pads: ints = [1,1,1,1], strides: ints = [2,2]> (x, first, bias)
  b = Sigmoid (a)
  c = Conv <pads: ints = [1,1,1,1], group: int = 8> (b, depthwise)
  d = HardSwish (c)
  e = Add (b, d)
  f = ConvTranspose <strides: ints = [2,2]> (e, up)
  g = MaxPool <kernel_shape: ints = [2,2], strides: ints = [2,2]> (f)
  h = Concat <axis: int = 1> (g, e)
  n = ReduceL2 <keepdims: int = 0> (h)
  i = GlobalAveragePool (h)
  j = Flatten (i)
  k = MatMul (j, last)
  probabilities = Softmax (k)
  label = ArgMax <axis: int = 1, keepdims: int = 0> (k)
  log = LogSoftmax (k)
}
"""
SHAPES = {"first": (8, 3, 3, 3), "bias": (8,), "depthwise": (8, 1, 3, 3), "up": (8, 4, 2, 2)}
SHAPES |= {"last": (12, 6)}


def corpus():
    """The module tests/fuzz/corpus.py."""
    path = HERE.parent / "fuzz" / "corpus.py"
    spec = importlib.util.spec_from_file_location("corpus_of_forms", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_forms(forms):
    """A file with all operators of the fuzzer's corpus that are of these forms."""
    made_by = corpus()
    maker = made_by.FileMaker()
    for form in forms:
        made_by.maker_of(form)(maker, form)
    return write(maker.model())


def name_of(path, folder):
    return path.relative_to(folder).as_posix().partition(".")[0]


def families(present):
    """Name -> forms: one file for each function of the fuzzer's corpus.

    Of forms that are not in any file which is `present`, for these must stay as they are.
    """
    held = set()
    for path in present:
        model = read(gzip.decompress(path.read_bytes()))
        held |= {(*op.body(model.tensors), op.codec) for op in model.ops}
    names = {name_of(path, MODELS) for path in present}
    found = {}
    for form in corpus().CASES.values():
        name = corpus().maker_of(form).__name__
        if not present or form[1:] not in held:
            if form.codec:  # weights are decoded to int8 for all activations
                name = f"weights/{form.codec.name.lower()}"
                if form.element is not DType.Int8:
                    continue
            found.setdefault(form.name if name in names else name, []).append(form)
    return found


def digits(**how):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.edge"
        edgekit.quantize(DIGITS / "digits.onnx", DIGITS / "calib.npz", path, **how)
        return path.read_bytes()


def digits_float():
    with tempfile.TemporaryDirectory() as folder:
        edgekit.convert(DIGITS / "digits.onnx", Path(folder) / "digits.edge")
        return (Path(folder) / "digits.edge").read_bytes()


def mixed():
    """Integers, floats and indices in one model."""
    rng = np.random.default_rng(0)
    model = onnx.parser.parse_model(MIXED)
    for name, shape in SHAPES.items():
        weights = rng.normal(0, 0.4, shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights, name))
    samples = [{"x": rng.normal(size=(1, 3, 12, 12)).astype(np.float32)} for _ in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, Path(folder) / "mixed.onnx")
        edgekit.quantize(Path(folder) / "mixed.onnx", samples, Path(folder) / "mixed.edge")
        return (Path(folder) / "mixed.edge").read_bytes()


def models(again):
    """Name -> (function that makes the file, number of samples)."""
    whole = {
        "digits_int8": digits,
        "digits_4bit": lambda: digits(weights="int4"),
        "digits_float": digits_float,
        "mixed": mixed,
    }
    present = [] if again else sorted(MODELS.rglob("*.edge.gz"))
    found = {name: (make, 3) for name, make in whole.items()}
    of_families = families(present).items()
    return found | {name: (lambda kinds=kinds: of_forms(kinds), 1) for name, kinds in of_families}


def some(info, rng):
    """Values that an input may hold: of integers all, with many extremes and many small ones."""
    if info.dtype == np.float32:
        return (rng.integers(-24, 25, info.shape) / 8).astype(np.float32)
    if info.dtype == np.uint8:
        return rng.integers(0, 2, info.shape).astype(np.uint8)
    if info.dtype.itemsize >= 4 and info.dtype.kind in "iu":
        return rng.integers(-5 if info.dtype.kind == "i" else 0, 5, info.shape).astype(info.dtype)
    if info.dtype.kind == "f":
        return rng.normal(size=info.shape).astype(info.dtype)
    limits = np.iinfo(info.dtype)
    choices = [
        rng.integers(limits.min, limits.max + 1, info.shape),
        rng.integers(-40, 41, info.shape),
        rng.choice([limits.min, limits.max], info.shape),
    ]
    return np.choose(rng.choice(3, info.shape, p=[0.4, 0.4, 0.2]), choices).astype(info.dtype)


def signature(ios):
    return np.array([f"{io.name} {np.dtype(io.dtype)} {list(io.shape)}" for io in ios])


def joined(arrays):
    return np.frombuffer(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays), np.uint8)


def record(name, data, feeds):
    """Write `data`, and what it answers to each feed of inputs in their order."""
    session = Session(data, "ref")
    names = [io.name for io in session.inputs]
    answers = [session.run_raw(dict(zip(names, feed, strict=True))).values() for feed in feeds]
    (MODELS / f"{name}.edge.gz").write_bytes(gzip.compress(data, mtime=0))
    np.savez_compressed(
        ANSWERS / f"{name}.npz",
        inputs=signature(session.inputs),
        outputs=signature(session.outputs),
        given=np.stack([joined(feed) for feed in feeds]),
        answered=np.stack([joined(answer) for answer in answers]),
    )


def main(arguments):
    again, chosen = "--again" in arguments, set(arguments) - {"--again"}
    making = models(again)
    for folder in (MODELS, ANSWERS) if again and not chosen else ():
        for path in folder.rglob("*.[ng]*z"):
            if name_of(path, folder) not in making:
                path.unlink()  # its operators are in another one now
    for name, (make, samples) in making.items():
        if (chosen and name not in chosen) or ((ANSWERS / f"{name}.npz").exists() and not again):
            continue
        data = make()
        rng = np.random.default_rng(0)
        inputs = Session(data, "ref").inputs
        record(name, data, [[some(io, rng) for io in inputs] for _ in range(samples)])
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])

"""What `quantize` is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..calibration import ImageOptions, SampleSource
from .accuracy import FORM, NAMED, MetricFunction
from .compress import COMPRESSIONS, Compression
from .dynamic import Dims, Shapes
from .hand_over import HandOver
from .model_files import Constants
from .numerics import W8A8
from .preprocessing import FrontEnd
from .progress import Progress, silent
from .quantize import Budget
from .quantize.option import group, option
from .quantize.quality import ON_LOW_ACCURACY, OnLowAccuracy
from .quantize.request import NumericOptions
from .state import States
from .streaming import Axes


@dataclass(frozen=True)
class Source:
    """What is quantized, by which samples, and where it is written."""

    model: str | Path
    calib: SampleSource = field(
        metadata=option(
            "Samples: a folder (npy, npz, png, jpg, wav, csv), or an .npz of arrays by input name.",
            value="path",
            metavar="PATH",
        )
    )
    output: str | Path | None = field(
        default=None,
        metadata=option(
            "Output file. [default: MODEL.edge]", value="path", names=("-o", "--output")
        ),
    )
    shapes: Shapes | None = field(
        default=None,
        metadata=option(
            "Fix the shape of an input with symbolic dimensions; N..M[:STEP] is a dimension that "
            "varies at run time. Repeatable.",
            value="shapes",
            names=("--shape",),
        ),
    )
    dims: Dims | None = field(
        default=None,
        metadata=option(
            "Fix a symbolic dimension, or let it vary between N and M at run time. Repeatable.",
            value="dims",
            names=("--dim",),
        ),
    )
    constants: Constants | None = field(
        default=None,
        metadata=option(
            "Replace an input by a constant. Repeatable.", value="constants", names=("--constant",)
        ),
    )


@dataclass(frozen=True)
class QuantizeRequest(NumericOptions, Source):
    """The options of `quantize`. Each option is described in its declaration. In Python:

    model, calib  an ONNX file; a folder, a .npz, or an iterable of dicts of arrays by input name
    image, sound  preprocessing of images, or the front end for .wav files
    metric        a name or a function as described in docs/quantization.md; default top1
    on_low_accuracy  None: "promote", but "warn" for weights of less than 8 bits;
                  result.below_floor: the file is still broken
    states        pairs (input, output) that keep state between runs, or "auto"; samples do not
                  contain these inputs
    stream        time axes of inputs, (name, axis), with the name "" for all; samples are whole
                  sequences
    every_layer   True: result.explanation has all layers; False, without a report: only the layers
                  with the largest share of the error, in less time, and with effort "fast" none
    """

    compress: Compression = field(
        default="fast",
        metadata=option(
            "Huffman-coded, coarser weights, within the budget or a fixed loss "
            "(docs/compression.md). small: all layers. balanced: only layers that use each "
            "weight at least 550 times per run. fast: none. Lossless with --weights int4 or "
            "--rounding nearest.",
            choices=COMPRESSIONS,
            recorded="changed",
        ),
    )
    limit: int | None = field(
        default=None,
        metadata=option(
            "Maximum number of samples (batches, if the model has a fixed batch size).",
            least=1,
            recorded="always",
        ),
    )
    like: str | Path | None = field(
        default=None,
        metadata=option(
            "Earlier .edge file of the same model, before further training: keep its scales, and "
            "its integers where possible, so that the update by `edgekit diff` is small.",
            value="path",
            metavar="OLD.edge",
        ),
    )
    report: str | Path | None = field(
        default=None, metadata=option("Write an HTML report.", value="path")
    )
    targets: Sequence[str] = field(
        default=(),
        metadata=option(
            "Target device or chip (`edgekit targets`). Size limits apply to each. Repeatable. "
            "[default: the generic file]",
            value="texts",
            names=("--target",),
            metavar="TARGET",
        ),
    )
    budget: Budget | None = field(default_factory=Budget, metadata=group(Budget))
    evaluation: SampleSource | None = field(
        default=None,
        metadata=option(
            "Samples for measuring --max-drop, as for --calib. [default: those of --calib]",
            value="path",
            names=("--eval",),
            metavar="PATH",
        ),
    )
    labels: str | None = field(
        default=None,
        metadata=option(
            "Ground truth, as for `check`: classes, masks (miou) or values (mae). With "
            "--max-drop: in --eval or --calib [default: the float model's answers]. Otherwise: "
            "classes of --calib, for top-1 [default: class folders, labels.csv, a label column].",
            metavar="KEY",
        ),
    )
    metric: str | Path | MetricFunction | None = field(
        default=None,
        metadata=option(
            "Metric, higher is better: a name, or your function(outputs, references, data) of "
            "dicts of arrays, samples first (default name: metric). docs/quantization.md has "
            "examples.",
            metavar=f"{'|'.join(NAMED)}|{FORM}",
        ),
    )
    on_low_accuracy: OnLowAccuracy | None = field(
        default=None,
        metadata=option(
            "If int8 alone is broken (SQNR below 15 dB or wrong answers) and no budget is given: "
            "promote layers to int16 or float32, warn, or fail with exit status 3. [default: "
            "promote; warn with --weights int4...]",
            choices=ON_LOW_ACCURACY,
        ),
    )
    any_scale: bool = field(
        default=False,
        metadata=option("Accept samples that look wrongly scaled for the model.", value="flag"),
    )
    strip: bool = field(
        default=False,
        metadata=option(
            "Omit provenance and operator names, as `build` always does. Budgets do not count "
            "them; `check --layers` needs them.",
            value="flag",
        ),
    )
    hand_over: HandOver = field(default_factory=HandOver, metadata=group(HandOver))
    states: States = field(
        default=(),
        metadata=option(
            "Keep state between runs: input IN receives output OUT of the previous run, zeros at "
            "first. Repeatable. auto: pairs whose names and shapes match.",
            value="states",
            names=("--state",),
            metavar="IN=OUT",
        ),
    )
    sequence: int | None = field(
        default=None,
        metadata=option(
            "Models with state: samples per sequence; the state starts at zeros in each. "
            "[default: all samples are one sequence]",
            least=1,
            metavar="FRAMES",
        ),
    )
    stream: Axes = field(
        default=(),
        metadata=option(
            "Convert a model of whole sequences to run frame by frame: AXIS is the time axis of "
            "all inputs, or of input NAME. Repeatable.",
            value="axes",
            metavar="[NAME=]AXIS",
        ),
    )
    frames: int | None = field(
        default=None,
        metadata=option(
            "Frames per run with --stream. [default: as few as the model's strides allow]", least=1
        ),
    )
    image: ImageOptions | None = None
    sound: FrontEnd | None = None
    every_layer: bool = True
    progress: Progress = field(default=silent, compare=False)

    @property
    def mixed_rounding(self) -> str:
        """How weights are rounded that are not those of the first quantization."""
        fast = self.effort == "fast" and self.weights == W8A8
        return "nearest" if fast and self.rounding == "auto" else self.rounding

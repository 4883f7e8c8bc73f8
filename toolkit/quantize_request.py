"""What `quantize` is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..calibration import ImageOptions, SampleSource
from .accuracy import MetricFunction
from .compress import COMPRESSIONS, Compression
from .errors import UserError
from .hand_over import HandOver
from .model_files import Constants, Shapes
from .numerics import W8A8
from .preprocessing import FrontEnd
from .progress import Progress, silent
from .quantize import Budget
from .quantize.quality import OnLowAccuracy
from .state import States
from .streaming import Axes


@dataclass(frozen=True)
class QuantizeRequest:
    """What `quantize` is asked for.

    model, calib  an ONNX file; a folder, a .npz, or an iterable of dicts of arrays by input name
    output        the file to write, by default beside the model
    image, sound  how pictures become inputs, or the front end that makes them of .wav files
    observer, weights, rounding  of quantize.OBSERVERS, WEIGHTS and ROUNDINGS
    limit         takes the first so many samples
    report        an HTML file to write
    compress      of compress.COMPRESSIONS: which weights are coarser, in a Huffman code
    effort        of quantize.EFFORTS: "fast" does not search, "best" searches longer
    budget        limits, for which precisions are mixed
    targets       the devices that the file is for: limits of size hold on each of them, and what it
                  takes there is measured
    evaluation    the samples that max_drop is judged on, by default those of `calib`
    metric        what judges: a name of accuracy.NAMED (default: top1), FILE.py:FUNCTION, or a
                  function as docs/quantization.md describes
    labels        the key in the samples' .npz of what a named metric compares with; by default the
                  float model's answers
    on_low_accuracy  below the floor of quantize/quality.py, without a budget: "promote" mixes
                  precisions, "warn" and "fail" do not; result.below_floor says what is left. None:
                  "promote", but "warn" of weights of less than 8 bits, and of a model that arrives
                  quantized
    any_scale     takes samples that look wrongly scaled for the model
    states        pairs of an input and the output whose value it has from the run before, which a
                  session then keeps, or "auto"; samples have no such inputs
    sequence      samples of each sequence, at whose start state is zeros; None: all are one
    stream        time axes of inputs, (name, axis), under "" that of all: samples are whole
                  sequences, and the file takes a few frames at each run
    frames        of each run, by default as few as the model allows
    hand_over     layouts and element types that the device hands over and is given
    strip         leave out provenance and names of operators (format/strip.py)
    """

    model: str | Path
    calib: SampleSource
    output: str | Path | None = None
    shapes: Shapes | None = None
    observer: str = "auto"
    weights: str = W8A8
    rounding: str = "auto"
    compress: Compression = "fast"
    effort: str = "default"
    image: ImageOptions | None = None
    sound: FrontEnd | None = None
    limit: int | None = None
    report: str | Path | None = None
    budget: Budget | None = None
    targets: Sequence[str] = ()
    evaluation: SampleSource | None = None
    labels: str | None = None
    metric: str | Path | MetricFunction | None = None
    on_low_accuracy: OnLowAccuracy | None = None
    any_scale: bool = False
    constants: Constants | None = None
    states: States = ()
    sequence: int | None = None
    stream: Axes = ()
    frames: int | None = None
    hand_over: HandOver = field(default_factory=HandOver)
    strip: bool = False
    progress: Progress = field(default=silent, compare=False)

    def __post_init__(self) -> None:
        if self.compress not in COMPRESSIONS:
            raise UserError(f"no compress '{self.compress}'; there are: {', '.join(COMPRESSIONS)}")

    @property
    def mixed_rounding(self) -> str:
        """How weights are rounded that are not those of the first quantization."""
        fast = self.effort == "fast" and self.weights == W8A8
        return "nearest" if fast and self.rounding == "auto" else self.rounding

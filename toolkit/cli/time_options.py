"""Options of models in time: state, sequences, and streaming."""

from __future__ import annotations

import click

from ..state import AUTO, States
from ..streaming import Axes
from .options import F
from .values import pair


def _pairs(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> States:
    if values == (AUTO,):
        return AUTO
    return [pair(text, "IN=OUT, e.g. h0=hn; or give auto alone") for text in values]


def state_option(f: F) -> F:
    return click.option(
        "--state",
        "states",
        multiple=True,
        metavar="IN=OUT",
        callback=_pairs,
        help="Keep state between runs: input IN receives output OUT of the previous run, zeros at "
        "first. Repeatable. auto: pairs whose names and shapes match.",
    )(f)


def sequence_option(f: F) -> F:
    return click.option(
        "--sequence",
        type=click.IntRange(1),
        metavar="FRAMES",
        help="Of a model with state: samples per sequence; the state starts at zeros in each. "
        "[default: all samples are one sequence]",
    )(f)


def _axes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> Axes:
    axes = []
    for text in values:
        name, axis = text.rpartition("=")[::2]
        if not axis.removeprefix("-").isdigit():
            raise click.BadParameter(f"'{text}' is not AXIS or NAME=AXIS, e.g. 2 or x=2")
        axes.append((name, int(axis)))
    return axes


def stream_options(f: F) -> F:
    """The command gets `stream` and `frames`."""
    streamed = click.option(
        "--stream",
        multiple=True,
        metavar="[NAME=]AXIS",
        callback=_axes,
        help="Make a model of whole sequences run frame by frame: AXIS is the time axis of all "
        "inputs, or of input NAME; may be repeated. The file keeps what it needs of the past.",
    )(f)
    return click.option(
        "--frames",
        type=click.IntRange(1),
        help="Frames per run with --stream. [default: as few as the model's strides allow]",
    )(streamed)

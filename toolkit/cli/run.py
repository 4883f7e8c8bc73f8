"""`edgekit run`: execute a file on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from .. import execution
from ..quantize_request import QuantizeRequest
from .declared import declared
from .options import edge_argument, json_option, memory_option, op_option, target_options
from .output import people, print_json, progress, table


@click.command(short_help="Run a file and print or save its outputs.")
@edge_argument
@click.option(
    "--input",
    "inputs",
    multiple=True,
    required=True,
    metavar="FILE.npz|NAME=FILE.npy|IMAGE",
    help="One .npz of all inputs by ONNX name, or one .npy per input: one sample, or several "
    "along the first axis. An image, or a folder of images, if the model was calibrated "
    "with images.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write outputs to this .npz.")
@click.option("--kernels", help="Kernel table. [default: the best one for this CPU]")
@declared(QuantizeRequest, "sequence")
@target_options
@memory_option
@op_option
@json_option
def run(
    model: Path,
    inputs: tuple[str, ...],
    output: Path | None,
    kernels: str | None,
    sequence: int | None,
    target: str | None,
    cpu: str | None,
    settings: dict[str, str],
    max_memory: int,
    as_json: bool,
) -> None:
    """Run MODEL.edge; print a summary of the outputs, or save them with --output."""
    with progress() as report:
        done = execution.run(
            model,
            inputs,
            output,
            kernels=kernels,
            sequence=sequence,
            target=target,
            cpu=cpu,
            settings=settings,
            max_memory=max_memory,
            progress=report,
        )
    if as_json:
        print_json(done.to_json())
        return
    table(
        f"{model}: {done.samples} sample{'s' * (done.samples != 1)}, kernels {done.kernels}",
        ("~output", "dtype", "shape", ">min", ">max"),
        [
            (o.name, o.dtype, "x".join(map(str, o.shape)), f"{o.min:.6g}", f"{o.max:.6g}")
            for o in done.outputs
        ],
    )
    for o in done.outputs:
        if o.labels:
            what = "columns" if o.dtype.startswith("float") else "labels"
            people.print(f"{what} of {o.name}: {', '.join(o.labels)}")
    if output is not None:
        people.print(f"Wrote {output}")

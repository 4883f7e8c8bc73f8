"""An option is declared once, as a field of what is asked for: command line and Python follow."""

from dataclasses import dataclass, field, fields

import click
import pytest
from click.testing import CliRunner

from edgekit import UserError
from edgekit.toolkit.cli.declared import declared, in_groups
from edgekit.toolkit.cli.options import image_options
from edgekit.toolkit.cli.quantize import quantize
from edgekit.toolkit.quantize.option import check_options, group, option, options_of, recorded
from edgekit.toolkit.quantize.request import NumericOptions, QuantizeOptions
from edgekit.toolkit.quantize_request import QuantizeRequest

ELSEWHERE = {
    *("image", "sound"),  # made of the options of cli/options.py, which check has too
    *("model", "progress", "budget", "hand_over", "every_layer"),
}
"""Fields that are no options themselves."""


@dataclass(frozen=True)
class Limits:
    most: int | None = field(default=None, metadata=option("Most bytes.", value="bytes"))


@dataclass(frozen=True)
class Request:
    shade: str = field(
        default="red",
        metadata=option("Which shade.", choices=("red", "blue"), recorded="changed"),
    )
    tries: int | None = field(default=None, metadata=option("How many tries.", least=1))
    limits: Limits = field(default_factory=Limits, metadata=group(Limits))

    def __post_init__(self):
        check_options(self)


@click.command()
@declared(Request)
def command(**options):
    print(Request(**in_groups(Request, options)))


def run(*words):
    return CliRunner().invoke(command, words)


def test_a_declaration_is_an_option_of_the_command():
    told = " ".join(run("--help").output.split())
    assert "--shade [red|blue] Which shade. [default: red]" in told
    assert "--tries INTEGER RANGE How many tries. [x>=1]" in told
    assert run().output.strip() == str(Request())
    given = run("--shade", "blue", "--tries", "3", "--most", "64K")
    assert given.output.strip() == str(Request("blue", 3, Limits(65536)))


@pytest.mark.parametrize("wrong", [{"shade": "green"}, {"tries": 0}])
def test_a_wrong_value_is_refused_by_the_command_and_in_python(wrong):
    [(name, value)] = wrong.items()
    assert run(f"--{name}", str(value)).exit_code == 2
    with pytest.raises(UserError, match=str(value)):
        Request(**wrong)


def test_options_are_recorded_where_that_was_declared():
    assert recorded(Request()) == {}
    assert recorded(Request("blue", 2)) == {"shade": "blue"}


def test_every_option_of_quantize_is_declared_once():
    said = {each.name for each, _ in options_of(QuantizeRequest)}
    assert said >= {f.name for f in fields(QuantizeRequest)} - ELSEWHERE
    others = {p.name for p in click.command()(image_options(lambda **_: None)).params}
    assert {p.name for p in quantize.params} == said | others | {"model", "operators", "as_json"}


def test_numeric_options_reach_the_quantizer():
    """Those of NumericOptions are handed over by no one by name."""
    request = QuantizeRequest("m.onnx", "c.npz", effort="best", weights="int4")
    assert request.numeric.keys() == {f.name for f in fields(NumericOptions)}
    assert QuantizeOptions(**request.numeric) == QuantizeOptions(effort="best", weights="int4")

"""Why an operator that we do not have is not there, and what the user can do."""

from __future__ import annotations

import onnx

from ..errors import Problem
from .attributes import qualified

_CONTROL = {"If", "Loop", "Scan"}
_TEXT = {"StringNormalizer", "TfIdfVectorizer", "RegexFullMatch", "StringConcat", "StringSplit"}
_RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"}
_RANDOM |= {"RandomUniformLike"}


def refusal(node: onnx.NodeProto) -> Problem:
    """The problem of an operator that is not in the list."""
    why, remedy = _reason(node)
    return Problem(display_name(node), qualified(node), why, remedy)


def display_name(node: onnx.NodeProto) -> str:
    """What a user can find the node by."""
    return node.name or next((o for o in node.output if o), "")


def _reason(node: onnx.NodeProto) -> tuple[str, str]:
    op = node.op_type
    if "training" in node.domain or op.endswith(("Gradient", "Grad")) or op in ("Adam", "Momentum"):
        return "it is an operator of training", "export the model for inference"
    if op in _CONTROL:
        return (
            "control flow that depends on the input is not supported",
            "export the model without it (unrolled, or with constant conditions)",
        )
    if op.startswith(("Sequence", "Optional", "ConcatFromSequence", "SplitToSequence")):
        return "sequences and optional values are not supported", "export the model without them"
    if op in _TEXT:
        return "strings are not supported", "do this step before the model"
    if op in _RANDOM:
        return "random values are not supported", "export the model for inference"
    if node.domain not in ("", "ai.onnx", "ai.onnx.ml"):
        return (
            f"operators of domain '{node.domain}' are unknown",
            "export with standard operators, or define it: --op FILE.py",
        )
    return "the operator is not supported", "see docs/supported-ops.md"

"""Arrays scored by the collection's own library, which otherwise runs a model and loads labels."""

from __future__ import annotations

from unittest.mock import patch


def scored(library, directory, answers, labels, inputs=None):
    """Every figure that `library` (eval_lib.py) has for the model in `directory`, of its `answers`
    in order and of `labels` by name; `inputs` by name where its metric reads them."""
    given = {"run_all": answers, "load_labels": labels}
    if inputs:
        given["load_inputs"] = inputs
    with patch.multiple(library, **{name: lambda *_, v=v: v for name, v in given.items()}):
        return library.score(str(directory), None)

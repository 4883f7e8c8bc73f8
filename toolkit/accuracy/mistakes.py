"""Which classes are taken for which others, and the samples that lose most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..ir import Array
from .metrics import sqnr_db

WORST = 10
"""Samples that are remembered."""


@dataclass(frozen=True)
class Mistakes:
    """Of the samples whose classes are known.

    confusion  how many samples of a class the file takes for another: by (class, file's class)
    worst      (SQNR in dB, the sample's number) of those farthest from the float model's answer,
               the least first
    classes    names of the classes, places where samples come from; empty where not known
    """

    confusion: Counter[tuple[int, int]] = field(default_factory=Counter)
    worst: list[tuple[float, int]] = field(default_factory=list)
    classes: Sequence[str] = ()
    places: Sequence[str] = ()

    def add(self, number: int, label: int, mine: int, got: Array, truth: Array) -> None:
        """Take in a sample: its class, the file's, and the outputs that name it of both models."""
        if mine != label:
            self.confusion[label, mine] += 1
        self.worst.append((sqnr_db(got, truth), number))
        self.worst.sort()
        del self.worst[WORST:]

    def named(self, classes: Sequence[str], places: Sequence[str]) -> Mistakes:
        """The same with names."""
        return replace(self, classes=classes, places=places)

    def class_name(self, number: int) -> str:
        known = 0 <= number < len(self.classes)
        return self.classes[number] if known else str(number)

    def place(self, number: int) -> str:
        """The file of a sample, or its number, from 0 on."""
        return self.places[number] if number < len(self.places) else f"sample {number}"

    def lines(self, most: int = 5) -> list[str]:
        """In words, for people."""
        wrong = [
            f"{self.class_name(a)} as {self.class_name(b)} ({count})"
            for (a, b), count in self.confusion.most_common(most)
        ]
        far = [f"{self.place(n)} ({db:.1f} dB)" for db, n in self.worst[:most]]
        said = [f"most confused classes (samples): {', '.join(wrong)}"] if wrong else []
        return [*said, *([f"worst samples: {', '.join(far)}"] if far else [])]

    def to_json(self) -> dict[str, Any]:
        return {
            "confusion": [
                {"label": self.class_name(a), "edge": self.class_name(b), "samples": count}
                for (a, b), count in self.confusion.most_common()
            ],
            "worst": [
                {"sample": number, "place": self.place(number), "sqnr_db": db}
                for db, number in self.worst
            ],
        }

"""Pictures of handwritten digits: MNIST where the folder has it, scikit-learn's small digits where there is no folder.

``ASKANCE_DATA`` names a folder with ``mnist/mnist.npz`` (x_train, y_train; 28 x 28 pixels of 256 states). Nothing is
downloaded. scikit-learn's digits have 8 x 8 pixels of 17 states, and 180 pictures of each digit.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.papers.data.data_folder import Sourced, data_file

States = NDArray[np.int64]


class Split(NamedTuple):
    """Pictures to learn from and to test on; states are whole numbers, classes the digits themselves."""

    X: States
    y: States
    X_test: States
    y_test: States


@dataclass(frozen=True, eq=False)
class Digits(Sourced):
    """Pictures of some digits, side x side pixels each of which has one of the states 0, 1, ..., states - 1."""

    states: int
    side: int
    pictures: States
    labels: States

    @property
    def classes(self) -> tuple[int, ...]:
        """The digits."""
        return tuple(np.unique(self.labels).tolist())

    def most_each(self, wanted: int, test: int) -> tuple[int, int]:
        """How many of each digit there are to learn from and to test on: as many as wanted, or half of them each."""
        there = min(int(np.count_nonzero(self.labels == digit)) for digit in self.classes)
        each = wanted if wanted + test <= there else min(wanted, there // 2)
        return each, min(test, there - each)

    def split(self, each: int, test: int, rng: np.random.Generator) -> Split:
        """Draw so many of each digit to learn from, and others to test on."""
        learn, check = [], []
        for digit in self.classes:
            mine = rng.permutation(np.flatnonzero(self.labels == digit))
            if len(mine) < each + test:
                raise InvalidInput(f"{each + test} pictures of {digit} wanted", f"at most {len(mine)}")
            learn.append(mine[:each])
            check.append(mine[each : each + test])
        at, other = np.concatenate(learn), np.concatenate(check)
        return Split(self.pictures[at], self.labels[at], self.pictures[other], self.labels[other])

    def scaled(self, states: States | Floats) -> Floats:
        """States as brightness from 0 to 1."""
        brightness: Floats = states / (self.states - 1)
        return brightness


def handwritten_digits(digits: tuple[int, ...] = (7, 9)) -> Digits:
    """Pictures of some digits, 7 and 9 as in the paper unless others are asked for."""
    path = data_file("mnist/mnist.npz")
    if path is None:
        from sklearn.datasets import load_digits

        small = load_digits()
        source = "Optical recognition of handwritten digits (Alpaydin & Kaynak 1998, UCI), in place of MNIST"
        return _of("small digits", source, 17, 8, small.data, small.target, digits, stand_in=True)
    with np.load(path) as archive:
        pictures, labels = archive["x_train"], archive["y_train"]
    source = "MNIST (LeCun, Cortes & Burges 1998), CC BY-SA 3.0"
    return _of("MNIST", source, 256, 28, pictures, labels, digits)


def _of(
    name: str,
    source: str,
    states: int,
    side: int,
    pictures: NDArray[np.generic],
    labels: NDArray[np.generic],
    digits: tuple[int, ...],
    stand_in: bool = False,
) -> Digits:
    wanted = np.isin(labels, digits)
    rows = pictures[wanted].reshape(int(wanted.sum()), -1).astype(np.int64)
    return Digits(name, source, states, side, rows, labels[wanted].astype(np.int64), stand_in=stand_in)

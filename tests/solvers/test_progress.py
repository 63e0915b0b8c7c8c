"""How far work is: parts of parts, that never go back, whoever leaves a loop early or with an error."""

import pytest

from askance.solvers import steps, telling


def told_by(work):
    told = []
    with telling(lambda done, total: told.append(done / total)):
        work()
    return told


def test_a_loop_within_a_step_is_a_part_of_it_and_what_follows_has_the_rest():
    def work():
        for _ in steps("ab", share=0.5):
            for _ in steps("cd"):
                pass
        for _ in steps("ef"):
            pass

    assert told_by(work) == pytest.approx([0.125, 0.25, 0.25, 0.375, 0.5, 0.5, 0.75, 1.0])


def test_a_loop_that_is_left_early_counts_as_done():
    def work():
        for item in steps(range(10), share=0.5):
            if item == 2:
                break
        for _ in steps("ab"):
            pass

    assert told_by(work) == pytest.approx([0.05, 0.1, 0.75, 1.0])


def test_after_an_error_nobody_is_told_any_more():
    told = []
    try:
        with telling(lambda done, total: told.append(done)):
            for _ in steps("ab"):
                raise ValueError
    except ValueError as error:  # which keeps the loop alive
        kept = error
    assert list(steps("cd")) == ["c", "d"]
    assert kept.__traceback__ is not None
    del kept
    assert list(steps("ef")) == ["e", "f"]
    assert told == []


def test_nobody_listens():
    assert list(steps(range(3))) == [0, 1, 2]

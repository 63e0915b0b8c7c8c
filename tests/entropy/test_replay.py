"""Random bytes are played again in audits, and nowhere else."""

import copy
import os
import pickle
import threading

import numpy as np
import pytest

import askance as ask
from askance.entropy import Replay, Tape, bits
from askance.entropy.bits import GeneratorBits, KeyStream, system_bits
from askance.planning.auditing import channel_audit


def played(tape, draw):
    """Play a tape as an audit does: only code of the audits may."""
    scope = {"__name__": "askance.planning.auditing.here", "Replay": Replay, "tape": tape, "draw": draw}
    exec("with Replay(tape):\n    found = draw()", scope)
    return scope["found"]


def test_only_an_audit_may_play_a_tape():
    with pytest.raises(ask.InvalidInput, match="a replay of random bytes in"), Replay(Tape()):
        pytest.fail("a test is no audit")
    assert isinstance(system_bits(), KeyStream)


def test_nothing_else_can_take_the_place_of_the_entropy():
    with pytest.raises(ask.InvalidInput, match="in place of the operating system's entropy"):
        bits.play(GeneratorBits(np.random.default_rng(0)))
    assert isinstance(system_bits(), KeyStream)


def test_the_same_bytes_give_the_same_reports_and_other_tapes_other_ones():
    channel, truth, tape = ask.Warner(0.75), ["yes"] * 500, Tape()
    first, again, other = (played(one, lambda: channel.privatize(truth)) for one in (tape, tape, Tape()))
    assert (first == again).all()
    assert (first != other).any()
    assert isinstance(system_bits(), KeyStream)


def test_a_tape_cannot_be_copied_or_kept():
    for keep in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ask.InvalidInput, match="a copy of a tape"):
            keep(Tape())


def test_a_tape_holds_in_its_thread_only_and_ends_with_an_error():
    found = []

    def elsewhere():
        found.append(isinstance(system_bits(), KeyStream))

    def draw():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        raise OSError("something went wrong")

    with pytest.raises(OSError, match="went wrong"):
        played(Tape(), draw)
    assert found == [True]
    assert isinstance(system_bits(), KeyStream)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_child_draws_its_own_bits():
    def draw():
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, b"own" if isinstance(system_bits(), KeyStream) else b"tape")
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writer)
        told = os.read(reader, 10)
        os.close(reader)
        return told

    assert played(Tape(), draw) == b"own"


def test_a_draw_that_never_ends_on_one_byte_is_stopped():
    with pytest.raises(ask.entropy.replay.TapeEnded):
        played(
            Tape(0xFF, most_blocks=4), lambda: ask.PrivateNumber(0, 1, 1.0, "piecewise").privatize(np.zeros(100_000))
        )


def test_the_audit_leaves_the_entropy_as_it_was():
    channel_audit.audit(ask.Warner(0.75), draws=1_000)
    assert isinstance(system_bits(), KeyStream)

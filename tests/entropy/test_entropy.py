"""Where bits come from: known answers, and no stream is ever seen twice."""

import hashlib
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from askance.entropy import bits
from askance.entropy.bits import BLOCK_BYTES, GeneratorBits, KeyStream, system_bits
from askance.errors import InvalidInput


def patched_urandom(monkeypatch, *answers):
    queue = list(answers)

    def urandom(size):
        answer = queue.pop(0)
        assert len(answer) == size
        return answer

    monkeypatch.setattr(os, "urandom", urandom)


def test_key_stream_gives_the_output_blocks_of_nist_sp_800_38a(monkeypatch):
    # Example F.5.5, CTR-AES256.Encrypt.
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    patched_urandom(monkeypatch, key, counter)
    expected = (
        "0bdf7df1591716335e9a8b15c860c502"
        "5a6e699d536119065433863c8f657b94"
        "1bc12c9c01610d5d0d8bd6a3378eca62"
        "2956e1c8693536b1bee99c73a31576b6"
    )
    assert KeyStream().block()[:64].tobytes().hex() == expected


def test_key_stream_is_aes_of_a_running_counter(monkeypatch):
    key, counter = bytes(range(32)), b"\xff" * 15 + b"\xfe"  # the counter overflows at once
    patched_urandom(monkeypatch, key, counter)
    stream = KeyStream()
    drawn = b"".join(stream.block().tobytes() for _ in range(3))
    start = int.from_bytes(counter, "big")
    counters = b"".join(((start + i) % (1 << 128)).to_bytes(16, "big") for i in range(len(drawn) // 16))
    assert drawn == Cipher(algorithms.AES256(key), modes.ECB()).encryptor().update(counters)


def test_a_new_key_is_fetched_when_the_old_one_is_spent(monkeypatch):
    asked = []
    real = os.urandom
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or real(size))
    monkeypatch.setattr(bits, "REKEY_BLOCKS", 2)
    stream = KeyStream()
    for _ in range(5):
        stream.block()
    assert asked == [32, 16] * 3


def test_blocks_never_repeat():
    stream = system_bits()
    digests = {hashlib.sha256(stream.block()).digest() for _ in range(2000)}
    assert len(digests) == 2000


def test_bytes_are_uniform():
    # Chi-square with 255 degrees of freedom on 8 million bytes; 420 is passed with probability 4e-10.
    stream = system_bits()
    counts = sum(np.bincount(stream.block(), minlength=256) for _ in range(128))
    expected = 128 * BLOCK_BYTES / 256
    assert ((counts - expected) ** 2 / expected).sum() < 420


def test_every_thread_has_its_own_stream():
    found = []

    def draw():
        stream = system_bits()
        found.append((stream, stream.block().tobytes()))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    draw()
    assert len({id(stream) for stream, _ in found}) == 9
    assert len({block for _, block in found}) == 9
    assert system_bits() is found[-1][0]  # the same thread keeps its stream


CHILDREN = """
import multiprocessing, os, sys
from askance.entropy.bits import system_bits

def first_bytes(_=None):
    return system_bits().block()[:32].tobytes().hex()

def forked():
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, first_bytes().encode())
        os._exit(0)
    os.waitpid(pid, 0)
    return os.read(reader, 64).decode()

if __name__ == "__main__":
    first_bytes()  # the parent has a key that a child could inherit
    seen = [forked(), forked(), first_bytes()]
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            seen += pool.map(first_bytes, range(4))
    seen += [first_bytes(), forked()]
    print("\\n".join(seen))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_forked_and_spawned_children_draw_different_bits(tmp_path):
    script = tmp_path / "children.py"
    script.write_text(CHILDREN)
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    seen = run.stdout.split()
    assert len(seen) == 13
    assert all(len(drawn) == 64 for drawn in seen)
    assert len(set(seen)) == 13


def test_the_script_above_would_notice_a_stream_that_survives_a_fork(tmp_path):
    script = tmp_path / "children.py"
    shared = CHILDREN.replace(
        "from askance.entropy.bits import system_bits",
        ("from askance.entropy.bits import KeyStream\nstream = KeyStream()\nsystem_bits = lambda: stream"),
    )
    script.write_text(shared)
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert len(set(run.stdout.split())) < 13


def test_a_generator_gives_reproducible_blocks():
    first, second = (GeneratorBits(np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first.block(), second.block())
    assert not np.array_equal(first.block(), GeneratorBits(np.random.default_rng(3)).block())


@pytest.mark.parametrize("rng", [None, 0, 42, "seed", np.random, np.random.RandomState(0)])
def test_simulation_requires_a_generator(rng):
    with pytest.raises(InvalidInput, match=r"numpy Generator.*default_rng\(seed\).*privatize"):
        GeneratorBits(rng)

"""Machine code on disk is that of the source, whichever file a change was in."""

import subprocess
import sys

from askance import compiled

CALLEE = "from askance.compiled import compiled\n@compiled\ndef answer():\n    return {}\n"
CALLER = """
from askance.compiled import compiled
from callee import answer

@compiled
def ask():
    return answer()
"""
RUN = "from askance import compiled\ncompiled._all_kernels = lambda: {!r}\nfrom caller import ask\nprint(ask())\n"


def said(folder, digest):
    # Without bytecode: a text that is as long, and written in the same second, would pass for the one before.
    command = [sys.executable, "-B", "-c", RUN.format(digest)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return int(run.stdout)


def test_a_change_of_a_callee_in_another_file_is_noticed(tmp_path):
    (tmp_path / "caller.py").write_text(CALLER)
    (tmp_path / "callee.py").write_text(CALLEE.format(1))
    assert said(tmp_path, "before") == 1
    (tmp_path / "callee.py").write_text(CALLEE.format(2))
    assert said(tmp_path, "after") == 2


def test_the_digest_is_of_the_kernels(tmp_path, monkeypatch):
    kernel = tmp_path / "kernel.py"
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "compiled.py"))
    found = []
    for text in ("@compiled\n1", "@compiled\n2", "@compiled\n2"):
        kernel.write_text(text)
        (tmp_path / "other.py").write_text(f"{len(found)}")
        found.append(compiled._all_kernels.__wrapped__())
    assert found[0] != found[1] == found[2]


DOUBLE = "from askance.compiled import compiled\n@compiled\ndef double(x):\n    return x + x\n"
# Both have looked which files there are before either has written one; the first then is the last to write.
AT_ONCE = """
from double import double
index = double._cache._cache_file
index._load_index = dict
write = index._save_data
def wait_for_the_other(name, data):
    index._save_data = write
    double(1.5)
    write(name, data)
index._save_data = wait_for_the_other
double(1)
"""


def test_processes_that_compile_at_once_do_not_take_each_others_code(tmp_path):
    (tmp_path / "double.py").write_text(DOUBLE)
    for code in (AT_ONCE, "from double import double\nassert (double(1), double(1.5)) == (2, 3.0)"):
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)

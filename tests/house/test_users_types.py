"""Code of users checks strictly: that of the README, and labels in lists. A name that is none is an error."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
LISTS = """
import numpy as np
import askance as ask

labels = ["no", "yes"]
ask.RandomizedResponse(labels, epsilon=1.0)
ask.Warner(0.8, classes=labels)
ask.Crosswise(0.8, classes=labels)
ask.ForcedResponse(0.1, 0.1, classes=labels)
ask.UnrelatedQuestion(0.8, 0.3, classes=labels)
ask.Kuk(0.8, 0.3, classes=labels)
ask.Mangat(0.8, classes=labels)
ask.Triangular(0.8, classes=labels)
ask.StochasticLieDetector(0.8, classes=labels)
ask.FiniteChannel([[0.8, 0.2], [0.2, 0.8]], labels, reports=labels)
ask.Identity(labels)
ask.CandidateSets(labels)

seen = np.unique(["no", "yes", "yes"])
ask.RandomizedResponse(seen, truth_probability=0.5, base=np.array([0.5, 0.5]))
ask.Warner(0.8, classes=seen)
ask.Identity(seen)
"""


def test_code_of_users_checks_strictly(tmp_path):
    code = "\n".join(re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL))
    assert "IndirectClassifier" in code
    for name, text in {"readme": code, "lists": LISTS, "nope": "import askance as ask\n\nask.nope\n"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "readme.py", "lists.py", "nope.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout.splitlines()
    assert [line for line in found if "error:" in line] == [
        'nope.py:3: error: Module has no attribute "nope"  [attr-defined]'
    ]

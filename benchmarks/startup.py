"""How long a person waits before anything happens."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Measurement, best_seconds


def main() -> Iterator[Measurement]:
    def run(*command: str) -> object:
        return subprocess.run(command, check=True, capture_output=True)

    program = str(Path(sys.executable).with_name("askance"))
    seconds = best_seconds(
        {
            "python": lambda: run(sys.executable, "-c", "pass"),
            "import": lambda: run(sys.executable, "-c", "import askance"),
            "help": lambda: run(program, "--help"),
        }
    )
    yield Measurement("python -c pass", seconds["python"], "s")
    yield Measurement("import askance", seconds["import"], "s", at_most=1.0)
    yield Measurement("import askance, to an empty python", seconds["import"] / seconds["python"])
    yield Measurement("askance --help", seconds["help"], "s", at_most=0.5)
    yield Measurement("askance --help, to an empty python", seconds["help"] / seconds["python"])

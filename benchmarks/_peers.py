"""Other people's packages, in an environment of their own: they are needed for comparison only."""

import hashlib
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path


class PeersUnavailable(Exception):
    """The environment could not be set up; the message says why."""


def environment(*packages: str) -> Path:
    """Return the Python of an environment with these packages, made when first asked for."""
    key = hashlib.sha256(repr((sys.version, packages)).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"askance-benchmark-peers-{key}"
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    ready = folder / "ready"
    if not ready.exists():
        try:
            venv.create(folder, with_pip=True, clear=True)
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
            subprocess.run(install, check=True, capture_output=True, text=True, timeout=900)
            ready.touch()
        except subprocess.CalledProcessError as error:
            lines = ((error.stderr or "").strip() or "no message").splitlines()
            raise PeersUnavailable(f"pip could not install {', '.join(packages)}: {lines[-1]}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PeersUnavailable(f"no environment for {', '.join(packages)}: {error}") from error
    return python


def run(python: Path, script: str) -> dict[str, float]:
    """Run a script that prints a JSON object of numbers as its last line."""
    done = subprocess.run([str(python), "-c", script], capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise PeersUnavailable(f"the comparison script failed: {lines[-1]}")
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result

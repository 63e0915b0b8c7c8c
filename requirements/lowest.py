"""Print the lowest versions that pyproject.toml allows, as pins, and what a few tests need beside them.

The library itself, what extras bring but Spark, and polars are at their lowest; what runs the tests is as
requirements/dev.txt pins it.
"""

import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
EXTRAS = ("collector", "excel", "dask")
RUNNERS = ("pytest", "pytest-xdist", "hypothesis")


def main() -> None:
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    polars = [one for one in optional["dev"] if one.startswith("polars")]
    declared = [*project["dependencies"], *(one for extra in EXTRAS for one in optional[extra]), *polars]
    for one in declared:
        lowest = re.fullmatch(r"([A-Za-z0-9_.\[\]-]+)>=([0-9.]+)", one)
        if lowest is None:
            sys.exit(f"pyproject.toml has {one!r}; expected a lowest version, such as numpy>=2.0")
        sys.stdout.write(f"{lowest[1]}=={lowest[2]}\n")
    pins = (HERE / "dev.txt").read_text(encoding="utf-8").splitlines()
    sys.stdout.writelines(f"{pin}\n" for pin in pins if pin.partition("==")[0] in RUNNERS)
    sys.stdout.write("httpx==0.28.1\n")  # with which old versions of starlette ask their own pages


if __name__ == "__main__":
    main()

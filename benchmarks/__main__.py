"""Run the benchmarks: ``python -m benchmarks [names]``; ``--list`` shows their names."""

import argparse
import importlib
import pkgutil
import sys

import benchmarks


def available() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")]


NAME_WIDTH = 90  # of the longest names, so that columns stand below each other while lines come one by one


def show(m: benchmarks.Measurement) -> None:
    """Print one measurement as soon as it is made: some benchmarks take an hour."""
    value = "-" if m.value is None else f"{m.value:.4g} {m.unit}"
    wanted = ", ".join(
        f"{word} {limit:g}" for word, limit in (("at least", m.at_least), ("at most", m.at_most)) if limit is not None
    )
    print(f"  {m.name:<{NAME_WIDTH}}  {value:>16}  {wanted:<27}  {m.verdict}".rstrip(), flush=True)
    if m.skipped:
        print(f"    !! NOT MEASURED: {m.skipped}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="which benchmarks to run; all if none is given")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and stop")
    given = parser.parse_args()
    known = available()
    if given.list:
        print("\n".join(known))
        return 0
    strangers = sorted(set(given.names) - set(known))
    if strangers:
        parser.error(f"no benchmark {', '.join(strangers)}; there are {', '.join(known)}")
    verdicts: list[str] = []
    for name in given.names or known:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"{name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
        for measurement in module.main():
            show(measurement)
            verdicts.append(measurement.verdict)
    failed, skipped = verdicts.count("FAIL"), verdicts.count("SKIPPED")
    print(f"{verdicts.count('PASS')} targets reached, {failed} missed, {skipped} not measured")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Draw the picture of the README anew, from a fresh run of the demo study: ``python docs/images/draw.py``."""

import tempfile
from pathlib import Path

from matplotlib.figure import Figure

from askance.workflows import demonstration as demo

RESPONDENTS = 5000
INK, TRUTH, OURS, WRONG = "#333333", "#222222", "#0072B2", "#D55E00"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        study = demo.DemoStudy(Path(folder), RESPONDENTS)
        study.write_study()
        study.privatize()
        result = study.fit()
    known, report = result.truth, result.reports["marginal"]
    ours, naive = demo.estimates(report), demo.estimates(report, naive=True)
    names = [name for name in known if name != "share of yes"]

    figure = Figure(figsize=(8, 3.1), layout="constrained")
    axes = figure.subplots()
    for row, name in enumerate(reversed(names)):
        legend = row == 0
        axes.plot([known[name]] * 2, [row - 0.32, row + 0.32], color=TRUTH, lw=2, label="truth" if legend else None)
        for found, offset, colour, label in (
            (ours, 0.13, OURS, "askance, 95% interval"),
            (naive, -0.13, WRONG, "reports taken as the truth"),
        ):
            estimate, _, _, _, low, high = found[name]
            axes.hlines(row + offset, low, high, color=colour, lw=2.5)
            axes.plot(estimate, row + offset, "o", color=colour, ms=7, label=label if legend else None)
    axes.axvline(0, color="#999999", lw=0.8, zorder=0)
    axes.set_yticks(range(len(names)), list(reversed(names)), fontsize=11)
    axes.set_xlabel("effect on the log-odds of a yes", color=INK)
    axes.set_title(
        f"{RESPONDENTS:,} answers under randomised response, epsilon {demo.DemoStudy.EPSILON:g}",
        fontsize=12,
        loc="left",
    )
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#dddddd", lw=0.8)
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(Path(__file__).with_name("demo-coefficients.png"), dpi=130)


if __name__ == "__main__":
    main()

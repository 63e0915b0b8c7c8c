"""[MO] table 1 and figure 1: losses whose odd part is a line, and the hinge, whose is not."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats
from askance.learning.totals.loss_plot import plot_factorisation
from askance.learning.totals.losses import NAMED, Loss, Rho
from askance.learning.totals.user_losses import from_generator, linear_odd_defect
from askance.papers.artefacts import panels
from askance.papers.findings import Finding, Result, as_columns
from askance.papers.registry import reproduces

Function = Callable[[Floats], Floats]

RHO = 0.7  # any number but 0 and 1 would do: it must not be mistaken for a factor that is missing
ROUNDING = 1e-12  # of differences that are zero but for doubles
CONJUGATE = 1e-9  # to which a conjugate is found numerically


@dataclass(frozen=True)
class Row:
    """A line of the table as it is printed: loss, even term, and a, where the odd term is -(a/2) x."""

    name: str
    loss: Function
    even: Function
    a: float
    ours: Loss


def hinge(z: Floats) -> Floats:
    """max(0, 1 - z)."""
    return np.maximum(0.0, 1 - z)


# Generators of the table's symmetric proper losses, with the paper's b.
_GENERATORS: dict[str, tuple[Function, float, tuple[float, float]]] = {
    "logistic": (lambda u: u * np.log(u) + (1 - u) * np.log1p(-u), 1.0, (0.0, 1.0)),
    "square": (lambda u: -u * (1 - u), 0.25, (-4.0, 5.0)),
    "matsushita": (lambda u: -np.sqrt(u * (1 - u)), 0.5, (0.0, 1.0)),
}

PRINTED = (
    Row("rho", lambda x: RHO * np.abs(x) - RHO * x + 1, lambda x: RHO * np.abs(x) + 1, 2 * RHO, Rho(RHO)),
    Row("linear", lambda x: -x, lambda x: 0 * x, 2.0, NAMED["unhinged"]),
    Row(
        "logistic",
        lambda x: np.log(1 + np.exp(-x)),
        lambda x: 0.5 * np.log(2 + np.exp(x) + np.exp(-x)),
        1.0,
        NAMED["logistic"],
    ),
    Row("square", lambda x: (1 - x) ** 2, lambda x: 1 + x**2, 4.0, NAMED["square"]),
    Row("matsushita", lambda x: np.sqrt(1 + x**2) - x, lambda x: np.sqrt(1 + x**2), 2.0, NAMED["matsushita"]),
)


@reproduces(
    "mean-operator/table-1",
    title="Losses in two parts: an even one without labels, and a line through which the labels enter",
    claim="f(x) = even(x) - (a/2) x for the rho-, linear, logistic, square and Matsushita losses and for every "
    "symmetric proper loss, so that the risk depends on labels through the mean operator only; the hinge loss fails.",
    reference="[MO] section 2, theorem 3, table 1",
)
def table_1(rng: np.random.Generator, quick: bool) -> Result:
    z = np.linspace(-6, 6, 241)
    findings, rows = [], []
    for row in PRINTED:
        a, defect = linear_odd_defect(row.loss, z)
        even = 0.5 * (row.loss(z) + row.loss(-z))
        parts = {
            "printed even term": float(np.abs(row.even(z) - even).max()),
            "askance's even part": float(np.abs(row.ours.even(z) - even).max()),
            "odd part off its line": float(np.abs(defect).max()),
        }
        findings.append(Finding.confirmed(f"{row.name}: a", row.a, a, ROUNDING, f"{row.a:g}"))
        findings += [Finding.confirmed(f"{row.name}: {part}", 0.0, off, ROUNDING) for part, off in parts.items()]
        rows += [(row.name, part, off) for part, off in parts.items()]
    for name, (generator, scale, domain) in _GENERATORS.items():
        made = from_generator(generator, scale=scale, domain=domain)
        off = float(np.abs(made(z) - NAMED[name](z)).max())
        findings.append(Finding.confirmed(f"{name} from its generator: a = 1 / b", NAMED[name].odd, made.odd, ROUNDING))
        findings.append(Finding.confirmed(f"{name} from its generator: loss", 0.0, off, CONJUGATE))
        rows.append((name, "from its generator", off))
    findings += [_risk(row, rng) for row in PRINTED]
    _, defect = linear_odd_defect(hinge, z)
    for point in (0.5, 2.0, 3.0):
        found = float(np.interp(point, z, defect))
        findings.append(
            Finding.confirmed(
                f"hinge: f(z) - f(-z) + 2 z at z = {point:g}", max(point - 1, 0), found, ROUNDING, "not 0"
            )
        )
    return Result(
        findings,
        as_columns(("loss", "part", "largest difference"), rows),
        note="The hinge is a line in its odd part up to a margin of 1 and falls behind it beyond. The rho-loss is "
        "nowhere below its value at 0, so that with a ridge zero is its best theta for every mean operator of labels.",
    )


def _risk(row: Row, rng: np.random.Generator) -> Finding:
    """Theorem 3 on random data: the mean loss, and what the mean operator makes of it."""
    features, theta = rng.normal(size=(200, 4)), rng.normal(size=4)
    labels = rng.choice([-1.0, 1.0], size=200)
    scores = features @ theta
    mu = features.T @ labels / 200
    by_operator = float(row.even(scores).mean()) - 0.5 * row.a * float(theta @ mu)
    return Finding.confirmed(
        f"{row.name}: risk by theorem 3 and by labels", by_operator, float(row.loss(labels * scores).mean()), 1e-10
    )


@reproduces(
    "mean-operator/figure-1",
    title="Even and odd parts sum up to make the loss",
    claim="A linear-odd loss is the sum of an even function and a line; the hinge is not.",
    reference="[MO] section 2, figure 1",
)
def figure_1(rng: np.random.Generator, quick: bool) -> Result:
    shown: list[tuple[str, Loss | Function]] = [
        ("logistic", NAMED["logistic"]),
        ("square", NAMED["square"]),
        ("Matsushita", NAMED["matsushita"]),
        ("linear", NAMED["unhinged"]),
        ("ρ-loss, ρ = 1", NAMED["rho"]),
        ("hinge: no line", hinge),
    ]
    figure, axes = panels(len(shown), 15.6, 3.3, sharex=True)
    for axis, (name, loss) in zip(axes, shown, strict=True):
        plot_factorisation(loss, axis, legend=False)
        axis.set_ylim(-3.2, 5.2)
        axis.set_title(name, fontsize=11)
    axes[0].legend(frameon=False, fontsize=9, loc="upper center")
    z = np.linspace(-3, 3, 121)
    bends = {name: _bend(loss, z) for name, loss in shown}
    findings = [
        Finding.confirmed(f"{name}: bend of the odd part", 0.0, bend, 1e-9, "0")
        for name, bend in bends.items()
        if not name.startswith("hinge")
    ]
    # Of slope -1 inside of [-1, 1] and -1/2 outside: a change of 1/2 over one step of the grid.
    findings.append(
        Finding.confirmed("hinge: bend of the odd part", 0.5 * (z[1] - z[0]), bends["hinge: no line"], 1e-9, "not 0")
    )
    table = {"z": z.tolist()} | {name: loss(z).tolist() for name, loss in shown}
    return Result(
        findings,
        table,
        figure,
        note="The paper's figure is not labelled; we draw every loss of table 1, and the hinge beside them.",
    )


def _bend(loss: Loss | Function, z: Floats) -> float:
    """The largest second difference of the odd part."""
    return float(np.abs(np.diff(0.5 * (loss(z) - loss(-z)), 2)).max())

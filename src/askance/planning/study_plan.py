"""How precise a study will be, before anybody is asked; or how many it takes, or how little privacy it costs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from askance.errors import InvalidInput
from askance.planning.plan_search import smallest_epsilon, smallest_n
from askance.planning.plan_words import plan_html, plan_table, plan_text
from askance.planning.quantities.base import Quantity
from askance.planning.quantities.grouped_design import GroupedDesign
from askance.planning.quantities.proportions import Proportions
from askance.planning.simulated_check import SimulatedCheck, check_by_simulation
from askance.reports.summary import checked_confidence

_RATHER = 1 + 1e-9  # by how much a design must be better than another: rounding makes equal ones differ by less


@dataclass(frozen=True)
class PlannedDesign:
    """What one design gives.

    Parameters
    ----------
    name : str
    channel : finite channel, or what else can be planned with
    n : int
        Respondents.
    std_errors, margins, powers : tuple of float
        For each value: its standard error, the half-width of its interval, and the probability that its test rejects.
    worth : float
        How many directly asked people one respondent is worth (in variance, over all values).
    beaten_by : str, optional
        A design that is more precise and no less private.
    simulated : SimulatedCheck, optional
        What simulated studies found, if that was asked for.
    """

    name: str
    channel: Any
    n: int
    std_errors: tuple[float, ...]
    margins: tuple[float, ...]
    worth: float
    powers: tuple[float, ...] = ()
    beaten_by: str | None = None
    simulated: SimulatedCheck | None = None

    @property
    def epsilon(self) -> float:
        """The exact privacy level."""
        return float(self.channel.guarantee.epsilon)

    @property
    def margin(self) -> float:
        """The widest of the margins."""
        return max(self.margins)

    @property
    def power(self) -> float:
        """The least of the powers."""
        return min(self.powers)

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return {
            "name": self.name,
            "channel": self.channel.to_spec(),
            "guarantee": self.channel.guarantee.to_dict(),
            "n": self.n,
            "std_errors": dict(zip(names, self.std_errors, strict=True)),
            "margins": dict(zip(names, self.margins, strict=True)),
            "powers": dict(zip(names, self.powers, strict=True)),
            "worth": self.worth,
            "beaten_by": self.beaten_by,
            "simulated": None if self.simulated is None else self.simulated.to_dict(),
        }


@dataclass(frozen=True)
class Plan:
    """Designs compared for one quantity; print it, or read ``recommended``.

    Parameters
    ----------
    designs : tuple of PlannedDesign
        In the order they were given.
    recommended : PlannedDesign
        The most precise within the privacy budget.
    quantity : Quantity
        What is to be found out, and what was assumed.
    level : float
        Confidence level of the intervals, and one less the size of the tests.
    wanted : str
        What was fixed: the number of respondents, the margin, the power, or two of them.
    epsilon : float
        The privacy budget: no design with a larger level is recommended.
    """

    designs: tuple[PlannedDesign, ...]
    recommended: PlannedDesign
    quantity: Quantity
    level: float
    wanted: str
    epsilon: float

    def __getitem__(self, name: str) -> PlannedDesign:
        for design in self.designs:
            if design.name == name:
                return design
        raise KeyError(name)

    @property
    def equals(self) -> tuple[str, ...]:
        """Other designs that are as precise as the recommended one, at a level that is not larger."""
        best = self.recommended
        return tuple(
            design.name
            for design in self.designs
            if design is not best and design.epsilon <= best.epsilon * _RATHER and design.worth * _RATHER >= best.worth
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping; an infinite epsilon is written as the string "infinite"."""
        names = self.quantity.names
        return {
            "quantity": type(self.quantity).__name__,
            "assumption": self.quantity.assumption(),
            "values": dict(zip(names, self.quantity.values.tolist(), strict=True)),
            "level": self.level,
            "wanted": self.wanted,
            "epsilon": "infinite" if math.isinf(self.epsilon) else self.epsilon,
            "designs": [design.to_dict(names) for design in self.designs],
            "recommended": self.recommended.name,
            "text": self.text(),
        }

    def __str__(self) -> str:
        return plan_table(self)

    __repr__ = __str__  # a session of Python or R shows the table, not the fields

    def _repr_html_(self) -> str:
        return plan_html(self)

    def text(self) -> str:
        """Return paragraphs that an ethics board, or a grant, could quote."""
        return plan_text(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw how the margin falls with the number of respondents, for every design."""
        from askance.planning.plan_plot import plot_plan

        return plot_plan(self, ax)

    def curve(self, name: str, respondents: Sequence[int]) -> list[float]:
        """Return the widest margin of a design for several numbers of respondents."""
        errors = self.quantity.standard_errors(self[name].channel)
        reach = self.quantity.reach(self.level)
        return [float(reach * errors(n).max()) for n in respondents]


def plan(
    channels: Any = None,
    prevalence: Any = None,
    *,
    n: int | None = None,
    margin: float | None = None,
    power: float | None = None,
    level: float = 0.95,
    epsilon: float | None = None,
    check: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Plan:
    """Say how precise a study with n respondents will be, how many it takes, or how small an epsilon will do.

    Parameters
    ----------
    channels : channel, several (a list, or a mapping from names), or None
        The designs to compare. None: all that this package has for the quantity, each at exactly ``epsilon``; or, if n
        is given together with a margin or a power, each at the smallest epsilon that reaches it.
    prevalence : Quantity, or expected proportions
        What is to be found out: :class:`~askance.planning.Proportions` (a number, a sequence or a mapping stand for
        it; equal proportions if not given, which is cautious), ``Difference``, ``Coefficients``, ``PredictorEffect``,
        ``Mean``, ``RowCoefficients``, ``TotalsCoefficients`` or ``ClassRatios``.
    n : int, optional
        Respondents; gives margin and power.
    margin : float, optional
        The wanted half-width of the widest interval; gives n.
    power : float, optional
        The wanted probability that the test of every value rejects; gives n.
    level : float
        Confidence level; tests have size 1 - level.
    epsilon : float, optional
        The privacy budget. The recommended design is the most precise of those within it; if not
        given, of those that give any guarantee.
    check : int
        How many studies to simulate for each design, to compare with what is planned; 0 for none.
    seed : int
        Of these simulations.
    progress : function of how many simulations are done, and of how many

    Examples
    --------
    >>> import askance as ask
    >>> plan = ask.plan([ask.Warner(0.8), ask.ForcedResponse(1/6, 1/6)], prevalence=0.3, margin=0.03)
    >>> [design.n for design in plan.designs], plan.recommended.name
    ([2794, 2231], 'ForcedResponse(p_no=0.1667, p_yes=0.1667)')
    >>> ask.plan(ask.Warner(0.8), prevalence=0.3, n=2794).recommended.margin <= 0.03
    True
    >>> smallest = ask.plan(None, 0.3, n=5000, margin=0.05)
    >>> round(smallest.recommended.epsilon, 2)
    0.57
    """
    _check_wish(n, margin, power, level, epsilon)
    solve_epsilon = n is not None and (margin is not None or power is not None)
    quantity, named = _asked(channels, prevalence, epsilon, solve_epsilon)
    _check_margin(margin, quantity)
    if quantity.is_error and power is not None:
        raise InvalidInput(
            f"power={power!r} of {' and '.join(quantity.names)}, which has no test",
            "n=, or margin=, the expected error",
        )
    target = _Target(quantity, level, margin, power)
    if solve_epsilon:
        named = smallest_epsilon(quantity, lambda design: target.enough(design)(float(n or 1)), epsilon)
    designs = _compared([_planned(name, design, target, n) for name, design in named.items()])
    if check:
        rng, total, done = np.random.default_rng(seed), check * len(designs), iter(range(1, check * len(designs) + 1))
        designs = [
            replace(
                design,
                simulated=check_by_simulation(
                    quantity, design.channel, design.n, level, check, rng, lambda: progress(next(done), total)
                ),
            )
            for design in designs
        ]
    budget = _budget(designs, epsilon)
    within = [design for design in designs if design.epsilon <= budget * _RATHER]
    if not within:
        raise InvalidInput(
            f"no design has an epsilon of at most {budget:g}",
            f"a budget of at least {min(design.epsilon for design in designs):.4g}, or more private designs",
        )
    if solve_epsilon:
        recommended = min(within, key=lambda design: round(design.epsilon, 9))
    else:
        recommended = max(within, key=lambda design: (round(design.worth, 9), -round(design.epsilon, 9)))
    return Plan(tuple(designs), recommended, quantity, level, _wanted(n, margin, power), budget)


@dataclass(frozen=True)
class _Target:
    """What a design has to reach."""

    quantity: Quantity
    level: float
    margin: float | None
    power: float | None

    def powers(self, shifts: Any) -> Any:
        """The probability that each test rejects, from how far it is expected from its null hypothesis."""
        size = float(ndtri(0.5 + self.level / 2))
        return ndtr(shifts - size) + ndtr(-shifts - size)

    def enough(self, design: Any) -> Callable[[float], bool]:
        """Whether so many respondents are enough under a design."""
        wide = self.margin is not None
        errors = self.quantity.standard_errors(design) if wide else None
        shifts = None if self.power is None else self.quantity.shifts(design)

        def reached(n: float) -> bool:
            if errors is not None and self.quantity.reach(self.level) * errors(n).max() > (self.margin or 0.0):
                return False
            return shifts is None or float(self.powers(shifts(n)).min()) >= (self.power or 0.0)

        return reached


def _planned(name: str, design: Any, target: _Target, n: int | None) -> PlannedDesign:
    respondents = smallest_n(target.enough(design)) if n is None else int(n)
    found = target.quantity.standard_errors(design)(respondents)
    direct = float((target.quantity.standard_errors(None)(respondents) ** 2).sum())
    hidden = float((found**2).sum())
    worth = min(1.0, direct / hidden) if hidden > 0 else 1.0
    margins = target.quantity.reach(target.level) * found
    return PlannedDesign(
        name,
        design,
        respondents,
        tuple(found.tolist()),
        tuple(margins.tolist()),
        worth,
        tuple(target.powers(target.quantity.shifts(design)(respondents)).tolist()),
    )


def _compared(designs: Sequence[PlannedDesign]) -> list[PlannedDesign]:
    """Mark every design that another one beats: more precise at an equal or smaller epsilon.

    One that estimates how many cheat is beaten only by others that do: the rest take for granted that nobody does.
    """
    compared = []
    for design in designs:
        alike = [one for one in designs if _unknowns(one) == _unknowns(design)]
        better = [d for d in alike if d.epsilon <= design.epsilon * _RATHER and d.worth > design.worth * _RATHER]
        best = max(better, key=lambda d: round(d.worth, 9), default=None)
        compared.append(replace(design, beaten_by=best.name if best else None))
    return compared


def _unknowns(design: PlannedDesign) -> set[str]:
    return set(design.channel.psi) if isinstance(design.channel, GroupedDesign) else set()


def _budget(designs: Sequence[PlannedDesign], epsilon: float | None) -> float:
    if epsilon is not None:
        return float(epsilon)
    return max((d.epsilon for d in designs if math.isfinite(d.epsilon)), default=math.inf)


def _asked(
    channels: Any, prevalence: Any, epsilon: float | None, solve_epsilon: bool
) -> tuple[Quantity, dict[str, Any]]:
    """The quantity, and the designs by name."""
    if channels is None:
        quantity = prevalence if isinstance(prevalence, Quantity) else Proportions(prevalence)
        if solve_epsilon:
            return quantity, {}
        if epsilon is None:
            raise InvalidInput(
                "no designs and no epsilon",
                "designs, as in ask.plan(ask.Warner(0.8), n=1000); or a level, as in ask.plan(None, epsilon=1, n=1000)",
            )
        return quantity, dict(quantity.designs_at(epsilon))
    if solve_epsilon:
        raise InvalidInput(
            "designs, n, and a margin or power",
            "one of n, margin and power; or channels=None, for the smallest epsilon that n respondents allow",
        )
    several = isinstance(channels, Mapping) or (isinstance(channels, Sequence) and not isinstance(channels, str))
    given = list(channels.values() if isinstance(channels, Mapping) else channels) if several else [channels]
    if not given:
        raise InvalidInput("no designs", "at least one channel, such as ask.plan(ask.Warner(0.8), n=1000)")
    if isinstance(prevalence, Quantity):
        quantity = prevalence
    else:
        classes = [one.classes for one in given if hasattr(one, "classes")]
        quantity = Proportions(prevalence, classes[0] if classes else ("no", "yes"))
    names = (
        [*map(str, channels)] if isinstance(channels, Mapping) else [getattr(c, "short_name", repr(c)) for c in given]
    )
    if len(set(names)) < len(names):
        names = [f"{number}. {name}" for number, name in enumerate(names, start=1)]
    named = dict(zip(names, given, strict=True))
    for name, design in named.items():
        quantity.check_design(name, design)
    return quantity, named


def _wanted(n: int | None, margin: float | None, power: float | None) -> str:
    parts = [
        None if n is None else f"{n:,} respondents",
        None if margin is None else f"a margin of ±{margin:g}",
        None if power is None else f"a power of {power:g}",
    ]
    return " and ".join(part for part in parts if part)


def _check_wish(n: Any, margin: Any, power: Any, level: float, epsilon: float | None) -> None:
    if n is None and margin is None and power is None:
        raise InvalidInput("neither n, margin nor power", "one of them", "For example plan(channel, n=1000).")
    if n is not None and not (isinstance(n, int | np.integer) and n >= 1):
        raise InvalidInput(f"n={n!r}", "a number of respondents, 1 or more")
    if power is not None and not (isinstance(power, int | float | np.floating) and 0 < power < 1):
        raise InvalidInput(f"power={power!r}", "a probability between 0 and 1, such as 0.8")
    checked_confidence(level)
    if power is not None and power <= 1 - level:
        raise InvalidInput(f"power={power!r}", f"more than {1 - level:.3g}, which a test has by chance")
    if epsilon is not None and not epsilon > 0:
        raise InvalidInput(f"epsilon={epsilon!r}", "a positive privacy budget")


def _check_margin(margin: Any, quantity: Quantity) -> None:
    if margin is None:
        return
    number = isinstance(margin, int | float | np.floating) and math.isfinite(margin) and margin > 0
    if not number or (quantity.are_shares and margin >= 1):
        expected = "a half-width between 0 and 1, such as 0.03" if quantity.are_shares else "a positive half-width"
        raise InvalidInput(f"margin={margin!r}", expected)

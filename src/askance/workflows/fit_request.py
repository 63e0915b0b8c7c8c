"""What is to be learned from reports, and how: read from options once, and known from there on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from askance.errors import InvalidInput
from askance.learning.face.formula import Formula
from askance.releases.declarations import Sample
from askance.releases.header import Header, Question


@dataclass(frozen=True)
class FitRequest:
    """What somebody wants to learn from a release of reports.

    Parameters
    ----------
    question : str, optional
        Which question, if there are several and no formula names one.
    formula : Formula, optional
        Such as ``"cheated ~ age + C(school)"``. Answers: without one, proportions only. Numbers: without one, a hidden
        row's outcome is explained by its other columns, and a hidden number by all covariates that are numbers; if
        there are none, its mean is estimated.
    label : str, optional
        For hidden features: the question about their label, if there are several with choices.
    weight : str, optional
        A column of sample weights.
    strata, cluster, fpc : str, optional
        Columns with the stratum and the primary sampling unit of each row, and the population of its stratum. These
        and the weight are as the study declares them, if not given.
    missing : "refuse" or "drop", optional
        Whether rows that lack something are refused (the default) or left out, and counted.
    replicate_weights, replicate_method, rho, rscales
        Columns of replicate weights, and how these were made: instead of strata and clusters.
    unknowns : tuple of Formula
        What unknown numbers of the designs depend on, such as ``"cheaters ~ age"``; those without one are the same for
        everybody.
    method, ridge, penalty, intervals, covariance
        As for :class:`~askance.IndirectClassifier`; ``ridge`` also for the other estimators.
    level : float
        Confidence level of the intervals.
    per : mapping from features to numbers
        Of a regression of answers: how much of a feature its coefficient is told for beside the raw one; a standard
        deviation for those that are not named.

    Examples
    --------
    >>> FitRequest.of(formula="cheated ~ age + C(school)", weight="heft").columns
    ('age', 'school', 'heft')
    """

    question: str | None = None
    formula: Formula | None = None
    label: str | None = None
    weight: str | None = None
    strata: str | None = None
    cluster: str | None = None
    fpc: str | None = None
    missing: str | None = None
    replicate_weights: tuple[str, ...] | None = None
    replicate_method: str | None = None
    rho: float | None = None
    rscales: tuple[float, ...] | None = None
    unknowns: tuple[Formula, ...] = ()
    method: str = "marginal"
    ridge: str | float = "auto"
    penalty: str = "auto"
    intervals: str = "auto"
    covariance: str = "auto"
    level: float = 0.95
    per: Mapping[str, float] = field(default_factory=dict, hash=False)

    @classmethod
    def of(
        cls, *, formula: str | Formula | None = None, unknowns: Iterable[str | Formula] = (), **options: Any
    ) -> "FitRequest":
        """Return a request whose formulas may be text."""
        each = tuple(Formula.of(one) for one in unknowns)
        if each and formula is None:
            raise InvalidInput(
                f"{each[0].text!r}, what an unknown number depends on, without a formula of the answer",
                'both, such as "cheated ~ age" and "cheaters ~ age"',
                'For proportions alone, write a formula without covariates: "cheated ~ 1".',
            )
        if options.get("per") and formula is None:
            raise InvalidInput("units of features without a formula", 'both, such as "cheated ~ age" and per age = 10')
        return cls(formula=None if formula is None else Formula.of(formula), unknowns=each, **options)

    @property
    def unknown_formulas(self) -> dict[str, str] | None:
        """What unknown numbers depend on, by name; None if all are the same for everybody."""
        return {formula.left: formula.text for formula in self.unknowns} or None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the fit reads besides the question: those of the formula, and those of the sample."""
        right = () if self.formula is None else self.formula.columns
        unknown = [column for formula in self.unknowns for column in formula.columns]
        sample = [name for name in (self.weight, self.strata, self.cluster, self.fpc) if name]
        return tuple(dict.fromkeys([*right, *unknown, *sample, *(self.replicate_weights or ())]))

    @property
    def sampled(self) -> dict[str, Any]:
        """How people came into the sample, as estimators are told."""
        names = ("weight", "strata", "cluster", "fpc", "rho", "rscales")
        method, columns = self.replicate_method or "jk1", self.replicate_weights or ()
        said = {"replicate_weights": columns, "replicate_method": method}
        return {name: getattr(self, name) for name in names} | said

    def needed(self, asked: Question) -> tuple[str, ...]:
        """All columns that a row must have: those of the question too."""
        own = [asked.name, *([asked.design_column] if asked.design_column else [])]
        return tuple(dict.fromkeys([*own, *self.columns]))

    def of_sample(self, sample: Sample) -> "FitRequest":
        """Return the request with what a study says about the sample where it says nothing itself."""
        declared = vars(sample).items()
        said: dict[str, Any] = {name: value for name, value in declared if value and getattr(self, name) is None}
        asked = replace(self, **said) if said else self
        # An empty name says that there is no such column, whatever the study says.
        named: dict[str, Any] = {name: getattr(asked, name) or None for name in ("weight", "strata", "cluster", "fpc")}
        return replace(asked, **named)

    def asked(self, header: Header) -> Question:
        """Return the question that is meant: named, left of the formula's ~, or the only one there is.

        Features with a label, and nothing else, are one question: what tells the classes apart.
        """
        if self.question is None and self.formula is None:
            features = [question for question in header.questions if question.hides_features]
            others = [question for question in header.questions if not question.hides_features]
            one_label = len(others) == 1 and not others[0].hides_numbers
            if len(features) == 1 and (self.label is not None or one_label):
                return features[0]
        return header.question_about(self.question, None if self.formula is None else self.formula.left)

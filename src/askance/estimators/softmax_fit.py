"""Wire statistic, engine and solver together: from records to parameters and their covariance."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.channels.alphabet import listed
from askance.channels.base import LabelChannel
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import AskanceWarning, InvalidInput, Unidentifiable
from askance.models.softmax import symmetric
from askance.solvers.newton import Local, Solution, maximise
from askance.statistics.features import FeatureMoments, FeatureSums
from askance.statistics.frequencies import ReportCounts, ReportFrequencies
from askance.statistics.softmax_score import Method, ScoreSums, SoftmaxScore

Floats = NDArray[np.float64]

_LOOK_ROWS = 65_536  # a first look at large data, from which the full fit needs few passes
_FARTHEST = 30.0  # root mean square logit beyond which a maximiser is taken to be infinitely far
_COLLINEAR = 1e-11
_VANISHED = 1e-7  # curvature of a separated direction, against that of the others


@dataclass(frozen=True, eq=False)
class SoftmaxFit:
    """Numbers only: nothing of the data is kept.

    ``theta`` is K-1 x p against the reference class, intercept first; covariances are of its rows, flattened.
    """

    theta: Floats
    information_covariance: Floats | None
    sandwich_covariance: Floats
    log_likelihood: float | None
    ridge: float
    rows: int
    weight: float
    iterations: int
    converged: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SoftmaxProblem:
    """What is to be fitted: which channel, by which method, with which penalty."""

    channel: LabelChannel
    method: Method
    ridge: float | None  # None: no penalty unless there is no finite maximiser without
    intercept: bool
    feature_names: Sequence[str]
    max_iterations: int = 200

    def fit(self, source: RecordSource, engine: Engine) -> SoftmaxFit:
        """Fit by few passes over the source."""
        if not source.num_rows:
            raise InvalidInput("no records", "at least one report")
        reports = engine.reduce(ReportFrequencies(self.channel.matrix.shape[0]), source)
        if not reports.weight.sum() > 0:
            raise InvalidInput("sample weights that sum to zero", "some record with positive weight")
        look = engine.look(source, _LOOK_ROWS) if source.num_rows > 2 * _LOOK_ROWS else source
        moments = FeatureMoments(len(self.feature_names), self.intercept)
        geometry = Geometry(engine.reduce(moments, look), self.intercept)
        if look is not source and geometry.collinear(self.feature_names):
            # A rare level may be missing from the look: only the whole can tell that it is nowhere.
            geometry = Geometry(engine.reduce(moments, source), self.intercept)
        notes = geometry.collinear(self.feature_names)
        run = _Run(self, engine, geometry, reports)
        penalty = run.asked_penalty()
        start = run.zero()
        if look is not source:
            start = run.start(look, penalty * (look.num_rows / source.num_rows))
        elif self.method == "marginal":
            start = run.from_moments(source, start, penalty).theta
        solution = run.solve(self.method, source, start, penalty)
        ridge = self.ridge or 0.0
        runaways = run.runaways(solution, penalty)
        if solution.diverged or runaways:
            ridge, penalty, solution = run.rescue(source, None if solution.diverged else runaways)
            notes.append(_no_finite_maximiser(self.method, self.ridge, ridge, runaways))
        if not solution.converged and not solution.diverged:
            notes.append(
                f"The solver stopped after {solution.iterations} iterations before it converged: "
                "raise max_iter, or add ridge."
            )
        for note in notes:
            warnings.warn(note, AskanceWarning, stacklevel=4)
        sums = engine.reduce(run.statistic(self.method, solution.theta, with_outer=True), source)
        return run.report(solution, sums, penalty, ridge, tuple(notes))


@dataclass(frozen=True, eq=False)
class Geometry:
    """Scale and collinearity of the features, from their second moments."""

    sums: FeatureSums
    intercept: bool

    @property
    def second(self) -> Floats:
        """E[z z'] with z = (1, x)."""
        return self.sums.second / max(self.sums.weight, np.finfo(float).tiny)

    @property
    def mean(self) -> Floats:
        """E[z]: (1, mean of x), or zeros where there is no intercept to shift."""
        return self.second[0] if self.intercept else np.zeros(self.second.shape[0])

    @property
    def variance(self) -> Floats:
        """The variance of each column of z: zero for the intercept."""
        raw = np.diag(self.second) - self.mean**2
        return np.where(raw > 1e-12 * np.diag(self.second), raw, 0.0)

    def root_mean_square_logit(self, theta: Floats) -> float:
        return float(np.sqrt(max(np.einsum("ij,jk,ik->i", theta, self.second, theta).max(), 0.0)))

    def collinear(self, names: Sequence[str]) -> list[str]:
        """Say which columns say the same thing."""
        columns = [*(["the intercept"] if self.intercept else []), *names]
        scale = np.sqrt(np.maximum(np.diag(self.second), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(self.second / np.outer(scale, scale))
        if not len(values) or values[0] > _COLLINEAR * values[-1]:
            return []
        largest = np.abs(vectors[:, 0])
        involved = [name for name, size in zip(columns, largest, strict=True) if size > 0.1 * largest.max()]
        return [
            f"These columns are collinear, so their coefficients are not determined one by one: "
            f"{', '.join(involved[:6])}. Drop one of them, or add ridge."
        ]


@dataclass(frozen=True, eq=False)
class Runaways:
    """Directions without a finite estimate: the parameters that lie along them, and a quadratic form that is the
    mean square logit along them."""

    names: tuple[str, ...]
    form: Floats


@dataclass(frozen=True, eq=False)
class _Run:
    """One fit under way."""

    problem: SoftmaxProblem
    engine: Engine
    geometry: Geometry
    reports: ReportCounts

    @property
    def classes(self) -> int:
        return len(self.problem.channel.classes)

    @property
    def width(self) -> int:
        return len(self.problem.feature_names) + self.problem.intercept

    def zero(self) -> Floats:
        return np.zeros((self.classes - 1, self.width))

    def table(self, method: Method) -> Floats:
        channel = self.problem.channel
        if method == "marginal":
            return np.ascontiguousarray(channel.matrix)
        return np.ascontiguousarray(channel.unbiasing_matrix(self.reports.law).T)

    def statistic(self, method: Method, theta: Floats, with_outer: bool = False) -> SoftmaxScore:
        return SoftmaxScore(theta, self.table(method), method, self.problem.intercept, with_outer)

    def solve(self, method: Method, source: RecordSource, start: Floats, penalty: Floats) -> Solution:
        shape = start.shape
        table = self.table(method)

        def evaluate(flat: Floats) -> Local:
            statistic = SoftmaxScore(flat.reshape(shape), table, method, self.problem.intercept)
            sums = self.engine.reduce(statistic, source)
            pull = penalty @ flat
            return Local(sums.objective - 0.5 * float(flat @ pull), sums.gradient - pull, sums.information + penalty)

        def diverges(flat: Floats) -> bool:
            return self.geometry.root_mean_square_logit(flat.reshape(shape)) > _FARTHEST

        found = maximise(evaluate, start.ravel(), diverges=diverges, max_iterations=self.problem.max_iterations)
        return Solution(found.theta.reshape(shape), found.local, found.iterations, found.converged, found.diverged)

    def start(self, look: RecordSource, penalty: Floats) -> Floats:
        """Fit a look at the data: close enough that the whole needs two or three passes."""
        found = self.from_moments(look, self.zero(), penalty)
        if self.problem.method == "marginal":
            refined = self.solve("marginal", look, found.theta, penalty)
            found = found if refined.diverged else refined
        return found.theta

    def from_moments(self, source: RecordSource, start: Floats, penalty: Floats) -> Solution:
        """Solve the moment problem, which is concave, as a start for the full one; rescue it if need be."""
        try:
            found = self.solve("moments", source, start, penalty)
        except Unidentifiable:
            if self.problem.method == "moments":
                raise
            # Reports that do not determine the truth may still determine the parameters.
            return self.solve("marginal", source, start, penalty)
        if found.diverged:
            found = self.solve("moments", source, start, penalty + self.shrinkage(intercept=True))
        return found

    def asked_penalty(self) -> Floats:
        """The ridge that the user asked for, in the features' own units; the intercept is free."""
        weights = np.full(self.width, self.problem.ridge or 0.0)
        if self.problem.intercept:
            weights[0] = 0.0
        penalty: Floats = np.kron(_coupling(self.classes), np.diag(weights)).astype(float)
        return penalty

    def strength(self) -> float:
        """A ridge as strong as the noise of the reports: of order sqrt(n), so it vanishes against n."""
        return float(np.sqrt(self.reports.weight.sum() * self.noise()))

    def shrinkage(self, intercept: bool) -> Floats:
        """A penalty of that strength on standardised slopes and, if asked, on the logit at the mean of the features."""
        form = np.diag(self.geometry.variance)
        if intercept:
            form = form + np.outer(self.geometry.mean, self.geometry.mean)
        return self.strength() * np.kron(_coupling(self.classes), form).astype(float)

    def noise(self) -> float:
        """The variance of an unbiased label, at least that of a guessed one."""
        law = self.reports.law
        try:
            told = self.problem.channel.unbiasing_matrix(law)[1:]
        except Unidentifiable:
            return 1.0
        return float(max((told**2 @ law - (told @ law) ** 2).max(), 1 / self.classes**2))

    def runaways(self, solution: Solution, penalty: Floats) -> "Runaways | None":
        """Find directions in which the fit went so far that the information about them is gone.

        One separated level among many does not move the root mean square logit. But along its direction the curvature,
        which is an average of p (1 - p), has vanished against that of the other directions.
        """
        if penalty.any() or not solution.local.information.any():
            return None
        values, vectors = np.linalg.eigh(self.geometry.second)
        seen = values > _COLLINEAR * values[-1]  # collinear directions carry no information to begin with
        whiten = np.kron(np.eye(self.classes - 1), vectors[:, seen] / np.sqrt(values[seen]))
        curvature, directions = np.linalg.eigh(whiten.T @ solution.local.information @ whiten)
        vanished = curvature <= _VANISHED * curvature[-1]
        if not vanished.any():
            return None
        along = np.abs(whiten @ directions[:, vanished]).max(axis=1)
        along = along * np.sqrt(np.tile(np.diag(self.geometry.second), self.classes - 1))
        names = parameter_names(self.problem.channel, self.problem.feature_names, self.problem.intercept)
        named = tuple(name for name, size in zip(names, along, strict=True) if size > 0.3 * along.max())
        unwhiten = np.kron(np.eye(self.classes - 1), vectors[:, seen] * np.sqrt(values[seen]))
        dual = unwhiten @ directions[:, vanished]
        return Runaways(named, dual @ dual.T)

    def rescue(self, source: RecordSource, runaways: "Runaways | None") -> tuple[float, Floats, Solution]:
        """Find a finite answer where there is no maximiser.

        If single directions ran away, only these are shrunk. Otherwise all slopes are, and then the intercept too.
        """
        strength = self.strength()
        if runaways is not None:
            penalty = strength * runaways.form
            solution = self.solve(self.problem.method, source, self.zero(), penalty)
            if not solution.diverged:
                return strength, penalty, solution
        for intercept in (False, True):
            penalty = self.asked_penalty() + self.shrinkage(intercept)
            solution = self.solve(self.problem.method, source, self.zero(), penalty)
            if not solution.diverged:
                break
        return strength, penalty, solution

    def report(
        self, solution: Solution, sums: ScoreSums, penalty: Floats, ridge: float, notes: tuple[str, ...]
    ) -> SoftmaxFit:
        marginal = self.problem.method == "marginal"
        bread = _inverse(sums.information + penalty)
        outer = sums.outer if sums.outer is not None else np.zeros_like(bread)
        # With a penalty the scores do not sum to zero: their covariance is what is left after the mean.
        share = self.reports.squared_weight.sum() / max(sums.weight**2, np.finfo(float).tiny)
        meat = outer - share * np.outer(sums.gradient, sums.gradient)
        return SoftmaxFit(
            theta=solution.theta,
            information_covariance=bread if marginal else None,
            sandwich_covariance=bread @ meat @ bread,
            log_likelihood=sums.objective if marginal else None,
            ridge=ridge,
            rows=sums.rows,
            weight=sums.weight,
            iterations=solution.iterations,
            converged=solution.converged,
            notes=notes,
        )


def _coupling(classes: int) -> Floats:
    """Penalise two classes by their one coefficient vector, more by the symmetric representation."""
    if classes == 2:
        return np.ones((1, 1))
    rows = symmetric(np.eye(classes - 1))
    coupling: Floats = rows.T @ rows
    return coupling


def _inverse(information: Floats) -> Floats:
    scale = np.sqrt(np.maximum(np.abs(np.diag(information)), np.finfo(float).tiny))
    scaled = information / np.outer(scale, scale)
    inverse: Floats = np.linalg.pinv(scaled, rcond=1e-13, hermitian=True) / np.outer(scale, scale)
    return inverse


def parameter_names(channel: LabelChannel, features: Sequence[str], intercept: bool) -> tuple[str, ...]:
    """Name the parameters, class by class and intercept first."""
    columns = [*(["Intercept"] if intercept else []), *features]
    if len(channel.classes) == 2:
        return tuple(columns)
    return tuple(f"{label}: {column}" for label in channel.classes[1:] for column in columns)


def _no_finite_maximiser(method: Method, asked: float | None, used: float, runaways: Runaways | None) -> str:
    why = (
        "The moment estimate lies outside what any model of this kind can produce (the marginal polytope), as happens "
        "with few reports or strong noise"
        if method == "moments"
        else "The likelihood of these reports grows without end in some direction (the classes are separated, or fewer "
        "carriers were reported than chance alone would give)"
    )
    asked_for = "" if asked is None else f" with ridge={asked:g}"
    which = f" of {listed(runaways.names, 5)}" if runaways else ""
    return (
        f"{why}: there is no finite estimate{which}{asked_for}. A ridge of {used:.4g} on standardised features was "
        "used instead; it shrinks these coefficients, and the standard errors do not tell by how much."
    )

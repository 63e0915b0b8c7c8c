"""Wire statistic, engine and solver together: from records to parameters and their covariance."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import listed
from askance.channels.base import LabelChannel
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import AskanceWarning, InvalidInput, Unidentifiable
from askance.learning.answers.feature_geometry import Geometry
from askance.learning.face.linear_parameters import parameter_names
from askance.solvers.newton import Local, Solution, maximise
from askance.solvers.softmax import symmetric
from askance.statistics.frequencies import ReportCounts, ReportFrequencies
from askance.statistics.softmax_score import Method, ScoreSums, SoftmaxScore

# A fit to a sample starts the fit to large data. Its error, one part in 256 of a parameter's spread, is what Newton's
# method squares away in two or three steps.
_SAMPLE_ROWS = 65_536
_FAR = 10.0  # root mean square logit beyond which a fit may have run away: e^10 is a certainty of .99995
_LOST = 1e7  # and beyond which it surely did
_SEVERAL_MAXIMA = (
    "The likelihood of these reports has several maxima; the highest one that was found is reported. That happens with "
    "few reports or strong noise: read the standard errors with care, and compare with method='moments'."
)
_DISTINCT = 0.01  # standard errors between two maxima: nearer ones are the same to whoever reads the table
_VANISHED = 1e-7  # curvature of a separated direction, against the others: p (1 - p) at a logit of 16
_NAMED = 0.3  # a parameter is named as running away if it has such a share of the largest part in that direction
_ROUNDING = 1e-10  # relative error of a sum over records, generously: objectives nearer than that are equal
_NO_CURVATURE = 1e-13  # relative eigenvalue of an information matrix that is rounding alone


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
        sample = engine.sample(source, _SAMPLE_ROWS) if source.num_rows > 2 * _SAMPLE_ROWS else source
        columns = len(self.feature_names)
        geometry = Geometry.of(sample, engine, columns, self.intercept)
        if sample is not source and geometry.collinear(self.feature_names):
            # A rare level may be missing from the sample: only all records show that it is nowhere.
            sample = source
            geometry = Geometry.of(source, engine, columns, self.intercept)
        notes = geometry.collinear(self.feature_names) if not self.ridge else []
        run = _Run(self, engine, geometry, reports)
        penalty = run.asked_penalty()
        starts = run.starts(sample, penalty * (sample.num_rows / source.num_rows))
        solution, several = run.best(source, starts, penalty)
        if several:
            notes.append(_SEVERAL_MAXIMA)
        ridge = self.ridge or 0.0
        runaways = run.runaways(source, solution, penalty)
        if solution.diverged or runaways:
            ridge, penalty, solution = run.rescue(source, runaways)
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
        return self._score(theta, self.table(method), method, with_outer)

    def _score(self, theta: Floats, table: Floats, method: Method, with_outer: bool = False) -> SoftmaxScore:
        return SoftmaxScore(theta, table, method, self.problem.intercept, with_outer, self.geometry.centre)

    def evaluate(self, method: Method, source: RecordSource, penalty: Floats) -> Callable[[Floats], Local]:
        """Return the penalised objective as a function of the parameters, a record counting one on average.

        So the unit of the sample weights does not matter to the solver.
        """
        table, shape = self.table(method), self.zero().shape
        unit = self.reports.rows / self.reports.weight.sum()

        def local(flat: Floats) -> Local:
            statistic = self._score(flat.reshape(shape), table, method)
            sums = self.engine.reduce(statistic, source)
            pull = penalty @ flat
            value = sums.objective - 0.5 * float(flat @ pull)
            return Local(unit * value, unit * (sums.gradient - pull), unit * (sums.information + penalty))

        return local

    def solve(self, method: Method, source: RecordSource, start: Floats, penalty: Floats) -> Solution:
        evaluate = self.evaluate(method, source, penalty)
        shape = start.shape

        def distance(flat: Floats) -> float:
            return self.geometry.root_mean_square_logit(flat.reshape(shape))

        found = maximise(
            evaluate,
            start.ravel(),
            diverges=lambda flat, _: distance(flat) > _LOST,
            max_iterations=self.problem.max_iterations,
        )
        # Far logits alone prove nothing: one outlying record may have one. But twice as far as a maximum it is lower,
        # and where the fit only stopped for want of slope it is not.
        far = distance(found.theta) > _FAR
        diverged = found.diverged or (far and _not_below(evaluate(2 * found.theta).value, found.local.value))
        theta = found.theta.reshape(shape)
        return Solution(theta, found.local, found.iterations, found.converged and not diverged, diverged)

    def starts(self, sample: RecordSource, penalty: Floats) -> list[Floats]:
        """Where to start from: fits to a sample, close enough that all records are gone over two or three times.

        The moment problem is concave and has one solution. The likelihood may have several maxima: its search starts
        from the moment solution, from further out in that direction, and from zero.
        """
        if self.problem.method == "moments":
            return [self.zero() if sample.num_rows == self.reports.rows else self.from_moments(sample, penalty)]
        try:
            near = self.from_moments(sample, penalty)
            starts = [near, 3 * near, self.zero()]
        except Unidentifiable:
            # Reports that do not determine the truth may still determine the parameters.
            starts = [self.zero()]
        if sample.num_rows == self.reports.rows:
            return starts
        best, _ = self.best(sample, starts, penalty)
        return [near if best.diverged and len(starts) > 1 else best.theta]

    def best(self, source: RecordSource, starts: Sequence[Floats], penalty: Floats) -> tuple[Solution, bool]:
        """Solve from several starts and keep the highest; also say whether there were several maxima."""
        found = [self.solve(self.problem.method, source, start, penalty) for start in starts]
        finite = [solution for solution in found if solution.converged]
        highest = max(found, key=lambda solution: solution.local.value)
        if highest.diverged and finite:
            # Running away from a far start proves nothing unless it led higher than a maximum that is there.
            top = max(finite, key=lambda solution: solution.local.value)
            highest = top if _not_below(top.local.value, highest.local.value) else highest
        if highest.converged:
            # Of several ways to the same maximum the first: which is higher by rounding must not decide.
            highest = next(one for one in finite if _not_below(one.local.value, highest.local.value))
        apart = [(solution.theta - highest.theta).ravel() for solution in finite]
        several = any(gap @ highest.local.information @ gap > _DISTINCT**2 for gap in apart)
        return highest, several and highest.converged

    def from_moments(self, source: RecordSource, penalty: Floats) -> Floats:
        """Solve the moment problem; shrink it where it has no solution."""
        found = self.solve("moments", source, self.zero(), penalty)
        if found.diverged:
            found = self.solve("moments", source, self.zero(), penalty + self.shrinkage(intercept=True))
        return found.theta

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
            unbiasing = self.problem.channel.unbiasing_matrix(law)[1:]
        except Unidentifiable:
            return 1.0
        return float(max((unbiasing**2 @ law - (unbiasing @ law) ** 2).max(), 1 / self.classes**2))

    def runaways(self, source: RecordSource, solution: Solution, penalty: Floats) -> "Runaways | None":
        """Find directions in which the fit went so far that the information about them is gone.

        One separated level among many does not move the root mean square logit. But along its direction the curvature,
        which is an average of p (1 - p), has vanished against that of the other directions; and going twice as far
        along it costs nothing.
        """
        if penalty.any() or not solution.local.information.any():
            return None
        white, unwhite = (np.kron(np.eye(self.classes - 1), part) for part in self.geometry.whitening())
        curvature, directions = np.linalg.eigh(white.T @ solution.local.information @ white)
        vanished = directions[:, curvature <= _VANISHED * curvature[-1]]
        if not vanished.size:
            return None
        flat = solution.theta.ravel()
        farther = flat + white @ (vanished @ (vanished.T @ (unwhite.T @ flat)))
        if not _not_below(self.evaluate(self.problem.method, source, penalty)(farther).value, solution.local.value):
            return None
        along = np.abs(white @ vanished).max(axis=1)
        along = along * np.sqrt(np.tile(np.diag(self.geometry.second), self.classes - 1))
        names = parameter_names(self.problem.channel.classes, self.problem.feature_names, self.problem.intercept)
        named = tuple(name for name, size in zip(names, along, strict=True) if size > _NAMED * along.max())
        dual = unwhite @ vanished
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
        back = np.kron(np.eye(self.classes - 1), self.geometry.uncentring)
        information, sandwich = (back @ each @ back.T for each in (bread, bread @ meat @ bread))
        if not penalty.any():
            undetermined = np.tile(self.geometry.undetermined(), self.classes - 1)
            for covariance in (information, sandwich):
                covariance[undetermined], covariance[:, undetermined] = np.nan, np.nan
        return SoftmaxFit(
            theta=(back @ solution.theta.ravel()).reshape(solution.theta.shape),
            information_covariance=information if marginal else None,
            sandwich_covariance=sandwich,
            log_likelihood=sums.objective if marginal else None,
            ridge=ridge,
            rows=sums.rows,
            weight=sums.weight,
            iterations=solution.iterations,
            converged=solution.converged,
            notes=notes,
        )


def _not_below(value: float, reference: float) -> bool:
    return value >= reference - _ROUNDING * (1 + abs(reference))


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
    inverse: Floats = np.linalg.pinv(scaled, rcond=_NO_CURVATURE, hermitian=True) / np.outer(scale, scale)
    return inverse


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

"""The search for the maximum of a likelihood that may have several, or none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats
from askance.engines.sources import RecordSource
from askance.errors import Unidentifiable
from askance.learning.answers.feature_geometry import surely_above
from askance.learning.answers.slope_approach import End, SlopeApproach
from askance.learning.answers.softmax_problem import SoftmaxTask
from askance.solvers.newton import CLOSE_ENOUGH, Local, Solution, maximise
from askance.statistics.softmax_score import NARROW, Method

_FAR = 10.0  # root mean square logit beyond which a fit may have run away: e^10 is a certainty of .99995
_LOST = 1e7  # and beyond which it surely did
SEVERAL_MAXIMA = (
    "The likelihood of these reports has several maxima; the highest one that was found is reported. That happens with "
    "few reports or strong noise: read the standard errors with care, and compare with method='moments'."
)
_ROUGH = 0.01  # standard errors of a fit that another starts from: what is left of them, one step squares away
# Of a large sample a part looks at all starts, with so many rows for each parameter at least: what it finds is within
# some ten standard errors of the whole, from which two steps lead. It is to be several times smaller, or spares
# nothing. Set beforehand; 200,000 made-up rows of 20 columns take .8 of the time without.
_SCOUTS, _ROWS_EACH, _SCOUTS_PAY = 8_192, 100, 4
_GUESS = 0.25  # variance of a label that nothing is known of
# Rows for each parameter, counted in true labels that would tell as much, below which a sample is not asked: of 784
# made-up columns the way from the moments' solution ran away with 1.3 and with 4.5 of them, and did not with 12 or 20.
_TOLD_EACH = 8
_DISTINCT = 0.01  # standard errors between two maxima: nearer ones are the same to whoever reads the table
_VANISHED = 1e-7  # curvature of a separated direction, against the others: p (1 - p) at a logit of 16
_NAMED = 0.3  # a parameter is named as running away if it has such a share of the largest part in that direction
_ROUNDING = 1e-10  # relative error of a sum over records, generously: objectives nearer than that are equal


@dataclass(frozen=True, eq=False)
class MaximumSearch:
    """Newton's method from several starts, and the signs that there is no maximum to be found."""

    task: SoftmaxTask

    @property
    def unit(self) -> float:
        """A record counts one on average, so the unit of the sample weights does not matter to the solver."""
        return float(self.task.reports.rows / self.task.reports.weight.sum())

    def solve(
        self,
        method: Method,
        source: RecordSource,
        start: Floats,
        penalty: Floats,
        close_enough: float = CLOSE_ENOUGH,
        hopeless: Callable[[Local], bool] = lambda here: False,
    ) -> Solution:
        task = self.task
        evaluate = task.objective(source, penalty, self.unit, method)
        shape = start.shape

        def distance(flat: Floats) -> float:
            return task.root_mean_square_logit(flat.reshape(shape))

        found = maximise(
            evaluate,
            start.ravel(),
            diverges=lambda flat, here: hopeless(here) or distance(flat) > _LOST,
            max_iterations=task.problem.max_iterations,
            close_enough=close_enough,
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
        whole = sample.num_rows == self.task.reports.rows
        if self.task.problem.method == "moments":
            return [self.task.zero() if whole else self.from_moments(sample, penalty)]
        if not whole and self._tells_little(sample):
            return [self.from_moments(self.task.source, penalty * (self.task.reports.rows / sample.num_rows))]
        scouted = None if whole else self._scouted(sample, penalty)
        if scouted is not None:
            return [scouted]
        try:
            near = self.from_moments(sample, penalty)
            starts = [near, 3 * near, self.task.zero()]
        except Unidentifiable:
            # Reports that do not determine the truth may still determine the parameters.
            starts = [self.task.zero()]
        if whole:
            return starts
        slopes = SlopeApproach(self.task, "marginal", sample, penalty)
        if slopes.pays:
            ends = slopes.from_starts(starts, roughly=True)
            if ends[0].far and len(starts) > 1:
                return [self.from_moments(self.task.source, penalty * (self.task.reports.rows / sample.num_rows))]
            return [max(ends, key=lambda end: -np.inf if end.far else end.value).theta]
        best, _ = self.best(sample, starts, penalty, _ROUGH)
        return [near if self._is_far(best) and len(starts) > 1 else best.theta]

    def _tells_little(self, sample: RecordSource) -> bool:
        """Whether a sample is too small, for all that its labels tell, to hold a maximum of so many parameters."""
        known = _GUESS / self.task.label_noise()
        return self.task.width > NARROW and known * sample.num_rows < _TOLD_EACH * self.task.zero().size

    def _scouted(self, sample: RecordSource, penalty: Floats) -> Floats | None:
        """Where the highest maximum of a part of the sample leads in all of it; nothing where it runs away."""
        rows = max(_SCOUTS, _ROWS_EACH * self.task.zero().size)
        if self.task.width > NARROW or _SCOUTS_PAY * rows > sample.num_rows:
            return None
        part = self.task.engine.sample(sample, rows)
        less = penalty * (part.num_rows / sample.num_rows)
        try:
            near = self.from_moments(part, less)
        except Unidentifiable:
            return None
        best, _ = self.best(part, [near, 3 * near, self.task.zero()], less, _ROUGH)
        if self._is_far(best):
            return None
        found = self.solve("marginal", sample, best.theta, penalty, _ROUGH)
        return None if self._is_far(found) or not found.converged else found.theta

    def _is_far(self, found: Solution) -> bool:
        """Whether a fit to a few records led to certainties, of which all records may know nothing.

        Of some thousand records that tell little of a rare class, a step at an outlying one can be more likely than the
        slope that there is. From such a step no way leads back.
        """
        return found.diverged or self.task.root_mean_square_logit(found.theta) > _FAR

    def best(
        self, source: RecordSource, starts: Sequence[Floats], penalty: Floats, close_enough: float = CLOSE_ENOUGH
    ) -> tuple[Solution, bool]:
        """Solve from several starts and keep the highest; also say whether there were several maxima."""
        method = self.task.problem.method
        slopes = SlopeApproach(self.task, method, source, penalty)
        if slopes.pays:
            found = [self._settled(slopes, end) for end in slopes.from_starts(starts, roughly=False)]
        else:
            found = [self.solve(method, source, start, penalty, close_enough) for start in starts]
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

    def _settled(self, slopes: SlopeApproach, end: End) -> Solution:
        """Go on from where slopes led to: by Newton's method where they do not lead there.

        Newton's method tells whether what leads far ends somewhere, but takes hundreds of steps (20,000 reports of
        level .5 about 300 columns: 117, half a minute). Unless a ridge was asked for, one stands ready.
        """
        if end.far and self.task.problem.ridge is None:
            nothing = np.zeros(end.theta.size)
            here = Local(self.unit * end.value, nothing, np.diag(nothing))
            return Solution(end.theta, here, 0, converged=False, diverged=True, given_up=True)
        found = None if end.far else slopes.settled(end.theta, self.unit)
        return found or self.solve(slopes.method, slopes.source, end.theta, slopes.penalty)

    def from_moments(self, source: RecordSource, penalty: Floats) -> Floats:
        """Solve the moment problem roughly, to start from; shrink it where it has no solution."""
        slopes = SlopeApproach(self.task, "moments", source, penalty)
        if slopes.pays:
            end = slopes.from_start(self.task.zero(), roughly=True)
            if end is not None and not end.far:
                return end.theta
        found = self.solve("moments", source, self.task.zero(), penalty, _ROUGH, hopeless=_above_all_maxima(penalty))
        if found.diverged:
            found = self.solve("moments", source, self.task.zero(), penalty + self._shrinkage(), _ROUGH)
        return found.theta

    def _shrinkage(self) -> Floats:
        """A penalty on the standardised slopes and the logit at the mean, as strong as the noise of the reports."""
        geometry = self.task.geometry
        form = np.diag(geometry.variance) + np.outer(geometry.mean, geometry.mean)
        strength = float(np.sqrt(self.task.reports.weight.sum() * self.task.label_noise()))
        return strength * np.kron(self.task.coupled(), form).astype(float)

    def runaways(self, solution: Solution, penalty: Floats) -> tuple[str, ...]:
        """Name the parameters along which the fit went so far that the information about them is gone.

        One separated level among many does not move the root mean square logit. But along its direction the curvature,
        which is an average of p (1 - p), has vanished against that of the other directions; and going twice as far
        along it costs nothing.
        """
        task, local = self.task, solution.local
        if penalty.any() or not local.information.any():
            return ()
        white, unwhite = (np.kron(np.eye(task.free), part) for part in task.geometry.whitening)
        whitened = white.T @ local.information @ white
        if surely_above(_VANISHED, whitened):
            return ()
        curvature, directions = np.linalg.eigh(whitened)
        vanished = directions[:, curvature <= _VANISHED * curvature[-1]]
        if not vanished.size:
            return ()
        flat = solution.theta.ravel()
        farther = flat + white @ (vanished @ (vanished.T @ (unwhite.T @ flat)))
        if not _not_below(task.objective(task.source, penalty, self.unit)(farther).value, local.value):
            return ()
        along = np.abs(task.reported_along(white @ vanished)).max(axis=1)
        along = along * np.sqrt(np.tile(np.diag(task.geometry.second), len(along) // task.width))
        names = task.problem.parameter_names
        return tuple(name for name, size in zip(names, along, strict=True) if size > _NAMED * along.max())


def _above_all_maxima(penalty: Floats) -> Callable[[Local], bool]:
    """Whether the moments' objective is higher than at any maximum, so that it has none.

    At a maximum the features' moments are those of the model, and the objective is minus the entropy of its labels.
    """
    return lambda here: here.value > 0 and not penalty.any()


def _not_below(value: float, reference: float) -> bool:
    return value >= reference - _ROUNDING * (1 + abs(reference))

"""What askance does beyond the papers, each with the finding of a reproduction that has its number."""

from collections.abc import Mapping
from typing import NamedTuple


class Novelty(NamedTuple):
    """Something that a paper does not have, and where its worth was measured."""

    paper: str
    what: str
    entry: str
    """The reproduction that measures it."""
    quantity: str
    """The finding whose number it is."""


NOVELTIES = (
    Novelty("LM", "Coordinate release at log-odds alpha, the level that was asked for: variance of a flip, the paper's "
            "to ours at alpha = 4", "linear-moments/appendix-a4",
            "flip variance of coordinate release, paper / tight, alpha=4"),
    Novelty("LM", "The least channel of proposition 1, computed: share of a random channel's level that its reports "
            "need, alpha = 1", "linear-moments/proposition-1", "alpha=1: share of the level that was needed"),
    Novelty("LM", "Response on the features at the same level: its variance, of that of response on the whole truth, "
            "alpha = 1", "linear-moments/proposition-1", "alpha=1: tr Sigma, response on phi / on y"),
    Novelty("LM", "Whole rows hidden by windows on centred values: R² gained on the paper's per-value response, which "
            "has our fit too, alpha = 4", "linear-moments/figure-6",
            "housing: gained by window on per-value with our fit, alpha=4"),
    Novelty("LM", "Moments that are linear in features of words, in place of a table: accuracy gained at windows of "
            "sixteen", "linear-moments/figure-7", "our moments - published moments, last pass, w=16"),
    Novelty("LM", "Marginal likelihood by an exact programme over counts: accuracy ahead of the paper's moments at "
            "the end, windows of sixteen", "linear-moments/figure-7",
            "marginal - published moments, last pass, w=16"),
    Novelty("MO", "Laplace noise by the 1-norm that is measured: the level of 64 features of 2-norm 1, where the "
            "paper's is 8", "mean-operator/theorem-9", "level of askance's Laplace noise, 2-norm 1, d=64"),
    Novelty("MO", "A bound on the noise that holds: how often it fails at d = 31, where the printed one fails with "
            "probability .80", "mean-operator/theorem-10", "the corrected bound fails with probability, d=31"),
    Novelty("MO", "Total noise against response by each person, at alpha = .1 on Adult: accuracy gained",
            "mean-operator/accuracy", "Adult: accuracy, Laplace less local response, alpha=0.1"),
    Novelty("CR", "Sound noise of sum zero for the counts of a bag: distortion of five classes, where the paper's "
            "mechanism, without a guarantee, has .31", "class-ratio/figure-1",
            "distortion, discrete Gaussian (sound), five classes"),
    Novelty("CR", "A classifier of bags in place of kernel means: error on Higgs, of that of the published MMD",
            "class-ratio/figure-2", "Higgs: error over all shares, bag classifier to published MMD"),
    Novelty("CR", "The same on comments", "class-ratio/figure-2",
            "YouTube comments: error over all shares, bag classifier to published MMD"),
    Novelty("CR", "The same under released proportions, ten classes of digits", "class-ratio/figure-3",
            "MNIST: error, bag classifier to the paper's MMD, best sound mechanism"),
    Novelty("RR", "Spread likelihood in principal scores of flipped pictures, or in their pixels, as cross-validation "
            "of the reports says: accuracy less that of the paper's learned prior, over all flips",
            "randomised-response/figure-3", "askance less SD learn prior, all p_f"),
    Novelty("RR", "Spread likelihood without sampling: accuracy less that of the paper's importance sampling, variance "
            ".5", "randomised-response/section-6-1", "variance 0.5: askance less importance sampling, S = 2"),
    Novelty("RR", "One answer at the level of three, in place of three answers: persons whose likelier truth is wrong, "
            "difference", "randomised-response/equation-3",
            "one answer at the level of 3: wrong for, less that of 3"),
    Novelty("RR", "The length that flipped labels take off theta, in closed form: what is left at flips of .3",
            "randomised-response/appendix-b", "length at flips of 0.3, of 1"),
)  # fmt: skip


def novelties_table(numbers: Mapping[tuple[str, str], str]) -> str:
    """Return the table as Markdown; ``numbers`` are those found, by entry and quantity."""
    rows = [
        f"| [{each.paper}] {each.what} | {numbers[each.entry, each.quantity]} | `{each.entry}` |" for each in NOVELTIES
    ]
    return "\n".join(["| beyond the paper | number | measured by |", "|---|---|---|", *rows])

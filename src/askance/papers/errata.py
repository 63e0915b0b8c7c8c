"""Errors of the papers: what is printed, what is right, and where that is shown."""

from typing import NamedTuple


class Erratum(NamedTuple):
    """A printed statement that is wrong."""

    paper: str
    where: str
    printed: str
    right: str
    shown_by: str = ""
    """The reproduction that shows it; empty where a test of the library does."""


ERRATA = (
    Erratum("RR", "(2), (24)", "(f + p) / (1 − 2p); (f + P10) / (1 − P10 − P01)", "minus in both numerators",
            "randomised-response/voting"),
    Erratum("RR", "(12), (18), (53)", "the sign of KL; the index j twice; p(c given x) for p(x)",
            "KL = −L + const; a sum over the clean state; p_theta_x(x)"),
    Erratum("RR", "majority rule", "c1 + c2 + c3 > 2", "> 1.5"),
    Erratum("RR", "(65)", "EM for the prior and the parameters together",
            "two different priors go by this name: joint EM gives (.6295, .2763, .0942) where water-filling gives "
            "(.6333, .2787, .0880); askance learns a prior from the reports of each attribute alone"),
    Erratum("RR", "(107)", "a second term",
            "curvature −s² (p11 − p01) E[φ′]; the direction of theta is consistent, its length is not",
            "randomised-response/appendix-b"),
    Erratum("LM", "3.1", "level eps / ((1 − eps) min u)",
            "log(1 + eps / ((1 − eps) min u)): 6.9 and not 1000 at eps = .5 and 1000 labels; what `guarantee` says"),
    Erratum("LM", "3.2", "coordinate release at q_alpha is alpha-private", "its level is alpha / 2: use log-odds alpha",
            "linear-moments/appendix-a4"),
    Erratum("LM", "3.2", "per-value response at alpha / delta-bar is alpha-private",
            "its exact level is alpha D / (2 delta-bar), D = min(2 delta, d)", "linear-moments/appendix-a4"),
    Erratum("LM", "section 7, songs", "triples [x_i², x_i x_j, x_j²] with q_alpha each are alpha-private",
            "1.5 alpha on [0, 1]: tight log-odds are alpha / 3", "linear-moments/figure-6"),
    Erratum("LM", "section 7, songs (extended edition)", "with probability 1/2 reveal the triple",
            "words are lost: with probability 1/2 reveal x_i y, else the triple. All pairs drawn alike speak of y in "
            "20% at d = 9, and fits scatter more: median uncentred R² at alpha = 16 .62 in place of .75",
            "linear-moments/figure-6"),
    Erratum("LM", "section 4", "windows start in 1..L−w", "in 1..L−w+1", "linear-moments/figure-7"),
    Erratum("LM", "A.2", "flips with probability q; delta-bar at most the norms",
            "keeps with probability q; delta-bar at least the norms"),
    Erratum("LM", "(3), theta_mom", "conditions on x; mu − E[A]", "on (x, y); mu·theta − E[A]"),
    Erratum("LM", "lemma 1", "theta_marg", "theta_mom", "linear-moments/figure-3"),
    Erratum("LM", "footnote 2", "R² = ‖Xw − Y‖² / ‖Y‖²", "1 − R²", "linear-moments/figure-6"),
    Erratum("LM", "beta_cr (ICML edition)", "a sum over all j", "over the released j alone"),
    Erratum("MO", "theorem 6", "‖theta − theta~‖ ≤ ‖mu − mu~‖ / lambda",
            "with risk − (a/2) theta·mu + (ridge/2) ‖theta‖² it is (|a|/2) ‖mu − mu~‖ / ridge; with the paper's own "
            "lambda ‖theta‖² it is |a| / (4 lambda), so that the printed form holds for |a| ≤ 4 only",
            "mean-operator/theorem-6"),
    Erratum("MO", "theorem 9", "the norm of x at most 1; \"variance 2 / (m alpha)\"",
            "the 1-norm (with the 2-norm the level is sqrt(d) alpha); that is the scale", "mean-operator/theorem-9"),
    Erratum("MO", "theorem 10", "log(d / delta), for all i",
            "sqrt(d) log(d / delta): at delta = .05 the printed bound fails with probability .80 at d = 31",
            "mean-operator/theorem-10"),
    Erratum("CR", "section 3", "a scale from the private counts is (epsilon, delta)-private",
            "it is not: a neighbour has another scale, and some counts are refused", "class-ratio/figure-1"),
    Erratum("CR", "section 3", "P[theta outside]", "about 50 times too large at a fixed scale"),
    Erratum("CR", "section 4.1", "scaled Dirichlet distorts five classes by .06, the best other method by .15",
            "by .31 and .17 at the same level; sound noise of sum zero by .028", "class-ratio/figure-1"),
)  # fmt: skip


def errata_table() -> str:
    """Return the table as Markdown."""
    rows = [
        f"| [{each.paper}] {each.where} | {each.printed.replace('|', chr(92) + '|')} "
        f"| {each.right.replace('|', chr(92) + '|')} | {f'`{each.shown_by}`' if each.shown_by else 'tests'} |"
        for each in ERRATA
    ]
    return "\n".join(["| where | printed | is | shown by |", "|---|---|---|---|", *rows])

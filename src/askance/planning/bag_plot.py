"""What the skew of bags does to the error of class ratios learned from them."""

from typing import TYPE_CHECKING, Any

from askance.planning.bag_advice import BagAdvice
from askance.reports.axes import new_axes
from askance.reports.colours import BLUE, GREEN, GREY, INK, MIST, ORANGE, PURPLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE)


def plot_bag_advice(advice: BagAdvice, axes: "Axes | None" = None) -> Any:
    """Draw the expected error of class ratios by the skew of the bags, for every number of bags that was looked at.

    Of the number that is advised, the parts of sampling and of noise are drawn too, and the advice is marked. Returns
    the axes.

    Parameters
    ----------
    advice : BagAdvice
    axes : matplotlib axes, optional
        A new figure if not given.

    Examples
    --------
    >>> from askance import advise_bags
    >>> plot_bag_advice(advise_bags({"no": 900, "yes": 600}, epsilon=2)).get_ylabel()
    'expected L1 error of the ratios of a new group'
    """
    drawn = new_axes((6.4, 4.4), axes)
    dealt = sorted((each for each in advice.alternatives if each.membership != "public"), key=lambda each: each.skew)
    numbers = sorted({each.bags for each in dealt})
    for number, colour in zip(numbers, _COLOURS, strict=False):
        mine = [each for each in dealt if each.bags == number]
        skews = [each.skew for each in mine]
        drawn.plot(skews, [each.error for each in mine], color=colour, lw=2, label=f"{number} bags")
        if number == advice.best.bags:
            for part, style, name in (
                ("sampling_error", (0, (5, 2)), "sampling"),
                ("noise_error", (0, (1.5, 1.5)), "noise"),
            ):
                values = [getattr(each, part) for each in mine]
                drawn.plot(skews, values, color=colour, lw=1.4, ls=style, label=f"{number} bags, {name} only")
    for each in advice.alternatives:
        if each.membership == "public":
            drawn.axhline(each.error, color=GREY, lw=1.4, ls=(0, (6, 2, 1, 2)), label=f"{each.bags} public bags")
    if advice.best.membership != "public":
        drawn.plot([advice.best.skew], [advice.best.error], "o", color=INK, ms=8, zorder=5, label="advised")
    if advice.wanted is not None:
        drawn.axhline(advice.wanted, color=INK, lw=0.9, ls=(0, (2, 3)), label="wanted")
    drawn.set_yscale("log")
    drawn.set_xlabel("skew: probability of a person to be in a bag of the own class")
    drawn.set_ylabel("expected L1 error of the ratios of a new group")
    drawn.grid(axis="y", color=MIST, lw=0.8)
    drawn.spines[["top", "right"]].set_visible(False)
    drawn.legend(frameon=False, fontsize=8.5)
    return drawn

"""Keep the figures of a run of ``askance reproduce all --quick`` for the site.

``python docs/reproduced_figures.py FOLDER`` reads the folder that the command has written into. Figures are shrunk to
what a page shows, and to few colours: a repository keeps every version for ever. Run ``reproduced_results.py``
afterwards, which puts them into its page; ``gallery.md`` names them by hand.
"""

import sys
from pathlib import Path

from PIL import Image

FIGURES = Path(__file__).with_name("images") / "reproductions"
WIDTH = 1000  # of a page, in pixels, at one and a half times the usual density
COLOURS = 48  # lines and letters in a dozen colours, and their soft edges


def keep(folder: Path) -> None:
    """Shrink all figures of a run into the documentation, and forget those that are no longer drawn."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    drawn = {f"{path.parent.name}-{path.name}": path for path in sorted(folder.glob("*/*.png"))}
    if not drawn:
        sys.exit(f"no figures in {folder}: expected the folder that askance reproduce all --out FOLDER has written")
    for old in set(FIGURES.glob("*.png")) - {FIGURES / name for name in drawn}:
        old.unlink()
    for name, path in drawn.items():
        with Image.open(path) as picture:
            width = min(WIDTH, picture.width)
            size = width, round(picture.height * width / picture.width)
            small = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        small.quantize(COLOURS, dither=Image.Dither.NONE).save(FIGURES / name, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(
            "usage: python docs/reproduced_figures.py FOLDER, as written by askance reproduce all --quick --out FOLDER"
        )
    keep(Path(sys.argv[1]))

"""``python -m askance``: the command, where a shell does not find it by its name."""

from askance.cli import main

if __name__ == "__main__":
    main()

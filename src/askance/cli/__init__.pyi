from askance.cli.app import main as main

"""What all tests share: matplotlib without a screen, and the folder of helpers on the path."""

import os
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
sys.path.insert(0, str(Path(__file__).parent))

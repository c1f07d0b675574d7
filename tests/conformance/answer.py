"""Answer cases from standard input: what `answering` does, as a program that runs from anywhere."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.conformance.answering import main

if __name__ == "__main__":
    main()

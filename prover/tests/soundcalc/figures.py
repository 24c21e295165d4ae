"""Runs soundcalc on the TOML files beside this script and writes their figures as JSON.

    git clone https://github.com/ethereum/soundcalc && git -C soundcalc checkout COMMIT
    pip install toml
    python3 figures.py soundcalc COMMIT
"""

import json
import sys
from pathlib import Path


def main(soundcalc: str, commit: str) -> None:
    sys.path.insert(0, soundcalc)
    from soundcalc.zkvms.zkvm import zkVM

    for path in sorted(Path(__file__).parent.glob("*.toml")):
        circuits = zkVM.load_from_toml(path).get_circuits()
        levels = {circuit.get_name(): circuit.get_security_levels() for circuit in circuits}
        figures = {"soundcalc": commit, "levels": levels}
        path.with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

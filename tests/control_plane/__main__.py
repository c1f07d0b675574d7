"""Build, start and end a real control plane.

python -m tests.control_plane build [NAME ...]
python -m tests.control_plane up DIRECTORY [--with kube-controller-manager] [--with kwok]
python -m tests.control_plane down DIRECTORY

`up` prints the kubeconfig of a cluster-admin and leaves the control plane running.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.control_plane.building import BuildError, build, say_on_stderr
from tests.control_plane.plane import EXTRAS, ControlPlane, NotReadyError, forget
from tests.control_plane.programs import VERSIONS, MissingProgramError


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.control_plane",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True)
    building = actions.add_parser("build")
    building.add_argument("names", nargs="*", metavar="NAME", help=", ".join(VERSIONS))
    going_up = actions.add_parser("up")
    going_up.add_argument("directory", type=Path)
    going_up.add_argument("--with", dest="extras", action="append", default=[], choices=EXTRAS)
    going_down = actions.add_parser("down")
    going_down.add_argument("directory", type=Path)
    options = parser.parse_args()
    try:
        if options.action == "build":
            unknown = set(options.names) - set(VERSIONS)
            if unknown:
                parser.error(f"no such program: {', '.join(sorted(unknown))}")
            build(options.names or list(VERSIONS), say_on_stderr)
        elif options.action == "up":
            forget(options.directory)
            plane = ControlPlane(options.directory, extras=tuple(options.extras), detached=True)
            plane.start()
            plane.remember()
            print(plane.kubeconfig)
        else:
            forget(options.directory)
    except (BuildError, MissingProgramError, NotReadyError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

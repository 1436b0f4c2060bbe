"""Where tinyshakespeare is found: in the cache, or by a download whose hash is checked; else why not."""

import hashlib
import os
import tempfile
import urllib.request
from pathlib import Path

__all__ = ["cache_folder", "shakespeare"]

ADDRESS = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
PATIENCE = 5.0  # seconds that a download may keep a newcomer waiting
INSTEAD = "so the text is the English prose that CPython carries (pydoc_data.topics)"


def cache_folder() -> Path:
    """Return the folder in which edgewise keeps what it may fetch or make again; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "edgewise"


def shakespeare(download: bool, address: str = ADDRESS) -> tuple[Path | None, str]:
    """Return the path of tinyshakespeare, or None, and one sentence that says why."""
    cached = cache_folder() / "tinyshakespeare.txt"
    if cached.is_file() and _hash(cached.read_bytes()) == SHA256:
        return cached, "no text was named, so the text is tinyshakespeare, from the cache"
    if not download:
        return None, f"no text was named, tinyshakespeare is not in the cache and EDGEWISE_OFFLINE is set, {INSTEAD}"
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            content = answer.read()
    except OSError:
        return None, f"no text was named and tinyshakespeare cannot be downloaded, {INSTEAD}"
    if _hash(content) != SHA256:
        return None, f"no text was named and what was downloaded is not tinyshakespeare (another SHA-256), {INSTEAD}"
    if _keep(content, cached):
        return cached, "no text was named, so the text is tinyshakespeare, downloaded (SHA-256 checked)"
    return None, f"no text was named and the cache folder {cached.parent} cannot be written, {INSTEAD}"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _keep(content: bytes, path: Path) -> bool:
    """Write a file so that nobody ever sees half of it; return whether that went well."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except OSError:
        return False
    return True

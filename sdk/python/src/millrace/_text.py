"""Text as the server takes it."""

from __future__ import annotations


def clean(text: str) -> str:
    """Replace half surrogates, which are no Unicode, and NUL: the server refuses both."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def cut(text: str, max_bytes: int) -> str:
    """Return the clean text, truncated."""
    text = clean(text)
    if len(text) * 4 <= max_bytes:
        return text
    data = text.encode()
    return text if len(data) <= max_bytes else data[:max_bytes].decode("utf-8", "ignore")

"""Tokens that a test's function makes, and a note of each process that made one."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path

NOTES = "OAUTH_TOKEN_NOTES"
NAME = f"{__name__}.token"


def token(config: str) -> tuple[str, float]:
    """An unsecured token of the user that ``sasl.oauthbearer.config`` names; its expiry is short, so that clients ask again."""
    with Path(os.environ[NOTES]).open("a") as notes:
        notes.write(f"{os.getpid()}\n")
    now = time.time()
    expiry = now + 60
    claims = {"sub": config or "tester", "iat": now, "exp": expiry}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "none"}, claims)]
    return f"{'.'.join(parts)}.", expiry


def makers(notes: Path) -> set[int]:
    """Processes that made a token."""
    return set(map(int, notes.read_text().split())) if notes.exists() else set()

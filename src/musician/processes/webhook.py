"""Posts JSON to an address, as a program of its own: ``python -m musician.processes.webhook``, with both on
standard input.

A program can be ended at any moment, whatever the other side does. The address is no argument, because it
may hold a token and everybody sees arguments. It goes where it is sent and nowhere else: a redirection is
an answer like any other.
"""

import json
import sys
import urllib.error
import urllib.request
from typing import IO

_ANSWER_LIMIT_S = 10.0
_FINE = range(200, 300)


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: object, newurl: str
    ) -> None:
        """Follow none."""


def main() -> int:
    asked = json.load(sys.stdin)
    request = urllib.request.Request(  # noqa: S310 - the settings allow http and https alone
        asked["url"],
        data=json.dumps(asked["message"]).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "musician"},
    )
    try:
        with urllib.request.build_opener(_NoRedirection).open(request, timeout=_ANSWER_LIMIT_S) as answer:
            code = answer.status
    except urllib.error.HTTPError as error:
        code = error.code
    except (OSError, ValueError) as error:
        return _complain(str(getattr(error, "reason", error)))
    return 0 if code in _FINE else _complain(f"it answered {code}")


def _complain(why: str) -> int:
    sys.stderr.write(f"{why}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())

"""What is said of an account that its provider gives nothing, or has given nothing since."""

from musician.protocol.rules.breaker import Giving
from musician.service import ClosedAccount


def say_closed(closed: ClosedAccount) -> str:
    account = f"account {closed.account}"
    match closed.giving:
        case Giving.LIMITED:
            return f"{account} is given nothing before {closed.until} UTC: all on it go on by themselves then"
        case Giving.REFUSED:
            return f"{account} is given nothing before you act: all on it wait for that"
    return f"{account} is open again: one session asks first, then all on it go on"

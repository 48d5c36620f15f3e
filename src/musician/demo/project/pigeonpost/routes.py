"""Where the lofts are, and how long a pigeon takes from one to another."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

LOFTS = Path(__file__).with_name("lofts.csv")
SPEED_KM_H = 70


@dataclass(frozen=True)
class Loft:
    """A place where pigeons live; x and y on the post office's map."""

    town: str
    x_km: float
    y_km: float

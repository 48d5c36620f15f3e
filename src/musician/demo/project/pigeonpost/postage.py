"""What a letter costs: a stamp for the distance, and a price for every gram."""

from pathlib import Path

TARIFF = Path(__file__).with_name("tariff.csv")

"""Musician: an orchestra for coding agents working on one repository."""

__all__ = ["__version__"]

__version__ = "0.1.0"

"""The label that is tied to the pigeon's leg."""

WIDTH = 24

"""Agents that speak the Agent Client Protocol: Codex, OpenCode and the rest. What each can: docs/ACP.md.

Where do we …

- say how an agent of a name is started and bound? ``profiles``
- start one, and agree with it on a session? ``agent``
- play a piece with it, steer it, interrupt it? ``session``; know whether it works or rests? ``turn``
- answer when it asks leave? ``permission``; understand why its provider gives nothing? ``failures``
- carry the protocol's messages? ``connection``
"""

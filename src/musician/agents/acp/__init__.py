"""Agents that speak the Agent Client Protocol: Codex, OpenCode and others. docs/ACP.md says what each can do.

Where do we …

- say how an agent of a name is started and bound? ``profiles``
- start one, and agree with it on a session? ``agent``
- play a piece with it, steer it, interrupt it? ``session``; know whether it works or rests? ``turn``
- answer when it asks for permission? ``permission``; understand why its provider does not answer?
``failures``
- carry the protocol's messages? ``connection``
"""

"""The MCP server ``comms-link``: the musician's verbs as tools of the session that started it.

Theory. A server lives as long as its client and acts only for the session that started it. The session's id comes from
the environment, and the server follows it when the client goes on under another id (``served_session``). Each tool is
one act of the protocol in one transaction. Its answer is a few plain lines, because every byte takes up context of the
session. Rules:

- Surfaces hold no rules: a tool parses, calls one verb and renders (``acts``); the verb refuses what is not allowed.
- Only the part of MCP that a server of tools needs is implemented (``dialogue``).
- Standard output carries only JSON-RPC (``wire``, B17), and the log goes to standard error. The environment holds the
  client's token and is never logged.
- Every request is answered, if only by an error (``requests``).
- The end of input ends the server within :data:`~musician.mcp_server.server.EXIT_WITHIN_S`, even during a tool call.
- A session without an id, or without a claim, gets an error and touches nothing.
- Where Musician is not set up there are no tools: they would cost every other session context.

``tools`` is the table of names and arguments; docs/MCP.md describes them for people.
"""

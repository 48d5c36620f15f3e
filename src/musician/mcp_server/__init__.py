"""The MCP server ``comms-link``: the musician's verbs as tools of the session that started it.

Theory. A server lives as long as its client and acts for nobody but the session it was started in: the id comes from
the environment and is followed where its client goes on under another (``served_session``). Each tool is one act of the
protocol in one transaction, answered in a few plain lines, because every byte of it is paid for in the session's
context. Rules:

- surfaces hold no rules: a tool parses, calls one verb, renders (``acts``); what it may not do the verb refuses;
- no more of MCP is spoken than a server of tools is asked for (``dialogue``);
- standard output carries JSON-RPC and nothing else (``wire``, B17); the log is standard error; the environment,
  which holds the client's token, is never logged;
- whoever asks is answered, if only by an error (``requests``);
- the end of input ends the server within :data:`~musician.mcp_server.server.EXIT_WITHIN_S`, in the middle of a tool
  too;
- a session without an id, or without a claim, is told so and touches nothing;
- where nothing is set up there are no tools: a session of other work pays nothing for being one.

``tools`` is the table of names, arguments and acts; docs/MCP.md is the same for people.
"""

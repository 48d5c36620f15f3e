"""The dashboard: a local web page on which a person conducts.

Theory. Every page is a whole document that the server renders from the database at that moment, with plain links and
forms; it works without script. Nothing is kept beside the database: two pages, and the command line, show the same
because they ask the same fold (``reporting.overview``). A stream of events says only *that* something has happened,
with the ``seq`` of the one order as the event's id; the script then fetches the page it is on and replaces the parts
that differ. So nothing is shown that was patched together from events, a lost event costs nothing, and a page whose
server is gone says so instead of showing what once was.

It is the user's own machine, but other pages in the same browser are not the user: see ``guard``.

Where do we … put the parts together and serve them? ``server``; let somebody in? ``guard``; answer a page? ``pages``;
take an order? ``orders``; tell pages of news? ``news``; draw? ``reporting/drawing``; show a change?
``reporting/diff_view``.
"""

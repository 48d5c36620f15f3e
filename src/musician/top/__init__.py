"""``musician top``: what the dashboard's page shows and takes, in a terminal; made for ssh and small windows.

Theory. A screen is a list of rows, made of the same folds as the page (``reporting.overview``, ``needs_me``,
``under_review``, ``transcript_lines``) from the database at that moment. It follows by the store's listener: whenever
something has happened, the screen in front is folded again in a thread, and the rows that differ are replaced. An order
is the verb that the command line calls; a verdict names the submission that was on the screen.

What sessions wrote reaches the terminal through ``rows.inert`` alone, which leaves it nothing but text: neither the
library's markup nor the terminal's control characters act.

Where do we … look again, and take an order? ``app``; show rows? ``rows``, in a ``page``; the first screen? ``home``,
what is wanted there ``needs``; a task? ``task``, its messages ``messages``, the orders about it ``offers``; a review?
``review``, the lines of a file ``difference``, what was viewed ``viewed``; the other places? ``plans``, ``proposals``,
``fleet``, ``happened``; ask before an order? ``say``.
"""

"""The guards in PostgreSQL's words, beside SQLite's (``musician.store.sqlite.guards``): a function and a trigger each.

Nothing of the program uses it: it proves that the conditions are said without a dialect, and what a second database
must bring. PostgreSQL has functions of its own for what the guards have no standard words for, so that hardly anything
is spelt anew. Ids are given by a row that is locked until the commit, and not by a sequence: they rise in the order of
the commits, none is left out, and one that a writer names counts as well.
"""

from collections.abc import Iterator
from typing import assert_never

from musician.store.guards import guards
from musician.store.guards.guard import Guard, Ignore, Refuse, Write

FUNCTIONS = r"""
CREATE TABLE counted (name text PRIMARY KEY, last bigint NOT NULL);

CREATE FUNCTION utc_now() RETURNS text LANGUAGE sql AS
$$ SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') $$;

-- A BEFORE trigger sees none if the writer has named none: the last of them gives it.
CREATE FUNCTION is_given(id bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT id IS NOT NULL $$;

CREATE FUNCTION last_id(counts text) RETURNS bigint LANGUAGE sql AS
$$ SELECT coalesce((SELECT last FROM counted WHERE name = counts), 0) $$;

-- A column holds what its type says, and text is UTF-8: the database refuses all else itself.
CREATE FUNCTION is_integer(value bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT value IS NOT NULL $$;
CREATE FUNCTION is_no_text(value text) RETURNS boolean LANGUAGE sql AS $$ SELECT FALSE $$;

CREATE FUNCTION names_nobody(session text) RETURNS boolean LANGUAGE sql AS
$$ SELECT lower(btrim(coalesce(session, ''), E' \t\n\v\f\r')) IN ('', 'null', 'none', 'undefined') $$;

CREATE FUNCTION has_aged(at text, setting text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN coalesce(at ~ '^[0-9]{4}-' AND at::timestamp <= (now() AT TIME ZONE 'UTC')
        - (SELECT value FROM settings WHERE name = setting)::double precision * interval '1 second', FALSE);
EXCEPTION WHEN invalid_datetime_format OR datetime_field_overflow THEN
    RETURN FALSE;
END $$;
"""


def guard_statements() -> Iterator[str]:
    """Every guard. PostgreSQL's own WHEN knows no subqueries, so the condition stands in the function.

    Which of two guards speaks, where both hold, is a matter of order: SQLite begins with the one made last, and
    PostgreSQL goes by names.
    """
    for place, guard in enumerate(reversed(list(guards()))):
        row = "OLD" if "DELETE" in guard.on else "NEW"
        yield (
            f"CREATE FUNCTION {guard.name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN\n"
            f"IF {_spelt(guard.when)} THEN\n{_body(guard)}\nEND IF;\nRETURN {row};\nEND $$;\n"
            f"CREATE TRIGGER g{place:03}_{guard.name} {guard.on} FOR EACH ROW EXECUTE FUNCTION {guard.name}();"
        )


def counting_statements(table: str, key: str) -> str:
    """What gives a table's ids. Triggers fire in the order of their names: this one after every guard."""
    return (
        f"CREATE FUNCTION {table}_number() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN\n"
        f"UPDATE counted SET last = GREATEST(last, coalesce(NEW.{key}, last + 1)) WHERE name = '{table}';\n"
        f"NEW.{key} := coalesce(NEW.{key}, last_id('{table}'));\nRETURN NEW;\nEND $$;\n"
        f'CREATE TRIGGER "~{table}" BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_number();'
    )


def _body(guard: Guard) -> str:
    match guard.then:
        case Refuse(reason=reason):
            return f"RAISE EXCEPTION USING MESSAGE = 'musician: {reason}';"
        case Ignore():
            return "RETURN NULL;"
        case Write(statements=statements):
            return "\n".join(f"{_spelt(each)};" for each in statements)
        case _:
            assert_never(guard.then)


def _spelt(sql: str) -> str:
    return sql.replace("CURRENT_TIMESTAMP", "utc_now()")

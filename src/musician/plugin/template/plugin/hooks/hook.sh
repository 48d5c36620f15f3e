# Starts boot.py for the event $1, where what it runs on is still there. Rendered at installation.
#
# Where it is gone, who is a musician cannot be known, and most sessions are none: all of them go on, unguarded, and the
# person is told at the start of each. Only a call for a musician is answered, for nothing was claimed.
missing=
for each in {{needed}}; do
  [ -x "$each" ] || missing=yes
done
[ "$missing" ] || exec {{python:shell}} -I -S -X utf8 "${0%/*}/../boot.py" "$1"

said=$(cat) # all of it: a pipe that breaks is a hook that fails
gone='musician {{version}} is gone, or the Python that its plugin was made for'
mend='Run `musician plugin install` again, or turn the plugin off with /plugin'
echo "$gone. $mend" >&2
case $1 in
SessionStart)
  printf '{"systemMessage": "%s: no session is guarded as a musician, and none can claim a task. %s."}\n' "$gone" "$mend"
  ;;
UserPromptExpansion)
  case $said in
  *'"command_name":"musician'*)
    printf '{"hookSpecificOutput": {"hookEventName": "%s", "additionalContext": "%s"}}\n' "$1" \
      "NOT CLAIMED: $gone. $mend. Tell the user, and do not play."
    ;;
  esac
  ;;
esac
exit 0

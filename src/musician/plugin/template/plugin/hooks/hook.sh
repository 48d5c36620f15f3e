# Answers the event $1: by boot.py, where there is anything to ask it. Rendered at installation.
#
# Most sessions are no musician's, and the client waits for this at every tool. So a shell, which is a tenth of Python's
# start, looks first whether the repository has a database of ours, or a session that was ever marked as a musician's;
# and whether this session is known to own nothing in a database that nobody has written since (trees/marks.py).
#
# Where what boot.py runs on is gone, or broken, a session with that mark is refused its tools: nothing guards it (D36).
# All others go on. The person is told, and a call for a musician is answered, for nothing was claimed.
here= git= linked=

# Finds the working tree around the folder $1 and the common folder of its repository, as hooks/hook_context.py does.
look_around() {
  cd -P -- "$1" 2>/dev/null || return
  here=$PWD
  until [ -f "$here/.git" ] || [ -e "$here/.git/HEAD" ]; do
    [ "$here" ] || return
    here=${here%/*}
  done
  git=$here/.git
  [ -f "$git" ] || return
  linked=yes
  IFS= read -r git <"$git"
  git=${git#gitdir: }
  case $git in /*) ;; *) git=$here/$git ;; esac
  [ -f "$git/commondir" ] || return
  IFS= read -r common <"$git/commondir"
  case $common in /*) git=$common ;; *) git=$git/$common ;; esac
}

# Whether the session of the environment owned nothing when the database was last written.
is_stranger() {
  case $CLAUDE_CODE_SESSION_ID in '' | .* | *[!A-Za-z0-9._-]*) return 1 ;; esac
  mark=$git/musician/strangers/$CLAUDE_CODE_SESSION_ID
  [ -f "$mark" ] && [ ! -e "$git/musician/sessions/$CLAUDE_CODE_SESSION_ID" ] || return
  written=$here/.musician/comms.db
  [ ! -s "$written-wal" ] || written=$written-wal
  [ -e "$written" ] && [ ! "$written" -nt "$mark" ] && [ ! "$written" -ot "$mark" ]
}

event=$1
began=$PWD
look_around "${CLAUDE_PROJECT_DIR:-$began}"
[ "$git" ] || look_around "$began"
cd -- "$began" 2>/dev/null # where it is gone, the project is a better place than none

# A tree that is linked to a repository elsewhere has its database there, and finding that is boot.py's.
[ "$event" = UserPromptExpansion ] || [ "$MUSICIAN_DB" ] || [ "$linked" ] || [ -e "$here/.musician/comms.db" ] ||
  [ -d "$git/musician/sessions" ] || exec cat >/dev/null # all of it: a pipe that breaks is a hook that fails

said=
case $event in
SessionStart | UserPromptExpansion) ;; # by these a session may become a musician's
*)
  if [ ! "$MUSICIAN_DB$linked" ] && is_stranger; then
    said=$(cat)
    case $said in
    *mcp__plugin_musician_comms-link__*) ;; # and by these tools
    '{"session_id":"'"$CLAUDE_CODE_SESSION_ID"'",'*) exit 0 ;;
    esac
  fi
  ;;
esac

missing=
for each in {{needed}}; do
  [ -x "$each" ] || missing=yes
done
if [ ! "$missing" ]; then
  set -- {{python:shell}} -I -S -X utf8 "${0%/*}/../boot.py" "$event"
  if [ "$said" ]; then
    exec <<END
$said
END
  fi
  [ "$event" != Stop ] || exec "$@" # it waits for hours, and sees by its parent whether the client lives
  "$@" && exit 0                    # it always says 0, unless it could not begin
fi

[ "$said" ] || said=$(cat)
id=$CLAUDE_CODE_SESSION_ID
case $said in
*'"session_id":'*)
  id=${said#*'"session_id":'}
  id=${id#*'"'}
  id=${id%%'"'*}
  ;;
esac
if [ ! "$git" ]; then
  git=${MUSICIAN_DB#sqlite:///} # a file's URL is its path behind that
  git=${git%/*}
fi
marked=
[ -z "$id" ] || [ ! -f "$git/musician/sessions/$id" ] || marked=yes

gone='musician {{version}} is gone, or the Python that its plugin was made for'
mend='Install it and run `musician plugin install` again, or turn the plugin off with /plugin'
echo "$gone. $mend" >&2
case $event$marked in
PreToolUseyes)
  printf '{"hookSpecificOutput": {"hookEventName": "%s", "permissionDecision": "deny", "permissionDecisionReason": "%s"}}\n' \
    "$event" "Refused: $gone. This session plays a task, and nothing can be guarded or written down like this. Tell the user: $mend."
  ;;
Stopyes)
  printf '{"systemMessage": "%s: this session plays a task, and is refused its tools. %s."}\n' "$gone" "$mend"
  ;;
SessionStart*)
  printf '{"systemMessage": "%s: no session is guarded as a musician, and none can claim a task. %s."}\n' "$gone" "$mend"
  ;;
UserPromptExpansion*)
  case $said in
  *'"command_name":"musician'*)
    printf '{"hookSpecificOutput": {"hookEventName": "%s", "additionalContext": "%s"}}\n' "$event" \
      "NOT CLAIMED: $gone. $mend. Tell the user, and do not play."
    ;;
  esac
  ;;
esac
exit 0

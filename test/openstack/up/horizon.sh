# Explains how a browser of this machine gets to the dashboard, and runs its proxy until it is interrupted: the cloud's host names can only
# be resolved and reached through it.
#
# Variables: PROGRAM (the proxy), DIR (the cloud's files), SITE and LOGIN (address and user), PORT (of the proxy: 8088).
set -eu
PORT=${PORT:-8088}
cat <<END
$SITE
  as $LOGIN, with the password in $DIR/password

  chromium --user-data-dir=$DIR/browser --proxy-server=http://127.0.0.1:$PORT --ignore-certificate-errors $SITE

Another browser needs 127.0.0.1:$PORT as its proxy for everything, and $DIR/public.crt as an authority. Ctrl-C ends the proxy.
END
exec "$PROGRAM" -dir "$DIR" -proxy "127.0.0.1:$PORT"

# Functions that reach a bucket of an S3-compatible object store, for other scripts: . bucket.sh
# (https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html).
#
# Variables: BUCKET, ENDPOINT, REGION, PREFIX (a folder, with a slash at its end, or nothing), ACCESS_KEY_ID, SECRET_ACCESS_KEY, and, where
# the store has an authority of its own, BUCKET_CA, a file. A copy of a database is PREFIX + DATABASE/20260501T030000Z.db.gz: names are in
# the order of their times.

# s3 sends a request: a method, a path in the bucket, and what else curl is told. The key is not among the arguments, which anybody sees.
# A store that accepts connections and does not respond fails after half a minute, and a request takes at most 12 minutes with all retries:
# less than the Job that runs it (30 minutes).
s3() {
  method=$1 path=$2
  shift 2
  printf 'user = "%s:%s"\n' "$(quoted "$ACCESS_KEY_ID")" "$(quoted "$SECRET_ACCESS_KEY")" |
    curl --config - --silent --show-error --fail --retry 3 --retry-max-time 120 --connect-timeout 20 --max-time 600 \
      --speed-limit 1 --speed-time 30 --aws-sigv4 "aws:amz:$REGION:s3" \
      ${BUCKET_CA:+--cacert "$BUCKET_CA"} --request "$method" "$@" "https://$ENDPOINT/$BUCKET/$path"
}

# quoted is a text as it stands between quotes in a file of curl's settings.
quoted() { printf '%s' "$1" | sed 's/[\\"]/\\&/g'; }

# escaped is a path as it stands in a query. A prefix has no other character that would have to be.
escaped() { printf '%s' "$1" | sed 's|/|%2F|g'; }

# copies are the names of all copies of a database, the oldest first: the store gives a thousand at a time.
copies() {
  after=
  while :; do
    page=$(s3 GET "?list-type=2&prefix=$(escaped "$PREFIX$1/")${after:+&start-after=$(escaped "$after")}") || return 1
    keys=$(printf '%s' "$page" | sed 's|<Key>|\n&|g' | sed -n 's|^<Key>\([^<]*\)</Key>.*|\1|p')
    [ -z "$keys" ] || printf '%s\n' "$keys" | grep -E '/[0-9]{8}T[0-9]{6}Z\.db\.gz$'
    case $page in *"<IsTruncated>true"*) ;; *) return 0 ;; esac
    after=$(printf '%s\n' "$keys" | tail -n 1)
    [ -n "$after" ] || return 1
  done
}

# moment is the time in a copy's name.
moment() { basename "$1" .db.gz; }

# fetch gets the newest copy of a database into a file; with BEFORE, a time as in names, the newest that is no later.
fetch() {
  all=$(copies "$1") || return 1
  newest=$(printf '%s\n' "$all" | while read -r key; do
    [ -z "$key" ] || expr "$(moment "$key")" \> "${BEFORE:-99999999T999999Z}" >/dev/null || echo "$key"
  done | tail -n 1)
  [ -n "$newest" ] || { echo "there is no copy of $1 in bucket $BUCKET below \"$PREFIX\"${BEFORE:+ of $BEFORE or before}" >&2 && return 1; }
  echo "takes the copy $newest"
  s3 GET "$newest" --output "$2.gz" && gzip -dc "$2.gz" >"$2" && rm -f "$2.gz" && [ "$(ovsdb-tool db-name "$2")" = "$1" ]
}

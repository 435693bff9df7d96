#!/bin/bash
# Makes the database on the first start, with a password for root at this host and at MARIADB_ROOT_HOST, and runs the server with the arguments.
set -euo pipefail
data=/var/lib/mysql
unfinished=$data/.unfinished

case ${1:--} in -*) set -- mariadbd "$@" ;; esac
[ "$1" = mariadbd ] || exec "$@"

# quote prints a string of SQL.
quote() {
  local text=${1//\\/\\\\}
  printf "'%s'" "${text//\'/\\\'}"
}

make_database() {
  local password
  password=$(quote "${MARIADB_ROOT_PASSWORD-}")
  if [ "$password" = "''" ] && [ -z "${MARIADB_ALLOW_EMPTY_ROOT_PASSWORD-}" ]; then
    echo "set MARIADB_ROOT_PASSWORD, or MARIADB_ALLOW_EMPTY_ROOT_PASSWORD" >&2
    exit 1
  fi
  mariadb-install-db --datadir="$data" --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve --wsrep-on=OFF
  # Users without a password, which installing made for other names of this host, go.
  mariadbd --bootstrap --datadir="$data" --wsrep-on=OFF <<SQL
FLUSH PRIVILEGES;
DELETE FROM mysql.global_priv WHERE User IN ('root', '') AND Host <> 'localhost';
FLUSH PRIVILEGES;
ALTER USER root@localhost IDENTIFIED BY $password;
CREATE OR REPLACE USER root@$(quote "${MARIADB_ROOT_HOST-%}") IDENTIFIED BY $password;
GRANT ALL ON *.* TO root@$(quote "${MARIADB_ROOT_HOST-%}") WITH GRANT OPTION;
SQL
}

# A start that was cut off leaves a database that nobody can log in to.
if [ ! -d "$data/mysql" ] || [ -e "$unfinished" ]; then
  find "$data" -mindepth 1 -maxdepth 1 ! -name lost+found -exec rm -rf {} +
  touch "$unfinished"
  make_database
  rm "$unfinished"
fi
exec "$@"

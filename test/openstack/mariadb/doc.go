// Package mariadb tests the backup of a claim's MariaDB and its restoration.
package mariadb

// Package uwsgi tests the health checks and the termination of uWSGI, which runs the APIs.
package uwsgi

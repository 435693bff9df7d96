// Package openstack runs, on one Linux machine and without Kubernetes, what a claim becomes: the functions compose it, fakes do what the
// operators would, the companion's own controllers run, and the emitted pods run as processes with the emitted files, environment, user
// and commands. The processes are the real ones: Keystone from PyPI in the version of the release, MariaDB, memcached, Apache and
// OpenLDAP from Debian. docs/reference/versions.md lists their versions.
//
// Everything lives in namespaces of its own (network, mounts, processes), so that ports and host names are those that were
// emitted, nothing of the machine is touched, and all of it ends with the first process.
//
//	make test-openstack            the tests, behind the build tag openstack
//	make openstack-up CLAIM=FILE   leaves a cloud running
package openstack

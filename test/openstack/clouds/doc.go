// Package clouds runs, on one Linux machine and without Kubernetes, the objects composed for a claim: the functions
// compose them, fakes act as the operators, the companion's real controllers run, and the emitted pods run as processes
// with the emitted files, environment, user and commands. The processes are the real ones: Keystone from PyPI in the
// version of the release, MariaDB, memcached, Apache and OpenLDAP from Debian. docs/reference/versions.md lists their
// versions.
//
// Everything runs in separate namespaces (network, mounts, processes), so that ports and host names are the emitted
// ones, the machine is not changed, and all of it ends with the first process.
//
//	make test-openstack            the tests, behind the build tag openstack: package harness
//	make openstack-up CLAIM=FILE   leaves a cloud running
package clouds

// Package harness contains the shared parts of the tests with clouds: the flags, the installation of the programs, the
// sandbox, the table of subjects that make test-openstack SERVICE=NAME selects, clients of Keystone, and checks that apply
// to every service. The packages with tests call Main as their TestMain.
package harness

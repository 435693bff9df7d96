// Package configuration checks every emitted option with the option tables of the installed services, without running one,
// and the versions of installed packages.
package configuration

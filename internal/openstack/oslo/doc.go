// Package oslo writes the configuration files of OpenStack services, which they read with oslo.config.
//
// A configuration is a table that is read like the file it becomes:
//
//	oslo.Config{
//		"DEFAULT": {"use_stderr": true},
//		"token":   {"provider": "fernet", "expiration": 3600},
//	}
//
// What a value says is what the service sees: quotes, outer spaces and `$`, all of which oslo.config interprets, are
// written so that they survive, and what cannot be written on one line is an error. Only a Template refers to other options.
//
// Groups and options are sorted, and DEFAULT comes first. The order of options has no meaning to oslo.config (only that of
// repeated ones has, and it is kept), and a sorted file does not move when a layer is added to it: the same options give the
// same bytes, so the same hash, so no roll-out.
//
// The rules of the format: https://docs.openstack.org/oslo.config/latest/configuration/format.html. Where the page is
// silent (quotes, what counts as a space, a backslash before `$`) they are those that oslo.config 10.0.0 follows; testdata
// holds files that it has read, and the program that compares.
//
// This is the only package that knows the INI format, and the only one to import ini.v1. It reads with ini.v1 but writes
// by itself: the library's writer drops the header [DEFAULT] and the empty values of a repeated option, and puts values
// that hold a backquote into triple quotes, which oslo.config does not know.
package oslo

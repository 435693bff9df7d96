// Package oslo writes the configuration files of OpenStack services, which read them with oslo.config.
//
// A configuration is a table with the structure of the file:
//
//	oslo.Config{
//		"DEFAULT": {"use_stderr": true},
//		"token":   {"provider": "fernet", "expiration": 3600},
//	}
//
// The service reads each value exactly as set: quotes, leading and trailing spaces and `$`, all of which oslo.config
// interprets, are escaped. A value that cannot be written on one line is an error. Only a Template refers to other options.
//
// Groups and options are sorted, and DEFAULT is the first group. The order of options has no meaning in oslo.config, except
// for the values of a repeated option, whose order is kept. Sorting makes the file deterministic: the same options result
// in the same bytes and the same hash, and do not cause a rollout.
//
// The format is specified in https://docs.openstack.org/oslo.config/latest/configuration/format.html. Where this page is
// not specific (quotes, which characters are spaces, a backslash before `$`), the package follows oslo.config 10.0.0;
// testdata contains files that it has read, and the program that compares the results.
//
// This is the only package that implements the INI format, and the only one that imports ini.v1. It reads with ini.v1, but
// has its own writer: the library's writer omits the header [DEFAULT] and the empty values of a repeated option, and puts
// values with a backquote into triple quotes, which oslo.config does not support.
package oslo

package main

// formats are the messages for values that do not match a pattern, by pattern. A message states the format, or gives an example.
var formats = func() map[string]string {
	out := map[string]string{}
	for _, format := range patternMessages {
		out[format[0]] = format[1]
	}
	return out
}()

// patternMessages are pairs of a pattern and its message.
var patternMessages = [][2]string{
	{
		memoryPattern,
		"must be an amount with a unit of bytes: 512Mi",
	},
	{
		coresPattern,
		"must be a number of cores: 500m is half a core",
	},
	{
		ratioPattern,
		"must be more than 0 and at most 128: 1.5",
	},
	{
		`^[1-9][0-9]*(Mi|Gi|Ti)$`,
		"must be an integer with the unit Mi, Gi or Ti: 100Gi",
	},
	{
		`^[1-9][0-9]*(Gi|Ti|Pi)$`,
		"must be an integer with the unit Gi, Ti or Pi: 10Ti",
	},
	{
		`^[1-9][0-9]*[mhd]$`,
		"must be an integer with the unit m, h or d: 24h",
	},
	{
		`^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](Z|[+-][01][0-9]:[0-5][0-9])?$`,
		"must be a time of day: 14:00:00Z",
	},
	{
		`^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$`,
		"must be a time in UTC: 2026-01-31T14:00:00Z",
	},
	{
		`^([1-9]|[1-4][0-9]|50)%$`,
		"must be a percentage from 1% to 50%",
	},
	{
		`^[0-9*,/-]+( +[0-9A-Za-z*,/-]+){4}$`,
		"must be a cron schedule of five fields: 0 2 * * *",
	},
	{
		`^[0-9a-fA-F.:]+/[0-9]{1,3}$`,
		"must be a range of addresses: 10.0.1.0/24",
	},
	{
		`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`,
		"must consist of lower case letters, digits and hyphens",
	},
	{
		`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`,
		"must consist of lower case letters, digits, hyphens and dots",
	},
	{
		`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`,
		"must be a fully qualified host name: cloud.example.com",
	},
	{
		`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$`,
		"must be a host name or an IPv4 address: nodes.example.com",
	},
	{
		`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`,
		"must be a host name: db.example.com",
	},
	{
		`^https://[A-Za-z0-9.\[\]:-]+(/[A-Za-z0-9._~%+/-]*)?$`,
		"must be an https address: https://example.com/path",
	},
	{
		`^https?://[A-Za-z0-9.\[\]:-]+(/[A-Za-z0-9._~%+/-]*)?$`,
		"must be an http or https address: https://example.com/path",
	},
	{
		`^https?://[A-Za-z0-9.\[\]:-]+(/([A-Za-z0-9._~+/-]|%\(project_id\)s)*)?$`,
		"must be an http or https address: https://example.com/path",
	},
	{
		`^https?://([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?$`,
		"must be an http or https address without a path: https://s3.example.com",
	},
	{
		`^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+$`,
		"must be an image without a tag: registry.example.com/nova",
	},
	{
		`^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`,
		"must be a registry, with an optional path: registry.example.com/openstack",
	},
	{
		`^sha256:[0-9a-f]{64}$`,
		"must be sha256: and 64 hexadecimal digits",
	},
	{
		`^\^?[0-9]{1,4}(-[0-9]{1,4})?(,\^?[0-9]{1,4}(-[0-9]{1,4})?)*$`,
		"must be a list of processors: 2-10,^5",
	},
	{
		`^[A-Za-z0-9][A-Za-z0-9._-]*$`,
		"must consist of letters, digits, dots, underscores and hyphens, and start with a letter or digit",
	},
	{
		`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`,
		"must be the value of a label: letters, digits, hyphens, underscores and dots, with a letter or digit at both ends",
	},
	{
		`^([0-9]+\.[0-9]+\.[0-9]+(-p[0-9]+)?|stable-20[0-9]{2}\.[12]|[0-9a-f]{7,40})$`,
		"must be a version, a branch or a commit: 28.1.0, 28.1.0-p1, stable-2025.2",
	},
	{
		`^[-._a-zA-Z0-9]+$`,
		"must consist of letters, digits, hyphens, dots and underscores",
	},
	{
		`^[^\n\r]*$`,
		"must be one line",
	},
	{
		`^[A-Za-z0-9_][A-Za-z0-9._-]*$`,
		"must be a tag of an image: v1.2.3",
	},
	{
		`^[a-z0-9][a-z0-9_-]*$`,
		"must consist of lower case letters, digits, underscores and hyphens",
	},
	{
		`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`,
		"must consist of letters, digits, dots, underscores and hyphens, with a letter or digit at both ends",
	},
	{
		`^[A-Za-z0-9][A-Za-z0-9._@-]*$`,
		"must be the name of a user: letters, digits, dots, underscores, at signs and hyphens",
	},
	{
		`^[^\x00-\x1f]+$`,
		"must be text without control characters",
	},
	{
		`^[a-z0-9][a-z0-9.-]+[a-z0-9]$`,
		"must be the name of a bucket: lower case letters, digits, dots and hyphens",
	},
	{
		`^[a-z0-9][a-z0-9.-]*[a-z0-9]$`,
		"must be the name of a bucket: lower case letters, digits, dots and hyphens",
	},
	{
		`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:([1-9][0-9]{0,3}|[1-5][0-9]` +
			`{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$`,
		"must be a host, with an optional port: s3.example.com:443",
	},
	{
		`^([A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?$`,
		"must be a path without a slash at its ends: clouds/production",
	},
	{
		`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`,
		"must be a path without a slash at its ends: clouds/production",
	},
	{
		`^[0-9a-f]{4}$`,
		"must be four lower case hexadecimal digits: 10de",
	},
	{
		`^CUSTOM_[A-Z0-9_]+$`,
		"must start with CUSTOM_: CUSTOM_GPU",
	},
	{
		`^[A-Za-z0-9_-]+$`,
		"must consist of letters, digits, underscores and hyphens",
	},
	{
		`^[A-Za-z0-9][A-Za-z0-9_-]*$`,
		"must consist of letters, digits, underscores and hyphens, and start with a letter or digit",
	},
	{
		`^[A-Za-z0-9][A-Za-z0-9._ -]*$`,
		"must consist of letters, digits, dots, underscores, spaces and hyphens, and start with a letter or digit",
	},
	{
		`^[A-Za-z0-9]([A-Za-z0-9 ._-]*[A-Za-z0-9])?$`,
		"must consist of letters, digits, spaces, dots, underscores and hyphens, with a letter or digit at both ends",
	},
	{
		`^[A-Za-z0-9]([A-Za-z0-9 ._:-]*[A-Za-z0-9])?$`,
		"must consist of letters, digits, spaces, dots, underscores, colons and hyphens, with a letter or digit at both ends",
	},
	{
		`^[a-z][a-z0-9_]*$`,
		"must consist of lower case letters, digits and underscores, and start with a letter",
	},
	{
		`^[a-z][a-z0-9]*$`,
		"must consist of lower case letters and digits, and start with a letter",
	},
	{
		`^[a-z][a-z0-9_-]*$`,
		"must consist of lower case letters, digits, underscores and hyphens, and start with a letter",
	},
	{
		`^[a-z]([a-z0-9_-]*[a-z0-9])?$`,
		"must consist of lower case letters, digits, underscores and hyphens, and start with a letter",
	},
	{
		`^[a-z]([-a-z0-9]*[a-z0-9])?$`,
		"must consist of lower case letters, digits and hyphens, and start with a letter",
	},
	{
		`^[1-9][0-9]{0,7}:[1-9][0-9]{0,7}$`,
		"must be a range: 100:199",
	},
	{
		`^ssl:[^,]+:[0-9]+(,ssl:[^,]+:[0-9]+)*$`,
		"must be a list of TLS addresses: ssl:10.0.0.1:6641,ssl:10.0.0.2:6641",
	},
	{
		`^([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\]):/[A-Za-z0-9._/-]*$`,
		"must be a host and a path: nfs.example.com:/volumes",
	},
	{
		`^[^\x00-\x1f\x7f-\x9f]+$`,
		"must be text without control characters",
	},
	{
		`^[^\x00-\x1f\x7f-\x9f$]*$`,
		"must be text without control characters and dollar signs",
	},
	{
		`^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$`,
		"must be the name of a namespace, in which * matches any characters: tenant-*",
	},
	{
		`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`,
		"must consist of letters, digits, dots, underscores and hyphens, and start with a letter or digit",
	},
	{
		`^([0-9a-f]{4}|\*):([0-9a-f]{2}|\*):([0-9a-f]{2}|\*)\.([0-7]|\*)$`,
		"must be a PCI address, in which * matches any part: 0000:3b:00.*",
	},
	{
		`^[^\x00-\x20]+$`,
		"must be text without spaces",
	},
	{
		`^ldaps?://[A-Za-z0-9.\[\]:-]+$`,
		"must be an LDAP address: ldaps://ldap.example.com",
	},
	{
		`^[A-Za-z0-9._:/-]+$`,
		"must consist of letters, digits, dots, underscores, colons, slashes and hyphens",
	},
	{
		`^[A-Za-z0-9._:-]+$`,
		"must consist of letters, digits, dots, underscores, colons and hyphens",
	},
	{
		`^[A-Za-z0-9._-]+$`,
		"must consist of letters, digits, dots, underscores and hyphens",
	},
	{
		`^[a-z0-9:]([a-z0-9.:-]*[a-z0-9:])?$`,
		"must be a host name or an address: images.example.com",
	},
	{
		`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`,
		"must be the name of a host: letters, digits, dots and hyphens",
	},
	{
		`^[A-Za-z0-9=,._-]+$`,
		"must be mount options: vers=4.2,nconnect=4",
	},
	{
		`^https://([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._-]+)*/v1/[A-Za-z0-9._-]*$`,
		"must be an https address of accounts: https://objects.example.com/swift/v1/AUTH_",
	},
	{
		`^https://([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?$`,
		"must be an https address without a path: https://vault.example.com:8200",
	},
	{
		`^(/dev/)?[A-Za-z0-9][A-Za-z0-9._:/-]*$`,
		"must be a device: nvme0n1 or /dev/disk/by-id/…",
	},
	{
		`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`,
		"must be a UUID: 3c5b9d9e-0000-4000-8000-000000000000",
	},
	{
		`^[0-9A-Za-z.:,\[\]-]+$`,
		"must be an address, with an optional port: 10.0.0.1:6789",
	},
	{
		`^[0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?$`,
		"must consist of letters, digits, dots, underscores and hyphens, with a letter or digit at both ends",
	},
}

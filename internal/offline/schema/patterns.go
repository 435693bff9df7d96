package schema

// Patterns are what the regular expressions of our definitions stand for, for those who read no regular expressions.
var Patterns = map[string]string{
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`:           "name of a Kubernetes object",
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`:                                             "DNS label",
	`^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$`:                                          "DNS label, in which * stands for any characters",
	`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$`: "full host name or IPv4 address",
	`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`:    "full host name",
	`^https?://[A-Za-z0-9.\[\]:-]+(/[A-Za-z0-9._~%+/-]*)?$`:                       "http or https address",
	`^https://[A-Za-z0-9.\[\]:-]+(/[A-Za-z0-9._~%+/-]*)?$`:                        "https address, since secrets are sent there",
	`^[-._a-zA-Z0-9]+$`:                             "key of a Secret",
	`^[0-9*,/-]+( +[0-9A-Za-z*,/-]+){4}$`:           "five fields of cron",
	`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`: "value of a label",
	`^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+$`: "image repository with its registry",
	`^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`: "registry, with or without a path",
	`^sha256:[0-9a-f]{64}$`: "sha256: and 64 hex digits",
	`^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$`: "moment, as 2026-05-01T03:00:00Z",
	`^([0-9]+\.[0-9]+\.[0-9]+(-p[0-9]+)?|stable-20[0-9]{2}\.[12]|[0-9a-f]{7,40})$`:                    "version, branch or commit",
	`^[1-9][0-9]*(Mi|Gi|Ti)$`:                "size with its unit, such as 100Gi",
	`^ldaps?://[A-Za-z0-9.\[\]:-]+$`:         "ldap or ldaps address",
	`^ssl:[^,]+:[0-9]+(,ssl:[^,]+:[0-9]+)*$`: "addresses of OVN by TLS, such as ssl:10.20.0.11:6641,ssl:10.20.0.12:6641",
	`^[^\n\r]*$`:                             "one line",
	`^[^\x00-\x1f]+$`:                        "no control characters",
	`^[^\x00-\x20]+$`:                        "no blanks",
}

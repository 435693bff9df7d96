package main

import (
	"strings"
	"unicode"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// spelling are words of field names that are not written as they come, in lower case.
var spelling = map[string]string{
	"api": "API", "ca": "CA", "cidr": "CIDR", "cidrs": "CIDRs", "cpu": "CPU", "db": "DB", "dn": "DN", "fsid": "FSID", "gib": "GiB",
	"ha": "HA", "id": "ID", "ironcore": "IronCore", "korc": "K-ORC", "kvm": "KVM", "ldap": "LDAP", "mariadb": "MariaDB",
	"maxscale": "MaxScale", "mib": "MiB", "ml2": "ML2", "novncproxy": "noVNC proxy", "numa": "NUMA",
	"openstack": "OpenStack", "openvswitch": "Open vSwitch",
	"osds": "OSDs", "ovn": "OVN", "ovs": "OVS", "pci": "PCI", "rabbitmq": "RabbitMQ", "ref": "reference",
	"refs": "references", "s3": "S3", "tls": "TLS", "url": "URL", "uwsgi": "uWSGI", "vcpu": "vCPU", "vnc": "VNC",
}

// completeParts gives every property below spec a title, for forms. Below spec and status it removes the descriptions of items.
func completeParts(schema *apiextensionsv1.JSONSchemaProps) {
	for _, part := range []string{"spec", "status"} {
		if p, ok := schema.Properties[part]; ok {
			complete(&p, part == "spec")
			schema.Properties[part] = p
		}
	}
}

// complete adds a title to every property below a schema that has none, if it is titled. It removes the descriptions of items, because the
// description of the list covers them and nothing shows them, and because the annotation in which kubectl apply stores a copy of each
// definition has a size limit.
func complete(schema *apiextensionsv1.JSONSchemaProps, titled bool) {
	if schema == nil {
		return
	}
	for name, p := range schema.Properties {
		if titled && p.Title == "" {
			p.Title = title(name)
		}
		complete(&p, titled)
		schema.Properties[name] = p
	}
	var items []*apiextensionsv1.JSONSchemaProps
	if schema.Items != nil {
		items = append(items, schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil {
		items = append(items, schema.AdditionalProperties.Schema)
	}
	for _, i := range items {
		if i != nil {
			i.Description = ""
			complete(i, titled)
		}
	}
}

// title turns the name of a field into words: openStackRelease becomes OpenStack release.
func title(name string) string {
	parts := words(name)
	for i, w := range parts {
		w = strings.ToLower(w)
		if s, ok := spelling[w]; ok {
			w = s
			// A reference at the beginning is the first word of a sentence; other spellings are kept.
			if i == 0 && s == strings.ToLower(s) {
				w = strings.ToUpper(s[:1]) + s[1:]
			}
		} else if i == 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		parts[i] = w
	}
	return strings.Join(parts, " ")
}

// words splits the name of a field where its parts meet: at a capital after a small letter (nodeSelector), before the last
// capital of several (URLPath), and at a hyphen. The plural of an abbreviation is one word (publicCIDRs), and so are names
// of products and units (openStack, mariaDB, maxScale, GiB, MiB).
func words(name string) []string {
	name = strings.NewReplacer("openStack", "Openstack", "OpenStack", "Openstack", "mariaDB", "Mariadb", "maxScale", "Maxscale",
		"GiB", "Gib", "MiB", "Mib").Replace(name)
	var (
		out []string
		r   = []rune(name)
		at  = 0
	)
	cut := func(i int) {
		if i > at {
			out = append(out, string(r[at:i]))
		}
		at = i
	}
	for i := 1; i < len(r); i++ {
		switch {
		case r[i] == '-':
			cut(i)
			at++
		case !unicode.IsUpper(r[i]):
		case unicode.IsLower(r[i-1]) || unicode.IsDigit(r[i-1]):
			cut(i)
		case i+1 < len(r) && unicode.IsLower(r[i+1]) && !plural(r, i+1):
			cut(i)
		}
	}
	cut(len(r))
	return out
}

// plural reports whether the letter at i is the plural s of an abbreviation.
func plural(r []rune, i int) bool {
	return r[i] == 's' && (i+1 == len(r) || unicode.IsUpper(r[i+1]))
}

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// owners maps API groups, by suffix, to the owner of their objects. The first match is used.
var owners = []struct{ group, who string }{
	{"c5c3.io", "the companion"},
	{"openstack.k-orc.cloud", "K-ORC"},
	{"k8s.mariadb.com", "MariaDB's operator"},
	{"rabbitmq.com", "RabbitMQ's operators"},
	{"cache.cs.sap.com", "Valkey's operator"},
	{"cert-manager.io", "cert-manager"},
	{"external-secrets.io", "External Secrets"},
	{"monitoring.coreos.com", "Prometheus"},
	{"ceph.rook.io", "Rook"},
	{"gateway.networking.k8s.io", "the gateway"},
	{"networking.k8s.io", "the Ingress controller"},
}

// owner returns the owner of an object, or its kind if owners has no entry for it.
func owner(id wiring.ID) string {
	for _, o := range owners {
		if id.Group == o.group || strings.HasSuffix(id.Group, "."+o.group) {
			return o.who
		}
	}
	return id.Kind
}

// ownerReads lists the kinds whose Secrets are read only by their owner: no object refers to these Secrets.
var ownerReads = map[string]string{
	"KeyRepository":   "the companion, to restore keys from the store",
	"RabbitmqCluster": "RabbitMQ's operators, to log in",
	"MaxScale":        "MariaDB's operator",
}

// maker returns the creator of a Secret, and the source of its content. Secrets without a composed creator belong to the tenant.
func (e *emitted) maker(s wiring.Secret) string {
	m := s.Maker
	switch m.Kind {
	case "":
		return "the tenant"
	case keystoneservicev1.GroupVersionKind.Kind:
		return "KeystoneService " + code(m.Name)
	case "ExternalSecret":
		if len(s.From) == 0 {
			return "External Secrets, at random"
		}
		return "External Secrets, a copy of " + e.sources(s)
	case "Certificate":
		ref := at(m.Fields, "spec", "issuerRef", "name")
		return fmt.Sprintf("cert-manager, %s %s", code(fmt.Sprint(ref)), e.stableName(issuerKind(m)))
	case "SecretAggregate":
		return "the companion, from " + e.sources(s)
	case "CredentialRotation":
		return "the companion, " + credential[fmt.Sprint(at(m.Fields, "spec", "target"))]
	}
	return owner(m.ID)
}

// credential describes the result of a CredentialRotation, by its target.
var credential = map[string]string{ //nolint:gosec // Descriptions, not credentials.
	"ApplicationCredential": "a credential in Keystone", "Password": "a user's password in Keystone", "QueueUser": "a user of the queue",
}

func issuerKind(m wiring.Manifest) string {
	if k, ok := at(m.Fields, "spec", "issuerRef", "kind").(string); ok {
		return "(" + k + ")"
	}
	return ""
}

// sources are the Secrets that one is made of.
func (e *emitted) sources(s wiring.Secret) string {
	var out []string
	for _, from := range s.From {
		name := code(e.stableName(from.Name))
		switch {
		case from.Store != "" && from.Kind == "Secret":
			name += " in the store"
		case from.Store != "":
			name += " of the store"
		case from.Given:
			name += " of the tenant"
		case from.Namespace != s.Namespace:
			name += " of " + e.place(from.Namespace)
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// place is the claim in whose instance a namespace is.
func (e *emitted) place(namespace string) string {
	for _, r := range e.results {
		if r.Instance == namespace {
			return code(r.Name)
		}
	}
	return "namespace " + code(namespace)
}

// renewed returns when the value of a Secret changes, from the fields of the object that creates it.
func (e *emitted) renewed(s wiring.Secret) string {
	spec := at(s.Maker.Fields, "spec")
	switch s.Maker.Kind {
	case "":
		return "by the tenant"
	case keystoneservicev1.GroupVersionKind.Kind:
		return "never" // docs/own-service.md
	case "ExternalSecret":
		switch {
		case at(spec, "refreshPolicy") == "CreatedOnce":
			return "never"
		case at(spec, "refreshInterval") != nil:
			return "within " + interval(at(spec, "refreshInterval"))
		}
		return "within 1 hour" // External Secrets' own default.
	case "Certificate":
		if d := at(spec, "duration"); d != nil {
			return "after " + interval(d)
		}
		return "after 60 days" // cert-manager's defaults: 90 days, and another one when a third of that is left.
	case "CredentialRotation":
		days := at(spec, "intervalDays")
		if days == nil {
			days = 90 // The default of the kind: a pool copies what its control plane publishes, and that can be nothing.
		}
		return fmt.Sprintf("every %v days, new before old", days)
	case "KeyRepository":
		return "by schedule " + code(fmt.Sprint(at(spec, "rotationSchedule")))
	case "SecretAggregate":
		return "with its sources"
	}
	return "by " + owner(s.Maker.ID)
}

// interval is a duration in words: 5m0s is 5 minutes.
func interval(v any) string {
	d, err := time.ParseDuration(fmt.Sprint(v))
	if err != nil {
		return fmt.Sprint(v)
	}
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{8760 * time.Hour, "year"}, {24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := d / unit.of; n > 0 && d%unit.of == 0 {
			if n == 1 {
				return "1 " + unit.name
			}
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}

// readers returns the readers of a Secret: pods of the section by name, pods of other sections by section, and owners of objects.
func (e *emitted) readers(s wiring.Secret, home string) string {
	var pods, sections, others, targets []string
	for _, r := range s.Readers {
		section := e.section(r.ID)
		switch {
		case r.Kind == "PushSecret":
			continue // See storeNote.
		case !r.Pods && (r.Group == "apps" || r.Group == "batch"):
			continue // Its pods read it.
		case r.Pods && section == home:
			pods = append(pods, r.Name)
		case r.Pods:
			sections = append(sections, section)
		case r.Kind == "SecretAggregate", r.Kind == "ExternalSecret":
			targets = append(targets, code(e.stableName(target(e, r.ID))))
		default:
			others = append(others, owner(r.ID))
		}
	}
	var out []string
	if len(pods) > 0 {
		out = append(out, e.quotedNames(pods))
	}
	if len(sections) > 0 {
		slices.Sort(sections)
		out = append(out, "pods of "+strings.Join(unique(sections), ", "))
	}
	switch targets = unique(targets); len(targets) {
	case 0:
	case 1:
		out = append(out, "for Secret "+targets[0])
	default:
		out = append(out, "for Secrets "+strings.Join(targets, ", "))
	}
	out = append(out, unique(others)...)
	if why := ownerReads[s.Maker.Kind]; len(out) == 0 && why != "" {
		out = append(out, why)
	}
	return strings.Join(out, "; ")
}

// target is the Secret that an object makes.
func target(e *emitted, id wiring.ID) string {
	for _, s := range e.Secrets {
		if s.Maker.ID == id {
			return s.Name
		}
	}
	return id.Name
}

// storeNote returns a note for a Secret that is also in the store.
func storeNote(s wiring.Secret) string {
	if len(s.Stores) > 0 {
		return "; kept in the store"
	}
	return ""
}

// at returns the value at a path of fields.
func at(v any, path ...string) any {
	for _, field := range path {
		m, _ := v.(map[string]any)
		v = m[field]
	}
	return v
}

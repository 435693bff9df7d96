package wiring

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

type secretName struct {
	namespaceRef

	name string
}

// generatedObject is a Secret or ConfigMap that an object or a user creates.
type generatedObject struct {
	// createdBy names the creator.
	createdBy string
	// keys by name. Nil: the names of some keys are unknown.
	keys map[string]value
}

// A value is the value of a key.
type value struct {
	is valueKind
	// of is the owner: the user of a password, the issuer of a CA certificate, the Certificate of a key. Empty:
	// unknown.
	of string
	// content of a value that is no secret, or of a file with secrets in it.
	content string
	// from resolves the value, if its source is another Secret or user-provided.
	from func(w *inventory) (value, string)
	// free: its key may have any name. Users created it, or it is a CA's own certificate.
	free bool
}

// An entry is written into a store by a PushSecret.
type entry struct {
	store, key, property string
	from                 secretName
	sourceKey            string
}

func (w *inventory) make(p namespaceRef, name, by string, keys map[string]value) {
	w.secrets[secretName{p, name}] = &generatedObject{by, keys}
}

// addSecrets records the Secrets created for an object, and the entries pushed to a store.
func (w *inventory) addSecrets(o object) {
	spec := at(o.manifest, "spec")
	switch {
	case o.is("ConfigMap"):
		keys := map[string]value{}
		for k, content := range stringMap(o.manifest, "data") {
			keys[k] = value{is: means(k), content: content}
		}
		w.make(o.namespaceRef, "configmap/"+o.name, o.String(), keys)
	case o.is("ExternalSecret.external-secrets.io"):
		w.make(o.namespaceRef, text(spec, "target", "name"), o.String(), external(o))
	case o.is("PushSecret.external-secrets.io"):
		from := secretName{o.namespaceRef, text(spec, "selector", "secret", "name")}
		for _, store := range list(spec, "secretStoreRefs") {
			for _, d := range list(spec, "data") {
				w.stores = append(w.stores, entry{
					text(store, "name"), text(d, "match", "remoteRef", "remoteKey"), text(d, "match", "remoteRef", "property"),
					from, text(d, "match", "secretKey"),
				})
			}
		}
	case o.is("Certificate.cert-manager.io"):
		// https://cert-manager.io/docs/usage/certificate/#target-secret
		issuer := text(spec, "issuerRef", "name")
		is := certificate
		if truth(spec, "isCA") {
			is, issuer = authority, o.name
		}
		w.make(o.namespaceRef, text(spec, "secretName"), o.String(), map[string]value{
			"tls.crt": {is: is, of: o.name, free: is == authority}, "tls.key": {is: privateKey, of: o.name}, "ca.crt": {is: authority, of: issuer},
		})
	case o.is("SecretAggregate.c5c3.io"):
		w.make(o.namespaceRef, text(spec, "targetSecretName"), o.String(), aggregated(o))
	case o.is("KeyRepository.openstack.c5c3.io"):
		// apis/openstack/v1alpha1: the keys are numbered; companion/keyrepository/backup.go: the restored keys are in a
		// separate Secret.
		w.make(o.namespaceRef, text(spec, "secretName"), o.String(), nil)
		if at(spec, "backup") != nil {
			w.make(o.namespaceRef, text(spec, "secretName")+"-restore", o.String(), nil)
		}
	case o.is("KeystoneService.crossplane.c5c3.io"):
		// apis/keystoneservice/v1alpha1/names.go: the login of a custom service.
		keys := map[string]value{"clouds.yaml": {is: cloudsYAML}, "cacert": {is: authority}, "OS_PASSWORD": {is: password}}
		for _, v := range []string{
			"AUTH_TYPE", "AUTH_URL", "IDENTITY_API_VERSION", "INTERFACE", "PROJECT_DOMAIN_NAME", "PROJECT_NAME", "REGION_NAME", "USERNAME",
			"USER_DOMAIN_NAME",
		} {
			keys["OS_"+v] = value{is: public}
		}
		w.make(o.namespaceRef, o.name+"-keystone", o.String(), keys)
	case o.is("CredentialRotation.c5c3.io"):
		// apis/c5c3/v1alpha1: the keys of each target.
		keys := map[string]value{"application_credential_id": {is: credentialID}, "application_credential_secret": {is: credentialSecret}}
		if text(spec, "target") == "Password" {
			keys = map[string]value{"password": {is: password, of: text(spec, "userName")}, "username": {is: userName}}
		}
		if text(spec, "target") == "QueueUser" {
			keys = map[string]value{"password": {is: password, of: text(spec, "secretName")}, "username": {is: userName}}
		}
		w.make(o.namespaceRef, text(spec, "secretName"), o.String(), keys)
	}
}

// single matches a template of exactly one value, bundle a template of several values and nothing else, part a value
// within a file.
var (
	bundle = regexp.MustCompile(`^(\{\{ *\.[A-Za-z0-9_]+ *\}\}\s*){2,}$`)
	single = regexp.MustCompile(`^\{\{ *\.([A-Za-z0-9_]+)[^}]*\}\}$`)
	part   = regexp.MustCompile(`\{\{ *\.([A-Za-z0-9_]+)[^}]*\}\}`)
)

// external returns the keys created by an ExternalSecret (https://external-secrets.io/latest/guides/templating/: a
// template's data replaces all other).
func external(o object) map[string]value {
	spec := at(o.manifest, "spec")
	values := map[string]value{}
	for _, d := range list(spec, "data") {
		values[text(d, "secretKey")] = value{from: func(w *inventory) (value, string) {
			return w.stored(o, text(d, "remoteRef", "key"), text(d, "remoteRef", "property"))
		}}
	}
	for _, d := range list(spec, "dataFrom") {
		if name := text(d, "sourceRef", "generatorRef", "name"); name != "" {
			// https://external-secrets.io/latest/api/generator/password/: one key, password.
			values["password"] = value{is: password, from: func(w *inventory) (value, string) {
				kind := text(d, "sourceRef", "generatorRef", "kind")
				if _, ok := w.find(o.namespaceRef, kind+".generators.external-secrets.io", name); !ok {
					return value{}, fmt.Sprintf("%s is generated by %s %s, which does not exist", o, kind, name)
				}
				return value{is: password}, ""
			}}
		}
	}
	template := stringMap(spec, "target", "template", "data")
	if len(template) == 0 {
		return values
	}
	if text(spec, "target", "template", "mergePolicy") == "Merge" {
		// https://external-secrets.io/latest/guides/templating/#merge-templated-and-non-templated-keys
		out := templated(o, template, func(name string) (value, bool) { v, ok := values[name]; return v, ok })
		for k, v := range values {
			if _, ok := out[k]; !ok {
				out[k] = v
			}
		}
		return out
	}
	return templated(o, template, func(name string) (value, bool) { v, ok := values[name]; return v, ok })
}

// templated returns the keys of a template, each of which is a value, a file with values in it, or a text. A password
// belongs to the user that the template also names.
func templated(o object, template map[string]string, source func(name string) (value, bool)) map[string]value {
	keys := map[string]value{}
	for k, t := range template {
		m := single.FindStringSubmatch(strings.TrimSpace(t))
		switch {
		case m != nil:
			v, ok := source(m[1])
			if !ok {
				keys[k] = value{from: func(*inventory) (value, string) {
					return value{}, fmt.Sprintf("%s: the template of %s puts in %s, which it has not", o, k, m[1])
				}}
				continue
			}
			v.of = first(v.of, template["username"])
			keys[k] = v
		case bundle.MatchString(t):
			keys[k] = value{from: func(w *inventory) (value, string) { return w.bundled(part.FindAllStringSubmatch(t, -1), source) }}
		case part.MatchString(t):
			keys[k] = value{is: file, content: t}
		default:
			keys[k] = value{is: public, content: t}
		}
		if means(k) == cloudsYAML {
			keys[k] = value{is: cloudsYAML, content: t}
		}
	}
	return keys
}

// bundled returns CA certificates in one file as a CA certificate. With other contents it is a file.
func (w *inventory) bundled(names [][]string, source func(name string) (value, bool)) (value, string) {
	for _, n := range names {
		v, ok := source(n[1])
		if ok && v.from != nil {
			var wrong string
			if v, wrong = v.from(w); wrong != "" {
				return value{}, wrong
			}
		}
		if !ok || v.is != authority && v.is != "" { // User-provided values may have any name.
			return value{is: file}, ""
		}
	}
	return value{is: authority}, ""
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// aggregated returns the keys that the companion creates for a SecretAggregate.
func aggregated(o object) map[string]value {
	sources := map[string]value{}
	for _, s := range list(o.manifest, "spec", "sources") {
		ref := secretName{o.namespaceRef, text(s, "secretKeyRef", "name")}
		sources[text(s, "name")] = value{from: func(w *inventory) (value, string) { return w.value(ref, text(s, "secretKeyRef", "key")) }}
	}
	return templated(o, stringMap(o.manifest, "spec", "template"), func(name string) (value, bool) { v, ok := sources[name]; return v, ok })
}

// value returns the value of a key of a Secret, or the reason why there is none.
func (w *inventory) value(s secretName, key string) (value, string) {
	m := w.secrets[s]
	if m == nil {
		return value{}, fmt.Sprintf("no object creates %s", s)
	}
	if m.keys == nil {
		return value{is: encryptionKeys}, ""
	}
	v, ok := m.keys[key]
	if !ok {
		return value{}, fmt.Sprintf("%s has no key %s: %s does not make it", s, key, m.createdBy)
	}
	if v.from == nil {
		return v, ""
	}
	from, wrong := v.from(w)
	from.of = first(from.of, v.of)
	return from, wrong
}

// checkPushes checks that a Secret is pushed to a store completely: a part of it cannot be restored. An entry without a
// key is the whole Secret (https://external-secrets.io/latest/guides/pushsecrets/). A Secret pushed to another tenant's
// folder is a delivery and no backup: only the keys that its reader needs.
func (w *inventory) checkPushes() {
	pushed := map[secretName]map[string]bool{}
	for _, e := range w.stores {
		if !slices.Contains(strings.Split(e.key, "/"), e.from.namespace) {
			continue
		}
		if pushed[e.from] == nil {
			pushed[e.from] = map[string]bool{}
		}
		pushed[e.from][e.sourceKey] = true
	}
	for s, keys := range pushed {
		m := w.secrets[s]
		if m == nil || keys[""] {
			continue
		}
		for key := range m.keys {
			if !keys[key] {
				w.foundf("%s is pushed to a store without its key %s", s, key)
			}
		}
	}
}

func (s secretName) String() string {
	if name, ok := strings.CutPrefix(s.name, "configmap/"); ok {
		return "ConfigMap " + name
	}
	return "Secret " + s.name
}

// stored returns the value that an ExternalSecret reads: from a namespace with user-provided Secrets, or from a store,
// into which it was pushed.
func (w *inventory) stored(o object, key, property string) (value, string) {
	kind, store := text(o.manifest, "spec", "secretStoreRef", "kind"), text(o.manifest, "spec", "secretStoreRef", "name")
	if s, ok := w.find(o.namespaceRef, "SecretStore.external-secrets.io", store); ok && kind == "SecretStore" {
		from := text(s.manifest, "spec", "provider", "kubernetes", "remoteNamespace")
		if from == "" {
			return value{}, fmt.Sprintf("%s names no namespace to read from", s)
		}
		if existing := (secretName{namespaceRef{o.cluster, from}, key}); w.secrets[existing] != nil {
			return w.value(existing, property) // Another claim's.
		}
		return w.userProvidedKey(o, key, property)
	}
	for _, e := range w.stores {
		if e.store == store && e.key == key && e.property == property {
			return w.value(e.from, e.sourceKey)
		}
	}
	return value{}, fmt.Sprintf("%s reads %s of %s from %s %s, which has no such entry", o, property, key, kind, store)
}

// userProvidedKey returns a key of a user-provided Secret: the field of the claim that names the Secret defines its
// kind.
func (w *inventory) userProvidedKey(o object, key, property string) (value, string) {
	var is []valueKind
	for _, doc := range w.inputs {
		each(doc, nil, func(path []string, m fields) {
			if len(path) == 0 {
				return
			}
			for _, pull := range texts(m, "pullSecrets") {
				if pull == key && property == ".dockerconfigjson" {
					is = append(is, dockerConfig)
				}
			}
			if text(m, "name") != key || !strings.HasSuffix(strings.ToLower(path[len(path)-1]), "secretref") {
				return
			}
			switch text(m, "key") {
			case property:
				is = append(is, means(path[len(path)-1]))
			case "":
				// Credentials of an object store: docs/reference has the keys.
				is = append(is, means(property))
			}
		})
	}
	if len(is) == 0 {
		return value{}, fmt.Sprintf("%s reads %s of a Secret %s, which neither claim nor platform names", o, property, key)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(is)))) > 1 {
		return value{free: true}, "" // Named for two things: it may be either.
	}
	return value{is: is[0], free: true}, ""
}

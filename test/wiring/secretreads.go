package wiring

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// checkSecrets checks that everything that is read is created, under that name, and is of the kind that is expected;
// and that the kind of each created value matches its key.
func (w *inventory) checkSecrets() {
	for s, m := range w.secrets {
		if strings.HasPrefix(s.name, "configmap/") {
			continue
		}
		for k := range m.keys {
			v, wrong := w.value(s, k)
			switch read := means(k); {
			case wrong != "":
				w.foundf("%s: %s.", m.createdBy, wrong)
			case !v.free && !v.is.matches(read):
				w.foundf("%s makes key %s of %s, which is %s, and not %s.", m.createdBy, k, s, v.is, read)
			}
		}
	}
	for _, o := range w.objects {
		for _, r := range w.reads(o) {
			w.checkRead(o, r)
		}
	}
}

// A configRead is a read of a Secret or ConfigMap.
type configRead struct {
	secretName

	key      string
	optional bool
	// as is the name that it is read by.
	as string
	// means is the kind that is expected, if the name does not imply it.
	means valueKind
	// of is the required owner of the value.
	of string
}

func (w *inventory) checkRead(o object, r configRead) {
	if r.optional && w.secrets[r.secretName] == nil {
		return // The pod starts without it.
	}
	if r.key == "" {
		if w.secrets[r.secretName] == nil {
			w.foundf("%s reads %s, which no object creates.", o, r.secretName)
		}
		return
	}
	v, wrong := w.value(r.secretName, r.key)
	as := r.means
	if as == "" {
		as = means(r.as)
	}
	switch {
	case wrong != "":
		w.foundf("%s reads key %s of %s as %s: %s.", o, r.key, r.secretName, r.as, wrong)
	case !v.is.matches(as) && (!v.free || r.as != r.key):
		w.foundf("%s reads key %s of %s as %s, which is %s: it is %s.", o, r.key, r.secretName, r.as, as, v.is)
	case r.of != "" && v.of != "" && r.of != v.of:
		w.foundf("%s reads key %s of %s as %s of %s: it belongs to %s.", o, r.key, r.secretName, r.as, r.of, v.of)
	}
}

// secretFields are the fields named secretName, by the end of their path, with the keys that are read and the kind of
// each; empty: the field names an object to be created.
var secretFields = map[string]map[string]valueKind{
	"tls.secretName":                 {"tls.crt": certificate, "tls.key": privateKey},
	"tls.caSecretName":               {"ca.crt": authority},
	"ca.secretName":                  {"tls.crt": authority, "tls.key": privateKey}, // an Issuer's
	"cloudCredentialsRef.secretName": {"clouds.yaml": cloudsYAML, "cacert": authority},
	"adminCloudRef.secretName":       {"clouds.yaml": cloudsYAML, "cacert": authority},
	"korcCloudRef.secretName":        {"clouds.yaml": cloudsYAML, "cacert": authority},
	"binding.secretName":             {},
	"spec.clientSecretName":          {"tls.crt": certificate, "tls.key": privateKey, "ca.crt": authority}, // a RaftCluster's
	"spec.secretName":                {},
	"storageClients.secretName":      {"userKey": cephKey}, // Rook's, or a copy of it
	"spec.targetSecretName":          {},
	// a CephObjectStore's (Rook's object/config.go)
	"keystone.serviceUserSecretName": {
		"OS_PROJECT_DOMAIN_NAME": public, "OS_USER_DOMAIN_NAME": public, "OS_PROJECT_NAME": public, "OS_USERNAME": public,
		"OS_PASSWORD": password, "OS_IDENTITY_API_VERSION": public,
	},
}

// reads returns all reads of an object: by its pods, and by fields that refer to Secrets.
func (w *inventory) reads(o object) []configRead {
	var out []configRead
	for _, p := range w.pods {
		if p.spec != nil && sameObject(p.of, o) {
			out = append(out, podReads(p)...)
		}
	}
	return append(out, w.fieldReads(o)...)
}

// fieldReads returns the reads by fields of an object that refer to Secrets, outside of its pods.
func (w *inventory) fieldReads(o object) []configRead {
	if isProviderConfig(o) {
		return nil // The platform team creates its Secret: see checkProviderConfigs.
	}
	var out []configRead
	switch {
	case o.is("CephObjectStore.ceph.rook.io"):
		out = storeReads(o)
	case o.is("CephBlockPool.ceph.rook.io"):
		out = poolReads(o)
	case o.is("RabbitmqCluster.rabbitmq.com"):
		out = memberReads(o)
	}
	target := o.namespaceRef
	if at(o.manifest, "spec", "target", "providerConfig") != nil {
		target.cluster = w.workloads() // A composite resource: the named Secrets are in the cluster of its objects.
	}
	each(o.spec(), nil, func(path []string, m fields) {
		if slices.Contains(path, "containers") || slices.Contains(path, "initContainers") || slices.Contains(path, "volumes") {
			return
		}
		for k, v := range m {
			last := ""
			if len(path) > 0 {
				last = path[len(path)-1]
			}
			if name, ok := v.(string); ok && strings.HasSuffix(strings.ToLower(k), "secretname") {
				keys, known := secretFields[last+"."+k]
				if !known {
					w.foundf("%s has a field %s.%s: it is unknown whether it reads or creates a Secret.", o, last, k)
				}
				for key, is := range keys {
					out = append(out, configRead{secretName: secretName{target, name}, key: key, as: last, means: is})
				}
			}
			ref, ok := v.(fields)
			if !ok || !refersToSecret(k) || text(ref, "name") == "" {
				continue
			}
			as := k
			if k == "secret" || k == "secretKeyRef" {
				as = last // tlsConfig.ca.secret
			}
			out = append(out, configRead{secretName: secretName{target, text(ref, "name")}, key: text(ref, "key"), as: w.nameOf(m, as)})
		}
		for _, pull := range append(list(m, "imagePullSecrets"), asRefs(texts(m, "pullSecrets"))...) {
			name := secretName{target, text(pull, "name")}
			out = append(out, configRead{secretName: name, key: corev1.DockerConfigJsonKey, as: corev1.DockerConfigJsonKey})
		}
	})
	for _, r := range list(o.manifest, "spec", "validation", "caCertificateRefs") {
		name := secretName{o.namespaceRef, strings.TrimPrefix(strings.ToLower(text(r, "kind"))+"/"+text(r, "name"), "secret/")}
		out = append(out, configRead{secretName: name, key: "ca.crt", as: "ca"})
	}
	return out
}

func sameObject(a, b object) bool {
	return a.namespaceRef == b.namespaceRef && a.kind == b.kind && a.group == b.group && a.name == b.name
}

func asRefs(names []string) []any {
	var out []any
	for _, n := range names {
		out = append(out, fields{"name": n})
	}
	return out
}

// refersToSecret reports whether a field with that name is a reference to a Secret, or to a key of one.
func refersToSecret(field string) bool {
	f := strings.ToLower(field)
	return strings.Contains(f, "secret") && !strings.Contains(f, "store") && (strings.HasSuffix(f, "ref") || f == "secret")
}

// nameOf returns the name by which a reference is read: the name of its list entry, or of its field.
func (w *inventory) nameOf(m fields, field string) string {
	if name := text(m, "name"); name != "" {
		return name // A source of a SecretAggregate has a name.
	}
	return field
}

// workloads returns the cluster of pods.
func (w *inventory) workloads() string {
	for _, p := range w.pods {
		if p.spec != nil {
			return p.cluster
		}
	}
	return ""
}

// podReads returns the values that a pod reads in its environment and files.
func podReads(p *pod) []configRead {
	var out []configRead
	at := func(name string) secretName { return secretName{p.namespaceRef, name} }
	for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
		for _, e := range c.Env {
			if e.ValueFrom == nil {
				continue
			}
			if r := e.ValueFrom.SecretKeyRef; r != nil {
				out = append(out, configRead{secretName: at(r.Name), key: r.Key, as: e.Name, optional: r.Optional != nil && *r.Optional})
			}
			if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
				out = append(out, configRead{secretName: at("configmap/" + r.Name), key: r.Key, as: e.Name, optional: r.Optional != nil && *r.Optional})
			}
		}
		for _, e := range c.EnvFrom {
			if e.SecretRef != nil {
				out = append(out, configRead{secretName: at(e.SecretRef.Name)})
			}
			if e.ConfigMapRef != nil {
				out = append(out, configRead{secretName: at("configmap/" + e.ConfigMapRef.Name)})
			}
		}
		for _, m := range c.VolumeMounts {
			if m.SubPath == "" {
				continue
			}
			for _, v := range sourcesOf(p, m.Name) {
				if v.items == nil {
					out = append(out, configRead{secretName: at(v.name), key: m.SubPath, as: m.SubPath})
				}
			}
		}
	}
	for _, v := range p.spec.Volumes {
		for _, s := range sourcesOf(p, v.Name) {
			out = append(out, configRead{secretName: at(s.name), optional: s.optional})
			for key, path := range s.items {
				out = append(out, configRead{secretName: at(s.name), key: key, as: path, optional: s.optional})
			}
		}
	}
	for _, s := range p.spec.ImagePullSecrets {
		out = append(out, configRead{secretName: at(s.Name), key: corev1.DockerConfigJsonKey, as: corev1.DockerConfigJsonKey})
	}
	return out
}

// A volumeSource is a Secret or ConfigMap in a volume: some keys with their paths, or all.
type volumeSource struct {
	name     string
	items    map[string]string
	optional bool
}

func sourcesOf(p *pod, volume string) []volumeSource {
	var out []volumeSource
	add := func(name string, items []corev1.KeyToPath, optional *bool) {
		s := volumeSource{name: name, optional: optional != nil && *optional}
		for _, i := range items {
			if s.items == nil {
				s.items = map[string]string{}
			}
			s.items[i.Key] = i.Path
		}
		out = append(out, s)
	}
	for _, v := range p.spec.Volumes {
		if v.Name != volume {
			continue
		}
		if s := v.Secret; s != nil {
			add(s.SecretName, s.Items, s.Optional)
		}
		if c := v.ConfigMap; c != nil {
			add("configmap/"+c.Name, c.Items, c.Optional)
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.Secret != nil {
				add(s.Secret.Name, s.Secret.Items, s.Secret.Optional)
			}
			if s.ConfigMap != nil {
				add("configmap/"+s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.Optional)
			}
		}
	}
	return out
}

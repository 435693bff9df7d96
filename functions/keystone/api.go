package keystone

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

const (
	portName    = "api"
	healthPath  = "/healthcheck"
	passwordEnv = "DATABASE_PASSWORD"
)

// Options that are set in the environment.
var (
	connectionEnv = oslo.MustEnvName("database", "connection")
	cacheEnv      = oslo.MustEnvName("cache", "enabled")
)

// config is what the pods of the effective and of the wanted release read; mostly they are the same.
func config(m *model) ([]compose.Stage, error) {
	var stage compose.Stage
	for _, f := range []files{m.files, m.schemaFiles} {
		name := f.name[len(m.name)+1:]
		if len(stage) > 0 && stage[0].Name == name {
			continue
		}
		stage = append(stage, compose.Resource{Name: name, Object: m.workload.ConfigMap(f.name, f.data), Revisions: "config"})
	}
	domains, err := m.domains()
	if err != nil {
		return nil, err
	}
	if domains != nil {
		stage = append(stage, compose.Resource{Name: domainsResource, Object: domains})
	}
	if m.spec.Federation != nil {
		stage = append(stage, compose.Resource{Name: clientResource, Object: m.federationClient()})
	}
	return []compose.Stage{stage}, nil
}

// barePod is a pod of Keystone's image that reaches the database and reads the keys.
func (m *model) barePod(image string, command []string) workload.Pod {
	db := m.spec.Database
	url := mariadb.URL(m.databaseName(), passwordEnv, db.Host, db.Port, m.databaseName(), databaseCADir+"/"+string(db.CASecretRef.Key))
	return workload.Pod{
		UserID: userID,
		Containers: []corev1.Container{{
			Name:    service,
			Image:   image,
			Command: command,
			Env: []corev1.EnvVar{
				workload.SecretEnv(passwordEnv, m.sub("database"), secret.PasswordKey),
				{Name: connectionEnv, Value: url},
			},
			VolumeMounts: []corev1.VolumeMount{
				workload.Mount("fernet-keys", fernetDir),
				workload.Mount("credential-keys", credentialDir),
				workload.Mount("database-ca", databaseCADir),
			},
		}},
		Volumes: []corev1.Volume{
			workload.SecretVolume("fernet-keys", m.sub("fernet-keys")),
			workload.SecretVolume("credential-keys", m.sub("credential-keys")),
			workload.SecretVolume("database-ca", string(db.CASecretRef.Name), string(db.CASecretRef.Key)),
		},
	}
}

// pod is a pod that reads the configuration files too.
func (m *model) pod(image string, f files, command []string) workload.Pod {
	p := m.barePod(image, command)
	c := &p.Containers[0]
	mounted := []string{keystoneConf, policyYAML, uwsgiINI}
	if m.spec.Federation != nil {
		mounted = append(mounted, ssoPage)
	}
	for _, file := range mounted {
		c.VolumeMounts = append(c.VolumeMounts, workload.MountFile("config", configDir+"/"+file, file))
	}
	p.Volumes = append(p.Volumes, workload.ConfigVolume("config", f.name))
	if len(m.spec.IdentityBackends) > 0 {
		c.VolumeMounts = append(c.VolumeMounts, workload.Mount("domains", domainDir))
		p.Volumes = append(p.Volumes, workload.SecretVolume("domains", m.sub("domains")))
	}
	return p
}

// api is the API: pods, and what leads to them.
func api(m *model) ([]compose.Stage, error) {
	w := m.workload
	outbound, err := m.outbound()
	if err != nil {
		return nil, err
	}
	return []compose.Stage{{
		{Name: deploymentResource, Object: w.Deployment(m.apiPod())},
		{Name: serviceResource, Object: w.Service(workload.Port(portName, apiPort))},
		{Name: "disruption-budget", Object: w.DisruptionBudget()},
		{Name: "network-policy", Object: w.NetworkPolicy(m.inbound(), outbound)},
	}}, nil
}

// apiPod is uWSGI with https, or uWSGI behind a proxy that logs users in at an OpenID Connect provider.
func (m *model) apiPod() workload.Pod {
	p := m.pod(m.image, m.files, []string{"uwsgi", "--ini", configDir + "/" + uwsgiINI})
	p.GraceSeconds = workload.Grace(mercy)
	p.Annotations = m.startupAnnotations()
	p.Volumes = append(p.Volumes, workload.SecretVolume("tls", m.sub("tls"), certificate.CertKey, certificate.KeyKey))
	front := &p.Containers[0]
	if m.spec.Federation != nil {
		m.federated(&p)
		front = &p.Containers[1]
	}
	front.VolumeMounts = append(front.VolumeMounts, workload.Mount("tls", serverTLSDir))
	front.Ports = []corev1.ContainerPort{{Name: portName, ContainerPort: apiPort}}
	workload.Probes(front, portName, healthPath)
	workload.Drain(front)
	return p
}

// speaksIPv6 reports whether the cluster gave the Service an address of IPv6 before others, or of nothing else
// (https://kubernetes.io/docs/concepts/services-networking/dual-stack/#services). Nothing else shows which addresses pods have.
func speaksIPv6(seen observe.State) bool {
	s, ok := seen.Get(serviceResource)
	if !ok {
		return false
	}
	families := s.List("spec", "ipFamilies")
	return len(families) > 0 && families[0] == "IPv6"
}

// domainsAnnotation of the API's pods says which domains there were when they started.
const domainsAnnotation = keystonev1.Group + "/domains"

func domainsHash(ids map[string]keystonev1.DomainID) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		parts = append(parts, name, string(ids[name]))
	}
	return names.Hash(hashDigits, parts...)
}

// inbound: users come from outside by the exposure's namespaces, other services from this one and from other clusters'
// pods by the public address. K-ORC logs in at the internal address.
func (m *model) inbound() []workload.Flow {
	from := exposure.Namespaces(m.spec.Exposure)
	if len(from) == 0 {
		return []workload.Flow{{Anywhere: true, Ports: []int32{apiPort}}}
	}
	return []workload.Flow{
		{Ports: []int32{apiPort}},
		{Namespaces: from, Ports: []int32{apiPort}},
		{Namespaces: []string{korc.Namespace}, Ports: []int32{apiPort}},
	}
}

// outbound: the database and the cache, and by their own ports the directories and the provider that the spec names. What a provider's
// metadata name besides, such as where it gives its keys, has to be at one of the same ports.
func (m *model) outbound() ([]workload.Flow, error) {
	out := []workload.Flow{{Ports: []int32{m.spec.Database.Port, keystonev1.CachePort}}}
	var addresses []string
	for _, b := range m.spec.IdentityBackends {
		addresses = append(addresses, b.LDAP.URL)
	}
	if f := m.spec.Federation; f != nil {
		addresses = append(addresses, string(f.MetadataURL), string(f.Issuer))
		if f.IntrospectionURL != "" {
			addresses = append(addresses, string(f.IntrospectionURL))
		}
	}
	if len(addresses) == 0 {
		return out, nil
	}
	outside, err := workload.Outside(addresses...)
	return append(out, outside), err
}

// exposed brings the API to the outside.
func exposed(m *model) ([]compose.Stage, error) {
	e := *m.spec.Exposure
	b := exposure.Backend{Service: m.workload.Name, Port: apiPort, Host: m.internalHost(), CASecret: m.sub("tls")}
	if m.authority.published {
		b.CAConfigMap = m.sub("ca")
	}
	objects := exposure.IngressFor
	if e.Type == exposure.GatewayAPI {
		objects = exposure.Route
	}
	var stage compose.Stage
	if m.authority.wanted && e.Type == exposure.GatewayAPI {
		stage = append(stage, compose.Resource{Name: authorityResource, Object: m.authorityMap()})
	}
	for _, o := range objects(m.meta(m.name), e, b) {
		stage = append(stage, compose.Resource{Name: exposureNames[o.GetObjectKind().GroupVersionKind().Kind], Object: o})
	}
	return []compose.Stage{stage}, nil
}

// exposureNames are the resource names of what an exposure consists of.
var exposureNames = map[string]string{
	"HTTPRoute":        "route",
	"BackendTLSPolicy": "route-tls",
	"Ingress":          "ingress",
	"Certificate":      "public-certificate",
}

package emitted

import (
	"crypto/sha256"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/test/crds"
)

// TestAPIServerAcceptsObjects checks that the API server of each cluster accepts every object, and for Objects of provider-kubernetes
// also the wrapped one.
func TestAPIServerAcceptsObjects(t *testing.T) {
	set := crds.Load(t)
	own, err := definition.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range own {
		set.Add(crd)
	}
	observed, validated := map[string]bool{}, map[[sha256.Size]byte]bool{}
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			names := map[string]bool{}
			for _, o := range c.Objects {
				data, err := proto.MarshalOptions{Deterministic: true}.Marshal(o.Manifest)
				if err != nil {
					t.Fatal(err)
				}
				// Many claims have equal objects.
				if key := sha256.Sum256(data); !validated[key] {
					validated[key] = true
					for _, e := range set.Validate(o.Manifest.AsMap()) {
						t.Errorf("%s %s: %s", o.Kind, o.Name, e)
					}
				}
				if o.Wrapped {
					observed["wrapped "+o.Kind] = true
				}
				observed[o.Kind] = true

				// Names of composed resources and of objects are unique, or one would be the other.
				cluster := o.Manifest.GetFields()["spec"].GetStructValue().GetFields()["providerConfigRef"].GetStructValue().GetFields()["name"].GetStringValue()
				for _, key := range []string{
					o.Owner + "/" + o.Resource,
					strings.Join([]string{cluster, strings.Split(o.APIVersion, "/")[0], o.Kind, o.Namespace, o.Name}, "/"),
				} {
					if names[key] {
						t.Errorf("%s exists twice", key)
					}
					names[key] = true
				}
			}
		})
	}
	// Kinds that are never composed would never be checked.
	for _, kind := range []string{
		"BackendTLSPolicy", "Certificate", "ClusterCheck", "ConfigMap", "CredentialRotation", "CronJob", "Database", "DatabaseSync", "Deployment", "Domain", "Endpoint", "EndpointRegion", "ExternalSecret", "Grant",
		"HTTPRoute", "IdentityCheck", "Ingress", "Issuer", "Job", "KeyRepository", "Keystone", "MariaDB", "MaxScale", "Namespace", "NetworkPolicy", "Password",
		"PhysicalBackup", "PodDisruptionBudget", "Project", "PrometheusRule", "PushSecret", "RabbitmqCluster", "Role", "RoleAssignment", "RoleBinding", "SecretAggregate",
		"Service", "ServiceAccount", "ServiceMonitor", "StatefulSet", "Usage", "User", "Valkey", "wrapped ClusterProviderConfig", "wrapped Deployment", "wrapped Namespace", "wrapped ProviderConfig", "wrapped User",
	} {
		if !observed[kind] {
			t.Errorf("no claim becomes a %s", kind)
		}
	}
}

package invariants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/expected"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// An order defines which object must be ready before another one is created. Orders are written by hand for objects as
// in a cluster, independently of components: each side is a pattern of "Kind.group name".
type order struct {
	first, then string
	// exists: the first object need not be ready.
	exists bool
	why    string
}

// orders by kind of composite resource. functions/<service>/expected.yaml contains more of them.
var orders = map[string][]order{
	"ControlPlane": append(poolOrders, []order{
		{first: `Namespace .*`, then: `NetworkPolicy\.networking\.k8s\.io (mariadb|rabbitmq|valkey|maxscale|service-jobs|operator-jobs|.*-exporter)`, why: "they are in it"},
		{first: `Namespace .*`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*claim-secrets`, why: "they are in it"},
		{first: `Namespace .*`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*pull-secrets`, why: "they are in it"},
		{first: `Namespace .*`, then: `(Issuer|Certificate)\.cert-manager\.io (self-signed|internal-ca)`, why: "they are in it"},
		{first: `Namespace .*`, then: `Service rabbitmq-external`, why: "it is in it"},
		{first: `Namespace .*`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) companion`, why: "they are in it"},
		{first: `Namespace .*`, then: `(StatefulSet\.apps|Service|PodDisruptionBudget\.policy|NetworkPolicy.*) memcached(-keystone)?`, why: "they are in it"},

		{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*claim-secrets`, then: `SecretStore\.external-secrets\.io claim-secrets`, why: "it reads with that account"},
		{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*claim-pull-secrets`, then: `SecretStore\.external-secrets\.io claim-pull-secrets`, why: "it reads with that account"},
		{first: `SecretStore\.external-secrets\.io claim-secrets`, then: `ExternalSecret\.external-secrets\.io tenant-.*`, why: "they are read by it"},
		{first: `SecretStore\.external-secrets\.io .*pull-secrets`, then: `ExternalSecret\.external-secrets\.io claim-pull-.*`, why: "they are read by it"},

		{first: `ExternalSecret\.external-secrets\.io (claim|platform)-pull-.*`, then: `(ServiceAccount|Deployment\.apps) companion`, why: "its image is pulled with it"},
		{first: `ExternalSecret\.external-secrets\.io (claim|platform)-pull-.*`, then: `StatefulSet\.apps memcached(-keystone)?`, why: "its image is pulled with it"},
		{first: `ExternalSecret\.external-secrets\.io (claim|platform)-pull-.*`, then: `ExternalSecret\.external-secrets\.io mariadb-root|MariaDB\.k8s.*`, why: "its image is pulled with it"},
		{first: `ExternalSecret\.external-secrets\.io (claim|platform)-pull-.*`, then: `(Certificate\.cert-manager\.io rabbitmq-tls|RabbitmqCluster.*)`, why: "its image is pulled with it"},
		{first: `ExternalSecret\.external-secrets\.io (claim|platform)-pull-.*`, then: `Valkey.*`, why: "its image is pulled with it"},
		{first: `(Issuer|Certificate)\.cert-manager\.io (self-signed|internal-ca)`, then: `MariaDB\.k8s.*|ExternalSecret\.external-secrets\.io mariadb-root`, why: "its certificates are issued by it"},
		{first: `(Issuer|Certificate)\.cert-manager\.io (self-signed|internal-ca)`, then: `Certificate\.cert-manager\.io rabbitmq-tls`, why: "it is issued by it"},
		{first: `(Issuer|Certificate)\.cert-manager\.io (self-signed|internal-ca)`, then: `Valkey.*`, why: "its certificate is issued by it"},

		{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) companion`, then: `Deployment\.apps companion`, why: "it would start without rights"},
		{first: `ExternalSecret\.external-secrets\.io mariadb-root`, then: `MariaDB\.k8s.*`, why: "its root has that password"},
		{first: `ExternalSecret\.external-secrets\.io tenant-corporate-database`, then: `ExternalMariaDB\..*`, why: "its operator logs in to the external server with it"},
		{first: `ExternalSecret\.external-secrets\.io tenant-corporate-database`, then: `ExternalSecret\.external-secrets\.io mariadb-authority`, why: "the condition names the tenant's Secret if it is missing"},
		{first: `Certificate\.cert-manager\.io rabbitmq-(members-)?tls`, then: `RabbitmqCluster.*`, why: "it serves it"},
		{first: `Issuer.* rabbitmq-members-self-signed`, then: `Certificate.* rabbitmq-members-ca`, why: "it is signed by it"},
		{first: `Certificate.* rabbitmq-members-ca`, then: `Issuer.* rabbitmq-members-ca`, why: "it signs with it"},
		{first: `Issuer.* rabbitmq-members-ca`, then: `Certificate.* rabbitmq-members-tls`, why: "it is signed by it"},
		{first: `MariaDB\.k8s.*`, then: `MaxScale.*`, why: "it makes its users there"},
		{first: `(MariaDB|MaxScale)\.k8s.*`, then: `PhysicalBackup.*`, why: "there would be nothing to back up"},
		{first: `ExternalSecret\.external-secrets\.io tenant-backup-s3`, then: `PhysicalBackup.*`, why: "it logs in to the bucket with it"},
		{first: `(MariaDB|MaxScale)\.k8s.*`, then: `(PrometheusRule|ServiceMonitor)\.monitoring.* (mariadb|maxscale)`, exists: true, why: "alerts on missing objects would fire"},
		{first: `RabbitmqCluster.*`, then: `(PrometheusRule|ServiceMonitor)\.monitoring.* rabbitmq`, exists: true, why: "alerts on missing objects would fire"},
		{first: `Valkey.*`, then: `PrometheusRule\.monitoring.* valkey`, exists: true, why: "alerts on missing objects would fire"},
		{first: `Deployment\.apps companion`, then: `(PrometheusRule|ServiceMonitor)\.monitoring.* companion`, exists: true, why: "alerts on missing objects would fire"},
		{first: `IdentityCatalog.*`, then: `(PrometheusRule|ServiceMonitor)\.monitoring.*`, exists: true, why: "monitoring comes last"},

		{first: `(MariaDB|MaxScale)\.k8s.*`, then: `Keystone.*`, why: "its database is in it"},
		{first: `ExternalMariaDB\..*`, then: `Keystone.*`, why: "its database is made there"},
		{first: `ExternalSecret\.external-secrets\.io mariadb-authority`, then: `Keystone.*`, why: "its pods verify the database by it"},
		{first: `ExternalMariaDB\..*`, then: `Usage.* database-uses-.*`, exists: true, why: "a Usage looks for its user"},
		{first: `(StatefulSet\.apps|Service) memcached(-keystone)?`, then: `Keystone.*`, why: "its pods connect to it"},
		{first: `Deployment\.apps companion`, then: `Keystone.*`, why: "it makes its keys and its schema"},
		{first: `ExternalSecret\.external-secrets\.io tenant-(keycloak-client|ldap-.*)`, then: `Keystone.*`, why: "its pods read them"},
		{first: `ExternalSecret\.external-secrets\.io tenant-corporate-keystone`, then: `Keystone.*`, why: "it logs in to the external Keystone with it"},
		{first: `ExternalSecret\.external-secrets\.io tenant-corporate-queue`, then: `ExternalSecret\.external-secrets\.io rabbitmq-(connection|tls)`, why: "the condition names the tenant's Secret if it is missing"},
		{first: `Keystone.*`, then: `IdentityCatalog.*`, why: "K-ORC logs in there"},

		{first: `IdentityCatalog.*`, then: `Horizon\..*`, why: "users find services there"},
		{first: `Horizon\..*`, then: `Usage.* horizon-uses-keystone`, exists: true, why: "a Usage looks for its user"},
		{first: `(IdentityCatalog|Horizon)\..*`, then: `Tempest\..*`, why: "it tests all of it"},
		{first: `Tempest\..*`, then: `Usage.* tempest-uses-keystone`, exists: true, why: "a Usage looks for its user"},
		{first: `Deployment\.apps companion`, then: `OVNCluster\..*`, why: "it remembers its members"},
		{first: `ExternalSecret\.external-secrets\.io (claim|platform)-pull-.*`, then: `OVNCluster\..*`, why: "its image is pulled with it"},
		{first: `OVNCluster\..*`, then: `Usage.* ovn-uses-.*`, exists: true, why: "a Usage looks for its user"},

		{first: `NetworkPolicy\.networking\.k8s\.io (mariadb|rabbitmq|valkey|maxscale|service-jobs)`, then: `NetworkPolicy\.networking\.k8s\.io default-deny`, why: "pods would be cut off"},
		{first: `NetworkPolicy\.networking\.k8s\.io companion`, then: `NetworkPolicy\.networking\.k8s\.io default-deny`, why: "the companion would be cut off"},
		{first: `NetworkPolicy\.networking\.k8s\.io memcached(-keystone)?`, then: `NetworkPolicy\.networking\.k8s\.io default-deny`, why: "memcached would be cut off"},
		{first: `(Keystone|OVNCluster).*`, then: `NetworkPolicy\.networking\.k8s\.io default-deny`, why: "it creates the policy of its pods"},
		{first: `Keystone.*`, then: `Usage.* keystone-uses-.*`, exists: true, why: "a Usage looks for its user"},
		{first: `IdentityCatalog.*`, then: `Usage.* catalog-uses-keystone`, exists: true, why: "a Usage looks for its user"},
	}...),
	"WorkloadCluster": {
		{first: `(Provider|ClusterProvider)Config\.kubernetes.*`, then: `Namespace .*`, why: "the provider reaches the cluster with it"},
		{first: `Namespace .*`, then: `(ServiceAccount|NetworkPolicy\.networking\.k8s\.io|RoleBinding\.rbac\.authorization\.k8s\.io) companion`, why: "it is in it"},
		{first: `Namespace .*`, then: `ClusterCheck\.c5c3\.io .*`, why: "it is in it"},
		{first: `(ServiceAccount|(Cluster)?RoleBinding\.rbac\.authorization\.k8s\.io|NetworkPolicy\.networking\.k8s\.io) .*`, then: `Deployment\.apps companion`, why: "it would start without rights"},
		{first: `(Deployment\.apps|ClusterCheck\.c5c3\.io) .*`, then: `(PrometheusRule|ServiceMonitor)\.monitoring.*`, why: "alerts on a new cluster would fire"},
	},
	"IdentityCatalog": {
		{first: `Domain\.openstack\.k-orc\.cloud default`, then: `Project\.openstack\.k-orc\.cloud service`, why: "K-ORC makes it there"},
		{first: `Endpoint\.openstack\.k-orc\.cloud .*`, then: `EndpointRegion.*`, why: "it refers to it"},
		{first: `(Role|User|Project)\.openstack\.k-orc\.cloud .*`, then: `RoleAssignment.*`, why: "it refers to them"},
	},
	"Keystone": {
		{first: `(Role|RoleBinding)\.rbac.* .*-companion`, then: `KeyRepository.*`, why: "the companion writes their Secrets"},
		{first: `(Role|RoleBinding)\.rbac.* .*-companion`, then: `SecretAggregate.* .*-domains`, why: "the companion writes its Secret"},
		{first: `ExternalSecret.* .*-admin`, then: `(ConfigMap|SecretAggregate.*) .*-(config-.*|domains)`, why: "pods read all of them"},
		{first: `ExternalSecret.* .*-(admin|database)`, then: `SecretAggregate.* [^-]+-clouds`, why: "it is made of them"},
		{first: `Certificate.* [^-]+-tls`, then: `SecretAggregate.* [^-]+-clouds`, why: "it is made of it"},
		{first: `KeyRepository.*`, then: `DatabaseSync.*`, why: "its Jobs mount the keys"},
		{first: `SecretAggregate.* .*-domains`, then: `DatabaseSync.*`, why: "its Jobs mount it"},
		{first: `DatabaseSync.*`, then: `Job\.batch .*-bootstrap-.*`, why: "there are no tables before"},
		{first: `Job\.batch .*-bootstrap-.*`, then: `Deployment\.apps .*`, why: "no user can log in before"},
		{first: `Job\.batch .*-bootstrap-.*`, then: `CronJob\.batch .*`, why: "nothing is to be flushed before"},
		{first: `(Deployment\.apps|Service) .*`, then: `CredentialRotation.*`, why: "it logs in there"},
		{first: `(Deployment\.apps|Service) .*`, then: `IdentityCheck.*`, why: "it logs in there"},
		{first: `SecretAggregate.* [^-]+-clouds`, then: `IdentityCheck.*`, why: "it logs in with it"},
		{first: `(Deployment\.apps|Service) .*`, then: `SecretAggregate.* [^-]+-korc-clouds`, why: "its source does not exist before"},
		{first: `(Role|RoleBinding)\.rbac.* .*-companion`, then: `SecretAggregate.* [^-]+-tls`, why: "the companion writes its Secret"},
		{first: `Certificate.* [^-]+-authority`, then: `SecretAggregate.* [^-]+-tls`, why: "it is made of it"},
		{first: `SecretAggregate.* [^-]+-tls`, then: `SecretAggregate.* [^-]+-clouds`, why: "it is made of it"},
		{first: `SecretAggregate.* [^-]+-clouds`, then: `CredentialRotation.*`, why: "the companion logs in with it"},
	},
	"Horizon": {
		{first: `ExternalSecret.* .*-secret-key`, then: `ConfigMap .*-config-.*`, why: "pods read all of them"},
		{first: `ConfigMap .*`, then: `Deployment\.apps .*`, why: "pods read all of them"},
		{first: `Certificate\.cert-manager\.io .*([^c]|[^i]c)-tls`, then: `Deployment\.apps .*`, why: "pods read it, not the certificate of the public name"},
		{first: `Certificate.* [^-]+-tls`, then: `(HTTPRoute|BackendTLSPolicy).*`, why: "clients are configured with its CA certificate"},
	},
	"Tempest": {
		{first: `(Role|RoleBinding)\.rbac.* .*-companion`, then: `RoleAssignment.*`, why: "the companion reads its login"},
		{first: `ExternalSecret.* .*-user`, then: `User\.openstack\.k-orc\.cloud .*`, why: "it has that password"},
		{first: `(User|Project)\.openstack\.k-orc\.cloud .*`, then: `RoleAssignment.*`, why: "it refers to them"},
		{first: `(RoleAssignment.*|ConfigMap .*|TestReport.*)`, then: `CronJob\.batch .*`, why: "its pods log in, read it, and are reported"},
	},
	"NovaCell": {
		{first: `ExternalSecret\.external-secrets\.io mariadb-.*-root`, then: `MariaDB\..*`, why: "its root has that password"},
		{first: `Certificate\.cert-manager\.io rabbitmq-.*`, then: `RabbitmqCluster\..*`, why: "it listens with it"},
		{first: `Issuer.* rabbitmq-.*-members-self-signed`, then: `Certificate.* rabbitmq-.*-members-ca`, why: "it is signed by it"},
		{first: `Certificate.* rabbitmq-.*-members-ca`, then: `Issuer.* rabbitmq-.*-members-ca`, why: "it signs with it"},
		{first: `Issuer.* rabbitmq-.*-members-ca`, then: `Certificate.* rabbitmq-.*-members-tls`, why: "it is signed by it"},
		{first: `Issuer.* .*-vnc-self-signed`, then: `Certificate.* .*-vnc-ca`, why: "it is signed by it"},
		{first: `Certificate.* .*-vnc-ca`, then: `Issuer.* .*-vnc-ca`, why: "it signs with it"},
		{first: `Issuer.* .*-vnc-ca`, then: `Certificate.* .*-vnc-client`, why: "it is signed by it"},
		{first: `Certificate.* .*-vnc-client`, then: `Deployment\.apps .*-vnc`, why: "its pods mount it"},
		{first: `(MariaDB|RabbitmqCluster)\..*`, then: `(PrometheusRule|ServiceMonitor)\.monitoring.* (mariadb|rabbitmq)-.*`, exists: true, why: "alerts on missing objects would fire"},
		{first: `MariaDB\..*`, then: `((Database|User|Grant)\.k8s\.mariadb\.com|PhysicalBackup\..*) .*`, why: "they are in it, where it is the cell's own"},
		{first: `ExternalSecret.* .*-database`, then: `ConfigMap .*`, why: "pods read both"},
		{first: `RabbitmqCluster\..*`, then: `(Vhost\.rabbitmq\.com|CredentialRotation\.c5c3\.io) .*`, why: "they are in it, where it is the cell's own"},
		{first: `(Role|RoleBinding)\.rbac.* .*-companion`, then: `CredentialRotation.*`, why: "the companion writes its Secret"},
		{first: `DatabaseSync.*`, then: `(StatefulSet|Deployment)\.apps .*`, why: "there are no tables before"},
		{first: `DatabaseSync.*`, then: `CellMapping.*`, why: "hypervisors are looked for in its tables"},
		{first: `(Vhost\.rabbitmq\.com|CredentialRotation\.c5c3\.io) .*`, then: `CellMapping.*`, why: "clients of the cell connect to it there"},
		{first: `(Vhost\.rabbitmq\.com|CredentialRotation\.c5c3\.io) .*`, then: `(Deployment|StatefulSet)\.apps .*`, why: "its pods log in there"},
	},
	"OVNCluster": {
		{first: `((Role|RoleBinding)\.rbac|NetworkPolicy\.networking).* [^-]+-companion`, then: `RaftCluster.*`, why: "the companion calls its members"},
		{first: `Issuer.* .*-self-signed`, then: `Certificate.* [^-]+-ca`, why: "it is signed by it"},
		{first: `Certificate.* [^-]+-ca`, then: `Issuer.* [^-]+-ca`, why: "it signs with it"},
		{first: `Issuer.* [^-]+-ca`, then: `Certificate.* .*-tls`, why: "they are signed by it"},
		{first: `Certificate.* .*-(northbound|southbound|northd|client)-tls`, then: `(RaftCluster|StatefulSet|Deployment|CronJob).*`, why: "they show it"},
		{first: `Certificate.* .*-relay-tls`, then: `Deployment\.apps .*-relay`, why: "they show it"},
		{first: `ConfigMap .*-scripts-.*`, then: `((StatefulSet|Deployment)\.apps|CronJob\.batch) .*`, why: "their pods run them"},
		{first: `RaftCluster.* [^-]+-northbound`, then: `(ConfigMap [^-]+-northbound-state|StatefulSet\.apps [^-]+-northbound)`, why: "volumes may be left of a cluster that it knows"},
		{first: `RaftCluster.* [^-]+-southbound`, then: `(ConfigMap [^-]+-southbound-state|StatefulSet\.apps [^-]+-southbound)`, why: "volumes may be left of a cluster that it knows"},
		{first: `(ConfigMap [^-]+-northbound-state|Service [^-]+-northbound)`, then: `StatefulSet\.apps [^-]+-northbound`, why: "its pods mount it, and have their names by it"},
		{first: `(ConfigMap [^-]+-southbound-state|Service [^-]+-southbound)`, then: `StatefulSet\.apps [^-]+-southbound`, why: "its pods mount it, and have their names by it"},
		{first: `StatefulSet\.apps .*`, then: `(Deployment\.apps .*-northd|CronJob\.batch .*)`, why: "it connects to them"},
		{first: `StatefulSet\.apps .*-southbound`, then: `Deployment\.apps .*-relay`, why: "it copies it"},
	},
	"HypervisorCluster": hypervisorOrders,
	"StorageCluster":    storageOrders,
	"KeystoneService":   keystoneServiceOrders,
	"OpenStackCluster":  cloudOrders,
}

// serviceOrders are the orders of every service.
var serviceOrders = []order{
	{first: `(Role|RoleBinding)\.rbac.* .*-companion`, then: `SecretAggregate.* [^-]+-clouds`, why: "the companion writes its Secret"},
	{first: `(Role|RoleBinding)\.rbac.* .*-companion`, then: `ConfigMap .*-config-.*`, why: "a DatabaseSync follows it, whose consumers the companion rolls out"},
	{first: `ExternalSecret.* .*-database`, then: `(Database|User|Grant)\.k8s\.mariadb\.com .*`, why: "the account has that password"},
	{first: `(Database|User|Grant)\.k8s\.mariadb\.com .*`, then: `DatabaseSync.*`, why: "its Jobs use the account"},
	{first: `ConfigMap .*-config-.*`, then: `DatabaseSync.*`, why: "its Jobs mount it"},
	{first: `Certificate.* [^-]+-tls`, then: `(Deployment|StatefulSet)\.apps .*`, why: "it serves it"},
	{first: `Certificate.* [^-]+-tls`, then: `(HTTPRoute|BackendTLSPolicy).*`, why: "clients are configured with its CA certificate"},
	{first: `SecretAggregate.* [^-]+-clouds`, then: `CredentialRotation.* .*-(credential|korc)`, why: "it logs in with it"},
}

// clientOrders are the orders of every service that logs in to Keystone.
var clientOrders = []order{
	{first: `ExternalSecret.* .*-user`, then: `User\.openstack\.k-orc\.cloud [^-]+`, why: "it has that password"},
	{first: `ExternalSecret.* .*-user`, then: `SecretAggregate.* [^-]+-clouds`, why: "it is made of it"},
	{first: `ExternalSecret.* .*-user`, then: `ConfigMap .*-config-.*`, why: "pods read all of them"},
	{first: `(Role|RoleBinding)\.rbac.* .*-companion`, then: `CredentialRotation.*`, why: "the companion writes its Secret"},
	{first: `User\.openstack\.k-orc\.cloud [^-]+`, then: `RoleAssignment.* [^-]+-(admin|service)`, why: "it refers to it"},
	{first: `RoleAssignment.* [^-]+-(admin|service)`, then: `CredentialRotation.* .*-credential`, why: "a credential has the roles that its user had when it was made"},
	{first: `DatabaseSync.*`, then: `(Deployment|StatefulSet)\.apps .*`, why: "there are no tables before"},
	{first: `CredentialRotation.*`, then: `(Deployment|StatefulSet)\.apps .*`, why: "its pods log in with it"},
	{first: `((Deployment|StatefulSet)\.apps|Service) .*`, then: `(Service|Endpoint)\.openstack\.k-orc\.cloud .*`, why: "clients find it in the catalog and call it"},
	{first: `Endpoint\.openstack\.k-orc\.cloud .*`, then: `EndpointRegion.*`, why: "it refers to it"},
}

// completeOrders are the orders that are specific to a kind, including the facts about services.
var completeOrders = completed()

func completed() map[string][]order {
	out := maps.Clone(orders)
	services, err := expected.Read()
	if err != nil {
		panic(err)
	}
	for _, service := range slices.Sorted(maps.Keys(services)) {
		for kind, facts := range services[service].Orders {
			if out[kind] == nil {
				out[kind] = slices.Clone(clientOrders)
			}
			for _, f := range facts {
				out[kind] = append(out[kind], order{first: f.First, then: f.Then, exists: f.Exists, why: f.Reason})
			}
		}
	}
	return out
}

// ownOrders returns the orders that are specific to a kind. A service without any logs in to Keystone.
func ownOrders(subject string) []order {
	if own, ok := completeOrders[subject]; ok {
		return own
	}
	return clientOrders
}

// ordersOf returns all orders of a kind.
func ordersOf(subject string) []order {
	own := ownOrders(subject)
	switch subject {
	case "ControlPlane", "IdentityCatalog", "OVNCluster", "HypervisorCluster", "StorageCluster", "KeystoneService", "OpenStackCluster", "WorkloadCluster", "Horizon", "Tempest": // None has a database of a service.
		return own
	case "NovaCell": // It logs in as another one.
		return append(slices.DeleteFunc(slices.Clone(serviceOrders), func(o order) bool {
			return strings.Contains(o.first+o.then, "-clouds")
		}), own...)
	}
	return append(slices.Clone(serviceOrders), own...)
}

// met remembers which patterns match which names.
var met sync.Map

func matches(pattern, name string) bool {
	key := [2]string{pattern, name}
	m, ok := met.Load(key)
	if !ok {
		m = regexp.MustCompile("^(?:" + pattern + ")$").MatchString(name)
		met.Store(key, m)
	}
	return m.(bool)
}

// called returns the name of an object in orders.
func called(o encoded.Struct) string {
	if inner, ok := wrapper.Desired(o); ok {
		o = inner
	}
	group, _, versioned := strings.Cut(o.At("apiVersion").Text(), "/")
	kind := o.At("kind").Text()
	if versioned {
		kind += "." + group
	}
	return kind + " " + o.At("metadata", "name").Text()
}

// A converged case is a composite resource of which everything is ready.
type converged struct {
	subject string
	cluster *simulate.Cluster
	// named are the objects of its resources as orders call them.
	named map[string]string
	// plan is the plan that the function composes when everything is ready.
	plan compose.Plan
}

// convergedOnce is the result of convergedSimulations, which no test changes.
var convergedOnce map[string]converged

// convergedSimulations returns the sizes of the examples and further cases, by name.
func convergedSimulations(t *testing.T) map[string]converged {
	t.Helper()
	if convergedOnce != nil {
		return convergedOnce
	}
	out := map[string]converged{}
	add := func(name, subject string, w *simulate.Cluster) {
		if err := w.Run(func(simulate.Step) {}); err != nil {
			t.Fatal(err)
		}
		s := converged{subject: subject, cluster: w, named: map[string]string{}}
		_, plan, err := runnerOf(subject).Explain(w.Request())
		if err != nil {
			t.Fatal(err)
		}
		s.plan = plan
		for resource, o := range w.Observed {
			s.named[resource] = called(o)
		}
		out[name] = s
	}
	// The example that has everything has all services, too.
	services, facts := "\nhorizon: {enabled: true}", expected.Services(t)
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		if facts[name].Section == nil {
			continue // The example has it.
		}
		section, err := json.Marshal(facts[name].Section)
		if err != nil {
			t.Fatal(err)
		}
		services += "\n" + name + ": " + string(section)
	}
	services += "\nkeystone:"
	for _, file := range []string{"claim", "full", "external-keystone", "external-database", "external-queue"} {
		claim, err := examples.Files.ReadFile("controlplane/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if file == "full" {
			claim = bytes.Replace(claim, []byte("\n    keystone:"), []byte(strings.ReplaceAll(services, "\n", "\n    ")), 1)
			claim = bytes.Replace(claim, []byte("\n    rabbitmq:"), []byte("\n    rabbitmq:\n      exposure: {type: LoadBalancer, networks: [10.20.0.0/16]}"), 1)
			claim = bytes.Replace(claim, []byte("\n  services:"), []byte("\n  tempest: {enabled: true, allowAdministration: true}\n  services:"), 1)
		}
		w, err := preview.NewCluster(claim, examples.Platform, kinds.Runners())
		if err != nil {
			t.Fatal(err)
		}
		add(file, "ControlPlane", w)
		for _, resource := range slices.Sorted(maps.Keys(w.Observed)) {
			gk := compose.KindOf(w.Observed[resource].Tree()).GroupKind().String()
			kind, _, _ := strings.Cut(gk, ".")
			if _, nested := runners[gk]; !nested {
				continue
			}
			xr, ok := w.Desired(w.XR.GetFields()["metadata"].GetStructValue().GetFields()["name"].GetStringValue(), resource)
			if !ok {
				t.Fatalf("there is no %s", resource)
			}
			add(file+"'s "+kind, kind, &simulate.Cluster{XR: xr.Tree(), Kinds: runners})
		}
	}
	// Not enabled by any claim yet.
	for _, k := range []*definedKind{novas, definedKinds["novacell"]} {
		for _, file := range []string{"small", "medium"} {
			add(file+"'s "+k.kind, k.kind, &simulate.Cluster{XR: composite(t, k, "nova", file), Kinds: kinds.Runners()})
		}
	}
	for _, file := range []string{"small", "large"} {
		add(file+"'s OVNCluster", "OVNCluster", &simulate.Cluster{XR: composite(t, ovns, "ovn", file), Kinds: kinds.Runners()})
	}
	add("pool", "HypervisorCluster", pool(t))
	add("pool apart", "HypervisorCluster", otherClusterPool(t))
	add("pool with agents", "HypervisorCluster", poolOf(t, "agents", object{}, object{}))
	add("pool whose networks agents make", "HypervisorCluster", agentPool(t))
	add("pool with network cards", "HypervisorCluster", cardPool(t))
	add("pools", "ControlPlane", pooled(t))
	add("storage", "StorageCluster", storage(t, "everything"))
	add("storage in a separate cluster", "StorageCluster", otherClusterStorage(t))
	add("objects of clouds", "StorageCluster", storage(t, "keystone"))
	add("storage in two zones", "StorageCluster", storage(t, "stretched"))
	add("storage of two sites", "StorageCluster", storage(t, "mirrored"))
	add("external storage", "StorageCluster", storage(t, "external"))
	add("service", "KeystoneService", keystoneService(t))
	add("cloud", "OpenStackCluster", wholeCloud(t))
	add("registered cluster", "WorkloadCluster", registeredCluster(t))
	convergedOnce = out
	return out
}

// composite returns a composite resource from its function's tests.
func composite(t *testing.T, k *definedKind, name, file string) *structpb.Struct {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../functions", k.folder, "testdata", file+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	spec := object{}
	if err := yaml.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	xr, err := structpb.NewStruct(object{
		"apiVersion": k.apiVersion, "kind": k.composite, "metadata": object{"name": name, "namespace": "cloud"}, "spec": spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	return xr
}

// early yields the objects that are created without one of their prerequisites. Each tried pair of resources costs a
// call of the function.
func (s converged) early(t *testing.T, runner function.Runner, of []string, tries func(first string, then []string) bool) iter.Seq[string] {
	t.Helper()
	resources := slices.Sorted(maps.Keys(s.named))
	return func(yield func(string) bool) {
		for _, o := range ordersOf(s.subject) {
			then := slices.DeleteFunc(slices.Clone(of), func(r string) bool { return !matches(o.then, s.named[r]) })
			if len(then) == 0 {
				continue
			}
			for _, first := range resources {
				if !matches(o.first, s.named[first]) || slices.Contains(then, first) || !tries(first, then) {
					continue
				}
				observed := maps.Clone(s.cluster.Observed)
				for _, removed := range append(slices.Clone(then), first) {
					delete(observed, removed)
				}
				without := *s.cluster
				without.Observed = observed
				rsp, _, err := runner.Explain(without.Request())
				if err != nil {
					t.Fatalf("without %s: %v", s.named[first], err)
				}
				for _, r := range then {
					if _, created := rsp.Composed[r]; created && !yield(fmt.Sprintf("%s is made before %s: %s", s.named[r], s.named[first], o.why)) {
						return
					}
				}
			}
		}
	}
}

// TestPrerequisitesAreCreatedFirst checks that nothing is created before its prerequisites.
func TestPrerequisitesAreCreatedFirst(t *testing.T) {
	both := map[string]map[order]bool{}
	simulations, tried := convergedSimulations(t), map[[3]string]bool{}
	for _, name := range slices.Sorted(maps.Keys(simulations)) {
		s := simulations[name]
		t.Run(name, func(t *testing.T) {
			for found := range s.early(t, runnerOf(s.subject), slices.Sorted(maps.Keys(s.named)), func(first string, then []string) bool {
				if effort.Long() {
					return true
				}
				// Examples have many objects in common, so each pair is tried in only one of them, and of many objects
				// before others only a third.
				if crc32.ChecksumIEEE([]byte(first))%3 != 0 {
					return false
				}
				untried := false
				for _, r := range then {
					pair := [3]string{s.subject, first, r}
					untried = untried || !tried[pair]
					tried[pair] = true
				}
				return untried
			}) {
				t.Error(found)
			}
		})
		if both[s.subject] == nil {
			both[s.subject] = map[order]bool{}
		}
		for _, o := range ordersOf(s.subject) {
			for _, a := range s.named {
				for _, b := range s.named {
					both[s.subject][o] = both[s.subject][o] || matches(o.first, a) && matches(o.then, b)
				}
			}
		}
	}
	for _, s := range subjects {
		for _, o := range ordersOf(s.name) {
			if !both[s.name][o] {
				t.Errorf("no %s of an example has both %s and %s", s.name, o.first, o.then)
			}
		}
	}
}

func runnerOf(name string) function.Runner {
	i := slices.IndexFunc(subjects, func(s *subject) bool { return s.name == name })
	return subjects[i].runner
}

// unnoticed are changes that the orders cannot see, and why.
var unnoticed = map[string]string{
	"HypervisorCluster/hypervisor-operator after nothing":        "its login has the same name in both clusters; internal/tenant/tenantsecret holds the order",
	"OpenStackCluster/deletion-order without storage":            "the pools of the example follow it, too",
	"OpenStackCluster/deletion-order without control-plane":      "the pools of the example follow it, too",
	"HypervisorCluster/hypervisor-operator without pull-secrets": "no example with an operator has Secrets to pull images with",
}

// TestRemovedDependenciesAreDetected checks that the orders detect each removed dependency of a component, each removed prerequisite of a
// resource, and stages that are merged.
func TestRemovedDependenciesAreDetected(t *testing.T) {
	simulations := convergedSimulations(t)
	for _, s := range subjects {
		subject := s.name
		var those []converged
		for _, name := range slices.Sorted(maps.Keys(simulations)) {
			if s := simulations[name]; s.subject == subject {
				those = append(those, s)
			}
		}
		for _, m := range mutants(t, runnerOf(subject), those) {
			t.Run(subject+"/"+m.name, func(t *testing.T) {
				if why := unnoticed[subject+"/"+m.name]; why != "" {
					t.Skip(why)
				}
				// Resources that are no longer waited for are tried first, because they detect most mutants. One
				// violated order is enough.
				for _, likely := range []bool{true, false} {
					for _, s := range those {
						need := s.resources(m.need)
						for range s.early(t, m.runner, s.resources(m.component), func(first string, _ []string) bool {
							return slices.Contains(need, first) == likely
						}) {
							return
						}
					}
				}
				t.Error("not detected")
			})
		}
	}
}

// resources returns the resources of a component.
func (s converged) resources(component string) []string {
	part, _ := s.plan.ComponentStatus(component)
	out := []string{}
	for _, i := range part.Items {
		out = append(out, i.Name)
	}
	return out
}

// A mutant is the function of a kind with a component that waits for less.
type mutant struct {
	name, component string
	// need is the component that it does not wait for: for stages, the same one.
	need   string
	runner function.Runner
}

// mutants returns the function of a kind with one dependency removed each: those that make a difference in any
// simulation.
func mutants(t *testing.T, r function.Runner, simulations []converged) []mutant {
	t.Helper()
	var out []mutant
	graph := reflect.ValueOf(r).FieldByName("Graph")
	differs := stagingsThatDiffer(t, r, simulations)
	for i := range graph.Len() {
		name := graph.Index(i).FieldByName("Name").String()
		for _, field := range []string{"Needs", "Follows"} {
			for j, need := range graph.Index(i).FieldByName(field).Interface().([]string) {
				out = append(out, mutant{name + " without " + need, name, need, changed(r, i, func(c reflect.Value) {
					needs := slices.Delete(slices.Clone(c.FieldByName(field).Interface().([]string)), j, j+1)
					c.FieldByName(field).Set(reflect.ValueOf(needs))
				})})
			}
		}
		for variant, change := range stagings {
			if differs[i][variant] {
				out = append(out, mutant{name + " " + variant, name, name, changed(r, i, func(c reflect.Value) {
					replaceStages(c, func(stages []compose.Stage) []compose.Stage {
						stages, _ = change(stages)
						return stages
					})
				})})
			}
		}
	}
	return out
}

// stagingsThatDiffer returns, by the index of a component, the changes of its stages that make a difference in any
// simulation. One call of the function for each simulation records the stages of all components.
func stagingsThatDiffer(t *testing.T, r function.Runner, simulations []converged) map[int]map[string]bool {
	t.Helper()
	out := map[int]map[string]bool{}
	recorder := r
	for i := range reflect.ValueOf(r).FieldByName("Graph").Len() {
		out[i] = map[string]bool{}
		recorder = changed(recorder, i, func(c reflect.Value) {
			replaceStages(c, func(stages []compose.Stage) []compose.Stage {
				for variant, change := range stagings {
					cloned := slices.Clone(stages)
					for i := range cloned {
						cloned[i] = slices.Clone(cloned[i])
					}
					if _, created := change(cloned); created {
						out[i][variant] = true
					}
				}
				return stages
			})
		})
	}
	for _, s := range simulations {
		if _, _, err := recorder.Explain(s.cluster.Request()); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// replaceStages changes the stages that a component builds.
func replaceStages(component reflect.Value, change func([]compose.Stage) []compose.Stage) {
	build := component.FieldByName("Build")
	previous := reflect.ValueOf(build.Interface())
	build.Set(reflect.MakeFunc(build.Type(), func(args []reflect.Value) []reflect.Value {
		results := previous.Call(args)
		return []reflect.Value{reflect.ValueOf(change(results[0].Interface().([]compose.Stage))), results[1]}
	}))
}

// stagings change the stages of a component, and report whether there was anything to change.
var stagings = map[string]func([]compose.Stage) ([]compose.Stage, bool){
	"with stages 1 and 2 together": together(0),
	"with stages 2 and 3 together": together(1),
	"with stages 3 and 4 together": together(2),
	"with stages 4 and 5 together": together(3),
	"after nothing": func(stages []compose.Stage) ([]compose.Stage, bool) {
		changes := false
		for _, s := range stages {
			for i := range s {
				changes = changes || len(s[i].After) > 0
				s[i].After = nil
			}
		}
		return stages, changes
	},
}

// together merges a stage with the next one.
func together(n int) func([]compose.Stage) ([]compose.Stage, bool) {
	return func(stages []compose.Stage) ([]compose.Stage, bool) {
		if len(stages) < n+2 {
			return stages, false
		}
		return slices.Replace(slices.Clone(stages), n, n+2, slices.Concat(stages[n], stages[n+1])), true
	}
}

// changed returns the function of a kind with a changed component.
func changed(r function.Runner, component int, change func(reflect.Value)) function.Runner {
	c := reflect.New(reflect.TypeOf(r)).Elem()
	c.Set(reflect.ValueOf(r))
	graph := reflect.MakeSlice(c.FieldByName("Graph").Type(), c.FieldByName("Graph").Len(), c.FieldByName("Graph").Len())
	reflect.Copy(graph, c.FieldByName("Graph"))
	c.FieldByName("Graph").Set(graph)
	change(graph.Index(component))
	return c.Interface().(function.Runner)
}

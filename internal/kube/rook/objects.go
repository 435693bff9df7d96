// Package rook builds objects of Rook, the operator of Ceph, and reads objects that it writes.
//
// It uses only fields of Rook 1.18: later versions add fields and remove none
// (https://github.com/rook/rook/blob/v1.18.8/deploy/examples/crds.yaml).
package rook

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Group of Rook's kinds.
const Group = "ceph.rook.io"

const apiVersion = Group + "/v1"

// Redundancy defines how a pool survives the loss of devices.
type Redundancy struct {
	// Copies is the number of replicas, without erasure coding.
	Copies int32
	// Data and Coding are the numbers of data and parity chunks. 0: replication.
	Data, Coding int32
	// FailureDomain is the level at which copies or chunks are separated.
	FailureDomain string
	// Within is the level at which the two copies in each of two failure domains are separated. Empty: one copy in a failure domain.
	Within string
	// DeviceClass of the devices. Empty: every device.
	DeviceClass string
	// Bulk is "true" for a pool that will contain much of the data, or "false". Empty: Ceph's value is kept.
	Bulk string
	// PlacementGroups is the minimum number. 0: Ceph's value is kept.
	PlacementGroups int32
}

// parameters returns the properties that Rook sets on a pool at each reconciliation
// (https://docs.ceph.com/en/latest/rados/operations/placement-groups/). It resets none that is missing.
func (r Redundancy) parameters() object.Map {
	out := object.WithOptional(object.Map{}, object.Map{"bulk": r.Bulk})
	if r.PlacementGroups > 0 {
		out["pg_num_min"] = strconv.Itoa(int(r.PlacementGroups))
	}
	return out
}

// Width returns the number of required failure domains.
func (r Redundancy) Width() int { return int(max(r.Copies, r.Data+r.Coding)) }

// spec returns the spec of a pool. Rook changes the CRUSH rule of a pool only with enableCrushUpdates.
func (r Redundancy) spec() object.Map {
	out := object.WithOptional(object.Map{
		"failureDomain": r.FailureDomain, "enableCrushUpdates": true,
	}, object.Map{"deviceClass": r.DeviceClass})
	if p := r.parameters(); len(p) > 0 {
		out["parameters"] = p
	}
	if r.Data > 0 {
		out["erasureCoded"] = object.Map{"dataChunks": int64(r.Data), "codingChunks": int64(r.Coding)}
		return out
	}
	replicated := object.Map{"size": int64(r.Copies)}
	if r.Within != "" {
		replicated["replicasPerFailureDomain"], replicated["subFailureDomain"] = int64(r.Copies/2), r.Within //nolint:mnd // of two
	}
	if r.Copies == 1 {
		replicated["requireSafeReplicaSize"] = false // A pool with one copy accepts data loss.
	}
	out["replicated"] = replicated
	return out
}

// Cluster builds a CephCluster.
func Cluster(meta object.Meta, spec object.Map) *unstructured.Unstructured {
	return object.New(apiVersion, "CephCluster", meta, spec)
}

// Quota limits a pool. Zero values are unlimited.
type Quota struct {
	// MaxSize is an amount of data: 10Ti.
	MaxSize string
	// MaxObjects is a number of objects.
	MaxObjects int64
}

// Pool builds a CephBlockPool. Its name in Ceph may differ from the name of the object. application is rbd (Rook's default), cephfs or
// rgw. With nil mirroring, the field is not set.
func Pool(meta object.Meta, name, application string, r Redundancy, q Quota, mirroring *Mirroring) *unstructured.Unstructured {
	spec := r.spec()
	if name != meta.Name {
		spec["name"] = name
	}
	if application != "" {
		spec["application"] = application
	}
	quotas := object.WithOptional(object.Map{}, object.Map{"maxSize": q.MaxSize})
	if q.MaxObjects > 0 {
		quotas["maxObjects"] = q.MaxObjects
	}
	if len(quotas) > 0 {
		spec["quotas"] = quotas
	}
	if mirroring != nil {
		spec["mirroring"] = mirroring.spec()
	}
	return object.New(apiVersion, "CephBlockPool", meta, spec)
}

// Client builds a CephClient: a Ceph user with the name of the object and capabilities by kind of daemon.
func Client(meta object.Meta, caps map[string]string) *unstructured.Unstructured {
	return object.New(apiVersion, "CephClient", meta, object.Map{"caps": object.Strings(caps)})
}

// Keys of the Secret that Rook creates for a CephClient.
const (
	// UserKey has only the key of the user, not a keyring.
	UserKey = "userKey"
	// UserIDKey has the name of the user.
	UserIDKey = "userID"
)

// SecretName returns the name of the Secret that Rook creates for a CephClient.
func SecretName(client string) string { return "rook-ceph-client-" + client }

// Filesystem builds a CephFilesystem. Each metadata server has a standby. Data that an erasure-coded pool cannot hold is in a replicated
// pool, which is the first one
// (https://docs.ceph.com/en/latest/cephfs/createfs/#using-erasure-coded-pools-with-cephfs).
func Filesystem(
	meta object.Meta, metadata, data Redundancy, servers int32, resources *common.Resources, placement object.Map,
) *unstructured.Unstructured {
	pools := object.List{named("data", data)}
	if data.Data > 0 {
		pools = object.List{named("default", metadata), named("data", data)}
	}
	return object.New(apiVersion, "CephFilesystem", meta, object.Map{
		"metadataPool": metadata.spec(), "dataPools": pools, "preserveFilesystemOnDelete": true,
		"metadataServer": object.WithOptional(object.Map{"activeCount": int64(servers), "activeStandby": true}, object.Map{
			"resources": object.Resources(resources), "placement": placement,
		}),
	})
}

func named(name string, r Redundancy) object.Map {
	out := r.spec()
	out["name"] = name
	return out
}

// GatewayPort is the port of an object store, with TLS.
const GatewayPort = 443

// GatewayName returns the name of the Service of an object store.
func GatewayName(store string) string { return "rook-ceph-rgw-" + store }

// Store is an object store.
type Store struct {
	Metadata, Data Redundancy
	// Gateways is the number of gateways, Certificate the Secret with their certificate.
	Gateways    int32
	Certificate string
	Resources   *common.Resources
	Placement   object.Map
	// Keystone authenticates users of a cloud. Nil: disabled.
	Keystone *Keystone
	// KeystoneRemoved reports whether the object had a Keystone before.
	KeystoneRemoved bool
}

// Keystone configures the Keystone with which a gateway validates tokens.
type Keystone struct {
	// URL of Keystone, without its version.
	URL string
	// Secret of type Opaque with variables of the environment that OpenStack's clients read, and CABundleKey.
	Secret string
	// Roles of which a user must have one.
	Roles []string
	// Swift and S3 enable the protocols for users.
	Swift, S3 bool
}

// CABundleKey has the authorities that gateways trust in addition to public ones.
const CABundleKey = "cabundle"

// withoutSwift lists all APIs of a gateway except Swift: APIs that Rook uses, and APIs for users of the store itself.
var withoutSwift = []string{"s3", "s3website", "admin", "sts", "iam", "notifications"}

// ObjectStore builds a CephObjectStore whose gateways listen with TLS, with a certificate in a Secret.
//
// Gateways with a Keystone are in the pod network, because network policies, which allow the access to it, do not apply to the host
// network. Each project has its own namespace for bucket names, so that projects cannot occupy each other's names.
func ObjectStore(meta object.Meta, s Store) *unstructured.Unstructured {
	gateway := object.WithOptional(object.Map{
		"instances": int64(s.Gateways), "securePort": int64(GatewayPort), "sslCertificateRef": s.Certificate,
	}, object.Map{"resources": object.Resources(s.Resources), "placement": s.Placement})
	spec := object.Map{
		"metadataPool": s.Metadata.spec(), "dataPool": s.Data.spec(), "preservePoolsOnDelete": true, "gateway": gateway,
	}
	if k := s.Keystone; k != nil {
		gateway["hostNetwork"], gateway["caBundleRef"] = false, k.Secret
		spec["auth"] = object.Map{"keystone": object.Map{
			"url": k.URL, "serviceUserSecretName": k.Secret, "acceptedRoles": object.Array(k.Roles...), "implicitTenants": "true",
		}}
		// With the account in the URL, Keystone's catalog can refer to it, and public containers can be read by other users.
		protocols := object.Map{"s3": object.Map{"authUseKeystone": k.S3}, "swift": object.Map{"accountInUrl": true}}
		if !k.Swift {
			protocols["enableAPIs"] = object.Array(withoutSwift...)
		}
		spec["protocols"] = protocols
	} else if s.KeystoneRemoved {
		// Omitting auth would make it null, as with Mirroring; keystone is nullable. Rook does not unset the options that a Keystone set on
		// gateways (https://github.com/rook/rook/blob/v1.18.8/pkg/operator/ceph/object/config.go), so the APIs that use it are disabled.
		spec["auth"] = object.Map{"keystone": nil}
		spec["protocols"] = object.Map{"s3": object.Map{"authUseKeystone": false}, "enableAPIs": object.Array(withoutSwift...)}
	}
	return object.New(apiVersion, "CephObjectStore", meta, spec)
}

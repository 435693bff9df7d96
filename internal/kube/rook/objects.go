// Package rook makes objects of Rook, the operator of Ceph, and reads what it writes.
//
// Fields are those that Rook 1.18 has, too: later versions add some, and take none away
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

// Redundancy says how a pool survives the loss of devices.
type Redundancy struct {
	// Copies of everything, if data is not cut into pieces.
	Copies int32
	// Data and Coding are the pieces of data and of parity. 0: there are copies.
	Data, Coding int32
	// FailureDomain is what no two copies or pieces share.
	FailureDomain string
	// Within is what no two copies share of the two that each of two failure domains has. Empty: a failure domain has one.
	Within string
	// DeviceClass of the devices. Empty: every device.
	DeviceClass string
	// Bulk is "true" for a pool that will hold much of the data, or "false". Empty: Ceph keeps what it has.
	Bulk string
	// PlacementGroups are how many there are at least. 0: Ceph keeps what it has.
	PlacementGroups int32
}

// parameters are the properties that Rook sets of a pool, each time it looks at it
// (https://docs.ceph.com/en/latest/rados/operations/placement-groups/). It resets none that is missing.
func (r Redundancy) parameters() object.Map {
	out := object.WithOptional(object.Map{}, object.Map{"bulk": r.Bulk})
	if r.PlacementGroups > 0 {
		out["pg_num_min"] = strconv.Itoa(int(r.PlacementGroups))
	}
	return out
}

// Width is how many failure domains it takes.
func (r Redundancy) Width() int { return int(max(r.Copies, r.Data+r.Coding)) }

// spec of a pool. Rook changes a pool's rule of placement only if it may.
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
		replicated["requireSafeReplicaSize"] = false // Whoever asks for one copy has said that it may be lost.
	}
	out["replicated"] = replicated
	return out
}

// Cluster makes a CephCluster.
func Cluster(meta object.Meta, spec object.Map) *unstructured.Unstructured {
	return object.New(apiVersion, "CephCluster", meta, spec)
}

// Quota bounds a pool. What is empty is not bounded.
type Quota struct {
	// MaxSize is an amount of data: 10Ti.
	MaxSize string
	// MaxObjects is a number of objects.
	MaxObjects int64
}

// Pool makes a CephBlockPool, which is called in Ceph as the object is, or otherwise. The application is what may be kept in it: rbd, which
// is Rook's default, cephfs or rgw. Without mirroring nothing of it is copied to another cluster.
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

// Client makes a CephClient: a user called as the object is, who may do what its capabilities say, by the kind of daemon that they are for.
func Client(meta object.Meta, caps map[string]string) *unstructured.Unstructured {
	return object.New(apiVersion, "CephClient", meta, object.Map{"caps": object.Strings(caps)})
}

// Keys of the Secret that Rook makes for a CephClient.
const (
	// UserKey holds the user's key alone, which is no keyring yet.
	UserKey = "userKey"
	// UserIDKey holds the user's name.
	UserIDKey = "userID"
)

// SecretName is the Secret that Rook makes for a CephClient, beside it.
func SecretName(client string) string { return "rook-ceph-client-" + client }

// Filesystem makes a CephFilesystem, with metadata servers of which each has another that stands by. What an erasure-coded pool cannot
// hold is in a replicated one, which comes first
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

// GatewayPort is where an object store listens, with TLS.
const GatewayPort = 443

// GatewayName is the Service of an object store.
func GatewayName(store string) string { return "rook-ceph-rgw-" + store }

// Store is an object store.
type Store struct {
	Metadata, Data Redundancy
	// Gateways is how many there are, Certificate the Secret with their certificate.
	Gateways    int32
	Certificate string
	Resources   *common.Resources
	Placement   object.Map
	// Keystone is where users of a cloud log in. Nil: there are none.
	Keystone *Keystone
	// KeystoneRemoved says that the object had a Keystone before.
	KeystoneRemoved bool
}

// Keystone is by what a gateway checks tokens.
type Keystone struct {
	// URL of Keystone, without its version.
	URL string
	// Secret of type Opaque with variables of the environment that OpenStack's clients read, and CABundleKey.
	Secret string
	// Roles of which a user has to have one.
	Roles []string
	// Swift and S3 are by which protocols users come.
	Swift, S3 bool
}

// CABundleKey holds authorities that gateways trust besides the public ones.
const CABundleKey = "cabundle"

// withoutSwift are all APIs of a gateway but that one: those that Rook asks, and users of the store itself.
var withoutSwift = []string{"s3", "s3website", "admin", "sts", "iam", "notifications"}

// ObjectStore makes a CephObjectStore whose gateways listen with TLS, by a certificate in a Secret.
//
// Those that ask a Keystone are in the network of pods: policies, which let them reach it, know no others. Each project has a place of its
// own for names of buckets, so that no project can take another one's.
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
		// The account in the address lets Keystone's catalog lead to it, and others read what is public.
		protocols := object.Map{"s3": object.Map{"authUseKeystone": k.S3}, "swift": object.Map{"accountInUrl": true}}
		if !k.Swift {
			protocols["enableAPIs"] = object.Array(withoutSwift...)
		}
		spec["protocols"] = protocols
	} else if s.KeystoneRemoved {
		// Omitting auth would make it null, as with Mirroring; keystone is nullable. Nor does Rook unset the options of gateways that a
		// Keystone had set (https://github.com/rook/rook/blob/v1.18.8/pkg/operator/ceph/object/config.go), so that they are told to serve
		// nothing that asks it.
		spec["auth"] = object.Map{"keystone": nil}
		spec["protocols"] = object.Map{"s3": object.Map{"authUseKeystone": false}, "enableAPIs": object.Array(withoutSwift...)}
	}
	return object.New(apiVersion, "CephObjectStore", meta, spec)
}

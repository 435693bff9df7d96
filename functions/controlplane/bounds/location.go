package bounds

import (
	"cmp"
	"fmt"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// Location is a place where data is stored, with a name that allows comparing two locations.
type Location struct{ Field, Name string }

// BucketLocation returns the location of a bucket of an object store, or of a prefix in it. The scheme of the endpoint is optional.
func BucketLocation(field, endpoint, bucket, prefix string) Location {
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix = ", prefix " + prefix
	}
	return Location{field, fmt.Sprintf("bucket %s at %s%s", bucket, HostOf(endpoint), prefix)}
}

// PoolLocation returns the location of a pool of a StorageCluster.
func PoolLocation(field string, p *common.StoragePool) Location {
	return Location{field, fmt.Sprintf("pool %s of StorageCluster %s/%s", p.Pool, p.ClusterRef.Namespace, p.ClusterRef.Name)}
}

// CephLocation returns the location of a pool of a Ceph cluster whose configuration is in a Secret.
func CephLocation(field, pool, otherwise string, secret common.SecretReference) Location {
	return Location{field, fmt.Sprintf("pool %s of the Ceph of Secret %s", cmp.Or(pool, otherwise), secret.Name)}
}

// ShareLocation returns the location of a share of an NFS server.
func ShareLocation(field, share string) Location {
	return Location{field, "share " + limit.CleanShare(share)}
}

// HostOf returns host:port of an address with an optional scheme in a normal form: https is the default scheme, and the port is always
// included.
func HostOf(address string) string {
	port := "443"
	host, isHTTP := strings.CutPrefix(address, "http://")
	if isHTTP {
		port = "80"
	}
	host = strings.TrimPrefix(host, "https://")
	host, _, _ = strings.Cut(host, "/")
	host = strings.ToLower(host)
	if i := strings.LastIndex(host, ":"); i >= 0 && !strings.HasSuffix(host, "]") {
		return host
	}
	return host + ":" + port
}

package service

import (
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// StorageClient is how the pool of a StorageCluster is reached that a place of a service's spec names, such as stores.main. An error is a
// mistake of whoever made the service: a control plane says it of each place.
func StorageClient(clients []common.StorageClient, place string) (*common.StorageClient, error) {
	i := slices.IndexFunc(clients, func(c common.StorageClient) bool { return c.Name == place })
	if i < 0 {
		return nil, invalid.Field("spec.storageClients", "it does not say how the pool is reached that %s names; add an entry of that name, or "+
			"name the Secret of a client in rbd", place)
	}
	return &clients[i], nil
}

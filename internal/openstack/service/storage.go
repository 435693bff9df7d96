package service

import (
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// StorageClient returns the client with access to the pool of a StorageCluster that a field of a service's spec references,
// such as stores.main. An error means that the service was created manually without the client: a control plane adds one
// for each reference.
func StorageClient(clients []common.StorageClient, place string) (*common.StorageClient, error) {
	if c := FindStorageClient(clients, place); c != nil {
		return c, nil
	}
	return nil, invalid.Field("spec.storageClients", "the client for %s is missing; add it, or "+
		"name the Secret of a client in rbd", place)
}

// FindStorageClient returns the client of a place, or nil if it is not known yet.
func FindStorageClient(clients []common.StorageClient, place string) *common.StorageClient {
	i := slices.IndexFunc(clients, func(c common.StorageClient) bool { return c.Name == place })
	if i < 0 {
		return nil
	}
	return &clients[i]
}

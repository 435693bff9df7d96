// Package infrastructure derives and composes the shared infrastructure of a control plane: database, message queue, key-value store,
// cache, copies of Secrets, and pools of StorageClusters.
package infrastructure

import (
	"errors"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// Infrastructure is the shared infrastructure of a control plane. It does not change after Derive.
type Infrastructure struct {
	// Claim contains the names of the copies of Secrets, so that builders can only use copies.
	*claim.Claim
	Copies
	// Store are the members of Valkey, queue the members of RabbitMQ.
	Store storeMembers
	queue queueMembers
	// observedDatabase is the observed state of the database, proxy the derived state of its proxy.
	observedDatabase observedDatabase
	proxy            proxyState
	// root selects the source of the password of the database's root user.
	root rootPassword
	// PoolKeys are the Secrets of the Ceph users of the pools that services use.
	PoolKeys []tenantsecret.Set
	pools    []poolUse
	// serverOptions are the options of MariaDB and of RabbitMQ, cells' own included.
	serverOptions serverOptions

	// optionsErr is the error of invalid server options.
	optionsErr error
}

// Demand is the use of the infrastructure by services.
type Demand struct {
	// Databases are the existing services, which may use the database.
	Databases []DatabaseUser
	// Secrets lists all fields of a spec that reference a Secret, except pull secrets.
	Secrets func(*controlplanev1.ControlPlaneClusterSpec) []claim.SecretReference
	// Pools are the pools of StorageClusters of each enabled service.
	Pools []PoolUser
}

// Derive derives the infrastructure of a claim. The error is about changes that are not possible, and about Secrets and pools that cannot
// be used. The result is never nil, because the checks of the claim use it even with an error.
func Derive(c *claim.Claim, demand Demand, required reference.Required) (*Infrastructure, error) {
	queue, queueErr := deriveQueueMembers(c)
	store, storeErr := deriveStoreMembers(c)
	withCopies, copies, copiesErr := deriveCopies(c, demand.Secrets)
	pools, poolsErr := derivePools(c, demand.Pools, required)
	database, proxy := deriveDatabase(c, demand.Databases)
	options, optionsErr := formatServerOptions(c.Spec.Infrastructure)
	inf := &Infrastructure{
		Claim: withCopies, Copies: copies, pools: pools, PoolKeys: keysOf(c, pools), observedDatabase: database, proxy: proxy,
		// The names of copies would be wrong here: the Secret is created from the tenant's.
		root:  rootSecrets(c.Spec.Infrastructure.MariaDB.RestoreFrom, c.Observed),
		queue: queue, Store: store, serverOptions: options, optionsErr: optionsErr,
	}
	if err := errors.Join(checkQueueExposure(c), queueErr, storeErr); err != nil {
		return inf, err
	}
	return inf, errors.Join(inf.checkRoot(), copiesErr, poolsErr)
}

// WithClaim returns the infrastructure with the claim that contains the names of the tenant's own Secrets, for checks whose messages
// contain these names.
func (inf *Infrastructure) WithClaim(c *claim.Claim) *Infrastructure {
	out := *inf
	out.Claim = c
	return &out
}

// CheckServerOptions returns an error for invalid options of servers.
func (inf *Infrastructure) CheckServerOptions() error { return inf.optionsErr }

// CheckChanges returns an error for changes of the database that its operator does not support.
func (inf *Infrastructure) CheckChanges() error {
	return errors.Join(inf.checkMembers(), inf.checkStorage())
}

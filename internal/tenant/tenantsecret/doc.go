// Package tenantsecret brings Secrets that a spec names to workloads: those of a claim out of the claim's own namespace, those of the
// platform out of the platform's. Nobody who names one reaches another by it:
//
//   - it is read with the rights of a ServiceAccount that may get just the Secrets that are named, and in no other namespace;
//   - workloads read a copy, whose name begins as nothing of ours does, so that a name means a tenant's Secret and never one of ours.
//
// External Secrets does the work. Its provider for Kubernetes asks for the verb get alone, and checks nothing but that verb when it
// validates a store, so that names can be given with it
// (https://github.com/external-secrets/external-secrets/blob/v0.20.4/pkg/provider/kubernetes/validate.go). What it cannot read it tries
// again after as long as it has been trying, at the latest after seven minutes
// (https://github.com/external-secrets/external-secrets/blob/v0.20.4/pkg/controllers/common/common.go), and leaves the copy alone
// meanwhile.
package tenantsecret

// Package tenantsecret copies Secrets that a spec references to the workloads: Secrets of a claim from the claim's own
// namespace, Secrets of the platform from the platform's namespace. A reference gives no access to other Secrets:
//
//   - a Secret is read with the permissions of a ServiceAccount that may only get the referenced Secrets, in no other namespace;
//   - workloads read a copy whose name prefix no other Secret of the instance has, so that a name always means a Secret of the tenant.
//
// External Secrets copies the Secrets. Its Kubernetes provider only requires the verb get, and only checks this verb when
// it validates a store, so the permission can be restricted to names
// (https://github.com/external-secrets/external-secrets/blob/v0.20.4/pkg/provider/kubernetes/validate.go). If it cannot
// read a Secret, it retries with increasing delays of up to seven minutes
// (https://github.com/external-secrets/external-secrets/blob/v0.20.4/pkg/controllers/common/common.go), and does not change
// the copy meanwhile.
package tenantsecret

package barbican

import (
	"fmt"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// vaultGroup is the group of options of a Vault, vaultStore the plugin that keeps secrets there, authorityKey the file of the Secret with
// the authority of its certificate, and publicCAs that of the image with the public ones.
const (
	vaultGroup   = "vault_plugin"
	vaultStore   = "vault_plugin"
	authorityKey = "ca.crt"
	publicCAs    = "/etc/ssl/certs/ca-certificates.crt"
)

// vaultRead is what pods read of a Vault as they start.
var vaultRead = service.StartupInput{
	Resource: vaultComponent, Path: []string{"status", "contentHash"}, Annotation: barbicanv1.Group + "/vault",
}

// keepInVault keeps new secrets in a Vault. Those of before stay in the database, and are read there: each says which plugin keeps it.
func (m *model) keepInVault() error {
	v := m.spec.Vault
	if v == nil {
		return nil
	}
	flow, err := workload.ExternalEgress(v.URL)
	if err != nil {
		return fmt.Errorf("cannot find the port of the Vault: %w", err)
	}
	m.Egress = append(m.Egress, flow)
	m.Options["secretstore"]["enabled_secretstore_plugins"] = oslo.Multi{vaultStore, databaseStore}
	options := oslo.Options{"vault_url": v.URL, "kv_mountpoint": v.Mount, "ssl_ca_crt_file": publicCAs}
	if v.Namespace != "" {
		options["namespace"] = v.Namespace
	}
	if v.CASecretRef != nil {
		options["ssl_ca_crt_file"] = m.Path(vaultComponent, authorityKey)
		m.Mounts = append(m.Mounts, m.SecretVolume(vaultComponent, m.Sub(vaultComponent), authorityKey))
	}
	m.Options[vaultGroup] = options
	for _, k := range vaultLogin {
		m.Env = append(m.Env, workload.SecretEnv(oslo.MustEnvName(vaultGroup, k.option), m.Sub(vaultComponent), k.key))
	}
	m.AnnotateStartupInputs(m.seen, vaultRead)
	return nil
}

// vaultLogin is by what Barbican logs in: a source, the key of its Secret, and the option. castellan logs in anew when a token of an
// AppRole has expired. One that it is given in its place it would never renew, so that there is none.
var vaultLogin = []struct{ source, key, option string }{
	{"roleID", barbicanv1.VaultRoleIDKey, "approle_role_id"},
	{"secretID", barbicanv1.VaultSecretIDKey, "approle_secret_id"},
}

// vault is what pods have of a Vault's Secrets.
func vault(m *model) ([]compose.Stage, error) {
	v := m.spec.Vault
	spec := c5c3v1.SecretAggregateSpec{
		TargetSecretName: common.ObjectName(m.Sub(vaultComponent)), Template: map[string]c5c3v1.SecretTemplate{},
	}
	for _, k := range vaultLogin {
		source := service.Source(k.source, string(v.SecretRef.Name), k.key)
		source.Escape = "OsloConfig"
		spec.Sources = append(spec.Sources, source)
		spec.Template[k.key] = c5c3v1.SecretTemplate("{{ ." + k.source + " }}")
	}
	if ca := v.CASecretRef; ca != nil {
		spec.Sources = append(spec.Sources, service.Source("ca", string(ca.Name), string(ca.Key)))
		spec.Template[authorityKey] = "{{ .ca }}"
	}
	return service.SingleObjectComponent(vaultComponent, c5c3.SecretAggregate(m.Meta(m.Sub(vaultComponent)), spec)), nil
}

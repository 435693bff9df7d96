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

// vaultGroup is the option group of Vault, vaultStore the plugin that stores secrets there, authorityKey the key of the Secret with the CA
// of its certificate, and publicCAs the image's bundle of public CAs.
const (
	vaultGroup   = "vault_plugin"
	vaultStore   = "vault_plugin"
	authorityKey = "ca.crt"
	publicCAs    = "/etc/ssl/certs/ca-certificates.crt"
)

// vaultRead is the startup input of pods that use a Vault.
var vaultRead = service.StartupInput{
	Resource: vaultComponent, Path: []string{"status", "contentHash"}, Annotation: barbicanv1.Group + "/vault",
}

// keepInVault stores new secrets in a Vault. Existing ones stay in the database and are read there: each secret records its plugin.
func (m *model) keepInVault(x *service.Extension) error {
	v := m.spec.Vault
	flow, err := workload.ExternalEgress(v.URL)
	if err != nil {
		return fmt.Errorf("cannot find the port of the Vault: %w", err)
	}
	x.Network.Egress = append(x.Network.Egress, flow)
	x.Config.Options["secretstore"]["enabled_secretstore_plugins"] = oslo.Multi{vaultStore, databaseStore}
	options := oslo.Options{"vault_url": v.URL, "kv_mountpoint": v.Mount, "ssl_ca_crt_file": publicCAs}
	if v.Namespace != "" {
		options["namespace"] = v.Namespace
	}
	if v.CASecretRef != nil {
		options["ssl_ca_crt_file"] = m.Path(vaultComponent, authorityKey)
		x.API.Volumes = append(x.API.Volumes, m.SecretVolume(vaultComponent, m.Sub(vaultComponent), authorityKey))
	}
	x.Config.Options[vaultGroup] = options
	for _, k := range vaultLogin {
		x.API.Env = append(x.API.Env, workload.SecretEnv(oslo.MustEnvName(vaultGroup, k.option), m.Sub(vaultComponent), k.key))
	}
	x.Pods.Annotate(m.StartupAnnotations(m.observed, vaultRead))
	return nil
}

// vaultLogin lists the credentials of Barbican's login: a source, the key of its Secret, and the option. castellan logs in again when the
// token of an AppRole has expired. A token that is configured instead would never be renewed, so that this is not supported.
var vaultLogin = []struct{ source, key, option string }{
	{"roleID", barbicanv1.VaultRoleIDKey, "approle_role_id"},
	{"secretID", barbicanv1.VaultSecretIDKey, "approle_secret_id"},
}

// vault builds the pods' copy of a Vault's Secrets.
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

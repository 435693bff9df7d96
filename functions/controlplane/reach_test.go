package controlplane

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
)

// inside lists the fields with text that contain no external reference, or none that needs a limit, by the reason.
var inside = map[string][]string{
	"sizes, releases and clusters have checks of their own": {
		"ControlPlaneClusterSpec.Size", "ControlPlaneClusterSpec.OpenStackRelease", "ClusterReference.Name", "Storage.StorageSize",
		"StagingStorage.StorageSize", "FileStore.StorageSize", "Volume.StorageSize", "BackupFile.StorageSize",
	},
	"it is an amount":                                        {"Process.Memory", "Storage.ConversionSize", "IntOrString.StrVal", "ML2.VNIRange", "PhysicalNetwork.VLANRanges"},
	"servers use it, and no pod does":                        {"Networks.DNSServers"},
	"suffix of names of servers, which only servers resolve": {"Networks.DNSDomain"},
	"the object that contains it is checked as a whole": {
		"Toleration.Key", "Toleration.Operator", "Toleration.Value", "Toleration.Effect", "Exposure.Type", "MemberExposure.Type",
	},
	"it has two values, and reaches nothing":          {"RabbitMQ.MemberTLS", "VNCConnections.TLS"},
	"the registry determines the publisher of images": {"Image.Tag", "Image.Digest", "InfrastructureImage.Tag", "InfrastructureImage.Digest"},
	"its host or its networks are held, and this is the tenant's account there": {
		"RBDStore.Pool", "RBDStore.User", "RBD.Pool", "RBD.User", "BackupRBD.Pool", "BackupRBD.User",
		"S3.Bucket", "S3.Prefix", "S3.Region", "RestoreFrom.TargetRecoveryTime", "OVNRestoreFrom.TargetRecoveryTime",
		"S3Store.Bucket", "S3Store.Region", "S3Store.URLFormat", "SwiftStore.Region", "SwiftStore.Container", "Swift.Container", "Vault.Mount", "Vault.Namespace",
		"LDAP.User", "LDAP.Suffix", "LDAP.UserTreeDN", "LDAP.GroupTreeDN", "Federation.ClientID", "Federation.Scopes",
		"ExternalMariaDB.User", "ExternalQueue.User", "ExternalKeystone.User", "ExternalKeystone.UserDomain", "ExternalKeystone.Project", "ExternalKeystone.ProjectDomain",
	},
	"users' browsers go there, with the user's own token, and nothing of the platform does":         {"Federation.TrustedDashboards"},
	"tables of internal/kube/mariadb and internal/kube/rabbitmq allow numbers and fixed words only": {"MariaDB.Config", "RabbitMQ.Config"},
	"options and rules that reach outside are refused by internal/openstack/override":               {"Overrides.Config", "Overrides.Policy", "LDAP.Options"},
	"Secrets are found by code that knows whose they are": {
		"SecretReference.Name", "SecretKeyReference.Name", "SecretKeyReference.Key", "Images.PullSecrets",
	},
	"it is reached in networks that are held, and nowhere else": {"ExternalOVN.Northbound", "ExternalOVN.Southbound"},
	"its owner grants access, and its networks are checked in its own claim": {
		"ClaimReference.Namespace", "ClaimReference.Name", "StoragePool.Pool",
	},
	"it lets others in, and names nothing": {"ControlPlaneClusterSpec.AllowedNamespaces", "KeystoneServiceGrant.Type", "KeystoneServiceGrant.AdditionalTypes"},
	"it is a choice or a name within the cloud": {
		"ControlPlaneClusterSpec.DeletionPolicy", "Exposure.IngressController", "Exposure.Routing", "Global.Region", "Bootstrap.AdminUser", "IdentityBackend.Domain",
		"Federation.Provider", "KORC.BootstrapResources",
		"Storage.DefaultVolumeType", "Backend.Name", "Backend.AvailabilityZone", "VolumeType.Name", "VolumeType.Description", "VolumeType.Backend",
		"Storage.DefaultStore", "Store.Name", "Store.Description", "FileStore.AccessMode", "BackupFile.AccessMode", "Import.Methods", "Import.ConvertTo",
		"Consoles.Graphical", "NovaCell.Name",
		"WebSSO.InitialChoice", "WebSSOChoice.Name", "WebSSOChoice.Provider",
		"OVNSyncRequest.Request", "OVNSyncRequest.Mode",
		"Neutron.Mechanism", "Networks.ServicePlugins", "Networks.AvailabilityZones",
		"ML2.TypeDrivers", "ML2.TenantNetworkTypes", "ML2.ExtensionDrivers", "PhysicalNetwork.Name", "SRIOV.ProhibitedVNICTypes",
		"Flavor.Name", "Flavor.ID", "Flavor.Description", "Flavor.Projects", "HostAggregate.Name", "HostAggregate.AvailabilityZone",
	},
	"the scheduler compares it, or the hypervisor reads it, in a cloud of the tenant's own": {"Flavor.ExtraSpecs", "HostAggregate.Metadata", "VolumeType.ExtraSpecs"},
	"it is a hypervisor of the tenant's own cloud, and is only named":                       {"HostAggregate.Hosts"},
	"the hosts that it is about are held":                                                   {"WebDownload.AllowedSchemes"},
	"users read it in their browsers, and no program does":                                  {"Settings.Title", "WebSSOChoice.Label"},
	"users' browsers follow the link, and no program does":                                  {"Settings.HelpURL"},
	"a theme that every image contains":                                                     {"Settings.DefaultTheme"},
	"hypervisors mount the shares, which are checked":                                       {"NFS.MountOptions"},
	"tests of the tenant's own cloud are chosen by it":                                      {"Tests.Services", "Tests.IncludeRegex", "Tests.ExcludeRegex"},
	"it is a time": {
		"Backup.Schedule", "CredentialKeys.RotationSchedule", "Fernet.RotationSchedule", "TrustFlush.Schedule", "Archive.Schedule", "OVNBackup.Schedule",
		"Keys.RotationSchedule", "Tempest.Schedule",
	},
}

// TestEveryValueIsChecked checks that every field of a claim with text is subject to limits, or is listed as internal. A developer who adds
// a field must classify it.
func TestEveryValueIsChecked(t *testing.T) {
	known := map[string]bool{}
	for reason, fields := range inside {
		for _, f := range fields {
			if known[f] {
				t.Errorf("%s is listed twice, once because %s", f, reason)
			}
			known[f] = true
		}
	}
	found := map[string]bool{}
	eachStruct(reflect.TypeFor[controlplanev1.ControlPlaneClusterSpec](), map[reflect.Type]bool{}, func(s reflect.Type) {
		for _, f := range reflect.VisibleFields(s) {
			value := reflect.New(s).Elem()
			if f.Anonymous || len(f.Index) > 1 || !f.IsExported() || !write(value.FieldByIndex(f.Index)) {
				continue
			}
			name := s.Name() + "." + f.Name
			found[name] = true
			// The limit applies to the value itself: another field of the same struct may have a limit, too.
			held := slices.ContainsFunc(allExternalReferences("", value.Interface()), func(r bounds.ExternalReference) bool {
				return strings.Contains(r.Value, "x")
			})
			if held == known[name] {
				t.Errorf("%s: checked by limits %t, listed as internal %t: add a case to externalReferences, or list it in this test with the reason", name, held, known[name])
			}
		}
	})
	for name := range known {
		if !found[name] {
			t.Errorf("%s is listed, and there is no such field", name)
		}
	}
	if len(found) < 50 {
		t.Errorf("only %d fields", len(found))
	}
}

// eachStruct visits the struct types within a type.
func eachStruct(typ reflect.Type, observedState map[reflect.Type]bool, visit func(reflect.Type)) {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, typ.Kind()) {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || observedState[typ] {
		return
	}
	observedState[typ] = true
	visit(typ)
	for f := range typ.Fields() {
		if f.IsExported() {
			eachStruct(f.Type, observedState, visit)
		}
	}
}

// below returns the path of a field of a struct.
func below(path string, f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
		return path + "." + name
	}
	return path
}

// write sets a field that contains text, or a list or map of texts.
func write(v reflect.Value) bool {
	switch typ := v.Type(); typ.Kind() {
	case reflect.String:
		v.SetString("x")
		return true
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		return typ.Elem().Kind() == reflect.String && write(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(typ, 1, 1))
		return typ.Elem().Kind() == reflect.String && write(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(typ))
		v.SetMapIndex(reflect.ValueOf("x").Convert(typ.Key()), reflect.New(typ.Elem()).Elem())
		return true
	default:
		return false
	}
}

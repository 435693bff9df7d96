package barbican

import (
	_ "embed"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Programs of pods, as files in addition to the configuration.
var (
	// keysScript writes the keys for Barbican, and executes the given program.
	//
	//go:embed keys.sh
	keysScript string
	// rewrapScript encrypts the keys of projects with the primary key.
	//
	//go:embed rewrap.sh
	rewrapScript string
	// vaultScript verifies that a Vault returns a stored value, and executes the given program.
	//
	//go:embed vault.py
	vaultScript string
	// pipelines is the paste configuration of requests.
	//
	//go:embed barbican-api-paste.ini
	pipelines string
)

// Names of these files.
const (
	keysFile   = "keys.sh"
	rewrapFile = "rewrap.sh"
	vaultFile  = "vault.py"
	// pipelinesFile is the only path at which Barbican looks for it.
	pipelinesFile = "barbican-api-paste.ini"
)

func (m *model) programs() []service.ExtraFile {
	pages := []service.ExtraFile{
		{Name: pipelinesFile, Text: pipelines}, {Name: keysFile, Text: keysScript}, {Name: rewrapFile, Text: rewrapScript},
	}
	if m.spec.Vault != nil {
		pages = append(pages, service.ExtraFile{Name: vaultFile, Text: vaultScript})
	}
	return pages
}

// keysName is the name suffix of the Secret with the keys, and the name of the volume and its folder. configFolder is the folder of
// additional configuration, which Barbican reads by default (https://docs.openstack.org/oslo.config/latest/reference/locations.html).
const (
	keysName     = "keys"
	configFolder = "barbican.conf.d"
)

// maxKeys is the maximum number of keys, all of which decrypt: with one key a month, a copy of the database that is four years old can be
// read.
const maxKeys = 50

// keys builds the keys that encrypt the keys of projects. They rotate like Keystone's credential keys: the primary encrypts, all others
// decrypt, the next one is distributed to all pods before it becomes primary, and once every pod has it, stored data is re-encrypted with
// it.
func keys(m *model) ([]compose.Stage, error) {
	spec := openstackv1.KeyRepositorySpec{
		Type:             openstackv1.KeyTypeCredential,
		SecretName:       common.ObjectName(m.Sub(keysName)),
		RotationSchedule: m.spec.Keys.RotationSchedule,
		Suspend:          m.spec.Keys.Suspend,
		MaxActiveKeys:    new(int32(maxKeys)),
		Consumers:        m.Consumers(),
		Migrate: &openstackv1.Command{Command: []openstackv1.Argument{
			"sh", openstackv1.Argument(m.Path(keysFile)), "sh", openstackv1.Argument(m.Path(rewrapFile)),
		}},
	}
	if s := m.Spec.SecretStore; s != nil {
		spec.Backup = &openstackv1.Backup{SecretStoreRef: *s, RemoteKey: secret.RemoteKey(*s, m.Namespace, m.Sub(keysName))}
	}
	return []compose.Stage{{{Name: keysComponent, Object: c5c3.KeyRepository(m.Meta(m.Sub(keysName)), spec), Retain: true}}}, nil
}

// keyVolumes returns the volume of the keys, and the in-memory folder of their option file: Barbican reads several values of an option from
// files only.
func (m *model) keyVolumes() []service.Volume {
	return []service.Volume{
		m.SecretVolume(keysName, m.Sub(keysName)),
		{
			Volume: workload.MemoryScratch("config-folder", resource.MustParse("16Mi")),
			Folder: m.Path(configFolder), Writable: true,
		},
	}
}

// start returns a command that runs after the keys are written, and after a Vault was verified.
func (m *model) start(command ...string) []string {
	before := []string{"sh", m.Path(keysFile)}
	if m.spec.Vault != nil {
		before = append(before, python, m.Path(vaultFile))
	}
	return slices.Concat(before, command)
}

// python is the interpreter of the image, with Barbican.
const python = "/opt/openstack/bin/python"
